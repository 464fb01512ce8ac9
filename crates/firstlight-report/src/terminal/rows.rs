//! One row per arm and regime: the time, its interval, the number of processes, whether they are valid.

use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RegimeResult};
use firstlight_schema::summary::PhaseMean;

use super::page::{BOLD, DIM, Page};
use crate::svg::phases::letter;
use crate::terminal::bar::bar;
use crate::words::format::{duration, percent};
use crate::words::regime::label;
use crate::words::row::{Row, about};
use crate::words::table::{Align, columns};

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
    let Row { arm, regime, time, interval, processes, what, .. } = Row::new(arm, regime);
    vec![arm.to_owned(), regime.to_string(), time, interval, processes, what]
}

/// The agreement of the arms' results, and bounds of quantiles if requested.
pub(super) fn beside(page: &mut Page, case: &CaseResult) {
    let mut facts: Vec<(&str, String)> = Vec::new();
    for arm in &case.arms {
        let said = match &arm.agreement {
            Agreed::Reference | Agreed::Differs { .. } => continue,
            // firstlight does not see the results of commands.
            Agreed::NotCompared { .. } if arm.command.is_some() => continue,
            Agreed::Equal => "equal to the reference's".to_owned(),
            Agreed::Close { difference } => format!("close, {difference:.1e} of their size apart"),
            Agreed::Sampled { difference } => {
                format!("close in the sampled elements, {difference:.1e} of their size apart")
            }
            Agreed::NotCompared { why } => format!("not compared: {why}"),
        };
        let name = if facts.is_empty() { "results" } else { "" };
        facts.push((name, format!("{}: {said}", arm.name)));
    }
    for arm in &case.arms {
        for result in &arm.regimes {
            for bound in &result.quantiles {
                facts.push((
                    "quantile",
                    format!(
                        "{}, {}: {} of processes take at most {}, with 95 % confidence",
                        arm.name,
                        label(result),
                        percent(bound.quantile),
                        duration(bound.at_most_ns),
                    ),
                ));
            }
        }
    }
    if !facts.is_empty() {
        page.gap();
        page.facts(&facts);
    }
}

/// The phases of the time to first result, a bar for each arm and cold regime.
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
    let name = |arm: &ArmResult, regime: &RegimeResult| format!("{}, {}", arm.name, label(regime));
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
    page.gap();
    let about = match about(case) {
        about if about.is_empty() => about,
        about => format!("  {about}"),
    };
    page.sentence(&format!("{BOLD}{}{BOLD:#}{about}", case.name));
}
