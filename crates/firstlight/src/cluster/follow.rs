//! Follows a run on a cluster: shows how far it is, and merges its shards at the end.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use firstlight_engine::interrupt::Interrupt;
use firstlight_schema::exit_code::Exit;
use firstlight_schema::launch::{JobRecord, StatusDocument, TaskProgress};
use firstlight_schema::variables;
use firstlight_slurm::{self as slurm, Job, Seen, Slurm, SlurmError, TaskFolder, Tasks, latency};

use super::folder::LaunchFolder;
use super::look::{seen, status};
use crate::error::Error;
use crate::merging::{self, Merged};
use crate::printer::Printer;

/// How following ended.
pub(crate) enum Followed {
    Merged(Box<Merged>),
    /// The user detached from the run, or cancelled it.
    Left(Exit),
}

/// Follows until all shards are merged, or the user leaves.
pub(crate) fn follow(
    folder: &mut LaunchFolder,
    slurm: &Slurm,
    argv: Vec<String>,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> Result<Followed, Error> {
    let _lock = folder.tasks.lock()?;
    let mut follower = Follower { folder, printer, interrupt, printed: String::new(), began: None };
    match slurm::follow(&mut follower, slurm)? {
        slurm::Followed::Left => return Ok(Followed::Left(Exit::Interrupted)),
        slurm::Followed::Hopeless(tasks) => return Err(follower.hopeless(&tasks)),
        slurm::Followed::Complete => {}
    }
    let found = status(folder, slurm)?;
    let waited = found.tasks.iter().flat_map(|task| task.waited.clone()).collect();
    if let Some(line) = latency(waited) {
        printer.aside(&line);
    }
    let shards: Vec<PathBuf> = (0..folder.launch.tasks).map(|task| folder.shard(task)).collect();
    merging::merge(&shards, &folder.merged(), argv).map(|merged| Followed::Merged(Box::new(merged)))
}

struct Follower<'a> {
    folder: &'a mut LaunchFolder,
    printer: &'a mut Printer,
    interrupt: &'a Interrupt,
    /// The last line about the progress.
    printed: String,
    /// The time and number of the first processes seen.
    began: Option<(Instant, u32)>,
}

impl Follower<'_> {
    /// A line whenever something changed.
    fn show(&mut self, found: &StatusDocument) {
        let count = |state| found.tasks.iter().filter(|task| task.state == state).count();
        let (queued, running) = (count(TaskProgress::Queued), count(TaskProgress::Running));
        let complete = count(TaskProgress::Complete);
        let processes: u32 = found.tasks.iter().map(|task| task.processes).sum();
        let launch = &self.folder.launch;
        let all = launch.processes.saturating_mul(launch.tasks).max(1);
        let rounds = launch.rounds * launch.tasks;
        let done = u64::from(rounds) * u64::from(processes.min(all)) / u64::from(all);
        let mut text = format!(
            "{queued} queued, {running} running, {complete} of {} complete; {done} of {rounds} rounds",
            launch.tasks
        );
        let reasons = found.tasks.iter().filter_map(|task| task.reason.as_deref());
        let mut reasons: Vec<&str> = reasons.filter(|reason| *reason != "None").collect();
        reasons.sort_unstable();
        reasons.dedup();
        if !reasons.is_empty() {
            let _ = write!(text, "; waiting for {}", reasons.join(", "));
        }
        if text == self.printed {
            return;
        }
        let end = self.expected(processes, all).map_or_else(String::new, |left| {
            format!("; about {} left", humantime::format_duration(Duration::from_secs(left)))
        });
        self.printer.aside(&format!("{text}{end}"));
        self.printed = text;
    }

    /// Seconds until the end at the present rate.
    fn expected(&mut self, processes: u32, all: u32) -> Option<u64> {
        if processes == 0 {
            return None;
        }
        let (since, first) = *self.began.get_or_insert((Instant::now(), processes));
        let (more, left) = (processes.saturating_sub(first), all.saturating_sub(processes));
        if more == 0 || left == 0 {
            return None;
        }
        Some(since.elapsed().as_secs() * u64::from(left) / u64::from(more))
    }

    fn hopeless(&self, tasks: &[u32]) -> Error {
        let jobs = self.folder.jobs();
        let words = tasks.iter().find_map(|&task| self.folder.tasks.last_words(task, &jobs));
        let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
        Error::Hopeless {
            folder: self.folder.path().to_owned(),
            tasks: tasks.join(", "),
            words: words.unwrap_or_else(|| "they printed nothing".to_owned()),
        }
    }
}

impl Tasks for Follower<'_> {
    type Error = Error;

    fn folder(&self) -> &TaskFolder {
        &self.folder.tasks
    }

    fn name(&self) -> String {
        format!("firstlight-{}", self.folder.launch.suite.replace(char::is_whitespace, "-"))
    }

    fn count(&self) -> u32 {
        self.folder.launch.tasks
    }

    fn options(&self) -> &[String] {
        &self.folder.launch.options
    }

    fn offset_variable(&self) -> &'static str {
        variables::OFFSET
    }

    fn largest_array(&self) -> u32 {
        self.folder.launch.largest_array
    }

    fn attach_command(&self) -> String {
        format!("firstlight run --attach {}", self.folder.path().display())
    }

    fn look(&mut self, slurm: &Slurm) -> Result<Vec<Seen>, SlurmError> {
        let found = status(self.folder, slurm)?;
        self.show(&found);
        Ok(seen(&found))
    }

    fn submitted(&mut self, job: Job) -> Result<(), Error> {
        let Job { job, offset, tasks, submitted } = job;
        self.folder.launch.jobs.push(JobRecord { job, offset, tasks, submitted });
        self.folder.save()
    }

    fn jobs(&self) -> Vec<u64> {
        self.folder.launch.jobs.iter().map(|job| job.job).collect()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    fn aside(&mut self, text: &str) {
        self.printer.aside(text);
    }

    fn talk(&mut self, text: &str) {
        self.printer.talk(text);
    }
}
