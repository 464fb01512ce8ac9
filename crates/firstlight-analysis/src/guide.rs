//! How many warm processes and calls are enough. It looks at widths only, never at a p value:
//! stopping when something is significant would make one run in four find what is not there.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use crate::compare::{pairs, values};
use crate::stats::{Ratio, log_mean};
use crate::warm::summarise_warm;

/// Intervals of runs that stop by width cover a little less than they say, so they are made a
/// little narrower than was asked.
const TIGHTER: f64 = 0.95;
/// A window needs some calls to show that it is steady.
const FEWEST_CALLS: u32 = 50;

/// Whether the interval of every ratio to the reference, the first arm, is as narrow as asked.
pub fn is_narrow_enough(arms: &[Vec<Sample>], target: f64) -> bool {
    let times: Vec<Vec<(u32, f64)>> =
        arms.iter().map(|samples| values(samples, Regime::Warm)).collect();
    let Some((reference, others)) = times.split_first() else { return true };
    if others.is_empty() {
        let means: Vec<f64> = reference.iter().map(|&(_, value)| value).collect();
        return means.is_empty() || log_mean(&means).is_some_and(|e| is_narrow(&e, target));
    }
    others
        .iter()
        .map(|other| pairs(reference, other))
        // More of what is always invalid would change nothing.
        .filter(|pairs| !pairs.is_empty())
        .all(|pairs| Ratio::paired(&pairs).is_some_and(|r| is_narrow(&r.estimate, target)))
}

fn is_narrow(estimate: &Estimate, target: f64) -> bool {
    estimate.interval.is_some_and(|interval| {
        (interval.high / interval.low).ln() / 2.0 <= target.ln_1p() * TIGHTER
    })
}

/// How many calls the next processes of an arm are to make, from how calls and processes differ.
pub fn calls(samples: &[Sample]) -> Option<u32> {
    let summary = summarise_warm(samples, None, 0)?;
    let settling =
        samples.iter().filter_map(|sample| sample.window.as_ref()?.steady_from).max().unwrap_or(0);
    Some(summary.best_calls?.max(FEWEST_CALLS).saturating_add(settling))
}
