//! The document `trace-comparison`: two recordings, bucket by bucket and frame by frame.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::finding::Reason;
use crate::trace::{Bucket, Part, Recording};
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "trace-comparison";
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// Difference of a steady step between the second recording and the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct TraceComparisonDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    /// The recording that others are compared with.
    pub first: ComparedTrace,
    pub second: ComparedTrace,
    /// The reasons why the two should not be compared; empty if there are none.
    pub not_comparable: Vec<String>,
    /// Steps that both sides have under one number and that are steady on both; only these are compared, in
    /// pairs. Absent if steps are compared without their numbers.
    #[serde(default)]
    pub aligned_steps: Option<u32>,
    /// For the whole step, in nanoseconds; absent if a side has no steady step.
    pub wall: Option<Row>,
    /// For the time outside the compiled program and its calls: `wait` and `host` together.
    pub host_outside: Option<Row>,
    /// Buckets, each followed by its parts.
    pub buckets: Vec<Row>,
    /// Differences that sum to that of the wall, in order.
    pub waterfall: Vec<Fall>,
    /// The largest differences first.
    pub frames: Vec<FrameRow>,
    pub findings: Vec<Reason>,
}

impl TraceComparisonDocument {
    pub fn new(firstlight: Build, first: ComparedTrace, second: ComparedTrace) -> Self {
        Self {
            schema: SchemaId::new(NAME, VERSION),
            firstlight,
            first,
            second,
            not_comparable: Vec::new(),
            aligned_steps: None,
            wall: None,
            host_outside: None,
            buckets: Vec::new(),
            waterfall: Vec::new(),
            frames: Vec::new(),
            findings: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ComparedTrace {
    pub recording: Recording,
    pub steps: u32,
    /// Steps without a compilation; only these are compared.
    pub steady_steps: u32,
}

/// Medians over the steady steps of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// Absent for the whole step, and for the time outside the compiled program.
    pub bucket: Option<Bucket>,
    /// Absent for the whole bucket.
    pub part: Option<Part>,
    pub first_ns: f64,
    pub second_ns: f64,
    /// Second minus first.
    pub difference: Estimate,
}

/// A step of the waterfall, starting at the end of the previous one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fall {
    /// Absent for the remainder of the medians, which unlike means do not add up.
    pub bucket: Option<Bucket>,
    pub from_ns: f64,
    pub by_ns: f64,
}

/// Host time around an event outside the compiled program, per steady step on average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FrameRow {
    pub name: String,
    pub first_ns: f64,
    pub second_ns: f64,
}
