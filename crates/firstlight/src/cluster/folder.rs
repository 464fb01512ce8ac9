//! The folder of a run on a cluster, on storage that all nodes share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{check_version, is_sealed};
use firstlight_engine::store::write_whole;
use firstlight_schema::launch::{JobRecord, LAUNCH, LaunchDocument, NAME, VERSION};
use firstlight_schema::snapshot::{RAW, RESULT};
use firstlight_slurm::{Job, TaskFolder};
use serde::Deserialize;

use crate::error::Error;

pub(crate) struct LaunchFolder {
    pub(super) tasks: TaskFolder,
    /// Shards that were seen complete, with their processes: nothing is added to them.
    complete: RefCell<BTreeMap<u32, u32>>,
    pub(crate) launch: LaunchDocument,
}

impl LaunchFolder {
    /// Everything else in the folder exists already.
    pub(super) fn new(path: PathBuf, launch: LaunchDocument) -> Self {
        Self { tasks: TaskFolder::new(path), complete: RefCell::default(), launch }
    }

    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = path.join(LAUNCH);
        let text = fs::read_to_string(&file).map_err(|error| Error::io("read", &file, &error))?;
        let not = |reason: String| EngineError::NotAResult { path: file.clone(), reason };
        check_version(text.as_bytes(), NAME, VERSION).map_err(|why| not(format!("it {why}")))?;
        let launch = serde_json::from_str(&text).map_err(|error| not(error.to_string()))?;
        // A task writes to the folder's absolute path, independent of the user's current folder.
        let path = fs::canonicalize(path).map_err(|error| Error::io("find", path, &error))?;
        Ok(Self::new(path, launch))
    }

    pub(crate) fn path(&self) -> &Path {
        self.tasks.path()
    }

    pub(crate) fn merged(&self) -> PathBuf {
        self.path().join("merged")
    }

    pub(super) fn shard(&self, task: u32) -> PathBuf {
        self.path().join("shards").join(format!("{task:05}"))
    }

    pub(super) fn save(&self) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(&self.launch)? + "\n";
        Ok(write_whole(&self.path().join(LAUNCH), &json)?)
    }

    /// The arrays that were submitted.
    pub(super) fn jobs(&self) -> Vec<Job> {
        let job = |job: &JobRecord| Job {
            job: job.job,
            offset: job.offset,
            tasks: job.tasks.clone(),
            submitted: job.submitted,
        };
        self.launch.jobs.iter().map(job).collect()
    }

    /// The number of a shard's processes on disk, and whether it is sealed and complete.
    pub(super) fn processes(&self, task: u32) -> (u32, bool) {
        if let Some(&known) = self.complete.borrow().get(&task) {
            return (known, true);
        }
        let shard = self.shard(task);
        let Ok(file) = File::open(shard.join(RAW)) else { return (0, false) };
        let lines = BufReader::new(file).split(b'\n').count();
        let lines = u32::try_from(lines).unwrap_or(u32::MAX);
        let complete = is_sealed(&shard) && is_complete(&shard);
        if complete {
            self.complete.borrow_mut().insert(task, lines);
        }
        (lines, complete)
    }
}

/// Whether the result of a sealed shard is complete.
fn is_complete(shard: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        complete: bool,
    }
    let Ok(file) = File::open(shard.join(RESULT)) else { return false };
    let head: Result<Head, _> = serde_json::from_reader(BufReader::new(file));
    head.is_ok_and(|head| head.complete)
}
