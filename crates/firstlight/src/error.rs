//! Errors that stop a command: message, optional hint, exit code.

use std::io;
use std::path::{Path, PathBuf};

use firstlight_analysis::import::ImportError;
use firstlight_engine::EngineError;
use firstlight_engine::snapshot::is_sealed;
use firstlight_schema::exit_code::Exit;
use firstlight_slurm::SlurmError;
use firstlight_trace::TraceError;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("`{name}` is {most}, but a verdict needs {needed} processes of each arm")]
    Limits { name: &'static str, most: u32, needed: usize },
    #[error("cannot {what} `{}`: {reason}", path.display())]
    Io { what: &'static str, path: PathBuf, reason: String },
    #[error("cannot resume `{}`: {}", folder.display(), differences.join(", "))]
    Resume { folder: PathBuf, differences: Vec<String>, allowed: bool },
    #[error("`{}` is already complete", folder.display())]
    Complete { folder: PathBuf },
    #[error("cannot merge `{}`: {why}", shard.display())]
    Merge { shard: PathBuf, why: String },
    #[error(
        "cannot merge: `{key}` differs: `{}` has {}, `{}` has {}",
        first.0.display(), first.1, other.0.display(), other.1
    )]
    ShardsDiffer { key: String, first: (PathBuf, String), other: (PathBuf, String) },
    #[error("cannot merge `{}`: it changed after it was sealed: {place}", shard.display())]
    Tampered { shard: PathBuf, place: String },
    #[error("tasks {tasks} of `{}` fail every time; last lines of one:\n\n{words}", folder.display())]
    Hopeless { folder: PathBuf, tasks: String, words: String },
    #[error("no suite `{}` in {commit}", suite.display())]
    NoSuiteAtCommit { suite: PathBuf, commit: String },
    #[error("program `{program}` not found in {commit}")]
    NoProgramAtCommit { program: String, commit: String },
    #[error("`{}` is outside the repository", path.display())]
    OutsideRepository { path: PathBuf },
    #[error("cannot prepare {commit}: {words}")]
    NotPrepared { commit: String, words: String },
    #[error("cannot continue the search in `{}`: {why}", path.display())]
    OtherSearch { path: PathBuf, why: String },
    #[error("the two commits have no case and arm in common: {}", notes.join("; "))]
    NothingCommon { notes: Vec<String> },
    #[error("{}:{message}", path.display())]
    Config { path: PathBuf, message: String, hint: Option<String> },
    #[error("`{}` belongs to another user", path.display())]
    ForeignConfig { path: PathBuf },
    #[error(transparent)]
    Slurm(SlurmError),
    #[error("`{node}` does not see `{}`", folder.display())]
    NotShared { folder: PathBuf, node: String },
    #[error("another firstlight follows `{}`", folder.display())]
    Followed { folder: PathBuf },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot import `{}`: {error}", path.display())]
    Import { path: PathBuf, error: ImportError },
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("`{}` does not verify; nothing was written", path.display())]
    Unsound { path: PathBuf },
    #[error("cannot write to standard output: {reason}")]
    Unwritten { reason: String },
    #[error("cannot record any arm of case `{case}`: {}", reasons.join("; "))]
    NotRecorded { case: String, reasons: Vec<String> },
    #[error("cannot write the result as JSON")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// A failed operation on a file.
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::Slurm(SlurmError::Missing) => {
                Some("run it on a login node of the cluster, or without `--on slurm`".to_owned())
            }
            Self::Slurm(SlurmError::Command { .. }) => Some(
                "check `[launch.slurm]` in suite.toml; `sinfo` lists partitions and nodes".to_owned(),
            ),
            Self::NotShared { .. } => Some(
                "pass a folder that all nodes see with --output; nothing was submitted".to_owned(),
            ),
            Self::Followed { folder } => {
                Some(format!("`firstlight status {}` shows it without following", folder.display()))
            }
            Self::Usage(_) => Some("see --help".to_owned()),
            Self::Resume { allowed: true, .. } => Some(
                "--new-segment continues anyway and records the differences".to_owned(),
            ),
            Self::Resume { allowed: false, .. } => Some("start a new run of the suite".to_owned()),
            Self::Complete { .. } => Some("nothing is left to measure; `firstlight show` prints the result".to_owned()),
            Self::Merge { shard, .. } if shard.is_dir() && !is_sealed(shard) => Some(format!(
                "`firstlight snapshot {}` seals what it has",
                shard.display()
            )),
            Self::Tampered { shard, .. } => Some(format!(
                "`firstlight verify {}` shows what is wrong; nothing was written",
                shard.display()
            )),
            Self::Hopeless { folder, .. } => Some(format!(
                "fix the cause, then `firstlight run --attach {}` starts them again",
                folder.display()
            )),
            Self::Merge { .. } => Some("merge without it; nothing was written".to_owned()),
            Self::ShardsDiffer { key, .. } if key.starts_with("hardware.") => Some(
                "shards need the same hardware in the keys of `[launch] same` in suite.toml".to_owned(),
            ),
            Self::ShardsDiffer { .. } => Some(
                "shards need the same suite, arms, settings, firstlight and environment".to_owned(),
            ),
            Self::Limits { .. } => Some(
                "raise it, or set `verdicts = false` under `[comparison]` to measure without verdicts"
                    .to_owned(),
            ),
            Self::Import { error, .. } => Some(match error {
                ImportError::UnknownFormat => "pass the format with --from".to_owned(),
                ImportError::Json(_) => "check that the file is complete, or export it again".to_owned(),
                ImportError::At { .. } | ImportError::Empty => {
                    "pass another format with --from; nothing was written".to_owned()
                }
            }),
            Self::Trace(error) => error.problem.hint().map(str::to_owned),
            Self::Unsound { path } => {
                Some(format!("`firstlight verify {}` shows what is wrong", path.display()))
            }
            Self::Unwritten { .. } => {
                Some("check for a full disk; the run's folder still has the result".to_owned())
            }
            Self::NotRecorded { .. } => {
                Some("`firstlight run` shows how each arm fails without a recorder".to_owned())
            }
            Self::NoSuiteAtCommit { .. } => Some(
                "pass the folder of a suite that both commits have; a built-in suite measures installed packages"
                    .to_owned(),
            ),
            Self::NoProgramAtCommit { program, .. } if program.contains('/') => Some(
                "a relative path is looked up in each checkout: build it with --prepare, or pass an absolute path"
                    .to_owned(),
            ),
            Self::NoProgramAtCommit { .. } => {
                Some("check that it is on the PATH, or give its path".to_owned())
            }
            Self::OutsideRepository { .. } => {
                Some("pass a folder that is part of the repository".to_owned())
            }
            Self::NotPrepared { .. } => {
                Some("run the command line of --prepare in a fresh checkout of that commit".to_owned())
            }
            Self::Config { hint, .. } => {
                Some(hint.clone().unwrap_or_else(|| "--no-config ignores the file".to_owned()))
            }
            Self::ForeignConfig { path } => Some(format!(
                "--no-config ignores it; FIRSTLIGHT_CONFIG={} uses it",
                path.display()
            )),
            Self::OtherSearch { .. } => Some("pass another file with --log".to_owned()),
            Self::NothingCommon { .. } => {
                Some("compare two commits in which the suite has the same cases".to_owned())
            }
            Self::Slurm(_) | Self::Io { .. } | Self::Json(_) => None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Engine(EngineError::Interrupted) => Exit::Interrupted,
            Self::Engine(EngineError::Snapshot { .. })
            | Self::Unsound { .. }
            | Self::Tampered { .. } => Exit::VerificationFailed,
            Self::Usage(_)
            | Self::Limits { .. }
            | Self::Io { .. }
            | Self::Resume { .. }
            | Self::Complete { .. }
            | Self::Merge { .. }
            | Self::ShardsDiffer { .. }
            | Self::Import { .. }
            | Self::Trace(_)
            | Self::Slurm(_)
            | Self::NotShared { .. }
            | Self::Followed { .. }
            | Self::NoSuiteAtCommit { .. }
            | Self::NoProgramAtCommit { .. }
            | Self::OutsideRepository { .. }
            | Self::OtherSearch { .. }
            | Self::Config { .. }
            | Self::ForeignConfig { .. }
            | Self::NothingCommon { .. }
            | Self::Engine(_) => Exit::Usage,
            Self::NotRecorded { .. } | Self::NotPrepared { .. } | Self::Hopeless { .. } => {
                Exit::RunnerFailed
            }
            Self::Json(_) | Self::Unwritten { .. } => Exit::Unexpected,
        }
    }
}

impl From<SlurmError> for Error {
    fn from(error: SlurmError) -> Self {
        match error {
            SlurmError::Interrupted => Self::Engine(EngineError::Interrupted),
            SlurmError::Followed { folder } => Self::Followed { folder },
            error => Self::Slurm(error),
        }
    }
}
