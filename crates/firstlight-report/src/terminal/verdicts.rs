//! Verdicts and break-evens in words.

use firstlight_schema::comparison::{AgainResult, BreakEven, Comparison};
use firstlight_schema::run::CaseResult;

use super::page::{BOLD, DIM, Page};
use crate::terminal::plot::{Draw, Series, plot};
use crate::words::verdict::{answer, coverage, verdict};

const WIDEST_PLOT: usize = 76;

pub(super) fn verdicts(page: &mut Page, comparisons: &[Comparison]) {
    if !comparisons.is_empty() {
        page.gap();
    }
    for comparison in comparisons {
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", comparison.regime, verdict(comparison)));
    }
    if let Some(note) = coverage(comparisons) {
        page.sentence(&format!("{DIM}{note}{DIM:#}"));
    }
}

/// The control in a sentence.
pub(super) fn control(page: &mut Page, control: &AgainResult) {
    page.gap();
    let ratios: Vec<String> = control
        .comparisons
        .iter()
        .filter_map(|one| Some(format!("{} {:.3}", one.regime, one.ratio?.point)))
        .collect();
    let ratios = ratios.join(", ");
    let (arm, case) = (&control.arm, &control.case);
    let said = match control.passed {
        None if ratios.is_empty() => format!("not measured: no valid pair of two copies of {arm}"),
        None => format!(
            "inconclusive: more processes are needed to show that two copies of {arm} in {case} are \
             equivalent ({ratios})"
        ),
        Some(true) => {
            format!("passed: no difference between two copies of {arm} in {case} ({ratios})")
        }
        Some(false) => format!("FAILED: two copies of {arm} in {case} differ ({ratios})"),
    };
    page.sentence(&format!("{BOLD}A/A control{BOLD:#} {said}"));
}

/// Break-evens in words, and the first crossing as a picture.
pub(super) fn break_evens(page: &mut Page, case: &CaseResult) {
    if case.break_evens.is_empty() {
        return;
    }
    page.gap();
    for even in &case.break_evens {
        page.sentence(&format!("{BOLD}break-even{BOLD:#}, {}: {}", even.cold, answer(even)));
    }
    if let Some(even) = case.break_evens.iter().find(|even| even.calls.is_some()) {
        picture(page, even);
    }
}

/// Total time against calls, for one pair of arms.
fn picture(page: &mut Page, even: &BreakEven) {
    let (a, b) = letters(&even.against, &even.arm);
    let series = [
        Series {
            letter: a,
            points: even.curve.iter().map(|total| (total.calls, total.against_ns)).collect(),
            name: &even.against,
        },
        Series {
            letter: b,
            points: even.curve.iter().map(|total| (total.calls, total.arm_ns)).collect(),
            name: &even.arm,
        },
    ];
    let width = page.width().saturating_sub(10).min(WIDEST_PLOT);
    let Some(lines) = plot(&series, Draw::Lines, width) else { return };
    page.gap();
    let names: Vec<String> =
        series.iter().map(|one| format!("{} {}", one.letter, one.name)).collect();
    page.sentence(&format!("  total time against calls, {}: {}", even.cold, names.join(", ")));
    for line in lines {
        page.line(&format!("  {line}"));
    }
}

/// A letter for each of two names, their first ones if these differ.
pub(super) fn letters(first: &str, second: &str) -> (char, char) {
    let initial = |name: &str| name.chars().find(char::is_ascii_alphanumeric);
    match (initial(first), initial(second)) {
        (Some(a), Some(b)) if a != b => (a, b),
        _ => ('a', 'b'),
    }
}
