//! Numbers with their uncertainty; no function of firstlight returns a mean without its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method of an estimate and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Method {
    /// The sample median with an exact interval between two order statistics.
    OrderStatisticMedian,
    /// The Hodges-Lehmann estimate of paired differences with the signed-rank interval.
    SignedRank,
    /// The geometric mean of the processes' means with a t interval on their logarithms.
    LogMean,
    /// The geometric mean of paired ratios with a t interval on their logarithms.
    PairedLogRatio,
    /// The ratio of two geometric means with Welch's interval on the logarithms: not paired.
    UnpairedLogRatio,
    /// The Hodges-Lehmann estimate of paired log ratios with the signed-rank interval.
    SignedRankRatio,
    /// The mean of one series with a moving-block bootstrap: run-to-run variance not captured.
    BlockBootstrap,
    /// The mean of the processes' values with a t interval.
    Mean,
    /// The difference of two medians with a bootstrap over the values of each side.
    MedianBootstrap,
    /// A coefficient of a weighted least-squares line with its t interval.
    LeastSquares,
}

/// A confidence interval and its actual coverage, which is at least the requested one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
}

/// A point, its interval and the number of values behind it. Durations are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Estimate {
    pub point: f64,
    /// Absent if there are too few values.
    pub interval: Option<Interval>,
    pub n: u32,
    pub method: Method,
}
