//! Follows the tasks of a job until each has left its shard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use firstlight_slurm::{
    self as slurm, Followed, QueueState, QueuedTask, Seen, ShardState, Slurm, SlurmError,
    TaskFolder, TaskState, Tasks, latency, newest,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::folder::LaunchFolder;
use super::launch::PROGRAM;
use crate::error::Error;
use crate::printer::Printer;

/// Set for tasks: what is added to the index within the array.
pub(super) const OFFSET: &str = "HISTFACTORY_OFFSET";

/// The folder once every shard is there; none if the user left.
pub(super) fn follow(
    folder: LaunchFolder,
    slurm: &Slurm,
    printer: &mut Printer,
) -> Result<Option<LaunchFolder>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    let mut follower = Follower { folder, printer, interrupted, shown: String::new() };
    match slurm::follow(&mut follower, slurm)? {
        Followed::Left => Ok(None),
        Followed::Hopeless(tasks) => Err(follower.hopeless(&tasks)),
        Followed::Complete => {
            let Follower { folder, printer, .. } = follower;
            let jobs = folder.jobs();
            let waited = (0..folder.launch.tasks)
                .flat_map(|task| folder.tasks.waited(task, &jobs))
                .collect();
            if let Some(line) = latency(waited) {
                printer.aside(&line);
            }
            Ok(Some(folder))
        }
    }
}

struct Follower<'a> {
    folder: LaunchFolder,
    printer: &'a mut Printer,
    interrupted: Arc<AtomicBool>,
    /// The last line about the progress.
    shown: String,
}

impl Follower<'_> {
    fn hopeless(&self, tasks: &[u32]) -> Error {
        let jobs = self.folder.jobs();
        let words = tasks.iter().find_map(|&task| self.folder.tasks.last_words(task, &jobs));
        let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
        Error::Hopeless {
            path: self.folder.tasks.path().to_owned(),
            tasks: tasks.join(", "),
            words: words.unwrap_or_else(|| "they printed nothing".to_owned()),
        }
    }

    /// A line whenever something changed.
    fn show(&mut self, seen: &[Seen]) {
        let queue = |state| seen.iter().filter(|seen| seen.queue == state).count();
        let complete = seen.iter().filter(|seen| seen.shard == ShardState::Complete).count();
        let text = format!(
            "{} queued, {} running, {complete} of {} complete",
            queue(QueueState::Queued),
            queue(QueueState::Running),
            seen.len()
        );
        if text != self.shown {
            self.printer.aside(&text);
            self.shown = text;
        }
    }
}

impl Tasks for Follower<'_> {
    type Error = Error;

    fn folder(&self) -> &TaskFolder {
        &self.folder.tasks
    }

    fn name(&self) -> String {
        PROGRAM.to_owned()
    }

    fn count(&self) -> u32 {
        self.folder.launch.tasks
    }

    fn options(&self) -> &[String] {
        &self.folder.launch.options
    }

    fn offset_variable(&self) -> &'static str {
        OFFSET
    }

    fn largest_array(&self) -> u32 {
        self.folder.launch.largest_array
    }

    fn attach_command(&self) -> String {
        format!("histfactory attach {}", self.folder.shown())
    }

    fn look(&mut self, slurm: &Slurm) -> Result<Vec<Seen>, SlurmError> {
        let queue = slurm.queue(&self.jobs())?;
        let queue = newest(&self.folder.jobs(), queue);
        let seen = |(task, &complete): (u32, &bool)| Seen {
            shard: if complete { ShardState::Complete } else { ShardState::Missing },
            queue: match queue.get(&task).map(|task: &QueuedTask| task.state) {
                Some(TaskState::Running) if !complete => QueueState::Running,
                Some(TaskState::Queued) if !complete => QueueState::Queued,
                Some(TaskState::Running | TaskState::Queued | TaskState::Ended) | None => {
                    QueueState::Absent
                }
            },
        };
        let seen: Vec<Seen> = (0..).zip(self.folder.look()).map(seen).collect();
        self.show(&seen);
        Ok(seen)
    }

    fn submitted(&mut self, job: slurm::Job) -> Result<(), Error> {
        self.folder.launch.jobs.push(job.into());
        self.folder.save()
    }

    fn jobs(&self) -> Vec<u64> {
        self.folder.jobs().iter().map(|job| job.job).collect()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn aside(&mut self, text: &str) {
        self.printer.aside(text);
    }

    fn talk(&mut self, text: &str) {
        self.printer.talk(text);
    }
}
