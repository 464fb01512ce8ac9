//! Polls the tasks: the queue of Slurm and the shards on disk.

use std::collections::BTreeMap;

use firstlight_analysis::cluster::{QueueState, Seen, ShardState};
use firstlight_engine::EngineError;
use firstlight_engine::slurm::{QueuedTask, Slurm, TaskState};
use firstlight_schema::launch::{StatusDocument, TaskProgress, TaskStatus};

use super::folder::LaunchFolder;

/// The state of all tasks.
pub(crate) fn status(folder: &LaunchFolder, slurm: &Slurm) -> Result<StatusDocument, EngineError> {
    let launch = &folder.launch;
    let jobs: Vec<u64> = launch.jobs.iter().map(|job| job.job).collect();
    let mut queued: BTreeMap<u32, QueuedTask> = BTreeMap::new();
    for task in slurm.queue(&jobs)? {
        let job = launch.jobs.iter().find(|job| job.job == task.job);
        let Some(index) = job.map(|job| job.offset + task.index) else { continue };
        // A task that was submitted again has the state of its live submission.
        let ended = task.state == TaskState::Ended;
        if !ended || !queued.contains_key(&index) {
            queued.insert(index, task);
        }
    }
    let tasks = (0..launch.tasks).map(|task| of_task(folder, task, queued.get(&task))).collect();
    Ok(StatusDocument {
        schema: StatusDocument::schema_id(),
        suite: launch.suite.clone(),
        rounds: launch.rounds,
        tasks,
        merged: folder.merged().exists(),
    })
}

fn of_task(folder: &LaunchFolder, task: u32, queued: Option<&QueuedTask>) -> TaskStatus {
    let (processes, complete) = folder.processes(task);
    let live = queued.filter(|queued| queued.state != TaskState::Ended);
    let state = match live.map(|live| live.state) {
        _ if complete => TaskProgress::Complete,
        Some(TaskState::Queued) => TaskProgress::Queued,
        Some(TaskState::Running) => TaskProgress::Running,
        Some(TaskState::Ended) | None => TaskProgress::Open,
    };
    let starts = folder.starts(task);
    let submitted = |job: u64| {
        let job = folder.launch.jobs.iter().find(|known| known.job == job)?;
        Some(job.submitted)
    };
    // Slurm restarts a task by itself, so only the first start of a job waited since its submission.
    let mut seen = Vec::new();
    let mut waited = Vec::new();
    for start in &starts {
        if !seen.contains(&start.job) {
            seen.push(start.job);
            waited.extend(submitted(start.job).map(|at| (start.at - at).max(0.0)));
        }
    }
    let reason = live.filter(|live| live.state == TaskState::Queued).map(|live| &live.reason);
    TaskStatus {
        task,
        state,
        processes,
        nodes: starts.into_iter().map(|start| start.node).collect(),
        reason: reason.filter(|reason| !reason.is_empty()).cloned(),
        waited,
    }
}

/// The same in the form that the gatherer uses.
pub(super) fn seen(status: &StatusDocument) -> Vec<Seen> {
    let one = |task: &TaskStatus| Seen {
        shard: match task.state {
            TaskProgress::Complete => ShardState::Complete,
            _ if task.processes == 0 => ShardState::Missing,
            _ => ShardState::Unfinished { processes: task.processes },
        },
        queue: match task.state {
            TaskProgress::Queued => QueueState::Queued,
            TaskProgress::Running => QueueState::Running,
            TaskProgress::Open | TaskProgress::Complete => QueueState::Absent,
        },
    };
    status.tasks.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_shard_counts_even_while_its_task_is_still_in_the_queue() {
        let task = TaskStatus {
            task: 0,
            state: TaskProgress::Complete,
            processes: 9,
            nodes: Vec::new(),
            reason: None,
            waited: Vec::new(),
        };
        let open = TaskStatus { state: TaskProgress::Open, processes: 3, ..task.clone() };
        let status = StatusDocument {
            schema: StatusDocument::schema_id(),
            suite: "s".to_owned(),
            rounds: 2,
            tasks: vec![task, open],
            merged: false,
        };
        let found = seen(&status);
        assert_eq!(found[0].shard, ShardState::Complete);
        assert_eq!(found[1].shard, ShardState::Unfinished { processes: 3 });
        assert_eq!(found[1].queue, QueueState::Absent);
    }
}
