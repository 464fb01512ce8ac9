//! Temporary folders that only their user can enter. Each holds a lock while it is in use, and the next
//! firstlight removes folders whose lock nobody holds.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, TempDir};

use crate::EngineError;

/// Short, because programs put sockets below it and a socket's path has little room.
const PREFIX: &str = "fl-";
const LOCK: &str = "lock";
/// A folder without a lock is still being created, unless it is older than this.
const BEING_MADE: Duration = Duration::from_mins(1);

/// A folder that is gone when this is dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    root: TempDir,
    _lock: File,
}

impl PrivateFolder {
    pub fn new() -> Result<Self, EngineError> {
        let problem = || EngineError::system("make a temporary folder");
        let mode = Permissions::from_mode(0o700);
        let root = Builder::new().prefix(PREFIX).permissions(mode).tempdir().map_err(problem())?;
        let lock = File::create(root.path().join(LOCK)).map_err(problem())?;
        lock.lock().map_err(problem())?;
        Ok(Self { root, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Whether a path lies in a folder of this kind, be it still there or not.
    pub(crate) fn contains(path: &Path) -> bool {
        let below = path.strip_prefix(std::env::temp_dir());
        let first = below.ok().and_then(|below| below.components().next());
        first.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with(PREFIX))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        empty(self.root.path());
    }
}

/// Removes the content of the folder, the lock last. Otherwise a half-removed folder could not be recognised
/// as stale.
fn empty(folder: &Path) {
    for path in lock_last(folder) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|known| known.is_dir());
        let _ = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

fn lock_last(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_by_key(|path| path.ends_with(LOCK));
    paths
}

/// Removes the folders of this user that no running firstlight holds.
pub(crate) fn remove_stale_scratch() {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let Ok(known) = fs::symlink_metadata(entry.path()) else { continue };
        if ours && known.is_dir() && known.uid() == user && is_stale(&entry.path(), &known) {
            empty(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_stale(folder: &Path, known: &fs::Metadata) -> bool {
    if let Ok(lock) = File::open(folder.join(LOCK)) {
        return lock.try_lock().is_ok();
    }
    let age = known.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    fs::read_dir(folder).is_ok_and(|mut below| below.next().is_none())
        && age.is_some_and(|age| age > BEING_MADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_folder_is_removed_last() {
        let folder = PrivateFolder::new().unwrap();
        for name in ["a", "z", "c"] {
            fs::create_dir_all(folder.path().join(name).join("below")).unwrap();
        }
        assert!(lock_last(folder.path()).last().unwrap().ends_with(LOCK));
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_is_private_stays_while_it_is_used_and_goes_when_its_user_was_killed() {
        let used = PrivateFolder::new().unwrap();
        assert_eq!(fs::metadata(used.path()).unwrap().permissions().mode() & 0o777, 0o700);
        // A killed firstlight left this folder, and nobody holds its lock.
        let left = used.path().with_extension("killed");
        fs::create_dir(&left).unwrap();
        let lock = File::create(left.join(LOCK)).unwrap();
        lock.lock().unwrap();
        remove_stale_scratch();
        assert!(used.path().is_dir() && left.is_dir(), "both are held");
        drop(lock);
        remove_stale_scratch();
        assert!(used.path().is_dir() && !left.exists());
    }
}
