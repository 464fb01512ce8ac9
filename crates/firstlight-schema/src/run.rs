//! The document `run`: a suite's cases, arms and regimes with their samples.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::CachePolicy;
use crate::cold::Summary;
use crate::finding::Reason;
use crate::machine::Machine;
use crate::nanos::Nanos;
use crate::reading::RawSample;
use crate::sample::Sample;
use crate::suite::{Regime, Scalar};
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "run";
pub const VERSION: Version = Version { major: 1, minor: 0 };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RunDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    /// UTC.
    pub created: String,
    pub suite: String,
    /// SHA-256 over the names and contents of the suite's files.
    pub suite_digest: String,
    pub machine: Machine,
    pub environment: EnvironmentRecord,
    pub timeout_ns: Nanos,
    pub seed: u64,
    /// Whether all asked samples were taken.
    pub complete: bool,
    pub cases: Vec<CaseResult>,
}

/// The interpreter and the packages that the suite ran with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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
pub enum EnvironmentKind {
    /// Made by firstlight from the suite's lock file.
    Provisioned,
    /// An interpreter used as it stands.
    AsFound,
    /// No arm needs Python.
    NotNeeded,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CaseResult {
    pub name: String,
    pub parameters: BTreeMap<String, Scalar>,
    pub arms: Vec<ArmResult>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ArmResult {
    pub name: String,
    pub regimes: Vec<RegimeResult>,
    /// Processes that filled the caches: raw, never part of a statistic.
    pub priming: Vec<RawSample>,
    /// Why the arm was given up before all its samples were taken.
    pub stopped: Option<Reason>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RegimeResult {
    pub regime: Regime,
    pub policy: CachePolicy,
    pub samples: Vec<Sample>,
    /// Absent when no sample is valid.
    pub summary: Option<Summary>,
    pub notices: Vec<Reason>,
}

impl RunDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}
