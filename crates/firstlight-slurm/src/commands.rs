//! The commands of Slurm.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::SlurmError;
use crate::queue::{self, QueuedTask};

/// A busy controller answers late; a controller that does not answer is an error.
const ANSWER: Duration = Duration::from_mins(2);
/// Slurm's default, if its configuration does not set a limit.
const USUAL_ARRAY: u32 = 1_001;
/// Messages of `sbatch` that mean "try again later". Every other message is an error.
const LATER: [&str; 9] = [
    "QOSMaxSubmitJobPerUserLimit",
    "AssocMaxSubmitJobLimit",
    "MaxSubmitJob",
    "submit limit",
    "Slurm temporarily unable to accept job",
    "Resource temporarily unavailable",
    "Socket timed out",
    "Unable to contact slurm controller",
    "Transport endpoint is not connected",
];

/// The commands of Slurm on this machine.
#[derive(Clone, Debug)]
pub struct Slurm {
    folder: PathBuf,
    run: Run,
}

/// How a command is run until it ends, with a time limit.
type Run = fn(&mut Command, Duration) -> io::Result<Output>;

/// An array of tasks to submit.
#[derive(Clone, Debug)]
pub struct Submission<'a> {
    pub name: &'a str,
    pub script: &'a Path,
    /// Further options of `sbatch`.
    pub options: &'a [String],
    /// Such as `0-3,7`.
    pub array: &'a str,
    /// A variable for the tasks, and what is in it: what is added to the index within the array.
    pub offset: (&'a str, u32),
    /// The folder for the tasks' output.
    pub logs: &'a Path,
}

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The number of the job.
    Accepted(u64),
    /// Slurm accepts no more for now; its message.
    Later(String),
}

impl Slurm {
    /// Finds the commands on the path. `run` runs them; [`crate::output`] will do.
    pub fn find(run: Run) -> Result<Self, SlurmError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = std::env::split_paths(&path).find(|folder| folder.join("sbatch").is_file());
        folder.map(|folder| Self { folder, run }).ok_or(SlurmError::Missing)
    }

    fn command(&self, name: &str) -> Command {
        Command::new(self.folder.join(name))
    }

    pub(crate) fn ask(
        &self,
        name: &'static str,
        arguments: &[String],
    ) -> Result<Output, SlurmError> {
        (self.run)(self.command(name).args(arguments), ANSWER).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => SlurmError::Interrupted,
            ErrorKind::TimedOut => {
                let message = "it exceeded its time limit".to_owned();
                SlurmError::Command { command: name, message }
            }
            _ => SlurmError::Command { command: name, message: error.to_string() },
        })
    }

    /// Submits an array of tasks.
    pub fn submit(&self, what: &Submission<'_>) -> Result<Answer, SlurmError> {
        let mut arguments = vec![
            "--parsable".to_owned(),
            format!("--job-name={}", what.name),
            format!("--array={}", what.array),
            format!("--output={}/%A_%a.txt", what.logs.display()),
            format!("--export=ALL,{}={}", what.offset.0, what.offset.1),
        ];
        arguments.extend_from_slice(what.options);
        arguments.push(what.script.display().to_string());
        let output = self.ask("sbatch", &arguments)?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let number = said.split(';').next().and_then(|text| text.parse().ok());
        match number.filter(|_| output.status.success()) {
            Some(job) => Ok(Answer::Accepted(job)),
            None => refused(&output),
        }
    }

    /// Where the tasks of these jobs are; tasks that have ended are not listed.
    pub fn queue(&self, jobs: &[u64]) -> Result<Vec<QueuedTask>, SlurmError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
        let arguments = ["--noheader", "--array", "--states=all", queue::FORMAT].map(str::to_owned);
        let mut arguments = arguments.to_vec();
        arguments.push(format!("--jobs={}", jobs.join(",")));
        let output = self.ask("squeue", &arguments)?;
        if !output.status.success() {
            let message = last_words(&output);
            // Slurm forgets jobs some minutes after they ended.
            if message.contains("Invalid job id") {
                return Ok(Vec::new());
            }
            return Err(SlurmError::Command { command: "squeue", message });
        }
        Ok(queue::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    pub fn cancel(&self, jobs: &[u64]) -> Result<(), SlurmError> {
        let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
        let output = self.ask("scancel", &jobs)?;
        let message = last_words(&output);
        if output.status.success() || message.contains("Invalid job id") {
            return Ok(());
        }
        Err(SlurmError::Command { command: "scancel", message })
    }

    /// Indices within an array are smaller than this.
    pub fn largest_array(&self) -> u32 {
        let asked = self.ask("scontrol", &["show", "config"].map(str::to_owned));
        let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix("MaxArraySize"));
        let value = line.and_then(|line| line.trim_start_matches([' ', '=']).trim().parse().ok());
        value.filter(|&size| size > 0).unwrap_or(USUAL_ARRAY)
    }
}

fn refused(output: &Output) -> Result<Answer, SlurmError> {
    let message = last_words(output);
    if LATER.iter().any(|words| message.contains(words)) {
        return Ok(Answer::Later(message));
    }
    Err(SlurmError::Command { command: "sbatch", message })
}

/// The end of the stderr of a failed Slurm command.
pub(crate) fn last_words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => format!("it said nothing and ended with {}", output.status),
        lines => lines.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn failed(stderr: &str) -> Result<Answer, SlurmError> {
        let status = ExitStatus::from_raw(1 << 8);
        refused(&Output { status, stdout: Vec::new(), stderr: stderr.into() })
    }

    #[test]
    fn a_limit_on_submissions_means_later_and_everything_else_never() {
        let limit = "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission \
                     failed: Job violates accounting/QOS policy (job submit limit, user's size and/or \
                     time limits)\n";
        assert!(matches!(failed(limit).unwrap(), Answer::Later(_)));
        let partition = "sbatch: error: invalid partition specified: gpuu\n";
        let error = failed(partition).unwrap_err();
        let words = "`sbatch` failed: sbatch: error: invalid partition specified: gpuu";
        assert_eq!(error.to_string(), words);
    }
}
