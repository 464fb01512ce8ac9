//! Files that travel inside the binary.

use std::fs;
use std::path::Path;

use crate::EngineError;

/// A relative path and its content.
pub(crate) type File = (&'static str, &'static [u8]);

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Writes embedded files below a folder.
pub(crate) fn unpack(files: &[File], folder: &Path) -> Result<(), EngineError> {
    for (name, content) in files {
        let path = folder.join(name);
        let parent = path.parent().expect("a file in a folder has a parent");
        fs::create_dir_all(parent).map_err(EngineError::file("make", parent))?;
        fs::write(&path, content).map_err(EngineError::file("write", &path))?;
    }
    Ok(())
}
