//! Arguments of runs on a cluster.

use std::path::PathBuf;

use clap::ValueEnum;

/// Where a suite runs beyond this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cluster {
    Slurm,
}

/// Show the progress of a run on a cluster
///
/// Reads the queue of Slurm and the shards on the shared storage. It changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusArgs {
    /// The folder that `firstlight run --on slurm` printed
    pub(crate) folder: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  firstlight status runs/mlp
  firstlight status runs/mlp --format json
  firstlight run --attach runs/mlp";
