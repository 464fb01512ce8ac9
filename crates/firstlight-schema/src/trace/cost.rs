//! Overheads: host time outside the compiled program, the phases of wrappers, and the observer's own cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::nanos::Nanos;

/// Time of a step outside the compiled program and its calls: `wait` and `host` together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostOutside {
    /// Over the steps without a compilation.
    pub median: Estimate,
    /// The smallest and largest value of these steps.
    pub least_ns: Nanos,
    pub most_ns: Nanos,
    /// The share of the mean step.
    pub share: f64,
}

/// A known wrapper around compiled functions, such as `equinox.filter_jit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Wrapper {
    pub name: String,
    /// Host time inside the wrapper and outside the compiled program, per steady step on average.
    pub host_ns: f64,
    /// The share of the mean step.
    pub share: f64,
    /// In execution order, each followed by the phases inside it.
    pub phases: Vec<WrapperPhase>,
}

/// A phase of a wrapper: one of its Python functions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WrapperPhase {
    /// `preprocess`
    pub name: String,
    /// The phase that contains this one, if any.
    pub within: Option<String>,
    /// The frame that identifies it.
    pub frame: String,
    /// Mean host time per steady step, including its callees.
    pub host_ns: f64,
    /// The share of the wrapper's host time.
    pub share_of_wrapper: f64,
    /// The share of the mean step.
    pub share_of_step: f64,
}

/// The same work, recorded with more and with less tracing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Inflation {
    /// The recording with the least tracing first.
    pub runs: Vec<TracedRun>,
    /// Time of a step in the recording with the most tracing over the one with the least.
    pub factor: Option<f64>,
    /// The same for host time outside the compiled program, between the recordings.
    pub host_factor: Option<f64>,
    /// The same for the time beyond the baseline, if the step has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_factor: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TracedRun {
    pub tracing: Tracing,
    /// The time of a steady step.
    pub step: Option<Estimate>,
    /// Host time of a steady step outside the compiled program, if there is a recording.
    pub host: Option<Estimate>,
    /// Time of a steady step beyond its baseline, by the program's own clock: pairs of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Estimate>,
    /// The time of the whole process.
    pub wall_ns: Nanos,
    pub file: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Tracing {
    Untraced,
    HostOnly,
    Python,
}

impl Tracing {
    pub fn name(self) -> &'static str {
        match self {
            Self::Untraced => "untraced",
            Self::HostOnly => "host only",
            Self::Python => "with Python frames",
        }
    }
}
