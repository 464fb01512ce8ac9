//! Looks up commits. Uncommitted changes become a commit that no branch knows.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::EngineError;
use crate::cache::PrivateFolder;
use crate::helper::{failure, output};

/// Long enough to check out a large repository from a slow disk.
pub(super) const LIMIT: Duration = Duration::from_mins(30);

/// Set by git for its hooks, and wrong for any other checkout.
const INHERITED: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"];

/// A repository with files on disk.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// Whether it holds changes that the user has not committed.
    pub uncommitted: bool,
}

impl Commit {
    /// Enough of the id to recognise the commit.
    pub fn short(&self) -> &str {
        self.id.get(..10).unwrap_or(&self.id)
    }
}

impl Repository {
    /// The repository that a folder belongs to.
    pub fn find(folder: &Path) -> Result<Self, EngineError> {
        let found = Self { root: folder.to_owned() };
        let root = found.git(&["rev-parse", "--show-toplevel"]).map_err(|error| match error {
            EngineError::Git { message, .. } => {
                EngineError::NoRepository { folder: folder.to_owned(), message }
            }
            other => other,
        })?;
        Ok(Self { root: PathBuf::from(root) })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit that a name stands for: a branch, a tag, an id, `HEAD~3`.
    pub fn commit(&self, name: &str) -> Result<Commit, EngineError> {
        let found = self.git(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ]);
        let id = found.map_err(|error| match error {
            EngineError::Git { .. } => EngineError::NoRevision { name: name.to_owned() },
            other => other,
        })?;
        self.described(id, false)
    }

    /// The last commit that two commits have in common.
    pub fn merge_base(&self, one: &Commit, other: &Commit) -> Result<Commit, EngineError> {
        let id = self.git(&["merge-base", &one.id, &other.id])?;
        self.described(id, false)
    }

    /// The files as they are now, with changes and new files that are not ignored.
    pub fn working_tree(&self) -> Result<Commit, EngineError> {
        let head = self.commit("HEAD")?;
        if self.git(&["status", "--porcelain", "--untracked-files=normal"])?.is_empty() {
            return Ok(head);
        }
        let scratch = PrivateFolder::new()?;
        let index = scratch.path().join("index");
        let within = |arguments: &[&str]| {
            let mut command = self.command(arguments);
            command.env("GIT_INDEX_FILE", &index);
            for role in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{role}_NAME"), "firstlight");
                command.env(format!("GIT_{role}_EMAIL"), "firstlight@localhost");
            }
            finished(command, arguments)
        };
        within(&["read-tree", "HEAD"])?;
        within(&["add", "--all", ":/"])?;
        let tree = within(&["write-tree"])?;
        let message = "uncommitted changes";
        let id = within(&["commit-tree", &tree, "-p", &head.id, "-m", message])?;
        self.described(id, true)
    }

    /// The commits after `good` up to `bad`, along first parents, oldest first.
    pub fn between(&self, good: &Commit, bad: &Commit) -> Result<Vec<Commit>, EngineError> {
        let ancestry = ["merge-base", "--is-ancestor", &good.id, &bad.id];
        if self.git(&ancestry).is_err() {
            return Err(EngineError::NotAnAncestor {
                good: good.short().to_owned(),
                bad: bad.short().to_owned(),
            });
        }
        let range = format!("{}..{}", good.id, bad.id);
        let list =
            self.git(&["log", "--first-parent", "--reverse", "--format=%H%x09%s", &range])?;
        let commit = |line: &str| {
            let (id, subject) = line.split_once('\t').unwrap_or((line, ""));
            Commit { id: id.to_owned(), subject: subject.to_owned(), uncommitted: false }
        };
        Ok(list.lines().map(commit).collect())
    }

    fn described(&self, id: String, uncommitted: bool) -> Result<Commit, EngineError> {
        let subject = self.git(&["log", "-1", "--format=%s", &id])?;
        Ok(Commit { id, subject, uncommitted })
    }

    /// The output of a git command, without the last line end.
    pub(super) fn git<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, EngineError> {
        finished(self.command(arguments), arguments)
    }

    /// A git command that runs no hook of the repository and asks nobody for a password.
    pub(super) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root);
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
        command.args(["-c", "gc.auto=0", "-c", "advice.detachedHead=false"]).args(arguments);
        for name in INHERITED {
            command.env_remove(name);
        }
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
        command
    }
}

fn finished<S: AsRef<OsStr>>(mut command: Command, arguments: &[S]) -> Result<String, EngineError> {
    let words: Vec<_> =
        arguments.iter().take(2).map(|word| word.as_ref().to_string_lossy()).collect();
    let name = format!("git {}", words.join(" "));
    let problem = |message: String| EngineError::Git { command: name.clone(), message };
    let done = output(&mut command, LIMIT).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            return EngineError::NoProgram("git".to_owned());
        }
        failure(&error, problem)
    })?;
    if !done.status.success() {
        return Err(problem(String::from_utf8_lossy(&done.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
}
