//! The summary of several fresh processes: times, phases, programs and packages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::LayerEvidence;
use crate::estimate::Estimate;
use crate::phase::Phase;
use crate::reading::RawSample;
use crate::sample::PartTime;

/// The summary of the valid samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Summary {
    pub valid: u32,
    pub invalid: u32,
    pub wall: Estimate,
    /// Present when every valid sample marked its first result.
    pub first_result: Option<Estimate>,
    /// Means, because medians would not add up; they sum to the mean wall time.
    pub phases: Vec<PhaseMean>,
    /// The same up to the first result.
    pub first_result_phases: Option<Vec<PhaseMean>>,
    /// The largest over the samples.
    pub peak_rss_bytes: u64,
    pub compile_peak_rss_bytes: Option<u64>,
    pub run_peak_rss_bytes: Option<u64>,
    /// Present if a framework reports the memory of its devices.
    pub devices: Vec<DevicePeak>,
    /// The median over sufficiently long samples.
    pub contention_cores: Option<f64>,
    /// Sums over the samples; directories are those of the last one.
    pub caches: Vec<LayerEvidence>,
    pub programs: Vec<Program>,
    /// Imports by top-level package, the largest first.
    pub packages: Vec<PackageMean>,
    /// Phases on other threads, largest first; not part of any sum.
    pub background: Vec<BackgroundMean>,
    /// Every `firstlight.mark` that all valid samples set, sorted by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<MarkTime>,
}

/// The time of a mark, in nanoseconds from the start of the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MarkTime {
    pub name: String,
    pub at: Estimate,
}

/// A device's peak memory, the largest over the samples. Peaks never fall within a process: if a later one is
/// not higher, the later phase needed no more memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DevicePeak {
    pub device: String,
    /// At the end of the last compilation.
    pub after_compiling_bytes: Option<u64>,
    /// At the end of the program's own code.
    pub after_running_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PhaseMean {
    #[serde(deserialize_with = "crate::phase::in_document")]
    #[schemars(schema_with = "crate::phase::schema_in_document")]
    pub name: Phase,
    pub mean_ns: f64,
    /// Of the whole, from 0 to 1.
    pub share: f64,
    /// Means over the samples, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartTime>,
}

/// A compiled function over all samples: means per process. Stages are exclusive: they do not include other
/// programs and other phases inside them, so programs sum to at most their phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Program {
    pub function: String,
    pub signature: Option<String>,
    /// The number of times per process.
    pub count: f64,
    pub hits: f64,
    pub trace_ns: f64,
    pub lower_ns: f64,
    pub compile_ns: f64,
    /// Cause of the recompilation, if it was recompiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub op_by_op: bool,
}

/// Imports of one top-level package: means per process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PackageMean {
    pub name: String,
    /// Excluding the packages that it imported.
    pub self_ns: f64,
    /// Including the packages that it imported.
    pub cumulative_ns: f64,
}

/// A phase on threads other than the main one: the mean per process, summed over threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BackgroundMean {
    #[serde(deserialize_with = "crate::phase::in_document")]
    #[schemars(schema_with = "crate::phase::schema_in_document")]
    pub phase: Phase,
    pub mean_ns: f64,
}

/// The same command without hooks, interleaved with the measured processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HookPrice {
    /// Hooked minus unhooked wall time, in nanoseconds, pair by pair.
    pub price_wall: Option<Estimate>,
    /// The same of the CPU time.
    pub price_cpu: Option<Estimate>,
    /// Median wall time without hooks.
    pub wall: Option<Estimate>,
    pub samples: Vec<RawSample>,
}
