//! A sample: the evaluated raw readings of one process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::LayerEvidence;
use crate::finding::Reason;
use crate::message::{CacheAnswer, DeviceMemory};
use crate::nanos::Nanos;
use crate::phase::Phase;
use crate::reading::RawSample;
use crate::warm::Window;

/// One process with its ledger, its evidence and its raw readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sample {
    pub number: u32,
    /// In a suite: samples of one round were interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Whether the sample counts: it completed, and the evidence confirms the declared conditions.
    pub valid: bool,
    /// The reasons why it does not count.
    pub reasons: Vec<Reason>,
    /// Findings that do not invalidate the sample.
    pub notices: Vec<Reason>,
    /// From before the spawn until the process was reaped.
    pub wall_ns: Nanos,
    /// The ledger: sums to `wall-ns`.
    pub phases: Vec<PhaseTime>,
    /// Present if the process or its runner marked its first result.
    pub first_result: Option<FirstResult>,
    /// The measured calls, in the warm regime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    pub compiles: Vec<Compile>,
    pub packages: Vec<Package>,
    /// Phases on other threads; not part of any sum.
    pub background: Vec<BackgroundTime>,
    pub caches: Vec<LayerEvidence>,
    /// The most memory the process ever held.
    pub peak_rss_bytes: u64,
    pub memory: Vec<PhaseMemory>,
    /// Cores used by other processes during the sample; absent for short processes.
    pub contention_cores: Option<f64>,
    pub raw: RawSample,
}

/// A row of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PhaseTime {
    #[serde(deserialize_with = "crate::phase::in_document")]
    #[schemars(schema_with = "crate::phase::schema_in_document")]
    pub name: Phase,
    pub ns: Nanos,
    /// By package, function or part, largest first; time without a label makes up the difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartTime {
    pub name: String,
    pub ns: Nanos,
}

/// The ledger that ends at the first result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FirstResult {
    pub ns: Nanos,
    /// Sums to `ns`.
    pub phases: Vec<PhaseTime>,
}

/// One program that was compiled, or read from a cache instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Compile {
    pub function: String,
    pub signature: Option<String>,
    pub framework: Option<String>,
    /// Times of this program's own stages, excluding other programs and other phases inside them; absent if
    /// the framework reused one or reports none.
    pub trace_ns: Option<Nanos>,
    pub lower_ns: Option<Nanos>,
    pub compile_ns: Option<Nanos>,
    pub cache: Option<CacheAnswer>,
    /// 0 is the main thread.
    pub thread: u32,
    /// Cause of the recompilation, if the function was recompiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The line of the user's code that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether it is a single operation dispatched outside any jitted function.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub op_by_op: bool,
}

/// Time in one top-level package's imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Package {
    pub name: String,
    /// Excluding the packages that it imported.
    pub self_ns: Nanos,
    /// Including the packages that it imported.
    pub cumulative_ns: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BackgroundTime {
    pub thread: u32,
    #[serde(deserialize_with = "crate::phase::in_document")]
    #[schemars(schema_with = "crate::phase::schema_in_document")]
    pub phase: Phase,
    pub label: Option<String>,
    pub ns: Nanos,
}

/// The peak memory while a phase was the innermost one, and the memory at its last end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PhaseMemory {
    #[serde(deserialize_with = "crate::phase::in_document")]
    #[schemars(schema_with = "crate::phase::schema_in_document")]
    pub phase: Phase,
    pub peak_rss_bytes: u64,
    pub end_rss_bytes: u64,
    /// As the framework reported at the last end of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceMemory>,
}
