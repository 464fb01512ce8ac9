//! When an arm is given up: the rule that a run follows, and that a stored run is checked against.

use std::collections::BTreeMap;

use crate::finding::{Finding, Reason};
use crate::message::Message;
use crate::reading::{Outcome, RawSample, SampleRole};
use crate::suite::Regime;

/// An arm that fails this often in a row is given up.
const FAILURES_IN_A_ROW: u32 = 2;

/// Looks at an arm's processes as they come.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    /// In a row, regime by regime: one that always fails is not excused by another that works.
    failures: BTreeMap<Option<Regime>, u32>,
}

impl Patience {
    /// Why the arm is given up after this process, if it is.
    pub fn after(&mut self, sample: &RawSample, regime: Option<Regime>) -> Option<Reason> {
        let failures = self.failures.entry(regime).or_default();
        if !has_failed(sample) {
            *failures = 0;
            return None;
        }
        let why = why(sample);
        let text = match sample.role {
            SampleRole::Priming => {
                format!("the process that should fill the caches failed: {why}")
            }
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

fn has_failed(sample: &RawSample) -> bool {
    sample.outcome != Outcome::Completed || told(sample).is_some()
}

fn told(sample: &RawSample) -> Option<&str> {
    sample.messages.iter().find_map(|message| match message {
        Message::Failed(failed) => Some(failed.error.as_str()),
        _ => None,
    })
}

fn why(sample: &RawSample) -> String {
    told(sample).map_or_else(|| format!("{:?}", sample.outcome), str::to_owned)
}
