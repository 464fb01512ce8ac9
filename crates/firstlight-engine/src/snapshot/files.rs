//! A snapshot's files in memory, from a folder or an archive. Nothing is unpacked to disk. An entry with an
//! invalid name, kind or size is refused before its content is read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use firstlight_schema::snapshot::{RAW, RESULT};

use super::archive;
use super::limits::most_memory;
use crate::EngineError;

const MOST_FILES: usize = 10_000;
const LONGEST_NAME: usize = 512;
const DEEPEST: usize = 16;
/// How much smaller a folder's files are when they are packed.
const FOLDER_RATIO: u64 = 8;
/// Of all files together.
pub(super) const MOST_BYTES: u64 = 2 << 30;

/// Files that grow with the number of calls.
pub(super) const LARGE: [&str; 2] = [RAW, RESULT];

/// The files by their path, which has plain names between slashes.
#[derive(Clone, Debug, Default)]
pub struct Files {
    contents: BTreeMap<String, Vec<u8>>,
    bytes: u64,
    /// Files that are not read.
    left_on_disk: &'static [&'static str],
    /// The size of the archive, or of all files in a folder.
    packed: u64,
}

impl Files {
    pub fn read(path: &Path) -> Result<Self, EngineError> {
        let mut files = Self::default();
        if path.is_dir() {
            files.collect(path, path, "", DEEPEST)?;
            files.packed = files.bytes / FOLDER_RATIO;
        } else {
            archive::read(path, &mut files)?;
        }
        Ok(files)
    }

    /// The files of a folder but those that grow with the number of calls.
    pub(super) fn read_small(folder: &Path) -> Result<Self, EngineError> {
        let mut files = Self { left_on_disk: &LARGE, ..Self::default() };
        files.collect(folder, folder, "", DEEPEST)?;
        Ok(files)
    }

    /// How much memory may be in use while this snapshot is checked.
    pub fn most_memory(&self) -> u64 {
        most_memory(self.packed)
    }

    /// The archive that was read.
    pub(super) fn set_packed(&mut self, bytes: u64) {
        self.packed = bytes;
    }

    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.contents.get(path).map(Vec::as_slice)
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.contents.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.contents.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    pub fn remove(&mut self, path: &str) {
        self.contents.remove(path);
    }

    /// Puts another content in a file's place.
    pub fn put(&mut self, path: &str, content: Vec<u8>) {
        self.contents.insert(path.to_owned(), content);
    }

    fn collect(
        &mut self,
        root: &Path,
        folder: &Path,
        prefix: &str,
        depth: usize,
    ) -> Result<(), EngineError> {
        let list = || EngineError::file("list", folder);
        if depth == 0 {
            let reason = format!("lies more than {DEEPEST} folders deep");
            return Err(refused(root, prefix, &reason));
        }
        for entry in fs::read_dir(folder).map_err(list())? {
            let entry = entry.map_err(list())?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or("\u{fffd}");
            let path = format!("{prefix}{name}");
            // Not followed: a link could lead anywhere.
            let kind = entry.file_type().map_err(list())?;
            if kind.is_dir() {
                check_name(root, &path)?;
                self.collect(root, &entry.path(), &format!("{path}/"), depth - 1)?;
            } else if kind.is_file() {
                if self.left_on_disk.contains(&path.as_str()) {
                    continue;
                }
                let file =
                    File::open(entry.path()).map_err(EngineError::file("read", entry.path()))?;
                let size = file.metadata().map_err(EngineError::file("read", entry.path()))?.len();
                self.add(root, &path, size, file)?;
            } else {
                return Err(refused(root, &path, "is neither a file nor a folder"));
            }
        }
        Ok(())
    }

    /// Reads one file of the given size.
    pub(super) fn add(
        &mut self,
        snapshot: &Path,
        path: &str,
        size: u64,
        content: impl Read,
    ) -> Result<(), EngineError> {
        check_name(snapshot, path)?;
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MOST_BYTES {
            let reason = format!("makes the snapshot larger than {MOST_BYTES} bytes");
            return Err(refused(snapshot, path, &reason));
        }
        if self.contents.len() >= MOST_FILES {
            return Err(refused(
                snapshot,
                path,
                &format!("exceeds the limit of {MOST_FILES} files"),
            ));
        }
        let mut bytes = Vec::new();
        content
            .take(size)
            .read_to_end(&mut bytes)
            .map_err(|error| refused(snapshot, path, &format!("cannot be read: {error}")))?;
        if bytes.len() as u64 != size {
            return Err(refused(snapshot, path, "is truncated"));
        }
        if self.contents.insert(path.to_owned(), bytes).is_some() {
            return Err(refused(snapshot, path, "appears twice"));
        }
        Ok(())
    }
}

/// A path that stays below the snapshot's folder on every system.
pub(super) fn check_name(snapshot: &Path, path: &str) -> Result<(), EngineError> {
    let plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && !part.contains(['\\', '\u{fffd}', ':'])
            && !part.chars().any(char::is_control)
    };
    if path.len() > LONGEST_NAME {
        let shown: String = path.chars().take(80).collect();
        let reason = format!("is a name of {} bytes, {LONGEST_NAME} are allowed", path.len());
        return Err(refused(snapshot, &format!("{shown}…"), &reason));
    }
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(refused(snapshot, path, "leaves the snapshot's folder"));
    }
    if !path.split('/').all(plain) {
        return Err(refused(snapshot, path, "is not a plain name"));
    }
    Ok(())
}

pub(super) fn refused(snapshot: &Path, place: &str, reason: &str) -> EngineError {
    EngineError::Snapshot {
        path: snapshot.to_owned(),
        place: place.to_owned(),
        reason: reason.to_owned(),
    }
}
