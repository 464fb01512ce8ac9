//! The folder of a job, on storage that all nodes share.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use firstlight_slurm::{self as slurm, TaskFolder};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::output::Schema;
use crate::shard;

pub(super) const NAME: &str = "histfactory-launch";
const LAUNCH: &str = "launch.json";
pub(super) const SHARDS: &str = "shards";

/// `launch.json`: what was submitted, and what is needed to submit the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchDocument {
    pub(super) schema: Schema,
    /// The version of the program.
    pub(super) histfactory: String,
    /// Of every task, besides its shard and its output.
    pub(super) arguments: Vec<String>,
    pub(super) tasks: u32,
    /// Options of `sbatch`.
    pub(super) options: Vec<String>,
    /// Indices within an array are smaller than this.
    pub(super) largest_array: u32,
    pub(super) jobs: Vec<JobRecord>,
}

/// A job array that the scheduler accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobRecord {
    job: u64,
    /// The number that is added to the index within the array.
    offset: u32,
    tasks: Vec<u32>,
    /// Seconds since 1970 on the clock of the machine that submitted it.
    submitted: f64,
}

impl From<slurm::Job> for JobRecord {
    fn from(job: slurm::Job) -> Self {
        Self { job: job.job, offset: job.offset, tasks: job.tasks, submitted: job.submitted }
    }
}

pub(super) struct LaunchFolder {
    pub(super) tasks: TaskFolder,
    pub(super) launch: LaunchDocument,
    /// Tasks whose shard was read and has the right digest: it is not read a second time.
    complete: Vec<bool>,
}

impl LaunchFolder {
    pub(super) fn new(path: PathBuf, launch: LaunchDocument) -> Self {
        let complete = (0..launch.tasks).map(|_| false).collect();
        Self { tasks: TaskFolder::new(path), launch, complete }
    }

    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head {
            schema: Schema,
        }
        let refused = |why: String| Error::Folder { path: path.to_owned(), why };
        let text = fs::read_to_string(path.join(LAUNCH))
            .map_err(|error| refused(format!("cannot read {LAUNCH}: {error}")))?;
        let head: Head =
            serde_json::from_str(&text).map_err(|error| refused(format!("{LAUNCH}: {error}")))?;
        if head.schema != Schema::new(NAME) {
            let Schema { name, version } = head.schema;
            return Err(refused(format!("{LAUNCH} is a document `{name}` {version}")));
        }
        let launch =
            serde_json::from_str(&text).map_err(|error| refused(format!("{LAUNCH}: {error}")))?;
        // An absolute path, because tasks start in another folder.
        let path = fs::canonicalize(path).map_err(|error| refused(error.to_string()))?;
        let mut folder = Self::new(path, launch);
        folder.look();
        Ok(folder)
    }

    pub(super) fn save(&self) -> Result<(), Error> {
        let path = self.tasks.path().join(LAUNCH);
        let part = path.with_extension("part");
        let failed = |source| Error::Write { path: path.clone(), source };
        fs::write(&part, serde_json::to_string_pretty(&self.launch)? + "\n").map_err(failed)?;
        fs::rename(&part, &path).map_err(failed)
    }

    pub(super) fn shards(&self) -> Vec<PathBuf> {
        (0..self.launch.tasks).map(|task| self.shard(task)).collect()
    }

    fn shard(&self, task: u32) -> PathBuf {
        self.tasks.path().join(SHARDS).join(format!("{task:05}.json"))
    }

    /// Whether each task has left its shard. A truncated or altered file does not count.
    pub(super) fn look(&mut self) -> &[bool] {
        let paths = self.shards();
        for ((complete, path), task) in self.complete.iter_mut().zip(paths).zip(1_u32..) {
            let expected = format!("{task}/{}", self.launch.tasks);
            *complete = *complete
                || path.is_file() && shard::read(&path).is_ok_and(|shard| shard.shard == expected);
        }
        &self.complete
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete.iter().all(|&complete| complete)
    }

    /// The jobs in the form that following needs.
    pub(super) fn jobs(&self) -> Vec<slurm::Job> {
        let job = |job: &JobRecord| slurm::Job {
            job: job.job,
            offset: job.offset,
            tasks: job.tasks.clone(),
            submitted: job.submitted,
        };
        self.launch.jobs.iter().map(job).collect()
    }

    pub(super) fn shown(&self) -> Cow<'_, str> {
        self.tasks.path().to_string_lossy()
    }
}
