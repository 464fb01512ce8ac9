//! Settings of `firstlight publish`.

use std::path::PathBuf;

use crate::args::{Format, PublishArgs};

#[derive(Debug)]
pub(crate) struct PublishSettings {
    /// The folder that holds them.
    pub(crate) snapshots: PathBuf,
    pub(crate) site: PathBuf,
    pub(crate) format: Format,
}

impl PublishSettings {
    pub(crate) fn resolve(args: PublishArgs, format: Format) -> Self {
        let PublishArgs { snapshots, output } = args;
        Self { snapshots, site: output, format }
    }
}
