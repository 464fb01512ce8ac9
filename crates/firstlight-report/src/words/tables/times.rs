//! Times of every arm, regime by regime; the phases of a cold start; a sweep's values.

use firstlight_schema::comparison::{Comparison, SweepLine, SweepResult};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::phase::Phase;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::suite::Regime;

use super::{Table, factor, signed};
use crate::words::format::{duration, rate};

/// Time to first result and per call, with intervals, throughput, and the ratio to the reference.
pub fn times(case: &CaseResult) -> Table {
    let relative = format!("warm, relative to {}", case.reference);
    let mut table = Table::new(&[
        "arm",
        "cold-clean",
        "cold-primed",
        "warm, per call",
        "per second",
        &relative,
        "verdict",
        "results",
        "valid processes",
    ]);
    for arm in &case.arms {
        let cold = |regime: Regime| {
            let comparison = arm.regimes.iter().find(|comparison| comparison.regime == regime)?;
            Some(
                comparison.summary.as_ref()?.first_result.as_ref().map_or_else(String::new, signed),
            )
        };
        let warm = arm.regimes.iter().find_map(|comparison| comparison.warm.as_ref());
        let rates = warm
            .and_then(|warm| warm.throughput.as_ref())
            .map(|comparison| format!("{} {}", rate(comparison.per_second.point), comparison.unit));
        let verdict =
            case.comparisons.iter().find(|one| one.arm == arm.name && one.regime == Regime::Warm);
        let ratio = verdict.and_then(|one| one.ratio.as_ref()).map(factor);
        table.rows.push(vec![
            arm.name.clone(),
            cold(Regime::ColdClean).unwrap_or_default(),
            cold(Regime::ColdPrimed).unwrap_or_default(),
            warm.map_or_else(String::new, |warm| signed(&warm.per_call)),
            rates.unwrap_or_default(),
            ratio.unwrap_or_default(),
            verdict.map(judged).unwrap_or_default(),
            agreement(&arm.agreement),
            valid(arm),
        ]);
    }
    table.without_empty_columns()
}

/// Cold starts compared with the reference's: ratios with intervals, and their verdicts.
pub fn cold_verdicts(case: &CaseResult) -> Option<Table> {
    let regimes = [Regime::ColdClean, Regime::ColdPrimed];
    let [clean, primed] = regimes.map(|regime| format!("{regime}, relative to {}", case.reference));
    let mut table = Table::new(&["arm", &clean, "verdict", &primed, "verdict"]);
    for arm in case.arms.iter().filter(|arm| arm.name != case.reference) {
        let mut row = vec![arm.name.clone()];
        for regime in regimes {
            let comparison =
                case.comparisons.iter().find(|one| one.arm == arm.name && one.regime == regime);
            row.push(comparison.and_then(|one| one.ratio.as_ref()).map(factor).unwrap_or_default());
            row.push(comparison.map(judged).unwrap_or_default());
        }
        table.rows.push(row);
    }
    let table = table.without_empty_columns();
    (table.head.len() > 1).then_some(table)
}

/// A verdict, and the reason if the interval alone would give another one.
fn judged(comparison: &Comparison) -> String {
    match &comparison.why {
        Some(why) => format!("{}: {why}", comparison.verdict),
        None => comparison.verdict.to_string(),
    }
}

/// The number of valid samples, regime by regime.
fn valid(arm: &ArmResult) -> String {
    let select = |regime: &RegimeResult| {
        let valid = regime.samples.iter().filter(|sample| sample.valid).count();
        format!("{} {valid}", regime.regime)
    };
    arm.regimes.iter().map(select).collect::<Vec<_>>().join(", ")
}

fn agreement(agreed: &firstlight_schema::run::Agreed) -> String {
    use firstlight_schema::run::Agreed;
    match agreed {
        Agreed::Reference => "reference".to_owned(),
        Agreed::Equal => "equal".to_owned(),
        Agreed::Close { difference } => format!("close: {difference:.0e}"),
        Agreed::Sampled { difference } => format!("sampled: {difference:.0e}"),
        Agreed::Differs { .. } => "differ".to_owned(),
        Agreed::NotCompared { .. } => "not compared".to_owned(),
    }
}

/// The phases of the time to first result; `None` without a cold regime.
pub fn phases(case: &CaseResult, regime: Regime) -> Option<Table> {
    let rows: Vec<_> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let result = arm.regimes.iter().find(|result| result.regime == regime)?;
            Some((&arm.name, result.summary.as_ref()?.first_result_phases.as_ref()?))
        })
        .collect();
    let used = |phase: &Phase| {
        rows.iter()
            .any(|(_, result)| result.iter().any(|row| row.name == *phase && row.share >= 0.005))
    };
    let names: Vec<Phase> = Phase::ALL.into_iter().filter(used).collect();
    let mut table = Table::new(&["arm"]);
    table.head.extend(names.iter().map(ToString::to_string));
    for (arm, result) in &rows {
        let cell = |phase: &Phase| {
            let found = result.iter().find(|row| row.name == *phase);
            found.map_or_else(String::new, |row| duration(row.mean_ns))
        };
        table.rows.push([(*arm).clone()].into_iter().chain(names.iter().map(cell)).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The times of a sweep in one regime, the shortest at every value marked.
pub fn sweep_times(sweep: &SweepResult, regime: Regime) -> Option<Table> {
    let lines: Vec<&SweepLine> = sweep.lines.iter().filter(|line| line.regime == regime).collect();
    let first = lines.first()?;
    let mut table = Table::new(&["arm"]);
    table.head.extend(first.rows.iter().map(|row| format!("{} = {}", sweep.parameter, row.value)));
    let at = |line: &SweepLine, place: usize| line.rows.get(place).and_then(|row| row.time);
    let least = |place: usize| {
        let points = lines.iter().filter_map(|line| Some(at(line, place)?.point));
        points.min_by(f64::total_cmp).unwrap_or(f64::NAN)
    };
    for line in &lines {
        let cells = (0..first.rows.len()).map(|place| match at(line, place) {
            Some(Estimate { point, .. }) if point <= least(place) => {
                format!("**{}**", duration(point))
            }
            Some(Estimate { point, .. }) => duration(point),
            None => String::new(),
        });
        table.rows.push([line.arm.clone()].into_iter().chain(cells).collect());
    }
    Some(table)
}
