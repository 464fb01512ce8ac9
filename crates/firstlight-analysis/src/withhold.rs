//! Reasons to withhold a verdict although both arms have numbers: different results, a failed control, calls
//! without a steady level.

use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::run::{Agreed, ArmResult, RegimeResult, RunOptions};
use firstlight_schema::suite::{Agreement, Regime};

use crate::agreement::{asked_precision, compare_arms};
use crate::compare::refuse;
use crate::stats::count;
use crate::stats::limits::MOST_UNSETTLED;
use crate::warm::{Settling, drift_of_arm, settling};

/// The conditions of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) regime: Regime,
    /// Regimes in which two copies of one arm differ.
    pub(crate) failed: &'a [Regime],
    pub(crate) options: &'a RunOptions,
    pub(crate) margin: f64,
}

/// Withholds a verdict if there is a reason against it.
pub(crate) fn withhold(
    comparison: &mut Comparison,
    arm: &ArmResult,
    against: &ArmResult,
    terms: Terms<'_>,
) {
    if comparison.verdict == Verdict::Invalid {
        return;
    }
    if let Some(why) = differs(arm, against, terms) {
        return refuse(comparison, why);
    }
    let Some(why) = unsettled(arm, terms).or_else(|| unsettled(against, terms)) else { return };
    if holds_at_every_level(comparison, arm, against) {
        comparison.why = Some(format!("{why}, but it holds at every level that was seen"));
    } else {
        refuse(comparison, why);
    }
}

/// The reason why two arms cannot be compared in a regime although both have numbers.
pub(crate) fn why_not(arm: &ArmResult, against: &ArmResult, terms: Terms<'_>) -> Option<String> {
    differs(arm, against, terms)
        .or_else(|| unsettled(arm, terms))
        .or_else(|| unsettled(against, terms))
}

/// Different results, or a failed control, which makes differences meaningless.
fn differs(arm: &ArmResult, against: &ArmResult, terms: Terms<'_>) -> Option<String> {
    let Terms { regime, failed, options, .. } = terms;
    let wrong_type = |arm: &ArmResult| {
        asked_precision(arm, options).map(|reason| format!("{}: {}", arm.name, reason.text))
    };
    match compare_arms(arm, against, options) {
        Agreed::Differs { how } => return Some(how),
        Agreed::NotCompared { why } if options.outputs != Agreement::Unchecked => {
            return Some(format!("the results were not compared: {why}"));
        }
        _ => {}
    }
    if regime.is_cold() && marks_first_result(arm, regime) != marks_first_result(against, regime) {
        return Some("only one of the two arms marks its first result".to_owned());
    }
    wrong_type(arm).or_else(|| wrong_type(against)).or_else(|| {
        let failed = failed.contains(&regime);
        failed.then(|| "the A/A control failed: two copies of the reference differ".to_owned())
    })
}

/// Whether times of a cold regime end at the first result, and not at the exit.
fn marks_first_result(arm: &ArmResult, regime: Regime) -> bool {
    let found = arm.regimes.iter().find(|known| known.regime == regime);
    let mut valid = found.iter().flat_map(|result| &result.samples).filter(|sample| sample.valid);
    valid.any(|sample| sample.first_result.is_some())
}

/// The reason why an arm's warm processes have no common level: too many never settle, or all drift in the
/// same way.
fn unsettled(arm: &ArmResult, terms: Terms<'_>) -> Option<String> {
    let found = warm(arm).filter(|_| terms.regime == Regime::Warm)?;
    let Settling { valid, settled, .. } = settling(&found.samples, terms.margin);
    if count(valid - settled) > MOST_UNSETTLED * count(valid) {
        let name = &arm.name;
        return Some(format!("{} of {valid} processes of {name} never settled", valid - settled));
    }
    let change = drift_of_arm(&found.samples)?;
    let interval = change.interval?;
    let drifts = interval.low > 0.0 || interval.high < 0.0;
    (drifts && change.point.abs() > terms.margin).then(|| {
        let how = if change.point > 0.0 { "slower" } else { "faster" };
        let percent = change.point.abs() * 100.0;
        format!("the calls of {} grow {how} by {percent:.1} % in a window", arm.name)
    })
}

/// Whether a claim also holds between the slowest level of one arm and the fastest of the other, over all
/// their processes: then it does not matter at which level they would settle.
fn holds_at_every_level(comparison: &Comparison, arm: &ArmResult, against: &ArmResult) -> bool {
    let (Some(arm), Some(against)) = (levels(arm), levels(against)) else { return false };
    let edge = 1.0 + comparison.margin;
    match comparison.verdict {
        Verdict::Faster => arm.1 * edge < against.0,
        Verdict::Slower => against.1 * edge < arm.0,
        Verdict::Equivalent
        | Verdict::Inconclusive
        | Verdict::TooFew
        | Verdict::NotConfirmed
        | Verdict::Invalid => false,
    }
}

/// The lowest and the highest level of all valid processes, slow starts included.
fn levels(arm: &ArmResult) -> Option<(f64, f64)> {
    let samples = warm(arm)?.samples.iter().filter(|sample| sample.valid);
    let windows: Option<Vec<_>> = samples.map(|sample| sample.window.as_ref()).collect();
    let windows = windows?;
    if windows.iter().any(|window| window.segments.is_empty()) {
        return None;
    }
    let means = || windows.iter().flat_map(|window| &window.segments).map(|segment| segment.mean);
    Some((means().reduce(f64::min)?, means().reduce(f64::max)?))
}

fn warm(arm: &ArmResult) -> Option<&RegimeResult> {
    arm.regimes.iter().find(|found| found.regime == Regime::Warm)
}
