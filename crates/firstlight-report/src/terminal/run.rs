//! The document `run` as text.

use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;

use super::evidence::{invalid, notices};
use super::page::{BOLD, Page};
use super::sheet::{Depth, headline, sheet};
use crate::format::fit;
use crate::sentence;

pub(super) fn run(page: &mut Page, document: &RunDocument) {
    for case in &document.cases {
        case_(page, case);
    }
    page.gap();
    for case in &document.cases {
        for arm in &case.arms {
            if let Some(sentence) = closing(case, arm) {
                page.sentence(&sentence);
            }
        }
    }
}

fn case_(page: &mut Page, case: &CaseResult) {
    let parameters: Vec<String> =
        case.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let room = page.width().saturating_sub(case.name.len() + 2);
    page.gap();
    page.line(&format!("{BOLD}{}{BOLD:#}  {}", case.name, fit(&parameters.join(", "), room)));
    let longest = case
        .arms
        .iter()
        .flat_map(|arm| &arm.regimes)
        .filter_map(|regime| regime.summary.as_ref())
        .map(|summary| headline(summary).1)
        .fold(0.0, f64::max);
    for arm in &case.arms {
        for regime in &arm.regimes {
            regime_(page, arm, regime, longest);
        }
        if let Some(stopped) = &arm.stopped {
            notices(page, std::slice::from_ref(stopped));
        }
    }
}

fn regime_(page: &mut Page, arm: &ArmResult, regime: &RegimeResult, longest: f64) {
    page.gap();
    page.line(&format!("{BOLD}{}{BOLD:#}, {}", arm.name, regime.regime));
    match &regime.summary {
        Some(summary) => sheet(page, summary, &regime.samples, longest, Depth::Usual),
        None => page.line("  no valid sample"),
    }
    invalid(page, &regime.samples);
    notices(page, &regime.notices);
}

/// What the evidence says of one arm, in a sentence or two.
fn closing(case: &CaseResult, arm: &ArmResult) -> Option<String> {
    let summary_of =
        |regime: Regime| arm.regimes.iter().find(|known| known.regime == regime)?.summary.as_ref();
    let (clean, primed) = (summary_of(Regime::ColdClean), summary_of(Regime::ColdPrimed));
    let first = sentence::largest(clean.or(primed)?);
    let second = clean.zip(primed).and_then(|(a, b)| sentence::primed_against_clean(a, b));
    let words = [Some(first), second].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(format!("{}, {}: {words}", case.name, arm.name))
}
