//! The documents `gate` and `bisect`: whether one commit is slower than another, and since which commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::estimate::Estimate;
use crate::exit_code::Exit;
use crate::machine::Machine;
use crate::suite::Regime;
use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "gate";
pub const VERSION: Version = Version { major: 1, minor: 0 };
pub const BISECT: &str = "bisect";
pub const BISECT_VERSION: Version = Version { major: 1, minor: 0 };

/// The document `gate`: two commits, measured in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    /// UTC.
    pub created: String,
    /// The suite as it was typed, or the command in one line.
    pub subject: String,
    pub base: Revision,
    pub head: Revision,
    pub decision: Decision,
    /// Every case, arm and regime that both commits have.
    pub rows: Vec<GateRow>,
    /// Skipped comparisons, and other remarks on the result.
    pub notes: Vec<String>,
    /// Whether two copies of base were found equal; absent if the intervals leave it open.
    pub control: Option<bool>,
    pub machine: Machine,
    /// The kinds of GPU with their drivers, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<String>,
    /// Processes of each side, per arm and cold regime.
    pub processes: u32,
    pub seed: u64,
    /// Whether all planned processes were measured.
    pub complete: bool,
    /// The folder of the run, which has the raw readings.
    pub run: String,
    /// The command that measures the same commits again.
    pub reproduce: String,
}

/// A commit, and what it was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Revision {
    pub name: String,
    pub commit: String,
    pub subject: String,
    /// Whether it holds changes that were not committed; its id then belongs to no branch.
    pub uncommitted: bool,
}

/// The decision of a gate about one comparison, or about all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Decision {
    /// Not slower than the margin allows.
    Passed,
    /// Slower than the margin allows, or with different results.
    Failed,
    /// The intervals leave it open, or a condition is not met.
    Inconclusive,
    /// A process of one side failed.
    NotRun,
}

impl Decision {
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::NotRun => "not-run",
        }
    }

    pub fn exit(self) -> Exit {
        match self {
            Self::Passed => Exit::Ok,
            Self::Failed => Exit::GateFailed,
            Self::Inconclusive => Exit::Inconclusive,
            Self::NotRun => Exit::RunnerFailed,
        }
    }
}

/// Whether both sides computed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Results {
    Same,
    Different,
    NotCompared,
}

/// One arm of a case in one regime: head against base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateRow {
    /// The names in the suite of the two commits.
    pub case: String,
    pub arm: String,
    pub regime: Regime,
    pub decision: Decision,
    pub results: Results,
    /// Time to the first result, per call or of the whole process, in nanoseconds.
    pub base: Option<Estimate>,
    pub head: Option<Estimate>,
    /// Head against base, with the names that the two have in the run.
    pub comparison: Option<Comparison>,
    /// Why it failed other than by its time, or has no verdict.
    pub why: Option<String>,
}

/// The document `bisect`: the steps of a search, and what they show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BisectDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    pub subject: String,
    pub good: Revision,
    pub bad: Revision,
    /// The difference of bad from good.
    pub change: Option<Change>,
    /// The cases and arms in which bad differs; only they are measured in later steps.
    pub places: Vec<ChangedPlace>,
    /// In the order in which they were measured.
    pub steps: Vec<BisectStep>,
    /// The commits among which the change is: one if it was found, oldest first.
    pub suspects: Vec<Revision>,
}

/// A case and an arm, by their names in the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChangedPlace {
    pub case: String,
    pub arm: String,
}

/// How a commit differs from a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Change {
    Slower,
    DifferentResults,
    Faster,
}

/// One commit of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BisectStep {
    pub commit: String,
    pub subject: String,
    pub found: Found,
    /// Processes of each side in the measurement that decided.
    pub processes: u32,
    /// The verdict in words.
    pub verdict: String,
}

/// On which side of the change a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Found {
    /// The commit is like good.
    Before,
    /// The commit is like bad.
    After,
    /// No verdict after the largest number of processes.
    Inconclusive,
    /// The commit fails to run.
    NotRun,
}

impl GateDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}

impl BisectDocument {
    /// The verdict on a commit, if it has one.
    pub fn found(&self, commit: &str) -> Option<Found> {
        self.steps.iter().find(|step| step.commit == commit).map(|step| step.found)
    }

    pub fn schema_id() -> SchemaId {
        SchemaId::new(BISECT, BISECT_VERSION)
    }
}

impl Revision {
    /// Enough of the id to recognise the commit.
    pub fn short(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }
}
