//! Settings of computations that can be split.

use std::path::PathBuf;

use histfactory::toys::Shard;

use super::Destination;
use crate::args::{AttachArgs, Format, MergeArgs, OnArg, PartArgs};

/// The part to compute, and the place where it runs.
pub(crate) enum Part {
    Whole,
    Shard(Shard),
    Cluster(ClusterSettings),
}

/// The tasks of an array.
pub(crate) struct ClusterSettings {
    /// On storage that all nodes share.
    pub(crate) folder: PathBuf,
    pub(crate) tasks: u32,
    /// Options of `sbatch`.
    pub(crate) options: Vec<String>,
    pub(crate) destination: Destination,
    pub(crate) plot: Option<PathBuf>,
}

impl Part {
    pub(super) fn resolve(
        args: PartArgs,
        destination: &Destination,
        plot: Option<&PathBuf>,
    ) -> Self {
        let options = options(&args);
        match (args.shard, args.on, args.folder) {
            (Some(shard), ..) => Self::Shard(shard),
            (None, Some(OnArg::Slurm), Some(folder)) => Self::Cluster(ClusterSettings {
                folder,
                tasks: args.tasks,
                options,
                destination: destination.clone(),
                plot: plot.cloned(),
            }),
            (None, Some(OnArg::Slurm) | None, _) => Self::Whole,
        }
    }
}

fn options(args: &PartArgs) -> Vec<String> {
    let mut options = vec!["--nodes=1".to_owned(), "--ntasks=1".to_owned()];
    options.push(format!("--cpus-per-task={}", args.cpus));
    let named = [
        ("partition", &args.partition),
        ("account", &args.account),
        ("constraint", &args.constraint),
    ];
    for (name, value) in named {
        options.extend(value.as_ref().map(|value| format!("--{name}={value}")));
    }
    let seconds = args.time.as_secs().max(1);
    options.push(format!("--time={}:{:02}", seconds / 60, seconds % 60));
    options.extend(["--requeue".to_owned(), "--open-mode=append".to_owned()]);
    options
}

pub(crate) struct MergeSettings {
    pub(crate) shards: Vec<PathBuf>,
    pub(crate) destination: Destination,
    pub(crate) plot: Option<PathBuf>,
}

impl MergeSettings {
    pub(crate) fn resolve(args: MergeArgs, format: Format) -> Self {
        let destination = Destination::new(args.output, format);
        Self { shards: args.shards, destination, plot: args.plot }
    }
}

pub(crate) struct AttachSettings {
    pub(crate) folder: PathBuf,
    pub(crate) destination: Destination,
    pub(crate) plot: Option<PathBuf>,
}

impl AttachSettings {
    pub(crate) fn resolve(args: AttachArgs, format: Format) -> Self {
        let destination = Destination::new(args.output, format);
        Self { folder: args.folder, destination, plot: args.plot }
    }
}
