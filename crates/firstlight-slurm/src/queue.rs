//! The queue, as `squeue` prints it.

use std::collections::BTreeMap;

use crate::Job;

/// Job, index within the array, state, node, reason.
pub(crate) const FORMAT: &str = "--format=%F|%K|%T|%N|%r";

/// A task that Slurm knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedTask {
    pub job: u64,
    pub index: u32,
    pub state: TaskState,
    pub node: String,
    /// Why it waits, in Slurm's words.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// The task waits, or will be started again.
    Queued,
    /// The task runs, starts or exits.
    Running,
    Ended,
}

pub(crate) fn parse(text: &str) -> Vec<QueuedTask> {
    text.lines().filter_map(line).collect()
}

fn line(text: &str) -> Option<QueuedTask> {
    let mut fields = text.trim().split('|');
    let job = fields.next()?.parse().ok()?;
    let index = fields.next()?.parse().ok()?;
    let state = state(fields.next()?);
    let node = fields.next().unwrap_or_default().to_owned();
    let reason = fields.next().unwrap_or_default().to_owned();
    Some(QueuedTask { job, index, state, node, reason })
}

/// The tasks of these jobs by their number. A task that was submitted again is where its live submission is.
pub fn newest(jobs: &[Job], queue: Vec<QueuedTask>) -> BTreeMap<u32, QueuedTask> {
    let mut found: BTreeMap<u32, QueuedTask> = BTreeMap::new();
    for task in queue {
        let job = jobs.iter().find(|job| job.job == task.job);
        let Some(index) = job.map(|job| job.offset + task.index) else { continue };
        if task.state != TaskState::Ended || !found.contains_key(&index) {
            found.insert(index, task);
        }
    }
    found
}

/// A state that a newer Slurm may have added counts as running: nothing is submitted twice.
fn state(name: &str) -> TaskState {
    match name {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT"
        | "RESV_DEL_HOLD" => TaskState::Queued,
        "BOOT_FAIL" | "CANCELLED" | "COMPLETED" | "DEADLINE" | "FAILED" | "NODE_FAIL"
        | "OUT_OF_MEMORY" | "PREEMPTED" | "REVOKED" | "TIMEOUT" => TaskState::Ended,
        _ => TaskState::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::TaskState::{Ended, Queued, Running};
    use super::*;

    #[test]
    fn the_queue_is_read_line_by_line() {
        let text = "12|0|RUNNING|node1|None\n12|1|PENDING||Resources\n12|3|NODE_FAIL|node2|None\n\
                    12|4|SIGNALING|node2|None\nnonsense\n";
        let found = parse(text);
        let listed: Vec<_> = found.iter().map(|one| (one.index, one.state)).collect();
        assert_eq!(listed, [(0, Running), (1, Queued), (3, Ended), (4, Running)]);
        assert_eq!((found[0].node.as_str(), found[1].reason.as_str()), ("node1", "Resources"));
    }
}
