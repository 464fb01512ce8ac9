//! An error that ends a command: a message, a hint if there is one, an exit code.

use std::path::PathBuf;

use histfactory::inference::InferenceError;
use histfactory::workspace::WorkspaceError;
use histfactory::{EvaluationError, FitError, ModelError};
use thiserror::Error;

use crate::exit::Exit;

#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("`{path}`: {error}")]
    File { path: String, error: WorkspaceError },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Inference(#[from] InferenceError),
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot read the standard input")]
    Input(#[source] std::io::Error),
    #[error("cannot write the result to stdout")]
    Output(#[source] std::io::Error),
    #[error("cannot write the result as JSON")]
    Json(#[from] serde_json::Error),
}

impl Error {
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage(_) => Some("see --help".to_owned()),
            Self::Workspace(error) | Self::File { error, .. } => error.hint(),
            Self::Evaluation(error)
            | Self::Fit(FitError::Evaluation(error))
            | Self::Inference(
                InferenceError::Evaluation(error)
                | InferenceError::Fit(FitError::Evaluation(error)),
            ) => hint_about(error),
            Self::Fit(FitError::NotConverged { .. })
            | Self::Inference(InferenceError::Fit(FitError::NotConverged { .. })) => {
                Some("`histfactory fit` shows where it stopped and what lies at a bound".to_owned())
            }
            Self::Inference(InferenceError::NoLimit { .. }) => {
                Some("is there a signal in the workspace? see `histfactory inspect`".to_owned())
            }
            Self::Model(_)
            | Self::Fit(_)
            | Self::Inference(_)
            | Self::Write { .. }
            | Self::Input(_)
            | Self::Output(_)
            | Self::Json(_) => None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::File { .. }
            | Self::Workspace(_)
            | Self::Model(_)
            | Self::Write { .. }
            | Self::Evaluation(EvaluationError::NoSuchParameter { .. })
            | Self::Input(_) => Exit::Usage,
            Self::Evaluation(_) | Self::Fit(_) | Self::Inference(_) => Exit::NoAnswer,
            Self::Json(_) | Self::Output(_) => Exit::Unexpected,
        }
    }
}

fn hint_about(error: &EvaluationError) -> Option<String> {
    match error {
        EvaluationError::NoPoi => Some("name a parameter of interest with --poi".to_owned()),
        EvaluationError::NoSuchParameter { .. } => {
            Some("`histfactory inspect` lists the parameters".to_owned())
        }
        _ => None,
    }
}
