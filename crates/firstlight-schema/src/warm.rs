//! The warm regime: the window of one process, and the summary of several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::message::DeviceMemory;
use crate::window::{Segment, SteadyState};

/// The measured calls of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Window {
    /// Calls before the window.
    pub warm_up_calls: u32,
    pub calls: u32,
    pub state: SteadyState,
    /// Segments of equal level and spread, in order.
    pub segments: Vec<Segment>,
    /// The first call of the steady part.
    pub steady_from: Option<u32>,
    pub steady: Option<SteadyPart>,
    pub drift: Option<Drift>,
    /// The fraction of a call's work that was still running when the call had returned.
    pub unfinished_share: Option<f64>,
    /// Time of a call beyond the workload's baseline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
    /// Present if the runner records collections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<Collector>,
}

/// Calls compared with the baseline call directly after each of them, in the steady part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overhead {
    pub pairs: u32,
    /// The mean of the differences: the cost per call in a loop, including collections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// The median of the differences: the cost of an undisturbed call.
    pub median_ns: f64,
    /// The median of the baseline.
    pub baseline_ns: f64,
    /// Time in the garbage collector per call, minus that of the baseline; part of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector_ns: Option<f64>,
}

/// The garbage collector while the window was open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Collector {
    /// Collections of the generations 0, 1 and 2.
    pub collections: [u32; 3],
    /// Time of all collections.
    pub total_ns: f64,
    /// Per call of the steady part: the time inside measured calls.
    pub per_call_ns: f64,
    /// The longest collection inside a measured call.
    pub longest_ns: f64,
}

/// The calls in a steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyPart {
    pub calls: u32,
    pub mean_ns: f64,
    pub median_ns: f64,
    pub sd_ns: f64,
    pub min_ns: f64,
    pub max_ns: f64,
    /// How far apart two calls must be to count as independent.
    pub autocorrelation_time: f64,
}

/// Whether calls become slower or faster over the steady part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Drift {
    pub rank_correlation: f64,
    pub p: f64,
    /// From the first third to the last, as a fraction.
    pub change: f64,
}

/// The summary of the valid processes with a steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WarmSummary {
    /// Time per call, in nanoseconds.
    pub per_call: Estimate,
    pub fewest_calls: u32,
    pub most_calls: u32,
    /// The median over the processes.
    pub autocorrelation_time: f64,
    /// The standard deviation between processes, as a fraction; absent for a single process.
    pub process_sd: Option<f64>,
    /// The standard deviation between calls within a process, as a fraction.
    pub call_sd: f64,
    /// The number of calls per process with which the next run would be most precise for its time.
    pub best_calls: Option<u32>,
    pub states: States,
    pub throughput: Option<Throughput>,
    pub memory: Option<WindowMemory>,
    /// Time of a call beyond the baseline, in nanoseconds: the mean over calls and processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Estimate>,
    /// The same with the median over calls, which leaves collector pauses out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_median: Option<Estimate>,
    /// Time in the garbage collector per call, in nanoseconds; the mean over the processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<Estimate>,
}

/// The number of processes in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct States {
    pub flat: u32,
    pub warm_up: u32,
    pub slow_down: u32,
    pub no_steady_state: u32,
    /// Imported, with too few values to decide.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Units of work per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Throughput {
    pub unit: String,
    pub per_second: Estimate,
    /// Process by process, in order.
    pub values: Vec<f64>,
}

/// Memory while the window was open, the largest over the processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WindowMemory {
    /// The kernel's high-water mark, set to zero when the window opened.
    pub peak_rss_bytes: u64,
    pub end_rss_bytes: u64,
    /// As reported by the framework when the window closed; a device's peak covers the whole process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceMemory>,
}

/// Common statistics of a set of values, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Spread {
    pub n: u32,
    pub mean_ns: f64,
    /// Absent for a single value.
    pub sd_ns: Option<f64>,
    pub min_ns: f64,
    pub max_ns: f64,
}
