//! The amount and comparison of measurements: the tables `[warm]` and `[comparison]`, and additions of a
//! case.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{duration, written};
use super::scalar::Scalar;

/// The warm regime: the calls of one process, and the number of processes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct WarmFile {
    /// Calls before the window, unless the workload has its own warm-up.
    pub warm_up: u32,
    /// The largest number of calls in the window of one process.
    #[schemars(range(min = 10))]
    pub iterations: u32,
    /// Time limit for the window of one process, such as `"2s"`.
    #[serde(deserialize_with = "duration", serialize_with = "written")]
    #[schemars(with = "String")]
    pub within: Duration,
    /// The smallest number of processes per arm. The default detects with 95 % confidence an effect that
    /// occurs in one of five processes.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// The largest number of processes per arm: processes are added until `target` is met.
    pub most_processes: u32,
    /// The target half-width for the interval of every ratio, as a fraction; half the margin of the case when
    /// absent.
    pub target: Option<f64>,
    /// No further processes are started for a case after this time.
    #[serde(deserialize_with = "duration", serialize_with = "written")]
    #[schemars(with = "String")]
    pub budget: Duration,
}

impl Default for WarmFile {
    fn default() -> Self {
        Self {
            warm_up: 10,
            iterations: 1000,
            within: Duration::from_secs(1),
            processes: 18,
            most_processes: 30,
            target: None,
            budget: Duration::from_mins(10),
        }
    }
}

/// The method of comparing arms.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ComparisonFile {
    /// Smaller differences, as a fraction, do not matter.
    pub margin: f64,
    /// The required agreement of the arms' results.
    pub outputs: Agreement,
    /// The largest difference of results that are `close`, relative to the result's size.
    pub tolerance: f64,
    /// The floating-point type that results must have, such as `"float64"`.
    pub precision: Option<String>,
    /// Whether arms are compared; without it fewer processes than a verdict needs are allowed.
    pub verdicts: bool,
    /// Whether the reference arm of the first case is measured twice, as a control.
    pub control: bool,
    /// Quantiles of the time to first result to bound, such as `[0.9]`.
    pub quantiles: Vec<f64>,
}

impl Default for ComparisonFile {
    fn default() -> Self {
        Self {
            margin: 0.02,
            outputs: Agreement::Close,
            tolerance: 1e-4,
            precision: None,
            verdicts: true,
            control: true,
            quantiles: Vec::new(),
        }
    }
}

/// The agreement of two arms' results that is required before their speeds are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Agreement {
    /// Within the tolerance.
    Close,
    /// To the last bit.
    Equal,
    /// Not compared.
    Unchecked,
}

/// The work done by one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkFile {
    /// In the plural, such as `"tokens"`.
    pub unit: String,
    /// A number, or the name of a parameter that has one.
    pub count: Scalar,
}

/// One parameter over a range: a case for each value.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SweepFile {
    pub parameter: String,
    pub values: Vec<Scalar>,
}

/// The value that the mistake would publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Takes {
    /// The mean of all calls in the window.
    #[default]
    Window,
    /// The first call in the window: a test that runs once.
    FirstCall,
}
