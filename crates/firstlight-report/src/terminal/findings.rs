//! What is wrong or worth knowing, with what to do about it.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult};
use firstlight_schema::suite::Regime;

use super::page::{BOLD, Page};

/// All findings of a case: invalid samples first, each reason once with how often it came.
pub(super) fn findings(page: &mut Page, case: &CaseResult) {
    let mut told: Vec<Finding> = Vec::new();
    for arm in &case.arms {
        for regime in &arm.regimes {
            invalid(page, arm, regime, &mut told);
            for notice in &regime.notices {
                tell(page, &place(arm, Some(regime.regime)), notice, &mut told);
            }
        }
        for finding in arm.findings.iter().chain(&arm.stopped) {
            tell(page, &place(arm, None), finding, &mut told);
        }
    }
    if !told.is_empty() {
        page.gap();
    }
}

fn place(arm: &ArmResult, regime: Option<Regime>) -> String {
    match regime {
        Some(regime) => format!("{}, {regime}", arm.name),
        None => arm.name.clone(),
    }
}

/// The reasons of invalid samples: the first of each kind, and how many samples carry it.
fn invalid(page: &mut Page, arm: &ArmResult, regime: &RegimeResult, told: &mut Vec<Finding>) {
    let reasons = || regime.samples.iter().flat_map(|sample| &sample.reasons);
    let mut seen: Vec<Finding> = Vec::new();
    for reason in reasons() {
        if seen.contains(&reason.finding) {
            continue;
        }
        seen.push(reason.finding);
        let carriers = regime
            .samples
            .iter()
            .filter(|sample| sample.reasons.iter().any(|other| other.finding == reason.finding));
        let all = regime.samples.len();
        let text = format!("{} (invalid: {} of {all} processes)", reason.text, carriers.count());
        tell(page, &place(arm, Some(regime.regime)), &Reason::new(reason.finding, text), told);
    }
}

/// A finding, and what to do about it the first time it comes.
pub(super) fn tell(page: &mut Page, place: &str, reason: &Reason, told: &mut Vec<Finding>) {
    if told.is_empty() {
        page.gap();
    }
    page.sentence(&format!("{BOLD}{}{BOLD:#}: {place}: {}", reason.finding, reason.text));
    if !told.contains(&reason.finding) {
        told.push(reason.finding);
        if let Some(advice) = reason.finding.advice() {
            page.sentence(&format!("  → {advice}"));
        }
    }
}
