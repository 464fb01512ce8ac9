//! Overheads: host time outside of the compiled program, the phases of wrappers, and the
//! observer's own cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::nanos::Nanos;

/// Time of a step outside of the compiled program and its calls: `wait` and `host` together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostOutside {
    /// Over the steps in which nothing was compiled.
    pub median: Estimate,
    /// The least and the most that any of them has.
    pub least_ns: Nanos,
    pub most_ns: Nanos,
    /// Of the mean step.
    pub share: f64,
}

/// A known wrapper around compiled functions, such as `equinox.filter_jit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Wrapper {
    pub name: String,
    /// Host time inside the wrapper and outside of the compiled program, per steady step on average.
    pub host_ns: f64,
    /// Of the mean step.
    pub share: f64,
    /// Each in the order in which it runs, followed by what is inside it.
    pub phases: Vec<WrapperPhase>,
}

/// A phase of a wrapper: a Python function of it.
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
    /// Of the wrapper's host time.
    pub share_of_wrapper: f64,
    /// Of the mean step.
    pub share_of_step: f64,
}

/// The same work, recorded with more and with less tracing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Inflation {
    /// The least traced first.
    pub runs: Vec<TracedRun>,
    /// Time of a step in the most traced run over the least traced one.
    pub factor: Option<f64>,
    /// The same of host time outside of the compiled program, between the recordings.
    pub host_factor: Option<f64>,
    /// The same for the time beyond the baseline, if the step has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_factor: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TracedRun {
    pub tracing: Tracing,
    /// Of a steady step.
    pub step: Option<Estimate>,
    /// Host time of a steady step outside of the compiled program, if there is a recording.
    pub host: Option<Estimate>,
    /// Time of a steady step beyond its baseline, by the program's own clock: pairs of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Estimate>,
    /// Of the whole process.
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
