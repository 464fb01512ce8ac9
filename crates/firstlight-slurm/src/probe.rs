//! Checks on one node, before anything is submitted, that nodes see the folder of a run.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::commands::last_words;
use crate::{Slurm, SlurmError, quoted};

/// `srun` waits so many seconds for a free node.
const PATIENCE: u32 = 20;
/// A larger difference between clocks is reported; part of it is the start of the probe.
const CLOCKS_APART: f64 = 5.0;
const MISSING: &str = "no such file on this node";

/// The answer of one node about the folder.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// The node sees the sentinel; with the difference of its clock in seconds, if it is large.
    Shared { clock: Option<f64> },
    /// It does not see the sentinel.
    NotShared { node: String },
    /// No node answered in time: every task checks the sentinel again by itself.
    NotAsked { why: String },
}

impl Slurm {
    /// Starts a process on one node that reads the sentinel. `name` begins the name of the job.
    pub fn probe(
        &self,
        name: &str,
        sentinel: &Path,
        content: &str,
        options: &[String],
    ) -> Result<Probe, SlurmError> {
        let file = quoted(&sentinel.display().to_string());
        let script = format!(
            "hostname; date +%s.%N; if [ -r {file} ]; then cat {file}; else echo '{MISSING}'; fi"
        );
        let mut arguments = vec![
            "--nodes=1".to_owned(),
            "--ntasks=1".to_owned(),
            format!("--immediate={PATIENCE}"),
            "--chdir=/".to_owned(),
            format!("--job-name={name}-probe"),
        ];
        // The probe needs little time and no devices.
        let kept = ["--partition", "--account", "--constraint"];
        let is_kept = |option: &&String| kept.iter().any(|name| option.starts_with(name));
        arguments.extend(options.iter().filter(is_kept).cloned());
        arguments.extend(["--time=1", "sh", "-c"].map(str::to_owned));
        arguments.push(script);
        let output = self.ask("srun", &arguments)?;
        if !output.status.success() {
            return unanswered(&last_words(&output));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Ok(answer(&String::from_utf8_lossy(&output.stdout), content, now))
    }
}

/// A busy cluster is not an error; a missing partition is.
fn unanswered(message: &str) -> Result<Probe, SlurmError> {
    const BUSY: [&str; 6] = [
        "Unable to allocate resources",
        "Immediate",
        "temporarily unavailable",
        "are busy",
        "Socket timed out",
        "queued and waiting",
    ];
    const WRONG: [&str; 2] = ["nvalid partition", "nvalid account"];
    let says = |words: &[&str]| words.iter().any(|one| message.contains(one));
    if says(&BUSY) && !says(&WRONG) {
        return Ok(Probe::NotAsked { why: message.to_owned() });
    }
    Err(SlurmError::Command { command: "srun", message: message.to_owned() })
}

fn answer(said: &str, content: &str, now: f64) -> Probe {
    let mut lines = said.lines();
    let node = lines.next().unwrap_or("a node").to_owned();
    let clock = lines.next().and_then(|line| line.trim().parse::<f64>().ok());
    if lines.next().map(str::trim) != Some(content.trim()) {
        return Probe::NotShared { node };
    }
    let apart = clock.map(|clock| clock - now).filter(|apart| apart.abs() > CLOCKS_APART);
    Probe::Shared { clock: apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_does_not_see_the_sentinel_is_named() {
        let said = format!("node7\n100.5\n{MISSING}\n");
        assert_eq!(answer(&said, "abc", 100.0), Probe::NotShared { node: "node7".to_owned() });
        let other = "node7\n100.5\nsomething else\n";
        assert_eq!(answer(other, "abc", 100.0), Probe::NotShared { node: "node7".to_owned() });
    }

    #[test]
    fn clocks_that_differ_are_told_in_seconds() {
        assert_eq!(answer("n\n101.5\nabc\n", "abc", 100.0), Probe::Shared { clock: None });
        let Probe::Shared { clock: Some(apart) } = answer("n\n460.0\nabc\n", "abc", 100.0) else {
            panic!("the clocks are six minutes apart");
        };
        assert!((apart - 360.0).abs() < 1e-9);
    }

    #[test]
    fn a_busy_cluster_is_asked_later_and_a_wrong_partition_is_an_error() {
        let busy = "srun: error: Unable to allocate resources: Requested nodes are busy";
        assert!(matches!(unanswered(busy).unwrap(), Probe::NotAsked { .. }));
        let wrong = "srun: error: Unable to allocate resources: Invalid partition name specified";
        assert!(unanswered(wrong).unwrap_err().to_string().contains("Invalid partition name"));
    }
}
