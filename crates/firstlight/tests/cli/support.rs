//! A sandbox for one test: separate folders, the binary, and the fake runner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use firstlight_schema::nanos::Nanos;
use firstlight_schema::phase::Phase;
use firstlight_schema::run::{ArmResult, RegimeResult, RunDocument};
use firstlight_schema::sample::{PhaseTime, Sample};
use tempfile::TempDir;

pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file below the sandbox.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The binary, without the machine's settings in its environment.
    pub(crate) fn firstlight(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command
            .current_dir(self.path())
            .env("FIRSTLIGHT_RUNS", self.path().join("runs"))
            .env("FIRSTLIGHT_CACHE", shared_cache())
            .env("NO_COLOR", "1")
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONDONTWRITEBYTECODE");
        command
    }

    /// A shell script with the environment of `firstlight`, whose path is `$FIRSTLIGHT`.
    pub(crate) fn bash(&self, script: &str) -> Finished {
        let mut shell = Command::new("bash");
        shell.current_dir(self.path()).args(["-c", script]);
        let binary = self.firstlight();
        for (name, value) in binary.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        Finished::new({
            shell.env("FIRSTLIGHT", binary.get_program());
            shell
        })
    }

    /// `firstlight cold` with a fake runner that follows the script.
    pub(crate) fn replay(&self, script: &str, arguments: &[&str]) -> Finished {
        let script = self.file("script.jsonl", script);
        let mut command = self.firstlight();
        command.args(["cold", "--format", "json"]).args(arguments).arg("--");
        command.arg(replay_binary()).arg(script);
        Finished::new(command)
    }

    /// `firstlight cold --format json` of a Python script.
    pub(crate) fn python(&self, script: &str, arguments: &[&str]) -> Finished {
        let script = self.file("script.py", script);
        let mut command = self.firstlight();
        command.args(["cold", "--format", "json"]).args(arguments);
        command.arg("--").arg("python3").arg(script);
        Finished::new(command)
    }

    /// The lines of `raw.jsonl` of the only run.
    pub(crate) fn raw_lines(&self) -> Vec<String> {
        let mut runs = fs::read_dir(self.path().join("runs")).unwrap();
        let run = runs.next().expect("there is a run").unwrap().path();
        assert!(runs.next().is_none(), "there is only one run");
        fs::read_to_string(run.join("raw.jsonl")).unwrap().lines().map(str::to_owned).collect()
    }
}

/// All tests share the unpacked hooks, whose folders are named by their content.
fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// A run of one command.
pub(crate) struct Cold {
    pub(crate) document: RunDocument,
    pub(crate) arm: ArmResult,
    pub(crate) result: RegimeResult,
}

pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn new(mut command: Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        Self {
            code: status.code().expect("firstlight exits by itself"),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// The only command of a `cold` run, in its only regime.
    pub(crate) fn cold(&self) -> Cold {
        let document = self.run();
        let mut arms: Vec<ArmResult> = document.cases[0].arms.clone();
        assert_eq!((document.cases.len(), arms.len()), (1, 1), "{}", self.stderr);
        let arm = arms.remove(0);
        assert_eq!(arm.regimes.len(), 1, "{}", self.stderr);
        let result = arm.regimes[0].clone();
        Cold { document, arm, result }
    }

    pub(crate) fn run(&self) -> RunDocument {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }

    /// The only sample of a `cold` document.
    pub(crate) fn sample(&self) -> Sample {
        let mut samples = self.cold().result.samples;
        assert_eq!(samples.len(), 1, "{}", self.stderr);
        samples.remove(0)
    }
}

/// A phase's time in a ledger; zero if it has no row.
pub(crate) fn ns(ledger: &[PhaseTime], phase: Phase) -> u64 {
    ledger.iter().find(|row| row.name == phase).map_or(0, |row| row.ns.0)
}

pub(crate) fn assert_closes(sample: &Sample) {
    let booked: Nanos = sample.phases.iter().map(|row| row.ns).sum();
    assert_eq!(booked, sample.wall_ns, "the phases sum to the wall time");
    if let Some(first) = &sample.first_result {
        let booked: Nanos = first.phases.iter().map(|row| row.ns).sum();
        assert_eq!(booked, first.ns, "the phases sum to the time to first result");
    }
}

/// Cargo builds binaries of other packages only on request.
pub(crate) fn replay_binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(&["--package", "firstlight-replay"], "firstlight-replay")).clone()
}

/// The runner crate's example workload.
pub(crate) fn sum_binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let arguments = ["--package", "firstlight-runner", "--example", "sum"];
    BUILT.get_or_init(|| build(&arguments, "examples/sum")).clone()
}

fn build(arguments: &[&str], name: &str) -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_firstlight"));
    let profile = binary.parent().unwrap();
    let release = profile.ends_with("release").then_some("--release");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet"])
        .args(release)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", profile.parent().unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    profile.join(name)
}

/// Whether any process on this machine has this word among its arguments.
pub(crate) fn someone_runs(word: &str) -> bool {
    processes_with(word).next().is_some()
}

/// The number of running processes named `sleep`, or shells that have this word as an argument of their own.
pub(crate) fn how_many_run(word: &str) -> usize {
    processes_with(word)
        .filter(|line| !line.split(|&byte| byte == 0).any(|argument| argument == b"--runs"))
        .count()
}

fn processes_with(word: &str) -> impl Iterator<Item = Vec<u8>> {
    let has = move |line: &Vec<u8>| {
        line.split(|&byte| byte == 0).any(|argument| argument == word.as_bytes())
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(has)
}

/// Whether the condition becomes true before the time limit.
pub(crate) fn eventually(condition: impl Fn() -> bool) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        condition()
    })
}
