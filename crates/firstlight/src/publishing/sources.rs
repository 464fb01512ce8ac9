//! The possible snapshots in a folder, each with a stamp that shows whether it changed.

use std::fs;
use std::path::{Path, PathBuf};

use firstlight_engine::snapshot::stamp;
use firstlight_schema::snapshot::{MANIFEST, ORIGIN};

use crate::error::Error;
use crate::verification::on_all_cores;

/// A snapshot's folder or archive.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) stamp: String,
}

/// Sorted by name.
pub(super) fn find(folder: &Path) -> Result<Vec<Found>, Error> {
    let entries = fs::read_dir(folder).map_err(|error| Error::io("list", folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| may_be_a_snapshot(path));
    paths.sort();
    Ok(on_all_cores(&paths, |_, path| Found {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.clone(),
        stamp: stamp(path),
    }))
}

fn may_be_a_snapshot(path: &Path) -> bool {
    if path.is_dir() {
        return [MANIFEST, ORIGIN].iter().any(|name| path.join(name).exists());
    }
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".tar.zst"))
}
