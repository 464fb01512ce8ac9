//! How much is measured, and how it is compared: the tables `[warm]` and `[comparison]`, and what a
//! case may add.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{duration, written};
use super::scalar::Scalar;

/// The warm regime: what one process does, and how many processes there are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct WarmFile {
    /// Calls before the window, unless the workload has its own warm-up.
    pub warm_up: u32,
    /// Calls in the window of one process, at most.
    #[schemars(range(min = 10))]
    pub iterations: u32,
    /// Time limit for the window of one process, such as `"2s"`.
    #[serde(deserialize_with = "duration", serialize_with = "written")]
    #[schemars(with = "String")]
    pub within: Duration,
    /// Processes per arm, at least. The default shows with 95 % confidence what happens in one of five
    /// processes.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// Processes per arm, at most: more than the least are taken until `target` is met.
    pub most_processes: u32,
    /// The half-width that the interval of every ratio is to have, as a fraction; half the margin of the
    /// case when absent.
    pub target: Option<f64>,
    /// No further processes are started for a case after so long.
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

/// How arms are compared.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ComparisonFile {
    /// A difference smaller than this fraction does not matter.
    pub margin: f64,
    /// How the arms' results must agree.
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

/// How results of two arms must agree before their speeds are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Agreement {
    /// Within the tolerance.
    Close,
    /// To the last bit.
    Equal,
    /// They are not compared.
    Unchecked,
}

/// What one call gets done.
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
