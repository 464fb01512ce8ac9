//! Shards as tasks of a Slurm array: submitted, followed by what lies on the shared storage, and merged.

mod folder;
mod follow;
mod job;
mod launch;

use std::path::Path;

use firstlight_slurm::{Slurm, output};

use crate::commands::merge_files;
use crate::error::Error;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::{ClusterSettings, Destination};
use folder::LaunchFolder;

pub(crate) use job::Job;

/// Submits a job, waits for it and shows the result.
pub(crate) fn run(job: &Job, on: &ClusterSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let slurm = Slurm::find(output)?;
    let folder = launch::launch(job, on, &slurm, printer)?;
    finish(folder, &slurm, &on.destination, on.plot.as_deref(), printer)
}

/// The same for a job that was submitted before.
pub(crate) fn attach(
    path: &Path,
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let folder = LaunchFolder::open(path)?;
    if folder.is_complete() {
        return merge_files(&folder.shards(), destination, plot, printer);
    }
    finish(folder, &Slurm::find(output)?, destination, plot, printer)
}

fn finish(
    folder: LaunchFolder,
    slurm: &Slurm,
    destination: &Destination,
    plot: Option<&Path>,
    printer: &mut Printer,
) -> Result<Exit, Error> {
    let _lock = folder.tasks.lock()?;
    match follow::follow(folder, slurm, printer)? {
        Some(folder) => merge_files(&folder.shards(), destination, plot, printer),
        None => Ok(Exit::Interrupted),
    }
}
