//! Raw readings of one process: clock readings and counters, nothing computed from them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::LayerReading;
use crate::message::Message;
use crate::nanos::{Moment, Nanos};
use crate::suite::Regime;

/// The observation of one process. It is written to disk before anything is computed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawSample {
    /// The process's place in the run, from 1.
    pub number: u32,
    pub role: SampleRole,
    /// Wall-clock time of the start, UTC; for people, never for arithmetic.
    pub started: String,
    /// Before the process was spawned.
    pub spawn: Moment,
    /// After spawning has returned: the new program has started.
    pub exec: Moment,
    /// After the process had been reaped.
    pub reaped: Moment,
    pub outcome: Outcome,
    pub messages: Vec<Message>,
    pub usage: Usage,
    /// CPU time of all processors during the process, including the process itself.
    pub machine_busy_ns: Option<Nanos>,
    pub caches: Vec<LayerReading>,
    pub streams: Streams,
    /// Processes that outlived the command and were killed by firstlight.
    pub survivors: u32,
    /// Pauses during which the process did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// Exit times of interpreters that sent `hello`, if another program started them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<ProcessExit>,
    /// Time at which the interpreter's executable was opened, if a script started it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<Moment>,
}

/// Time in which a process was prevented from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Paused {
    /// The duration of the machine's sleep, from the clock that includes sleep.
    pub suspended_ns: Nanos,
    /// The number of times the process, or firstlight itself, was seen stopped.
    pub stops: u32,
}

/// The end of a process that the measured command started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProcessExit {
    pub pid: u32,
    pub at: Moment,
}

/// The purpose of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SampleRole {
    Measured,
    /// Fills caches; never part of a statistic.
    Priming,
    /// The same command without hooks, to measure their cost.
    Control,
}

/// The outcome of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Outcome {
    /// Exit code 0.
    Completed,
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
    },
    TimedOut {
        after_ns: Nanos,
    },
    Interrupted,
    /// The process broke the protocol and was killed.
    Broke {
        error: String,
    },
}

/// The outcome of the process, as the end of a sentence about it.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Exited { code } => write!(f, "exited with code {code}"),
            Self::Killed { signal } => write!(f, "was killed by signal {signal}"),
            Self::TimedOut { after_ns } => write!(
                f,
                "exceeded its time limit after {:.1} s and was killed",
                after_ns.as_seconds()
            ),
            Self::Interrupted => f.write_str("was killed because firstlight was interrupted"),
            Self::Broke { error } => write!(f, "broke the protocol: {error}"),
        }
    }
}

/// The kernel's counters for the process and its reaped children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Usage {
    pub user_ns: Nanos,
    pub system_ns: Nanos,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub max_rss_bytes: u64,
}

impl Usage {
    pub fn cpu_ns(&self) -> Nanos {
        self.user_ns + self.system_ns
    }
}

/// The amount of the command's output, and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Streams {
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub stdout_tail: String,
    pub stderr_tail: String,
}

impl RawSample {
    /// Whether this process without hooks uses marks in its script but cannot import firstlight: it is
    /// started again with firstlight on its path.
    pub fn misses_firstlight(&self) -> bool {
        self.role == SampleRole::Control
            && self.outcome != Outcome::Completed
            && self.streams.stderr_tail.contains("No module named 'firstlight'")
    }

    pub fn wall(&self) -> Nanos {
        self.reaped.since(self.spawn)
    }
}

/// A line of `raw.jsonl`: a process with its case, arm, regime and round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawRecord {
    /// Absent for a command outside a suite.
    pub subject: Option<Subject>,
    pub sample: RawSample,
}

/// A place in a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Subject {
    pub case: String,
    pub arm: String,
    /// Absent for priming processes, which are used for all regimes.
    pub regime: Option<Regime>,
    /// Processes of one round were interleaved.
    pub round: Option<u32>,
    /// Whether this is the second measurement of the reference arm, as a control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

#[cfg(test)]
mod tests {
    use super::Outcome;
    use crate::nanos::Nanos;

    #[test]
    fn outcomes_are_described() {
        let after_ns = Nanos(1_500_000_000);
        let expected = [
            (Outcome::Exited { code: 3 }, "exited with code 3"),
            (Outcome::Killed { signal: 9 }, "was killed by signal 9"),
            (Outcome::TimedOut { after_ns }, "exceeded its time limit after 1.5 s and was killed"),
        ];
        for (outcome, words) in expected {
            assert_eq!(outcome.to_string(), words);
        }
    }
}
