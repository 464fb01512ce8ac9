//! The folder that the tasks of a run share, and what their scripts leave in it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::{Job, SlurmError};

/// The script of the tasks.
pub(crate) const SCRIPT: &str = "task.sh";
/// The file that a node must be able to read before it measures.
pub(crate) const SENTINEL: &str = "sentinel";
/// Locks of the tasks, and a line for every start.
const TASKS: &str = "tasks";
const LOGS: &str = "logs";
const FOLLOWER: &str = "follow.lock";
/// Lines of a task's output that are shown when it fails.
const LAST_LINES: usize = 8;

#[derive(Clone, Debug)]
pub struct TaskFolder {
    path: PathBuf,
}

/// A start of a task, as its script recorded it.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub node: String,
    pub job: u64,
    /// Seconds since 1970 on the node's clock.
    pub at: f64,
}

impl TaskFolder {
    /// Folders that must be there before a task starts.
    pub const FOLDERS: [&str; 2] = [TASKS, LOGS];

    pub const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn script(&self) -> PathBuf {
        self.path.join(SCRIPT)
    }

    pub fn sentinel(&self) -> PathBuf {
        self.path.join(SENTINEL)
    }

    pub fn logs(&self) -> PathBuf {
        self.path.join(LOGS)
    }

    /// Held by whoever submits tasks: two would submit them twice.
    pub fn lock(&self) -> Result<File, SlurmError> {
        let path = self.path.join(FOLLOWER);
        let failed = |action, error: &std::io::Error| SlurmError::File {
            action,
            path: path.clone(),
            message: error.to_string(),
        };
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| failed("write", &error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(SlurmError::Followed { folder: self.path.clone() })
            }
            Err(TryLockError::Error(error)) => Err(failed("lock", &error)),
        }
    }

    /// When and where a task was started.
    pub fn starts(&self, task: u32) -> Vec<Start> {
        let path = self.path.join(TASKS).join(format!("{task:05}.begun"));
        let text = fs::read_to_string(path).unwrap_or_default();
        let start = |line: &str| {
            let mut words = line.split(' ');
            let node = words.next()?.to_owned();
            Some(Start { node, job: words.next()?.parse().ok()?, at: words.next()?.parse().ok()? })
        };
        text.lines().filter_map(start).collect()
    }

    /// Seconds from submission to start. Slurm starts a task again by itself; only the first start of a job
    /// waited since its submission.
    pub fn waited(&self, task: u32, jobs: &[Job]) -> Vec<f64> {
        let mut seen = Vec::new();
        let mut waited = Vec::new();
        for start in self.starts(task) {
            if !seen.contains(&start.job) {
                seen.push(start.job);
                let job = jobs.iter().find(|job| job.job == start.job);
                waited.extend(job.map(|job| (start.at - job.submitted).max(0.0)));
            }
        }
        waited
    }

    /// The last lines that a task printed.
    pub fn last_words(&self, task: u32, jobs: &[Job]) -> Option<String> {
        jobs.iter().rev().filter(|job| job.tasks.contains(&task)).find_map(|job| {
            let name = format!("{}_{}.txt", job.job, task - job.offset);
            let text = fs::read_to_string(self.logs().join(name)).ok()?;
            let lines: Vec<&str> = text.trim_end().lines().collect();
            let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
            (!last.is_empty()).then_some(last)
        })
    }
}
