//! A suite on a Slurm cluster: submitted as arrays of tasks, followed through files on the shared storage,
//! and merged at the end.

mod arguments;
mod folder;
mod follow;
mod launch;
mod look;
mod script;

pub(crate) use folder::LaunchFolder;
pub(crate) use follow::{Followed, follow};
pub(crate) use launch::launch;
pub(crate) use look::status;
