//! A swept parameter: a table, constant + slope × value, and a plot.

use firstlight_schema::comparison::{SweepLine, SweepResult};

use super::page::{BOLD, Page};
use crate::terminal::plot::{Draw, Series, plot};
use crate::words::format::duration;
use crate::words::sweep::fit;
use crate::words::table::Align;

const WIDEST_PLOT: usize = 76;
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

pub(super) fn sweep(page: &mut Page, sweep: &SweepResult) {
    page.gap();
    page.line(&format!("{BOLD}{} over {}{BOLD:#}", sweep.case, sweep.parameter));
    page.gap();
    let mut lines: Vec<&SweepLine> = sweep.lines.iter().collect();
    lines.sort_by_key(|line| line.regime);
    table(page, sweep, &lines);
    page.gap();
    for line in &lines {
        page.sentence(&format!("{}, {}: {}", line.arm, line.regime, fit(line, &sweep.parameter)));
    }
    let mut regimes: Vec<_> = lines.iter().map(|line| line.regime).collect();
    regimes.dedup();
    for regime in regimes {
        let one: Vec<&&SweepLine> = lines.iter().filter(|line| line.regime == regime).collect();
        picture(page, &one, &format!("{regime}, time against {}", sweep.parameter));
    }
}

fn table(page: &mut Page, sweep: &SweepResult, lines: &[&SweepLine]) {
    let Some(first) = lines.first() else { return };
    let head = [sweep.parameter.clone()]
        .into_iter()
        .chain(lines.iter().map(|line| format!("{} {}", line.arm, line.regime)));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for (place, row) in first.rows.iter().enumerate() {
        let times = lines.iter().map(|line| {
            line.rows
                .get(place)
                .and_then(|row| row.time)
                .map_or_else(|| "none".to_owned(), |time| duration(time.point))
        });
        rows.push([row.value.clone()].into_iter().chain(times).collect());
    }
    page.columns(&vec![Align::Right; lines.len() + 1], &rows);
}

fn picture(page: &mut Page, lines: &[&&SweepLine], title: &str) {
    let series: Vec<Series<'_>> = lines
        .iter()
        .zip(LETTERS.chars())
        .map(|(line, letter)| Series {
            letter,
            points: line
                .rows
                .iter()
                .filter_map(|row| Some((row.number?, row.time?.point)))
                .collect(),
            name: &line.arm,
        })
        .collect();
    let width = page.width().saturating_sub(10).min(WIDEST_PLOT);
    let Some(text) = plot(&series, Draw::Points, width) else { return };
    page.gap();
    let names: Vec<String> =
        series.iter().map(|one| format!("{} {}", one.letter, one.name)).collect();
    page.sentence(&format!("  {title}: {}", names.join(", ")));
    for line in text {
        page.line(&format!("  {line}"));
    }
}
