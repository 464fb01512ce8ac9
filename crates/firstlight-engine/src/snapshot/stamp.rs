//! Whether a snapshot's folder or archive has changed, without reading it.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::store::hex;

/// Folders below folders are looked at no deeper than this.
const DEEPEST: usize = 16;

/// A digest of the names, sizes and times of all files. Changing a file changes one of them.
pub fn stamp(path: &Path) -> String {
    let mut seen = Vec::new();
    collect(path, "", DEEPEST, &mut seen);
    seen.sort();
    hex(&Sha256::digest(seen.concat()))
}

fn collect(path: &Path, name: &str, depth: usize, seen: &mut Vec<String>) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    let mut line = name.to_owned();
    let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    writeln!(line, "\0{}\0{seconds}.{nanos}\0{changed:?}", metadata.len())
        .expect("writing to a string");
    seen.push(line);
    if !metadata.is_dir() || depth == 0 {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let below = format!("{name}/{}", entry.file_name().to_string_lossy());
        collect(&entry.path(), &below, depth - 1, seen);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::stamp;

    #[test]
    fn a_stamp_changes_with_any_file_below() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("file"), "1").unwrap();
        let first = stamp(folder.path());
        assert_eq!(first, stamp(folder.path()));
        fs::write(below.join("file"), "22").unwrap();
        let second = stamp(folder.path());
        fs::write(below.join("other"), "").unwrap();
        let third = stamp(folder.path());
        assert!(first != second && second != third && first != third);
    }
}
