//! The document `suite-trace`: arms of a suite's case, each run untraced, recorded, and recorded with
//! Python frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Reason;
use crate::trace::{TraceDocument, Tracing};
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "suite-trace";
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// What recording costs, and what was recorded.
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
    /// Times of the least traced recording, names of the most traced one; none where it failed.
    pub trace: Option<TraceDocument>,
    /// Why there is no trace.
    pub failed: Option<String>,
    pub overheads: Vec<Overhead>,
}

/// What a steady step takes beyond something else, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overhead {
    pub beyond: Beyond,
    /// The reference arm's name.
    pub arm: Option<String>,
    /// The least traced run first.
    pub runs: Vec<OverheadRun>,
    /// The most traced run's over the least traced one's; none where one of them is not above zero.
    pub factor: Option<f64>,
    /// What is wrong with it as a result.
    pub findings: Vec<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Beyond {
    /// The workload's own baseline, which is run after each step.
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
