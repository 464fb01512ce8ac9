//! Errors between this machine and the cluster.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    #[error("`sbatch` not found: Slurm is not installed on this machine")]
    Missing,
    #[error("`{command}` failed: {message}")]
    Command { command: &'static str, message: String },
    #[error("interrupted")]
    Interrupted,
    #[error("another process follows `{}`", folder.display())]
    Followed { folder: PathBuf },
    #[error("cannot {action} `{}`: {message}", path.display())]
    File { action: &'static str, path: PathBuf, message: String },
}
