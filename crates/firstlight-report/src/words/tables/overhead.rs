//! The time of calls beyond their baseline, for a case and over a swept parameter.

use firstlight_analysis::warm::{Statistic, mean_of_rounds, overheads_beyond_reference};
use firstlight_schema::comparison::SweepResult;
use firstlight_schema::run::{CaseResult, RegimeResult};
use firstlight_schema::sample::Sample;

use super::{Table, signed, signed_point};
use crate::words::format::{duration, share};

/// Time per call, the baseline's, and the difference; `None` if no arm has a baseline.
pub fn overheads(case: &CaseResult) -> Option<Table> {
    let beyond = format!("beyond {}", case.reference);
    let mut table = Table::new(&[
        "arm",
        "per call",
        "baseline",
        "overhead, mean",
        "overhead, median",
        "garbage collection",
        "share of the call",
        &beyond,
        "processes",
    ]);
    for arm in &case.arms {
        for regime in &arm.regimes {
            let Some(warm) = &regime.warm else { continue };
            let Some(overhead) = &warm.overhead else { continue };
            let mut baselines: Vec<f64> = valid(regime)
                .filter_map(|sample| Some(sample.window.as_ref()?.overhead?.baseline_ns))
                .collect();
            baselines.sort_unstable_by(f64::total_cmp);
            let baseline = baselines.get(baselines.len() / 2).copied().unwrap_or(f64::NAN);
            let beyond =
                mean_of_rounds(&overheads_beyond_reference(case, &arm.name, Statistic::Mean));
            let collector: Vec<f64> = valid(regime)
                .filter_map(|sample| sample.window.as_ref()?.overhead?.collector_ns)
                .collect();
            table.rows.push(vec![
                arm.name.clone(),
                duration(warm.per_call.point),
                duration(baseline),
                signed(overhead),
                warm.overhead_median.as_ref().map_or_else(String::new, signed),
                mean(&collector).map_or_else(String::new, signed_point),
                share(overhead.point / warm.per_call.point),
                beyond.as_ref().map_or_else(String::new, signed),
                overhead.n.to_string(),
            ]);
        }
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

fn valid(regime: &RegimeResult) -> impl Iterator<Item = &Sample> {
    regime.samples.iter().filter(|sample| sample.valid)
}

#[expect(clippy::cast_precision_loss, reason = "a count of processes")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The overhead at every value of a sweep, and the slope with its interval.
pub fn slopes(sweep: &SweepResult) -> Option<Table> {
    let first = sweep.overheads.first()?;
    let mut table = Table::new(&["arm"]);
    table.head.extend(first.rows.iter().map(|row| format!("{} = {}", sweep.parameter, row.value)));
    table.head.push(format!("per unit of {}", sweep.parameter));
    table.head.push("rounds".to_owned());
    table.head.push("straight".to_owned());
    for line in &sweep.overheads {
        let cells = line
            .rows
            .iter()
            .map(|row| row.time.map_or_else(String::new, |one| signed_point(one.point)));
        let slope = line.slope.as_ref().map_or_else(|| "too few".to_owned(), signed);
        let rounds = line.slope.as_ref().map_or_else(String::new, |slope| slope.n.to_string());
        let straight = match line.linear {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let row = [line.arm.clone()].into_iter().chain(cells);
        table.rows.push(row.chain([slope, rounds, straight.to_owned()]).collect());
    }
    Some(table.without_empty_columns())
}
