//! Chooses the next step from the observed state of the tasks: their shards on the shared storage, and the
//! scheduler's queue. It never measures anything twice: a task is submitted again only while it is in no
//! queue and its shard is not complete, and a submitted task continues its shard.

/// The state of a task's shard on the shared storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardState {
    Missing,
    /// It has this many processes and is not sealed, or was sealed too early.
    Unfinished {
        processes: u32,
    },
    Complete,
}

/// The scheduler's state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueState {
    Absent,
    Queued,
    Running,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub shard: ShardState,
    pub queue: QueueState,
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Wait,
    Submit(Vec<u32>),
    /// Every shard is complete.
    Merge,
    /// These tasks fail every time, and no other task is running.
    GiveUp(Vec<u32>),
}

/// Files may appear on shared storage later than the scheduler reports the end of a task.
const LOOKS_BEFORE_ABSENT: u32 = 2;
/// A task that was started this often without a single new process has a permanent failure.
const MOST_IN_VAIN: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Task {
    /// The number of submissions since its last progress.
    in_vain: u32,
    processes: u32,
    absent: u32,
}

/// The tasks of one run.
#[derive(Clone, Debug)]
pub struct Gatherer {
    tasks: Vec<Task>,
}

impl Gatherer {
    pub fn new(tasks: u32) -> Self {
        let tasks = usize::try_from(tasks).unwrap_or(usize::MAX);
        Self { tasks: vec![Task::default(); tasks] }
    }

    /// Evaluates the state of all tasks, in order.
    pub fn step(&mut self, seen: &[Seen]) -> Step {
        let mut is_busy = false;
        let (mut wanted, mut hopeless) = (Vec::new(), Vec::new());
        for (index, (task, seen)) in self.tasks.iter_mut().zip(seen).enumerate() {
            let processes = match seen.shard {
                ShardState::Complete => continue,
                ShardState::Missing => 0,
                ShardState::Unfinished { processes } => processes,
            };
            if processes > task.processes {
                (task.processes, task.in_vain) = (processes, 0);
            }
            if seen.queue != QueueState::Absent {
                task.absent = 0;
                is_busy = true;
                continue;
            }
            task.absent += 1;
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            if task.in_vain >= MOST_IN_VAIN {
                hopeless.push(index);
            } else if task.absent < LOOKS_BEFORE_ABSENT {
                is_busy = true;
            } else {
                wanted.push(index);
            }
        }
        match (wanted.is_empty(), is_busy, hopeless.is_empty()) {
            (false, ..) => Step::Submit(wanted),
            (true, true, _) => Step::Wait,
            (true, false, false) => Step::GiveUp(hopeless),
            (true, false, true) => Step::Merge,
        }
    }

    /// Records that the scheduler has accepted these tasks.
    pub fn submitted(&mut self, tasks: &[u32]) {
        for index in tasks {
            let place = usize::try_from(*index).unwrap_or(usize::MAX);
            if let Some(task) = self.tasks.get_mut(place) {
                task.in_vain += 1;
                task.absent = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueueState::{Absent, Queued, Running};
    use ShardState::{Complete, Missing, Unfinished};

    fn look(gatherer: &mut Gatherer, seen: &[(ShardState, QueueState)]) -> Step {
        let seen: Vec<Seen> = seen.iter().map(|&(shard, queue)| Seen { shard, queue }).collect();
        gatherer.step(&seen)
    }

    #[test]
    fn only_tasks_without_a_complete_shard_and_in_no_queue_are_submitted() {
        let mut gatherer = Gatherer::new(4);
        let start = [(Missing, Absent), (Complete, Absent), (Missing, Absent), (Missing, Queued)];
        assert_eq!(look(&mut gatherer, &start), Step::Wait, "files may be late");
        assert_eq!(look(&mut gatherer, &start), Step::Submit(vec![0, 2]));
        gatherer.submitted(&[0, 2]);
        let running =
            [(Missing, Running), (Complete, Absent), (Missing, Queued), (Complete, Running)];
        assert_eq!(look(&mut gatherer, &running), Step::Wait);
        let done = [(Complete, Absent); 4];
        assert_eq!(look(&mut gatherer, &done), Step::Merge);
    }

    #[test]
    fn a_task_that_makes_progress_is_continued_and_one_that_does_not_is_abandoned() {
        let mut gatherer = Gatherer::new(2);
        let mut submissions = 0;
        for attempt in 1..=20_u32 {
            let seen = [(Unfinished { processes: attempt }, Absent), (Missing, Absent)];
            if let Step::Submit(tasks) = look(&mut gatherer, &seen) {
                submissions += tasks.iter().filter(|&&task| task == 1).count();
                gatherer.submitted(&tasks);
            }
        }
        assert_eq!(submissions, 3, "three attempts without a process are enough");
        let left = [(Complete, Absent), (Missing, Absent)];
        assert_eq!(look(&mut gatherer, &left), Step::GiveUp(vec![1]));
    }

    #[test]
    fn a_submission_that_the_scheduler_refused_is_not_an_attempt() {
        let mut gatherer = Gatherer::new(1);
        for _ in 0..50 {
            look(&mut gatherer, &[(Missing, Absent)]);
        }
        assert_eq!(look(&mut gatherer, &[(Missing, Absent)]), Step::Submit(vec![0]));
    }
}
