//! Files that travel inside the binary.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::EngineError;
use crate::folders::own_folder;
use crate::writing::folder_below;

/// A relative path and its content.
pub(crate) type File = (&'static str, &'static [u8]);

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Makes a folder contain exactly these files. They are written to a new folder, which then replaces the old
/// one, so no reader sees a part of them. A correct folder is never touched.
pub(crate) fn lay_out(files: &[File], folder: &Path) -> Result<(), EngineError> {
    if is_laid_out(files, folder) {
        return Ok(());
    }
    let parent = folder.parent().expect("a folder in the cache has a parent");
    own_folder(parent)?;
    let lock = parent.join(".lock");
    let one_at_a_time = fs::File::create(&lock).map_err(EngineError::file("make", &lock))?;
    one_at_a_time.lock().map_err(EngineError::file("lock", &lock))?;
    // Another firstlight may have been faster.
    if is_laid_out(files, folder) {
        return Ok(());
    }
    let fresh = folder_below(parent).map_err(EngineError::file("write to", parent))?;
    for (name, content) in files {
        let path = fresh.path().join(name);
        let below = path.parent().expect("a file in a folder has a parent");
        fs::create_dir_all(below).map_err(EngineError::file("make", below))?;
        fs::write(&path, content).map_err(EngineError::file("write", &path))?;
    }
    if folder.exists() {
        // Altered files are removed together with the old folder.
        return renameat_with(CWD, fresh.path(), CWD, folder, RenameFlags::EXCHANGE)
            .map_err(|error| EngineError::file("replace", folder)(error.into()));
    }
    fs::rename(fresh.path(), folder).map_err(EngineError::file("make", folder))?;
    let _ = fresh.keep();
    Ok(())
}

fn is_laid_out(files: &[File], folder: &Path) -> bool {
    files.iter().all(|(name, content)| {
        fs::read(folder.join(name)).is_ok_and(|known| known.as_slice() == *content)
    })
}
