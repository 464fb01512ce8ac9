//! What ends a command early: a message, a hint where there is one, an exit code.

use std::io;
use std::path::{Path, PathBuf};

use firstlight_analysis::import::ImportError;
use firstlight_engine::EngineError;
use firstlight_schema::exit_code::Exit;
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
    #[error("`{}` is complete", folder.display())]
    Complete { folder: PathBuf },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot import `{}`: {error}", path.display())]
    Import { path: PathBuf, error: ImportError },
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("`{}` does not verify, so nothing was made of it", path.display())]
    Unsound { path: PathBuf },
    #[error("cannot write to standard output: {reason}")]
    Unwritten { reason: String },
    #[error("no arm of case `{case}` could be recorded: {}", reasons.join("; "))]
    NotRecorded { case: String, reasons: Vec<String> },
    #[error("cannot write the result as JSON")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// Something that cannot be done with a file.
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::Usage(_) => Some("see --help".to_owned()),
            Self::Resume { allowed: true, .. } => Some(
                "--new-segment goes on all the same, and records what is different".to_owned(),
            ),
            Self::Resume { allowed: false, .. } => Some("measure the suite anew".to_owned()),
            Self::Complete { .. } => Some("there is nothing left to measure".to_owned()),
            Self::Limits { .. } => Some(
                "raise it, or set `verdicts = false` under `[comparison]` to measure without verdicts"
                    .to_owned(),
            ),
            Self::Import { error, .. } => Some(match error {
                ImportError::UnknownFormat => "name the format with --from".to_owned(),
                ImportError::Json(_) => "is the file whole? let the tool write it again".to_owned(),
                ImportError::At { .. } | ImportError::Empty => {
                    "another format can be named with --from; nothing was written".to_owned()
                }
            }),
            Self::Trace(error) => error.problem.hint().map(str::to_owned),
            Self::Unsound { path } => {
                Some(format!("`firstlight verify {}` shows what is wrong", path.display()))
            }
            Self::Unwritten { .. } => {
                Some("is the disk full? the result itself is in the folder of the run".to_owned())
            }
            Self::NotRecorded { .. } => {
                Some("`firstlight run` shows how each arm fails without a recorder".to_owned())
            }
            Self::Io { .. } | Self::Json(_) => None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Engine(EngineError::Interrupted) => Exit::Interrupted,
            Self::Engine(EngineError::Snapshot { .. }) | Self::Unsound { .. } => {
                Exit::VerificationFailed
            }
            Self::Usage(_)
            | Self::Limits { .. }
            | Self::Io { .. }
            | Self::Resume { .. }
            | Self::Complete { .. }
            | Self::Import { .. }
            | Self::Trace(_)
            | Self::Engine(_) => Exit::Usage,
            Self::NotRecorded { .. } => Exit::RunnerFailed,
            Self::Json(_) | Self::Unwritten { .. } => Exit::Unexpected,
        }
    }
}
