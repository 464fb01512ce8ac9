//! Ctrl-C loses no finished measurement and leaves no process running.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use firstlight_schema::reading::Outcome;

use crate::support::{Finished, Sandbox, eventually, someone_runs};

#[test]
fn ctrl_c_in_the_middle_keeps_the_samples_taken_so_far() {
    let sandbox = Sandbox::new();
    let export = sandbox.path().join("cold.json");
    let mut command = sandbox.firstlight();
    command.args(["cold", "--runs", "1000", "--format", "json", "--export-json"]).arg(&export);
    command.args(["--", "sleep", "0.1619"]);
    let finished = interrupted(&sandbox, command, || enough_samples(&sandbox));
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    let cold = finished.cold();
    assert!(!cold.document.complete);
    let (last, earlier) = cold.result.samples.split_last().unwrap();
    assert!(earlier.len() >= 2);
    assert!(earlier.iter().all(|sample| sample.valid));
    assert_eq!(last.raw.outcome, Outcome::Interrupted);
    assert_eq!(sandbox.raw_lines().len(), cold.result.samples.len());
    assert_eq!(std::fs::read_to_string(export).unwrap(), finished.stdout);
    assert!(eventually(|| !someone_runs("0.1619")), "the measured process survived");
}

#[test]
fn ctrl_c_during_a_suite_keeps_the_samples_taken_so_far() {
    let sandbox = Sandbox::new();
    sandbox.file("suite/suite.toml", SUITE);
    sandbox.file("suite/slow.py", WORKLOAD);
    let mut command = sandbox.firstlight();
    command.args(["run", "suite", "--processes", "1000", "--format", "json"]);
    let finished = interrupted(&sandbox, command, || enough_samples(&sandbox));
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    let document = finished.run();
    assert!(!document.complete);
    let samples: usize = document.cases[0].arms[0].regimes.iter().map(|r| r.samples.len()).sum();
    assert!(samples >= 2);
}

const SUITE: &str = r#"
name = "slow"
environment = "as-found"
[[case]]
name = "only"
[[arm]]
name = "only"
workload = "slow.py"
"#;

const WORKLOAD: &str = r"
import time, firstlight
def setup(case):
    return firstlight.Workload(time.sleep, (0.05,))
";

fn enough_samples(sandbox: &Sandbox) -> bool {
    sandbox.path().join("runs").is_dir() && sandbox.raw_lines().len() >= 4
}

/// Starts the command, waits for the condition, and interrupts it like a terminal.
fn interrupted(_: &Sandbox, mut command: Command, ready: impl Fn() -> bool) -> Finished {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().unwrap();
    assert!(eventually(ready), "samples are taken");
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    Finished {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
