//! A folder for one test, with workspaces, and the binary.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use histfactory::Workspace;
use histfactory::synthetic::Twin;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// Contains the small twin as `small.json` and the search as `search.json`.
    pub(crate) fn new() -> Self {
        let sandbox = Self { folder: tempfile::tempdir().unwrap() };
        sandbox.file("small.json", &Twin::Small.workspace(1).to_json());
        sandbox.file("search.json", &Twin::Search.workspace(1).to_json());
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn workspace(&self, name: &str) -> Workspace {
        Workspace::from_path(self.path().join(name)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_histfactory"));
        command.current_dir(self.path()).env("NO_COLOR", "1").args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        Finished::new(self.command(arguments).output().unwrap())
    }

    /// Uses a file of the folder as the standard input.
    pub(crate) fn fed(&self, file: &str, arguments: &[&str]) -> Finished {
        let input = fs::File::open(self.path().join(file)).unwrap();
        Finished::new(self.command(arguments).stdin(Stdio::from(input)).output().unwrap())
    }

    /// The JSON document of a command that succeeds.
    pub(crate) fn document(&self, arguments: &[&str]) -> Value {
        let finished = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        serde_json::from_str(&finished.stdout).unwrap()
    }
}

pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    fn new(Output { status, stdout, stderr }: Output) -> Self {
        Self {
            code: status.code().expect("histfactory exits by itself"),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }
}
