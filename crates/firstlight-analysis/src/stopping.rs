//! Stopping rules: an arm that always fails is abandoned, and a case with narrow intervals is complete.
//!
//! Completeness depends on widths only, never on a p value: stopping on significance would find a difference
//! between identical arms in one run of four.

use std::collections::BTreeMap;

use firstlight_schema::cache::CachePolicy;
use firstlight_schema::estimate::Estimate;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::message::Message;
use firstlight_schema::reading::{Outcome, RawSample, SampleRole};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::{ArmFile, Regime, SuiteFile};

use crate::compare::{pairs, values};
use crate::evidence::structural;
use crate::stats::limits::FEWEST_CALLS_PLANNED;
use crate::stats::{Ratio, log_mean};
use crate::warm::summarise_warm;

/// An arm that fails this often in a row is abandoned.
const FAILURES_IN_A_ROW: u32 = 2;

/// Errors that the next process would raise again.
const ALWAYS_RAISED: [&str; 2] = ["ModuleNotFoundError", "ImportError"];

/// Intervals of runs that stop by width have slightly less than their nominal coverage, so they are made
/// slightly narrower than requested.
const TIGHTER: f64 = 0.95;

/// Follows the processes of an arm and decides when to abandon it. A run applies this rule, and a stored run
/// is checked against it.
#[derive(Clone, Debug, Default)]
pub struct GiveUp {
    /// Consecutive failures by regime and by whether the process is a control, so that a process that always
    /// fails is not excused by another that works.
    failures: BTreeMap<(Option<Regime>, bool), u32>,
}

/// The declared conditions of an arm's process.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    policy: CachePolicy,
    /// An unchanged command: it is not started again if it fails the first time, and continues if it fails
    /// later.
    is_process: bool,
    any_exit_code: bool,
}

impl Terms {
    pub fn new(suite: &SuiteFile, arm: &str, regime: Option<Regime>) -> Self {
        Self {
            policy: suite.policy(arm, regime.unwrap_or(Regime::ColdPrimed)),
            is_process: suite.arm(arm).is_some_and(ArmFile::is_process),
            any_exit_code: suite.sampling.any_exit_code,
        }
    }

    fn failure(self, sample: &RawSample) -> Option<String> {
        let allowed = self.any_exit_code && matches!(sample.outcome, Outcome::Exited { .. });
        failure(sample).filter(|_| !allowed && !sample.misses_firstlight())
    }
}

impl GiveUp {
    /// The reason for abandoning the arm after this process, if it is abandoned.
    pub fn after(
        &mut self,
        sample: &RawSample,
        regime: Option<Regime>,
        terms: Terms,
    ) -> Option<Reason> {
        let key = (regime, sample.role == SampleRole::Control);
        let is_first = !self.failures.contains_key(&key);
        let failures = self.failures.entry(key).or_default();
        let Some(why) = terms.failure(sample) else {
            *failures = 0;
            let measured = sample.role == SampleRole::Measured;
            return structural(sample, terms.policy).filter(|_| measured);
        };
        if terms.is_process && (!is_first || sample.outcome == Outcome::Interrupted) {
            return None;
        }
        let always = ALWAYS_RAISED.iter().any(|name| why.starts_with(name));
        let text = match sample.role {
            SampleRole::Priming => {
                format!("the priming process failed: {why}")
            }
            SampleRole::Measured | SampleRole::Control if always || terms.is_process => why,
            SampleRole::Measured | SampleRole::Control => {
                *failures += 1;
                if *failures < FAILURES_IN_A_ROW {
                    return None;
                }
                format!("failed {FAILURES_IN_A_ROW} times in a row: {why}")
            }
        };
        Some(Reason::new(Finding::ProcessFailed, text))
    }
}

/// The exception of a process with its line, or its exit; `None` if it succeeded.
fn failure(sample: &RawSample) -> Option<String> {
    let raised = sample.messages.iter().find_map(|message| match message {
        Message::Failed(failed) => Some(failed),
        _ => None,
    });
    match raised {
        Some(failed) => Some(match line(&failed.traceback) {
            Some(line) => format!("{} ({line})", failed.error),
            None => failed.error.clone(),
        }),
        None if sample.outcome == Outcome::Completed => None,
        None => Some(sample.outcome.to_string()),
    }
}

/// The innermost line of a Python traceback outside installed packages: `train.py:12`.
fn line(traceback: &str) -> Option<String> {
    let frames: Vec<(&str, &str)> = traceback
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("File \"")?.split_once("\", line "))
        .collect();
    let own = frames.iter().rev().find(|(file, _)| {
        !file.contains("-packages/") && !file.contains("/firstlight/") && !file.starts_with('<')
    });
    let (file, rest) = own.or(frames.last())?;
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{}:{number}", file.rsplit('/').next().unwrap_or(file)))
}

/// Whether the interval of every ratio to the reference, the first arm, is as narrow as requested.
pub fn is_narrow_enough<T: AsRef<[Sample]>>(arms: &[T], target: f64) -> bool {
    let times: Vec<Vec<(u32, f64)>> =
        arms.iter().map(|samples| values(samples.as_ref(), Regime::Warm)).collect();
    let Some((reference, others)) = times.split_first() else { return true };
    if others.is_empty() {
        let means: Vec<f64> = reference.iter().map(|&(_, value)| value).collect();
        return means.is_empty() || log_mean(&means).is_some_and(|e| is_narrow(&e, target));
    }
    others
        .iter()
        .map(|other| pairs(reference, other))
        // More invalid samples would change nothing.
        .filter(|pairs| !pairs.is_empty())
        .all(|pairs| Ratio::paired(&pairs).is_some_and(|r| is_narrow(&r.estimate, target)))
}

fn is_narrow(estimate: &Estimate, target: f64) -> bool {
    estimate.interval.is_some_and(|interval| {
        (interval.high / interval.low).ln() / 2.0 <= target.ln_1p() * TIGHTER
    })
}

/// The number of calls for the next processes of an arm, computed from the variances of calls and processes.
pub fn calls(samples: &[Sample]) -> Option<u32> {
    let summary = summarise_warm(samples, None, 0)?;
    let settling =
        samples.iter().filter_map(|sample| sample.window.as_ref()?.steady_from).max().unwrap_or(0);
    Some(summary.best_calls?.max(FEWEST_CALLS_PLANNED).saturating_add(settling))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_line_of_a_traceback_is_the_innermost_one_in_user_code() {
        let text = "Traceback (most recent call last):\n  File \"/x/firstlight/runner.py\", line 41, in serve\n\
                    \x20   session.answer(request)\n  File \"/suite/in_jax.py\", line 3, in setup\n    import jax\n\
                    \x20 File \"/venv/lib/python3.11/site-packages/jax/__init__.py\", line 9, in <module>\n";
        assert_eq!(line(text).as_deref(), Some("in_jax.py:3"));
        assert_eq!(line("nothing"), None);
    }
}
