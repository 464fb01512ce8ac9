//! Counts the files of a cache directory.

use std::fs;
use std::path::Path;

use firstlight_schema::cache::Inventory;

/// Files below the directory; a directory that is not there holds none.
pub(super) fn inventory(directory: &Path, counts: fn(&Path) -> bool) -> Inventory {
    let mut inventory = Inventory::default();
    visit(directory, &mut |path, metadata| {
        if counts(path) {
            inventory.entries += 1;
            inventory.bytes += metadata.len();
        }
    });
    inventory
}

/// Calls the function for each regular file below the directory, links not followed.
pub(super) fn visit(directory: &Path, see: &mut impl FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            visit(&entry.path(), see);
        } else if metadata.is_file() {
            see(&entry.path(), &metadata);
        }
    }
}
