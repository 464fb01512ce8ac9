//! Measurements compared with published figures of others: `beside SNAPSHOT ARM,ARM CASE=FIGURE …`, where
//! underscores in a figure stand for spaces. Times are those of one unit of the case's work, warm.

use firstlight_report::words::format::duration;
use firstlight_report::words::tables::Table;
use firstlight_schema::run::{ArmResult, RunDocument};

use xtask::shell::Result;

pub(super) fn beside(document: &RunDocument, words: &[&str]) -> Result<Option<Table>> {
    let [arms, published @ ..] = words else {
        return Err("no arms are named".to_owned());
    };
    let arms: Vec<&str> = arms.split(',').collect();
    let mut table = Table { head: vec!["case".to_owned()], rows: Vec::new() };
    table.head.extend(arms.iter().map(|&arm| arm.to_owned()));
    table.head.push("published".to_owned());
    let mut measured = false;
    for word in published {
        let (name, figure) = word.split_once('=').ok_or(format!("`{word}` is not CASE=FIGURE"))?;
        let case = document.cases.iter().find(|case| case.name == name);
        let found = |arm: &&str| {
            let arm = case?.arms.iter().find(|known| known.name == *arm)?;
            unit(arm)
        };
        let times: Vec<Option<String>> = arms.iter().map(found).collect();
        measured |= times.iter().any(Option::is_some);
        let times = times.into_iter().map(|time| time.unwrap_or_else(|| "–".to_owned()));
        let cells = [name.to_owned()].into_iter().chain(times).chain([figure.replace('_', " ")]);
        table.rows.push(cells.collect());
    }
    Ok(measured.then_some(table))
}

/// The time of one unit of work, or of a call if the work has no unit.
fn unit(arm: &ArmResult) -> Option<String> {
    let warm = arm.regimes.iter().find_map(|result| result.warm.as_ref())?;
    Some(match &warm.throughput {
        Some(work) => {
            let one = work.unit.strip_suffix('s').unwrap_or(&work.unit);
            format!("{} per {one}", duration(1e9 / work.per_second.point))
        }
        None => format!("{} per call", duration(warm.per_call.point)),
    })
}
