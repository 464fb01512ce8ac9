//! Arguments of computations that can be split.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use histfactory::toys::Shard;

use super::OutputArgs;

/// One part, or all parts on a cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct PartArgs {
    /// Compute one of several equal parts, such as 3/100, and write it to --output-file;
    /// `histfactory merge` joins them
    #[arg(long, value_name = "K/N", requires = "output_file", conflicts_with = "on")]
    pub(crate) shard: Option<Shard>,
    /// Compute the parts as tasks of a cluster, and merge them
    #[arg(long, value_enum, value_name = "SCHEDULER", requires = "folder")]
    pub(crate) on: Option<OnArg>,
    /// With --on: a new folder for the tasks and their shards, on storage that all nodes share
    #[arg(long, value_name = "FOLDER", requires = "on")]
    pub(crate) folder: Option<PathBuf>,
    /// With --on: how many tasks
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) tasks: u32,
    /// With --on: processors of a task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cpus: u32,
    /// With --on: the time limit of a task
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    pub(crate) time: Duration,
    /// With --on: the partition
    #[arg(long, value_name = "NAME", requires = "on")]
    pub(crate) partition: Option<String>,
    /// With --on: the account that pays
    #[arg(long, value_name = "NAME", requires = "on")]
    pub(crate) account: Option<String>,
    /// With --on: features that nodes must have
    #[arg(long, value_name = "FEATURES", requires = "on")]
    pub(crate) constraint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnArg {
    Slurm,
}

/// Join shards and show the result
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  histfactory merge shards/*.json --output-file merged.json")]
pub(crate) struct MergeArgs {
    /// Files that `--shard` wrote, in any order
    #[arg(required = true, value_name = "SHARD")]
    pub(crate) shards: Vec<PathBuf>,
    /// Draw the distribution of toys into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Follow tasks of a cluster, submit those without a shard, and merge the shards
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  histfactory attach /shared/toys")]
pub(crate) struct AttachArgs {
    /// The folder that was given with --folder
    pub(crate) folder: PathBuf,
    /// Draw the distribution of toys into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
