//! Follows tasks until each has left its shard: submits those that are in no queue and have none.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::{Answer, Gatherer, Seen, Slurm, SlurmError, Step, Submission, TaskFolder, arrays};

const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// After a refusal, Slurm is asked again after this long, then after twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_mins(5);
/// A controller that does not answer so often in a row is gone.
const MOST_FAILURES: u32 = 10;
const SLICE: Duration = Duration::from_millis(100);

/// A job array that the scheduler accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub job: u64,
    /// The number that is added to the index within the array.
    pub offset: u32,
    pub tasks: Vec<u32>,
    /// Seconds since 1970 on the clock of the machine that submitted it.
    pub submitted: f64,
}

/// The tasks of a run, and whoever watches them.
pub trait Tasks {
    type Error: From<SlurmError>;

    fn folder(&self) -> &TaskFolder;

    /// The name of the jobs.
    fn name(&self) -> String;

    fn count(&self) -> u32;

    /// Options of `sbatch`.
    fn options(&self) -> &[String];

    /// The variable for what is added to the index within an array.
    fn offset_variable(&self) -> &'static str;

    /// Indices within an array are smaller than this.
    fn largest_array(&self) -> u32;

    /// The command that follows the tasks again.
    fn attach_command(&self) -> String;

    /// Looks at all tasks, in order, and shows how far they are.
    fn look(&mut self, slurm: &Slurm) -> Result<Vec<Seen>, SlurmError>;

    /// Remembers, on disk, what was submitted.
    fn submitted(&mut self, job: Job) -> Result<(), Self::Error>;

    fn jobs(&self) -> Vec<u64>;

    fn is_interrupted(&self) -> bool;

    /// Something that is only of interest while it lasts.
    fn aside(&mut self, text: &str);

    /// Something that is printed in any case.
    fn talk(&mut self, text: &str);
}

/// How following ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Every shard is complete.
    Complete,
    /// These tasks fail every time.
    Hopeless(Vec<u32>),
    /// The user left the tasks running or cancelled them.
    Left,
}

/// Until all shards are complete, or the user leaves. The caller holds [`TaskFolder::lock`], until it has
/// merged the shards.
pub fn follow<T: Tasks>(tasks: &mut T, slurm: &Slurm) -> Result<Followed, T::Error> {
    let mut submitter = Submitter {
        gatherer: Gatherer::new(tasks.count()),
        retry: FIRST_RETRY,
        not_before: Instant::now(),
    };
    let mut pause = SHORTEST_PAUSE;
    let mut failures = 0;
    loop {
        if tasks.is_interrupted() {
            return leave(tasks, slurm);
        }
        let seen = match tasks.look(slurm) {
            Ok(seen) => seen,
            Err(SlurmError::Command { message, .. }) if failures < MOST_FAILURES => {
                failures += 1;
                tasks.aside(&format!("Slurm does not answer: {message}"));
                sleep(LONGEST_PAUSE, tasks);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        failures = 0;
        match submitter.gatherer.step(&seen) {
            Step::Wait => {}
            Step::Submit(wanted) => {
                submitter.submit(&wanted, tasks, slurm)?;
                pause = SHORTEST_PAUSE;
            }
            Step::Merge => return Ok(Followed::Complete),
            Step::GiveUp(hopeless) => return Ok(Followed::Hopeless(hopeless)),
        }
        sleep(pause, tasks);
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
}

fn sleep(pause: Duration, tasks: &impl Tasks) {
    let until = Instant::now() + pause;
    while Instant::now() < until && !tasks.is_interrupted() {
        thread::sleep(SLICE);
    }
}

struct Submitter {
    gatherer: Gatherer,
    retry: Duration,
    not_before: Instant,
}

impl Submitter {
    /// Submits tasks as arrays. What Slurm does not take now stays open, and is submitted later.
    fn submit<T: Tasks>(
        &mut self,
        wanted: &[u32],
        tasks: &mut T,
        slurm: &Slurm,
    ) -> Result<(), T::Error> {
        if Instant::now() < self.not_before {
            return Ok(());
        }
        for array in arrays(wanted, tasks.largest_array()) {
            let submission = Submission {
                name: &tasks.name(),
                script: &tasks.folder().script(),
                options: tasks.options(),
                array: &array.list,
                offset: (tasks.offset_variable(), array.offset),
                logs: &tasks.folder().logs(),
            };
            match slurm.submit(&submission)? {
                Answer::Accepted(job) => {
                    tasks.aside(&format!("submitted job {job}: {} tasks", array.tasks.len()));
                    self.gatherer.submitted(&array.tasks);
                    let (offset, indices) = (array.offset, array.tasks);
                    tasks.submitted(Job { job, offset, tasks: indices, submitted: now() })?;
                    self.retry = FIRST_RETRY;
                }
                Answer::Later(why) => {
                    let seconds = self.retry.as_secs();
                    tasks
                        .aside(&format!("Slurm takes no more now: {why}; next try in {seconds} s"));
                    self.not_before = Instant::now() + self.retry;
                    self.retry = (self.retry * 2).min(LONGEST_RETRY);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Ctrl-C: leave the tasks where they are, or cancel them.
fn leave<T: Tasks>(tasks: &mut T, slurm: &Slurm) -> Result<Followed, T::Error> {
    let command = tasks.attach_command();
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        tasks.talk("\ndetach and let the tasks go on, or cancel them? [D/c]");
        let mut answer = String::new();
        let _ = io::stdin().lock().read_line(&mut answer);
        if answer.trim().eq_ignore_ascii_case("c") {
            slurm.cancel(&tasks.jobs())?;
            tasks.talk(&format!("cancelled; to continue later: {command}"));
            return Ok(Followed::Left);
        }
    }
    tasks.talk(&format!("detached; to follow again: {command}"));
    Ok(Followed::Left)
}

/// The latency of Slurm: the time from submission to start, for each start.
pub fn latency(mut waited: Vec<f64>) -> Option<String> {
    waited.sort_by(f64::total_cmp);
    let middle = waited.get(waited.len() / 2)?;
    let most = waited.last()?;
    let starts = waited.len();
    Some(format!(
        "{starts} starts waited {middle:.1} s for Slurm in the median, {most:.1} s at most"
    ))
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
