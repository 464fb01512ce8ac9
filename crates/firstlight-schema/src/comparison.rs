//! Comparisons: a ratio with its interval, a verdict at a margin, the break-even; and the document
//! `comparison`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::suite::{Regime, Takes};
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "comparison";
pub const VERSION: Version = Version { major: 1, minor: 1 };

/// The verdict on two arms, at a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Verdict {
    /// The whole interval lies below the margin.
    Faster,
    /// The whole interval lies above it.
    Slower,
    /// The whole interval lies within the margin.
    Equivalent,
    /// The interval crosses an edge of the margin.
    Inconclusive,
    /// There are fewer pairs of processes than a verdict needs.
    TooFew,
    /// Significant alone, but not after the correction for several comparisons.
    NotConfirmed,
    /// No comparison is possible: no valid samples, different results, a failed control.
    Invalid,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::TooFew => "too-few",
            Self::NotConfirmed => "not-confirmed",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The standard deviations between nodes of a merged result, and between the processes of one node, as
/// fractions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NodeVariance {
    pub nodes: u32,
    /// The standard deviation between nodes, without the part expected by chance.
    pub between: f64,
    /// The standard deviation within a node.
    pub within: f64,
}

/// One arm against another, in one case and regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Comparison {
    pub case: String,
    pub regime: Regime,
    pub arm: String,
    pub against: String,
    pub verdict: Verdict,
    pub margin: f64,
    /// Time of `arm` over time of `against`: below 1 is faster.
    pub ratio: Option<Estimate>,
    /// The same computed from ranks, which is robust against outliers.
    pub robust: Option<Estimate>,
    /// For the claim of the verdict.
    pub p: Option<f64>,
    /// After Holm's correction over all comparisons of the run.
    pub adjusted_p: Option<f64>,
    /// The reason why the verdict differs from the interval alone, or its basis.
    pub why: Option<String>,
    /// Number of pairs that a verdict needs, if there are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u32>,
    /// The smallest fraction of processes that the interval covers: rarer events may not have been observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rarity: Option<f64>,
    /// For a merged result: the difference of the ratio between nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeVariance>,
}

/// Number of calls after which an arm pays off against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BreakEven {
    /// The regime of the first call.
    pub cold: Regime,
    pub arm: String,
    pub against: String,
    pub pays: Pays,
    /// Number of calls at which the total times cross, if they do.
    pub calls: Option<Crossing>,
    /// Total times at growing numbers of calls, from the rounds that the estimate uses. The curves cross at
    /// `calls`, and the band of their difference at its interval.
    pub curve: Vec<Total>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Pays {
    FromTheFirstCall,
    /// After a number of calls.
    Later,
    /// Only up to a number of calls.
    AtFirst,
    Never,
    /// The intervals do not decide it.
    Undecided,
    /// There are too few rounds for an interval.
    TooFewRounds,
}

/// The number of calls at which two total costs are equal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Crossing {
    /// The first whole number of calls after it.
    pub point: f64,
    /// Below this number of calls, one arm is cheaper with 95 % confidence; absent if it never is.
    pub low: Option<f64>,
    /// From this number of calls, the other arm is faster; absent if it never is.
    pub high: Option<f64>,
    pub pairs: u32,
}

/// The total time of a number of calls, from the start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Total {
    pub calls: f64,
    pub arm_ns: f64,
    pub against_ns: f64,
    /// 95 % interval of the arm's total time, given the other's; absent with too few rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm_low_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm_high_ns: Option<f64>,
}

/// The A/A control: the reference arm measured twice under two names must not differ from itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AgainResult {
    pub case: String,
    pub arm: String,
    pub comparisons: Vec<Comparison>,
    /// True if every regime is equivalent, false if one differs; absent if the intervals do not decide it or
    /// no pair of processes counts.
    pub passed: Option<bool>,
}

/// A value of a swept parameter and its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SweepRow {
    pub value: String,
    /// Absent if the value is not a number.
    pub number: Option<f64>,
    /// Absent if there is no valid measurement.
    pub time: Option<Estimate>,
}

/// One arm and regime over a swept parameter: time = constant + slope × value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SweepLine {
    pub arm: String,
    pub regime: Regime,
    pub rows: Vec<SweepRow>,
    pub constant: Option<Estimate>,
    pub slope: Option<Estimate>,
    /// Whether a line describes the values; absent if the data cannot decide.
    pub linear: Option<bool>,
    /// The largest distance of a value's mean from the line, as a fraction.
    pub largest_residual: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SweepResult {
    pub case: String,
    pub parameter: String,
    pub lines: Vec<SweepLine>,
    /// The same for the time beyond the baseline, where workloads have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<SweepLine>,
}

/// A case with a known mistake, compared with the same case without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlantedResult {
    /// The case without the mistake.
    pub of: String,
    /// The value that would have been published.
    pub takes: Takes,
    /// Whether the mistake was detected in at least one arm; an undetected mistake is a failure.
    pub refused: bool,
    pub rows: Vec<PlantedRow>,
}

/// One arm with the mistake and without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlantedRow {
    pub arm: String,
    /// The findings that make its samples invalid.
    pub findings: Vec<String>,
    /// Time per call.
    pub time: Mistaken,
    /// How many times as fast as the reference arm, for other arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<Mistaken>,
    /// Time of a call beyond the baseline, if the workload has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Mistaken>,
}

/// A number with the mistake, without it, and the ratio of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mistaken {
    pub wrong: Option<Estimate>,
    pub right: Option<Estimate>,
    pub factor: Option<Estimate>,
}

/// The document `comparison`: the result of `firstlight compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ComparisonDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    pub first: Side,
    pub second: Side,
    /// Whether processes were interleaved; those of two separate runs never are.
    pub paired: bool,
    pub comparisons: Vec<Comparison>,
    /// Differences between the two sides.
    pub differences: Vec<String>,
    pub gate: Option<Gate>,
    /// Reasons to doubt the comparison: a noisy machine, a failed control.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Present if the second result is judged as a replication of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<Replication>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Side {
    pub suite: String,
    pub created: String,
    /// Present if two arms of one result are compared.
    pub arm: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Gate {
    Passed,
    /// Something is slower than its margin allows.
    Failed,
    /// Some comparison has no verdict, or the measurement is doubtful.
    Inconclusive,
}

/// Whether a rerun found the same ratios between arms, and the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Replication {
    Replicated,
    NotReplicated,
    /// The intervals do not decide it.
    Inconclusive,
}

impl ComparisonDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}
