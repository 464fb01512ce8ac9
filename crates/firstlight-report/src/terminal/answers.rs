//! The answers of a suite: planted mistakes, overheads, and the fastest arm for each number of calls.

use firstlight_analysis::sweep::beyond_reference;
use firstlight_schema::comparison::{Mistaken, SweepResult};
use firstlight_schema::run::{CaseResult, RunDocument};
use firstlight_schema::suite::Regime;

use super::page::{BOLD, Page};
use crate::words::table::Align;
use crate::words::tables::{self, Table, factor, signed};

/// With more arms there are too many pairs to read.
const FEW_ARMS: usize = 3;

/// Whether every pair of arms gets a sentence.
fn has_few_arms(case: &CaseResult) -> bool {
    case.arms.len() <= FEW_ARMS
}

fn show(page: &mut Page, table: &Table) {
    let mut align = vec![Align::Right; table.head.len()];
    align[0] = Align::Left;
    page.columns(&align, &table.lines());
}

/// The fastest arm for each number of calls, for each cold regime.
pub(super) fn cheapest(page: &mut Page, case: &CaseResult) {
    if has_few_arms(case) {
        return;
    }
    for cold in [Regime::ColdClean, Regime::ColdPrimed] {
        if let Some(table) = tables::cheapest(case, cold) {
            page.gap();
            page.line(&format!("{BOLD}which arm for how many calls{BOLD:#}, {cold}"));
            show(page, &table);
        }
    }
}

/// The time of calls beyond their baseline.
pub(super) fn overheads(page: &mut Page, case: &CaseResult) {
    if let Some(table) = tables::overheads(case) {
        page.gap();
        page.line(&format!("{BOLD}overhead{BOLD:#}, beyond the baseline of each arm"));
        show(page, &table);
    }
}

/// The overhead over a swept parameter, with its slope: beyond the baseline and the reference arm.
pub(super) fn slopes(page: &mut Page, document: &RunDocument, sweep: &SweepResult) {
    let beyond = beyond_reference(&document.cases, sweep);
    for (what, one) in [("baseline", sweep), ("reference arm", &beyond)] {
        if let Some(table) = tables::slopes(one) {
            page.gap();
            let title =
                format!("{BOLD}overhead{BOLD:#} beyond the {what} against {}", one.parameter);
            page.line(&title);
            show(page, &table);
        }
    }
}

/// A planted mistake: the wrong number and the right one side by side.
pub(super) fn planted(page: &mut Page, case: &CaseResult) {
    let Some(one) = &case.planted else { return };
    page.gap();
    let found = if one.refused { "refused" } else { "NOT NOTICED" };
    page.sentence(&format!(
        "{BOLD}planted mistake, {found}{BOLD:#}: {} is {} with a mistake",
        case.name, one.of
    ));
    for row in &one.rows {
        let why = match row.findings.as_slice() {
            [] => "not touched by it".to_owned(),
            names => format!("refused for {}", names.join(", ")),
        };
        let mut said = vec![side_by_side("time per call", &row.time, signed)];
        if let Some(overhead) = &row.overhead {
            said.push(side_by_side("overhead", overhead, signed));
        }
        if let Some(speed_up) = &row.speed_up {
            said.push(side_by_side(&format!("speed-up over {}", case.reference), speed_up, factor));
        }
        let said: Vec<String> = said.into_iter().flatten().collect();
        page.sentence(&format!("  {BOLD}{}{BOLD:#}: {}; {why}", row.arm, said.join("; ")));
    }
}

fn side_by_side(
    what: &str,
    mistaken: &Mistaken,
    how: fn(&firstlight_schema::estimate::Estimate) -> String,
) -> Option<String> {
    let (wrong, right) = (mistaken.wrong.as_ref()?, mistaken.right.as_ref()?);
    let apart = mistaken
        .factor
        .as_ref()
        .map_or_else(String::new, |apart| format!(", a factor of {}", factor(apart)));
    Some(format!("{what} {} wrong, {} right{apart}", how(wrong), how(right)))
}
