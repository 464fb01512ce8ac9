//! The documents of a run on a cluster: `launch`, which describes the submitted tasks, and `status`, its
//! progress.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::version::{Build, SchemaId, Version};

pub const NAME: &str = "launch";
pub const STATUS: &str = "status";
pub const VERSION: Version = Version { major: 1, minor: 0 };
/// Its name in the folder of the run.
pub const LAUNCH: &str = "launch.json";

/// `launch.json`: the submitted tasks, and the information needed to submit the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LaunchDocument {
    pub schema: SchemaId,
    pub firstlight: Build,
    /// UTC.
    pub created: String,
    pub suite: String,
    /// As typed.
    pub argv: Vec<String>,
    pub tasks: u32,
    /// Rounds of each task: processes per arm and regime.
    pub rounds: u32,
    /// All processes of one task, if nothing fails.
    pub processes: u32,
    /// Options of `sbatch`.
    pub options: Vec<String>,
    /// Indices within an array are smaller than this.
    pub largest_array: u32,
    pub jobs: Vec<JobRecord>,
}

/// A job array that the scheduler accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JobRecord {
    pub job: u64,
    /// The number that is added to the index within the array.
    pub offset: u32,
    pub tasks: Vec<u32>,
    /// Seconds since 1970 on the clock of the machine that submitted it.
    pub submitted: f64,
}

/// The progress of a run on a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StatusDocument {
    pub schema: SchemaId,
    pub suite: String,
    pub rounds: u32,
    pub tasks: Vec<TaskStatus>,
    /// Whether the shards were merged.
    pub merged: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaskStatus {
    pub task: u32,
    pub state: TaskProgress,
    /// Processes on disk.
    pub processes: u32,
    /// The nodes on which the task was started, in order.
    pub nodes: Vec<String>,
    /// The scheduler's reason why the task is waiting.
    pub reason: Option<String>,
    /// Seconds from each submission to the following start.
    pub waited: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum TaskProgress {
    /// In no queue, with an incomplete shard.
    Open,
    Queued,
    Running,
    /// Its shard is sealed and complete.
    Complete,
}

impl TaskProgress {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Complete => "complete",
        }
    }
}

impl LaunchDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(NAME, VERSION)
    }
}

impl StatusDocument {
    pub fn schema_id() -> SchemaId {
        SchemaId::new(STATUS, VERSION)
    }
}
