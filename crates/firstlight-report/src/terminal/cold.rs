//! Unchanged commands: one in full, several side by side.

use std::fmt::Write as _;

use firstlight_schema::cache::{CachePolicy, Policy};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::summary::Summary;

use super::evidence::{hooks, invalid, notices};
use super::page::{BOLD, Page};
use super::sheet::{Depth, headline, sheet};
use crate::words::diagnosis;
use crate::words::format::{duration, fit, policy};
use crate::words::regime::label;

/// The case of a run that measures unchanged commands.
pub(super) fn commands(document: &RunDocument) -> Option<&CaseResult> {
    let [case] = document.cases.as_slice() else { return None };
    case.arms.iter().all(|arm| arm.command.is_some()).then_some(case)
}

/// The only command and regime of a case, if there is only one.
pub(super) fn only(case: &CaseResult) -> Option<(&ArmResult, &RegimeResult)> {
    let [arm] = case.arms.as_slice() else { return None };
    let [regime] = arm.regimes.as_slice() else { return None };
    Some((arm, regime))
}

/// One command in one regime.
pub(super) fn command(page: &mut Page, arm: &ArmResult, regime: &RegimeResult) {
    title(page, arm);
    let shown = regime.summary.as_ref().or(regime.invalid_summary.as_deref());
    page.sentence(&conditions(regime.samples.len(), regime.policy, shown));
    page.gap();
    if regime.summary.is_none() {
        page.sentence(&no_valid_sample(&regime.samples));
        page.gap();
    }
    if let Some(summary) = shown {
        let longest = headline(summary).1;
        sheet(page, summary, &regime.samples, longest, Depth::Imports);
    }
    if let Some(price) = &regime.hooks {
        hooks(page, price);
    }
    invalid(page, &regime.samples);
    notices(page, &regime.notices);
    page.gap();
    for line in &regime.diagnosis {
        page.sentence(&diagnosis::line(line));
    }
}

/// The commands of a case, each under its name.
pub(super) fn titles(page: &mut Page, case: &CaseResult) {
    for arm in &case.arms {
        let words = arm.command.as_deref().unwrap_or_default().join(" ");
        let room = page.width().saturating_sub(arm.name.len() + 2);
        page.line(&format!("{BOLD}{}{BOLD:#}: {}", arm.name, fit(&words, room)));
    }
}

pub(super) fn title(page: &mut Page, arm: &ArmResult) {
    let words = arm.command.as_deref().unwrap_or_default().join(" ");
    let words = fit(&words, page.width());
    page.line(&format!("{BOLD}{words}{BOLD:#}"));
}

/// The phases in which two commands differ: `b is 1.80 s faster than a: import −1.10 s`.
pub(super) fn differences(page: &mut Page, case: &CaseResult) {
    let Some(reference) = case.arms.iter().find(|arm| arm.name == case.reference) else { return };
    for arm in case.arms.iter().filter(|arm| arm.name != reference.name) {
        for regime in &arm.regimes {
            let other = reference.regimes.iter().find(|known| known.regime == regime.regime);
            let summaries =
                other.and_then(|other| other.summary.as_ref().zip(regime.summary.as_ref()));
            if let Some((theirs, ours)) = summaries {
                let line = difference(&arm.name, ours, theirs, &reference.name);
                let place = if arm.regimes.len() > 1 {
                    format!("{}: ", label(regime))
                } else {
                    String::new()
                };
                page.sentence(&format!("{place}{line}"));
            }
        }
    }
}

fn difference(arm: &str, ours: &Summary, theirs: &Summary, reference: &str) -> String {
    const SHOWN: usize = 4;
    const WORTH_A_WORD: f64 = 0.01;
    let mean = |summary: &Summary, phase: Phase| {
        let row = headline(summary).0.iter().find(|row| row.name == phase);
        row.map_or(0.0, |row| row.mean_ns)
    };
    let mut phases: Vec<(Phase, f64)> =
        Phase::ALL.iter().map(|&phase| (phase, mean(ours, phase) - mean(theirs, phase))).collect();
    let total: f64 = phases.iter().map(|(_, ns)| ns).sum();
    let whole: f64 = headline(theirs).0.iter().map(|row| row.mean_ns).sum();
    phases.retain(|(_, ns)| ns.abs() >= WORTH_A_WORD * whole);
    phases.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let signed = |ns: f64| {
        let sign = if ns < 0.0 { '−' } else { '+' };
        format!("{sign}{}", duration(ns.abs()))
    };
    let parts: Vec<String> =
        phases.iter().take(SHOWN).map(|(phase, ns)| format!("{phase} {}", signed(*ns))).collect();
    let how = if total < 0.0 { "faster" } else { "slower" };
    let mut text = format!("{arm} is {} {how} than {reference} on average", duration(total.abs()));
    if !parts.is_empty() {
        write!(text, ": {}", parts.join(", ")).expect("writing to a string");
    }
    text
}

/// The reason why the ledger below is not a result.
pub(super) fn no_valid_sample(samples: &[Sample]) -> String {
    let reason = samples.iter().flat_map(|sample| &sample.reasons).next();
    let reason = reason.map_or_else(|| "nothing was measured".to_owned(), ToString::to_string);
    format!("{BOLD}INVALID{BOLD:#}: {reason}")
}

pub(super) fn conditions(
    samples: usize,
    policies: CachePolicy,
    summary: Option<&Summary>,
) -> String {
    let processes = if samples == 1 { "process" } else { "processes" };
    let mut text = format!(
        "{samples} fresh {processes}, compiler caches {}{}, byte code {}",
        policy(policies.compilers),
        summary.map_or_else(String::new, switches),
        policy(policies.bytecode),
    );
    if policies.page_cache != Policy::AsFound {
        write!(text, ", page cache {}", policy(policies.page_cache)).expect("writing to a string");
    }
    text
}

/// The caches that were on and off: ` (inductor on, jax off)`; empty if no framework reports it.
pub(super) fn switches(summary: &Summary) -> String {
    let counts = summary.caches.iter().filter_map(|layer| {
        let on = if layer.enabled? { "on" } else { "off" };
        Some(format!("{} {on}", layer.layer))
    });
    match counts.collect::<Vec<_>>() {
        counts if counts.is_empty() => String::new(),
        counts => format!(" ({})", counts.join(", ")),
    }
}
