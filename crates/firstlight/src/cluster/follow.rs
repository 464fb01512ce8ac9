//! Follows a run on a cluster: submits missing tasks, shows the progress, merges at the end.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use firstlight_analysis::cluster::{Gatherer, Step, arrays};
use firstlight_engine::EngineError;
use firstlight_engine::interrupt::Interrupt;
use firstlight_engine::slurm::{Answer, Slurm, Submission};
use firstlight_schema::exit_code::Exit;
use firstlight_schema::launch::{JobRecord, StatusDocument, TaskProgress};

use super::folder::LaunchFolder;
use super::look::{seen, status};
use crate::error::Error;
use crate::merging::{self, Merged};
use crate::printer::Printer;

const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// After a rejection, Slurm is asked again after this time, then after twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_mins(5);
/// After this many failures in a row, the controller is considered gone.
const MOST_FAILURES: u32 = 10;
const SLICE: Duration = Duration::from_millis(100);

/// The end of following a run.
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
    let _lock = folder.lock()?;
    let mut follower = Follower {
        gatherer: Gatherer::new(folder.launch.tasks),
        folder,
        slurm,
        printed: String::new(),
        began: None,
        retry: FIRST_RETRY,
        not_before: Instant::now(),
    };
    let mut pause = SHORTEST_PAUSE;
    let mut failures = 0;
    loop {
        if interrupt.is_set() {
            return follower.leave(printer).map(Followed::Left);
        }
        let found = match status(follower.folder, slurm) {
            Ok(found) => found,
            Err(EngineError::Slurm { message, .. }) if failures < MOST_FAILURES => {
                failures += 1;
                printer.aside(&format!("Slurm does not answer: {message}"));
                sleep(LONGEST_PAUSE, interrupt);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        failures = 0;
        follower.tell(&found, printer);
        match follower.gatherer.step(&seen(&found)) {
            Step::Wait => {}
            Step::Submit(tasks) => {
                follower.submit(&tasks, printer)?;
                pause = SHORTEST_PAUSE;
            }
            Step::Merge => break,
            Step::GiveUp(tasks) => return Err(follower.hopeless(&tasks)),
        }
        sleep(pause, interrupt);
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
    printer.aside(&follower.latency()?);
    let shards: Vec<PathBuf> = (0..folder.launch.tasks).map(|task| folder.shard(task)).collect();
    merging::merge(&shards, &folder.merged(), argv).map(|merged| Followed::Merged(Box::new(merged)))
}

fn sleep(pause: Duration, interrupt: &Interrupt) {
    let until = Instant::now() + pause;
    while Instant::now() < until && !interrupt.is_set() {
        thread::sleep(SLICE);
    }
}

struct Follower<'a> {
    folder: &'a mut LaunchFolder,
    slurm: &'a Slurm,
    gatherer: Gatherer,
    /// The last progress line.
    printed: String,
    /// The time and number of the first processes seen.
    began: Option<(Instant, u32)>,
    retry: Duration,
    not_before: Instant,
}

impl Follower<'_> {
    /// Submits tasks as arrays. Tasks that Slurm does not accept now stay open, and are submitted later.
    fn submit(&mut self, tasks: &[u32], printer: &mut Printer) -> Result<(), Error> {
        if Instant::now() < self.not_before {
            return Ok(());
        }
        for array in arrays(tasks, self.folder.launch.largest_array) {
            let name = format!(
                "firstlight-{}",
                self.folder.launch.suite.replace(char::is_whitespace, "-")
            );
            let submission = Submission {
                name: &name,
                script: &self.folder.script(),
                options: &self.folder.launch.options,
                array: &array.list,
                offset: array.offset,
                logs: &self.folder.logs(),
            };
            match self.slurm.submit(&submission)? {
                Answer::Accepted(job) => {
                    printer.aside(&format!("submitted job {job}: {} tasks", array.tasks.len()));
                    self.gatherer.submitted(&array.tasks);
                    let (offset, tasks) = (array.offset, array.tasks);
                    let job = JobRecord { job, offset, tasks, submitted: now() };
                    self.folder.launch.jobs.push(job);
                    self.folder.save()?;
                    self.retry = FIRST_RETRY;
                }
                Answer::Later(why) => {
                    let seconds = self.retry.as_secs();
                    printer
                        .aside(&format!("Slurm takes no more now: {why}; next try in {seconds} s"));
                    self.not_before = Instant::now() + self.retry;
                    self.retry = (self.retry * 2).min(LONGEST_RETRY);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Prints a line whenever something changed.
    fn tell(&mut self, found: &StatusDocument, printer: &mut Printer) {
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
        printer.aside(&format!("{text}{end}"));
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

    /// The delay caused by Slurm itself: the time from submission to start, once for each task.
    fn latency(&self) -> Result<String, Error> {
        let found = status(self.folder, self.slurm)?;
        let mut waited: Vec<f64> =
            found.tasks.iter().flat_map(|task| task.waited.clone()).collect();
        waited.sort_by(f64::total_cmp);
        let Some(&middle) = waited.get(waited.len() / 2) else { return Ok(String::new()) };
        let most = waited.last().copied().unwrap_or(middle);
        let starts = waited.len();
        Ok(format!(
            "{starts} starts waited {middle:.1} s for Slurm in the median, {most:.1} s at most"
        ))
    }

    fn hopeless(&self, tasks: &[u32]) -> Error {
        let words = tasks.iter().find_map(|&task| self.folder.last_words(task));
        let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
        Error::Hopeless {
            folder: self.folder.path().to_owned(),
            tasks: tasks.join(", "),
            words: words.unwrap_or_else(|| "they printed nothing".to_owned()),
        }
    }

    /// Ctrl-C: leave the tasks running, or cancel them.
    fn leave(&self, printer: &mut Printer) -> Result<Exit, Error> {
        let folder = self.folder.path().display();
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            printer.talk("\ndetach and let the tasks go on, or cancel them? [D/c]");
            let mut answer = String::new();
            let _ = io::stdin().lock().read_line(&mut answer);
            if answer.trim().eq_ignore_ascii_case("c") {
                let jobs: Vec<u64> = self.folder.launch.jobs.iter().map(|job| job.job).collect();
                self.slurm.cancel(&jobs)?;
                printer.talk(&format!(
                    "cancelled; to continue later: firstlight run --attach {folder}"
                ));
                return Ok(Exit::Interrupted);
            }
        }
        printer.talk(&format!("detached; to follow again: firstlight run --attach {folder}"));
        Ok(Exit::Interrupted)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
