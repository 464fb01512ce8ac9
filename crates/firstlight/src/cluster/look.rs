//! Polls the tasks: the queue of Slurm and the shards on disk.

use firstlight_schema::launch::{StatusDocument, TaskProgress, TaskStatus};
use firstlight_slurm::{
    Job, QueueState, QueuedTask, Seen, ShardState, Slurm, SlurmError, TaskState, newest,
};

use super::folder::LaunchFolder;

/// The state of all tasks.
pub(crate) fn status(folder: &LaunchFolder, slurm: &Slurm) -> Result<StatusDocument, SlurmError> {
    let launch = &folder.launch;
    let jobs = folder.jobs();
    let numbers: Vec<u64> = jobs.iter().map(|job| job.job).collect();
    let queued = newest(&jobs, slurm.queue(&numbers)?);
    let tasks = (0..launch.tasks).map(|task| of_task(folder, task, queued.get(&task), &jobs));
    let tasks = tasks.collect();
    Ok(StatusDocument {
        schema: StatusDocument::schema_id(),
        suite: launch.suite.clone(),
        rounds: launch.rounds,
        tasks,
        merged: folder.merged().exists(),
    })
}

fn of_task(
    folder: &LaunchFolder,
    task: u32,
    queued: Option<&QueuedTask>,
    jobs: &[Job],
) -> TaskStatus {
    let (processes, complete) = folder.processes(task);
    let live = queued.filter(|queued| queued.state != TaskState::Ended);
    let state = match live.map(|live| live.state) {
        _ if complete => TaskProgress::Complete,
        Some(TaskState::Queued) => TaskProgress::Queued,
        Some(TaskState::Running) => TaskProgress::Running,
        Some(TaskState::Ended) | None => TaskProgress::Open,
    };
    let starts = folder.tasks.starts(task);
    let waited = folder.tasks.waited(task, jobs);
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
