//! One row per arm and regime: the time, its interval, how many processes, whether they count.

use firstlight_schema::cold::PhaseMean;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::suite::Regime;

use super::page::{BOLD, DIM, Page};
use crate::bar::{bar, letter};
use crate::format::{duration, rate};
use crate::headline::headline;
use crate::table::{Align, columns};

/// The table of a case.
pub(super) fn rows(page: &mut Page, case: &CaseResult) {
    let narrow = page.width() < 72;
    let mut rows = vec![
        ["arm", "regime", "time", "95 % interval", "processes", ""].map(str::to_owned).to_vec(),
    ];
    for arm in &case.arms {
        rows.extend(arm.regimes.iter().map(|regime| row(arm, regime)));
    }
    if narrow {
        for row in &mut rows {
            row.truncate(5);
            row.remove(3);
        }
    }
    let align = [Align::Left, Align::Left, Align::Right, Align::Left, Align::Left, Align::Left];
    let align = if narrow { &align[..4] } else { &align[..] };
    for (index, line) in columns(align, &rows, page.width() - 2).iter().enumerate() {
        match index {
            0 => page.line(&format!("  {DIM}{line}{DIM:#}")),
            _ => page.line(&format!("  {line}")),
        }
    }
}

fn row(arm: &ArmResult, regime: &RegimeResult) -> Vec<String> {
    let estimate = headline(regime);
    let valid = regime.samples.iter().filter(|sample| sample.valid).count();
    let processes = match regime.samples.len() {
        all if all == valid => format!("{valid}"),
        all => format!("{valid} of {all} valid"),
    };
    let (time, interval) = match estimate {
        Some(estimate) => (
            duration(estimate.point),
            estimate.interval.map_or_else(
                || "too few".to_owned(),
                |interval| format!("{} to {}", duration(interval.low), duration(interval.high)),
            ),
        ),
        None if regime.samples.is_empty() => ("none".to_owned(), String::new()),
        None if valid == 0 => ("invalid".to_owned(), String::new()),
        None => ("not steady".to_owned(), String::new()),
    };
    let what = match &regime.warm {
        Some(warm) => warm.throughput.as_ref().map_or_else(
            || "mean per call".to_owned(),
            |of| format!("mean per call, {} {}/s", rate(of.per_second.point), of.unit),
        ),
        None if estimate.is_some() => match regime.regime {
            Regime::Fresh => "median of whole processes".to_owned(),
            Regime::ColdClean | Regime::ColdPrimed | Regime::Warm => {
                "median to first result".to_owned()
            }
        },
        None => String::new(),
    };
    vec![arm.name.clone(), regime.regime.to_string(), time, interval, processes, what]
}

/// Where the time to first result goes, a bar for each arm and cold regime.
pub(super) fn bars(page: &mut Page, case: &CaseResult) {
    let cold: Vec<(&ArmResult, &RegimeResult, &[PhaseMean], f64)> = case
        .arms
        .iter()
        .flat_map(|arm| arm.regimes.iter().map(move |regime| (arm, regime)))
        .filter(|(_, regime)| regime.regime.is_cold())
        .filter_map(|(arm, regime)| {
            let summary = regime.summary.as_ref()?;
            Some((
                arm,
                regime,
                summary.first_result_phases.as_deref()?,
                summary.first_result?.point,
            ))
        })
        .collect();
    let longest = cold.iter().map(|row| row.3).fold(0.0, f64::max);
    let name = |arm: &ArmResult, regime: &RegimeResult| format!("{}, {}", arm.name, regime.regime);
    let margin = cold.iter().map(|(arm, regime, ..)| name(arm, regime).len()).max().unwrap_or(0);
    let room = page.width().saturating_sub(margin + 4);
    if cold.is_empty() || room < 16 {
        return;
    }
    page.gap();
    let mut seen: Vec<&PhaseMean> = Vec::new();
    for (arm, regime, phases, point) in &cold {
        let bar = bar(phases, super::sheet::cells(room, point / longest));
        page.line(&format!("  {:margin$}  {bar}", name(arm, regime)));
        let shown = phases.iter().filter(|row| bar.contains(letter(row.name)));
        for row in shown {
            if !seen.iter().any(|known| known.name == row.name) {
                seen.push(row);
            }
        }
    }
    seen.sort_by_key(|row| row.name);
    let legend: Vec<String> =
        seen.iter().map(|row| format!("{} {}", letter(row.name), row.name)).collect();
    page.facts(&[(&" ".repeat(margin), legend.join(", "))]);
}

/// The title of a case.
pub(super) fn title(page: &mut Page, case: &CaseResult) {
    let mut words: Vec<String> =
        case.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if let Some(work) = case.work.as_ref().filter(|work| work.per_call > 1.0) {
        words.push(format!("{} {} per call", work.per_call, work.unit));
    }
    page.gap();
    let about = if words.is_empty() { String::new() } else { format!("  {}", words.join(", ")) };
    page.sentence(&format!("{BOLD}{}{BOLD:#}{about}", case.name));
}
