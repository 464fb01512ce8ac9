//! Settings of `firstlight status`.

use std::path::PathBuf;

use crate::args::{Format, StatusArgs};

#[derive(Debug)]
pub(crate) struct StatusSettings {
    pub(crate) folder: PathBuf,
    pub(crate) format: Format,
}

impl StatusSettings {
    pub(crate) fn resolve(args: StatusArgs, format: Format) -> Self {
        Self { folder: args.folder, format }
    }
}
