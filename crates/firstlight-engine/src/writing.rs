//! Writes plain files atomically, and pipes, devices and links in place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::EngineError;

/// The mode of a new file before the user's umask is applied.
const FILE: u32 = 0o666;
const FOLDER: u32 = 0o777;

/// Writes a file so that a reader sees the old content or the new, never a part.
pub fn write_whole(path: &Path, text: &str) -> Result<(), EngineError> {
    write_bytes(path, text.as_bytes())
}

/// The same for bytes. A device, a pipe or a link is written to in place.
pub fn write_bytes(path: &Path, content: &[u8]) -> Result<(), EngineError> {
    write_streamed(path, |file| file.write_all(content))
}

/// Copies a file so that a reader of the copy sees the old content or the new.
pub fn copy_whole(from: &Path, to: &Path) -> Result<(), EngineError> {
    let mut source = File::open(from).map_err(EngineError::file("read", from))?;
    write_streamed(to, |file| io::copy(&mut source, file).map(|_| ()))
}

/// The same for content that is produced while it is written.
pub(crate) fn write_streamed(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), EngineError> {
    let written = if is_replaceable(path) {
        replace(path, true, write)
    } else {
        File::create(path).and_then(|mut file| write(&mut file))
    };
    written.map_err(EngineError::file("write", path))
}

/// Writes a file that can be rebuilt, unless it is there with this content; whether it was
/// written. A reader sees the old content or the new; after a loss of power it may be neither.
pub fn write_changed(path: &Path, text: &str) -> Result<bool, EngineError> {
    let same_size = fs::metadata(path).is_ok_and(|known| known.len() == text.len() as u64);
    if same_size && fs::read(path).is_ok_and(|known| known == text.as_bytes()) {
        return Ok(false);
    }
    fs::create_dir_all(folder_of(path)).map_err(EngineError::file("make", folder_of(path)))?;
    replace(path, false, |file| file.write_all(text.as_bytes()))
        .map_err(EngineError::file("write", path))?;
    Ok(true)
}

/// Whether a path is a plain file or nothing yet, so that a new file may take its place.
pub fn is_replaceable(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(known) => known.file_type().is_file(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// A new file next to the path, with the mode of the umask or of the file that it will replace.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let fresh = Builder::new()
        .prefix(TEMPORARY)
        .permissions(Permissions::from_mode(FILE))
        .tempfile_in(folder_of(path))?;
    if let Ok(known) = fs::symlink_metadata(path) {
        fresh
            .as_file()
            .set_permissions(Permissions::from_mode(known.permissions().mode() & 0o777))?;
    }
    Ok(fresh)
}

/// A new folder inside another one, with the mode of the umask.
pub(crate) fn folder_below(parent: &Path) -> io::Result<TempDir> {
    Builder::new().prefix(TEMPORARY).permissions(Permissions::from_mode(FOLDER)).tempdir_in(parent)
}

/// How the names of unfinished files and folders begin.
pub(crate) const TEMPORARY: &str = ".tmp";

fn replace(
    path: &Path,
    synced: bool,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = beside(path)?;
    write(file.as_file_mut())?;
    if synced {
        file.as_file().sync_all()?;
    }
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    use std::thread;

    use super::*;

    #[test]
    fn a_document_is_replaced_as_a_whole() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("result.json");
        write_whole(&path, "long old text").unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_is_written() {
        let parent = tempfile::tempdir().unwrap();
        let (target, link) = (parent.path().join("target"), parent.path().join("link"));
        fs::write(&target, "old").unwrap();
        symlink(&target, &link).unwrap();
        write_whole(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn a_pipe_stays_a_pipe_and_its_reader_gets_the_content() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let reader = thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path).unwrap()
        });
        write_whole(&path, "through the pipe").unwrap();
        assert_eq!(reader.join().unwrap(), "through the pipe");
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_private_file_stays_private() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("private");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
