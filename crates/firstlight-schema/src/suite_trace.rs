//! The document `suite-trace`: the arms of a suite's case, each run without recording, with recording, and
//! with Python frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Reason;
use crate::trace::{TraceDocument, Tracing};
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "suite-trace";
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// The cost of recording, and the recordings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct SuiteTraceDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    pub suite: String,
    pub case: String,
    /// The arm that the others are compared with.
    pub reference: Option<String>,
    pub arms: Vec<ArmTrace>,
}

impl SuiteTraceDocument {
    pub fn new(firstlight: Build, suite: String, case: String, reference: Option<String>) -> Self {
        let schema = SchemaId::new(NAME, VERSION);
        Self { schema, firstlight, suite, case, reference, arms: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArmTrace {
    pub arm: String,
    /// Times from the recording with the least tracing, names from the one with the most; absent if recording
    /// failed.
    pub trace: Option<TraceDocument>,
    /// The reason why there is no trace.
    pub failed: Option<String>,
    pub overheads: Vec<Overhead>,
}

/// Time of a steady step in excess of something else, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overhead {
    pub beyond: Beyond,
    /// The reference arm's name.
    pub arm: Option<String>,
    /// The least traced run first.
    pub runs: Vec<OverheadRun>,
    /// Ratio of the run with the most tracing to the one with the least; absent unless both are positive.
    pub factor: Option<f64>,
    /// Findings against the recording.
    pub findings: Vec<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Beyond {
    /// The workload's own baseline, which runs after each step.
    Baseline,
    /// The same step of the reference arm.
    Reference,
}

/// An overhead in one run: a difference of medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OverheadRun {
    pub tracing: Tracing,
    pub ns: f64,
}
