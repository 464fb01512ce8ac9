//! A git repository with a suite whose runner follows a script of the commit.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Finished, Sandbox, replay_binary};

pub(crate) struct Repository {
    pub(crate) sandbox: Sandbox,
}

impl Repository {
    /// A repository without a commit.
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.path().join("repo")).unwrap();
        let repository = Self { sandbox };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.sandbox.path().join("repo")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        let done = git.args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.sandbox.file(&format!("repo/{name}"), text);
    }

    /// Commits everything and returns the id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A suite with one case and an arm for each script.
    pub(crate) fn suite(&self, scripts: &[(&str, &str)]) {
        let replay = replay_binary();
        let mut toml = "name = \"fake\"\nenvironment = \"as-found\"\nregimes = [\"cold-clean\"]\n\
                        [sampling]\nprocesses = 6\n[cache]\nbytecode = \"as-found\"\n\
                        [comparison]\noutputs = \"equal\"\nmargin = 0.2\n[[case]]\nname = \"c\"\n"
            .to_owned();
        for (name, script) in scripts {
            let program = replay.to_str().unwrap();
            let arm = format!("name = \"{name}\"\ncommand = [{program:?}, \"{name}.jsonl\"]\n");
            toml.extend(["[[arm]]\n", &arm]);
            self.write(&format!("bench/{name}.jsonl"), script);
        }
        self.write("bench/suite.toml", &toml);
    }

    pub(crate) fn firstlight(&self, arguments: &[&str]) -> Finished {
        Finished::new(self.command(arguments))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.firstlight();
        command.current_dir(self.path()).args(arguments);
        command
    }

    /// Worktrees that git knows beside the main one.
    pub(crate) fn worktrees(&self) -> usize {
        self.git(&["worktree", "list"]).lines().count() - 1
    }
}

/// A cold start that takes so long and has this result.
pub(crate) fn script(ms: u32, result: &str) -> String {
    let say = |message: &str| format!("{{\"say\":{message}}}\n");
    let phase = |edge: &str, name: &str| {
        say(&format!(
            r#"{{"type":"phase","edge":"{edge}","name":"{name}","label":null,"at":"$now","thread":0}}"#
        ))
    };
    [
        "{\"listen\":3}\n".to_owned(),
        say(
            r#"{"type":"hello","protocol":{"major":1,"minor":0},"role":"runner","pid":1,"language":"x","runtime":"x","executable":null,"started":null,"at":"$now"}"#,
        ),
        phase("begin", "setup"),
        phase("end", "setup"),
        say(r#"{"type":"ready","at":"$now"}"#),
        phase("begin", "first-run"),
        format!("{{\"sleep-ms\":{ms}}}\n"),
        phase("end", "first-run"),
        say(r#"{"type":"event","at":"$now","event":{"kind":"mark","name":"first-result"}}"#),
        say(r#"{"type":"iterations","part":"first","last":true,"spans":[["$now","$now"]]}"#),
        say(&format!(r#"{{"type":"output","check":"passed","digest":"sha256:{result}"}}"#)),
        say(r#"{"type":"bye","at":"$now"}"#),
    ]
    .concat()
}
