//! The document `run`: a suite's cases, arms and regimes with their samples.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::CachePolicy;
use crate::comparison::{
    AgainResult, BreakEven, Comparison, NodeVariance, PlantedResult, SweepResult,
};
use crate::diagnosis::Diagnosis;
use crate::finding::Reason;
use crate::machine::Machine;
use crate::machine_state::MachineState;
use crate::nanos::Nanos;
use crate::reading::RawSample;
use crate::sample::Sample;
use crate::suite::{Agreement, Regime, Scalar};
use crate::summary::{HookPrice, Summary};
use crate::version::{Build, SchemaId, Version};
use crate::warm::{Spread, WarmSummary};

pub const NAME: &str = "run";
pub const VERSION: Version = Version { major: 1, minor: 1 };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    /// The revision of the analysis that computed this document from its raw readings.
    #[serde(default = "first_revision")]
    pub analysis: u32,
    /// UTC.
    pub created: String,
    pub suite: String,
    /// SHA-256 over the names and contents of the suite's files.
    pub suite_digest: String,
    pub machine: Machine,
    /// The machine's state before the first process, and after the last.
    pub before: MachineState,
    pub after: Option<MachineState>,
    /// The changes between the two states.
    pub machine_notices: Vec<Reason>,
    pub environment: EnvironmentRecord,
    pub timeout_ns: Nanos,
    pub seed: u64,
    pub options: RunOptions,
    /// For a resumed run: the number of the first process of each later segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<u32>,
    /// For a merged result: the machines, and the processes measured by each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRecord>,
    /// Whether all requested samples were measured.
    pub complete: bool,
    pub cases: Vec<CaseResult>,
    /// The A/A control: the reference arm against itself.
    pub control: Option<AgainResult>,
    pub sweeps: Vec<SweepResult>,
    /// Present if another tool measured and firstlight imported its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// A machine of a merged result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NodeRecord {
    pub name: String,
    pub machine: Machine,
    /// Its state before its first process.
    pub before: MachineState,
    pub parts: Vec<NodePart>,
}

/// Processes that one node measured without interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NodePart {
    /// The identifier of the shard.
    pub shard: String,
    /// The number of its first process in the merged result.
    pub first: u32,
    pub processes: u32,
}

fn yes() -> bool {
    true
}

fn first_revision() -> u32 {
    1
}

/// The origin of an imported result, and the facts missing from the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Imported {
    /// The format, such as `pyperf`.
    pub from: String,
    /// The tool's version, if the file has it.
    pub version: Option<String>,
    pub file: String,
    /// SHA-256 of the file.
    pub digest: String,
    /// The unknown facts, as text. Their fields in the document are empty or zero and mean nothing.
    pub unknown: Vec<String>,
}

/// The requested amount of measurements, and the method of comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunOptions {
    /// Processes per arm and cold regime.
    pub processes: u32,
    pub warm_up_calls: u32,
    /// The largest number of calls in one window.
    pub calls: u32,
    pub within_ns: Nanos,
    /// The smallest and largest number of warm processes per arm.
    pub warm_processes: u32,
    pub most_warm_processes: u32,
    /// The target half-width, as a fraction; half the case's margin when absent.
    pub target: Option<f64>,
    pub budget_ns: Nanos,
    /// Whether arms are compared.
    #[serde(default = "yes")]
    pub verdicts: bool,
    pub outputs: Agreement,
    pub tolerance: f64,
    pub precision: Option<String>,
    pub quantiles: Vec<f64>,
}

/// The interpreter and the packages that the suite ran with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EnvironmentRecord {
    pub kind: EnvironmentKind,
    /// Absent for suites without Python.
    pub python: Option<String>,
    /// SHA-256 of the lock file.
    pub lock_digest: Option<String>,
    pub installer: Option<String>,
    /// Every distribution found in it.
    pub packages: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EnvironmentKind {
    /// Created by firstlight from the suite's lock file.
    Provisioned,
    /// An existing interpreter, used unchanged.
    AsFound,
    /// No arm needs Python.
    NotNeeded,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CaseResult {
    pub name: String,
    pub parameters: BTreeMap<String, Scalar>,
    /// The case as written and the parameter, if this is a point of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPlace>,
    /// The work done by one call.
    pub work: Option<Work>,
    /// Smaller differences, as a fraction, do not matter.
    pub margin: f64,
    /// The arm that the others are compared with.
    pub reference: String,
    pub arms: Vec<ArmResult>,
    /// The reference arm a second time, if this case carries the run's control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<ArmResult>,
    /// Every other arm against the reference, in each regime.
    pub comparisons: Vec<Comparison>,
    /// Every pair of arms, for each cold regime.
    pub break_evens: Vec<BreakEven>,
    /// Present if the case plants a known mistake; it then has no verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<PlantedResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SweepPlace {
    pub case: String,
    pub parameter: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Work {
    pub unit: String,
    pub per_call: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArmResult {
    pub name: String,
    /// The measured command, if the arm is an unchanged command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    pub regimes: Vec<RegimeResult>,
    /// Processes that filled the caches: raw, and excluded from every statistic.
    pub priming: Vec<RawSample>,
    /// The reason why the arm was abandoned before all its samples were measured.
    pub stopped: Option<Reason>,
    /// Whether its results agree with the reference's.
    pub agreement: Agreed,
    /// Findings about the arm as a whole.
    pub findings: Vec<Reason>,
}

/// Whether an arm's results agree with those of the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Agreed {
    /// It is the reference itself.
    Reference,
    /// Equal to the last bit.
    Equal,
    /// Within the tolerance; the largest difference, relative to the result's size.
    Close {
        difference: f64,
    },
    /// Within the tolerance according to the few elements stored by firstlight 0.1; the others are unknown.
    Sampled {
        difference: f64,
    },
    Differs {
        how: String,
    },
    /// One of the two results cannot be read, or the suite disables the comparison.
    NotCompared {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RegimeResult {
    pub regime: Regime,
    pub policy: CachePolicy,
    pub samples: Vec<Sample>,
    /// Absent when no sample is valid.
    pub summary: Option<Summary>,
    /// Summary of completed samples if none is valid: for display, never for comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_summary: Option<Box<Summary>>,
    /// The largest parts of a cold start, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnosis: Vec<Diagnosis>,
    /// In the warm regime, if most processes have a steady state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<WarmSummary>,
    /// Of the time to first result, or per call in the warm regime.
    pub spread: Option<Spread>,
    /// For a merged result: the difference of the time between nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeVariance>,
    /// Upper bounds of the quantiles requested by the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<QuantileBound>,
    /// Overhead of the hooks, if processes without them were interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HookPrice>,
    pub notices: Vec<Reason>,
}

/// With 95 % confidence, this fraction of processes is not slower than this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct QuantileBound {
    pub quantile: f64,
    pub at_most_ns: f64,
}

impl RunDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}
