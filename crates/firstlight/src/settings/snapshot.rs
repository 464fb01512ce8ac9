//! Settings of `firstlight snapshot` and `firstlight verify`.

use std::path::PathBuf;

use crate::args::{Format, SnapshotArgs, VerifyArgs};

#[derive(Debug)]
pub(crate) struct SnapshotSettings {
    pub(crate) run: PathBuf,
    pub(crate) output: Option<PathBuf>,
    pub(crate) archive: bool,
    pub(crate) sign: Option<PathBuf>,
    pub(crate) recompute: bool,
    pub(crate) format: Format,
}

impl SnapshotSettings {
    pub(crate) fn resolve(args: SnapshotArgs, format: Format) -> Self {
        let SnapshotArgs { run, output, archive, sign, recompute } = args;
        Self { run, output, archive, sign, recompute, format }
    }
}

#[derive(Debug)]
pub(crate) struct VerifySettings {
    pub(crate) snapshots: Vec<PathBuf>,
    /// A public key, or the file that holds it.
    pub(crate) key: Option<String>,
    pub(crate) format: Format,
}

impl VerifySettings {
    pub(crate) fn resolve(args: VerifyArgs, format: Format) -> Self {
        Self { snapshots: args.snapshots, key: args.key, format }
    }
}
