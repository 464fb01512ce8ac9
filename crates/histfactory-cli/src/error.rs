//! What ends a command early: a message, a hint where there is one, an exit code.

use std::path::PathBuf;

use firstlight_slurm::SlurmError;
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
    #[error("`{}` {why}", path.display())]
    Shard { path: PathBuf, why: String },
    #[error("`{}` is not the folder of a job on a cluster: {why}", path.display())]
    Folder { path: PathBuf, why: String },
    #[error("`{}` already exists", path.display())]
    FolderTaken { path: PathBuf },
    #[error("`{node}` does not see `{}`", path.display())]
    NotShared { path: PathBuf, node: String },
    #[error("these tasks of `{}` failed every time: {tasks}\n{words}", path.display())]
    Hopeless { path: PathBuf, tasks: String, words: String },
    #[error(transparent)]
    Slurm(#[from] SlurmError),
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
            Self::FolderTaken { path } => Some(format!(
                "`histfactory attach {}` follows a job that was submitted from there",
                path.display()
            )),
            Self::NotShared { .. } => Some(
                "pass a folder that all nodes see with --folder; nothing was submitted".to_owned(),
            ),
            Self::Hopeless { path, .. } => Some(format!(
                "the tasks' output is in `{0}/logs`; `histfactory attach {0}` submits them again",
                path.display()
            )),
            Self::Slurm(SlurmError::Missing) => {
                Some("run it on a login node of the cluster, or without `--on slurm`".to_owned())
            }
            Self::Slurm(SlurmError::Command { .. }) => {
                Some("`sinfo` lists partitions and nodes".to_owned())
            }
            Self::Model(_)
            | Self::Fit(_)
            | Self::Inference(_)
            | Self::Folder { .. }
            | Self::Slurm(
                SlurmError::Interrupted | SlurmError::Followed { .. } | SlurmError::File { .. },
            )
            | Self::Shard { .. }
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
            | Self::Shard { .. }
            | Self::Folder { .. }
            | Self::FolderTaken { .. }
            | Self::NotShared { .. }
            | Self::Slurm(
                SlurmError::Missing
                | SlurmError::Command { .. }
                | SlurmError::Followed { .. }
                | SlurmError::File { .. },
            )
            | Self::Write { .. }
            | Self::Evaluation(EvaluationError::NoSuchParameter { .. })
            | Self::Input(_) => Exit::Usage,
            Self::Evaluation(_) | Self::Fit(_) | Self::Inference(_) => Exit::NoAnswer,
            Self::Slurm(SlurmError::Interrupted) => Exit::Interrupted,
            Self::Json(_) | Self::Output(_) | Self::Hopeless { .. } => Exit::Unexpected,
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
