//! Numbers with their uncertainty; no function of firstlight returns a naked mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an estimate and its interval were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// The sample median with an exact interval between two order statistics.
    OrderStatisticMedian,
    /// The Hodges-Lehmann estimate of paired differences with the signed-rank interval.
    SignedRank,
}

/// A confidence interval and the coverage it really has, never less than asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
}

/// A point, its interval and the number of values behind it. Durations are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    pub point: f64,
    /// Absent when there are too few values for one.
    pub interval: Option<Interval>,
    pub n: u32,
    pub method: Method,
}
