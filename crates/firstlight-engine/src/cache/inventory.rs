//! The files of a folder, counted in one walk.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use firstlight_schema::cache::Inventory;

/// A file, with the fields that change when it is modified.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen {
    /// Below the folder that was walked.
    pub(super) path: PathBuf,
    length: u64,
    modified: Option<SystemTime>,
}

/// The result of one walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Every regular file, in the order of their paths; links are not followed.
    pub(super) files: Vec<Seen>,
    /// The top-level folders.
    pub(super) folders: Vec<OsString>,
}

pub(super) fn walk(folder: &Path) -> Found {
    let mut found = Found::default();
    let mut see = |path: &Path, metadata: &fs::Metadata| {
        let path = path.strip_prefix(folder).expect("found below the folder").to_owned();
        found.files.push(Seen { path, length: metadata.len(), modified: metadata.modified().ok() });
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if look(&entry, &mut see) {
            found.folders.push(entry.file_name());
        }
    }
    found.files.sort();
    found.folders.sort();
    found
}

/// The files that a layer counts as its own.
pub(super) fn inventory(files: &[Seen], counts: impl Fn(&Path) -> bool) -> Inventory {
    let mut inventory = Inventory::default();
    for file in files.iter().filter(|file| counts(&file.path)) {
        inventory.entries += 1;
        inventory.bytes += file.length;
    }
    inventory
}

/// Calls the function for each regular file below the folder; a missing folder has none.
pub(super) fn visit(folder: &Path, see: &mut impl FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        look(&entry, see);
    }
}

/// Visits an entry; true if it is a folder.
fn look(entry: &fs::DirEntry, see: &mut impl FnMut(&Path, &fs::Metadata)) -> bool {
    let Ok(kind) = entry.file_type() else { return false };
    if kind.is_dir() {
        visit(&entry.path(), see);
    } else if kind.is_file()
        && let Ok(metadata) = entry.metadata()
    {
        see(&entry.path(), &metadata);
    }
    kind.is_dir()
}
