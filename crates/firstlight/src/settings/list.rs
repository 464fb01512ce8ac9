//! Settings of `firstlight list` and `firstlight new`.

use std::path::PathBuf;

use firstlight_engine::store::runs_folder;

use crate::args::{Format, NewArgs};
use crate::cold_suite::plain;

#[derive(Debug)]
pub(crate) struct ListSettings {
    pub(crate) format: Format,
    /// The parent folder of runs.
    pub(crate) runs: PathBuf,
}

impl ListSettings {
    pub(crate) fn resolve(format: Format) -> Self {
        Self { format, runs: runs_folder() }
    }
}

#[derive(Debug)]
pub(crate) struct NewSettings {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl NewSettings {
    pub(crate) fn resolve(args: NewArgs) -> Self {
        let name = args.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Self { name: plain(&name.unwrap_or_else(|| "suite".to_owned())), folder: args.folder }
    }
}
