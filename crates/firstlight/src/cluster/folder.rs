//! The folder of a run on a cluster, on storage that all nodes share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use firstlight_engine::EngineError;
use firstlight_engine::snapshot::{check_version, is_sealed};
use firstlight_engine::store::write_whole;
use firstlight_schema::launch::{LAUNCH, LaunchDocument, NAME, VERSION};
use firstlight_schema::snapshot::{RAW, RESULT};
use serde::Deserialize;

use crate::error::Error;

const FOLLOWER: &str = "follow.lock";

pub(crate) struct LaunchFolder {
    path: PathBuf,
    /// Shards that were seen complete, with their processes; they do not change any more.
    complete: RefCell<BTreeMap<u32, u32>>,
    pub(crate) launch: LaunchDocument,
}

/// A start of a task, as recorded by its script.
pub(super) struct Start {
    pub(super) node: String,
    pub(super) job: u64,
    pub(super) at: f64,
}

impl LaunchFolder {
    /// Everything else in the folder exists already.
    pub(super) fn new(path: PathBuf, launch: LaunchDocument) -> Self {
        Self { path, complete: RefCell::default(), launch }
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
        &self.path
    }

    pub(crate) fn merged(&self) -> PathBuf {
        self.path.join("merged")
    }

    pub(super) fn script(&self) -> PathBuf {
        self.path.join("task.sh")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    pub(super) fn shard(&self, task: u32) -> PathBuf {
        self.path.join("shards").join(format!("{task:05}"))
    }

    pub(super) fn save(&self) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(&self.launch)? + "\n";
        Ok(write_whole(&self.path.join(LAUNCH), &json)?)
    }

    /// Held while a firstlight submits tasks, because two would submit them twice.
    pub(super) fn lock(&self) -> Result<File, Error> {
        let path = self.path.join(FOLLOWER);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| Error::io("write", &path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => {
                Err(EngineError::Followed { folder: self.path.clone() }.into())
            }
            Err(fs::TryLockError::Error(error)) => Err(Error::io("lock", &path, &error)),
        }
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

    /// The times and nodes of a task's starts.
    pub(super) fn starts(&self, task: u32) -> Vec<Start> {
        let path = self.path.join("tasks").join(format!("{task:05}.begun"));
        let text = fs::read_to_string(path).unwrap_or_default();
        let start = |line: &str| {
            let mut words = line.split(' ');
            let node = words.next()?.to_owned();
            Some(Start { node, job: words.next()?.parse().ok()?, at: words.next()?.parse().ok()? })
        };
        text.lines().filter_map(start).collect()
    }

    /// The last lines that a task printed.
    pub(super) fn last_words(&self, task: u32) -> Option<String> {
        const LINES: usize = 8;
        let logs = self.launch.jobs.iter().rev().filter(|job| job.tasks.contains(&task));
        let name = |job: u64, index: u32| self.logs().join(format!("{job}_{index}.txt"));
        let texts = logs.filter_map(|job| {
            let text = fs::read_to_string(name(job.job, task - job.offset)).ok()?;
            let lines: Vec<&str> = text.trim_end().lines().collect();
            let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
            (!last.is_empty()).then_some(last)
        });
        texts.into_iter().next()
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
