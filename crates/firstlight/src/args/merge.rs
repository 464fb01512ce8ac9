//! The arguments of `firstlight merge`.

use std::path::PathBuf;

use super::LengthArgs;

/// Combine shards of one suite, measured on several machines, into one snapshot
///
/// A shard is a snapshot of any run of the suite. All shards need the same suite, arms, settings and
/// firstlight, and hardware that agrees in the keys of `[launch] same`. The merged snapshot keeps the raw
/// readings of every shard and its identifier. Node and segment are levels of the statistics.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {
    /// Snapshot folders or archives
    #[arg(required = true, value_name = "SHARD")]
    pub(crate) shards: Vec<PathBuf>,
    /// Write the merged snapshot to this new folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
}

const EXAMPLES: &str = "\
Examples:
  firstlight run ./my-suite --node a --output shards/a      # on machine a
  firstlight run ./my-suite --node b --seed 2 --output shards/b
  firstlight merge shards/a shards/b --output merged
  firstlight verify merged";
