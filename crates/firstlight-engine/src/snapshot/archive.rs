//! Snapshots as one file: a tar archive, compressed by zstd, the same bytes for the same files.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::rc::Rc;

use tar::{Archive, Builder, EntryType, Header};

use super::files::{Files, MOST_BYTES, refused};
use crate::EngineError;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A file that grows by more than this when it is read is a trap, once it is large at all.
const MOST_RATIO: u64 = 200;
const LARGE: u64 = 64 << 20;
/// The result repeats the raw readings; a window that spans both stores them once.
const WINDOW_LOG: u32 = 27;
const LEVEL: i32 = 12;

/// Reads an archive into memory.
pub(super) fn read(path: &Path, files: &mut Files) -> Result<(), EngineError> {
    let mut file = File::open(path).map_err(EngineError::file("read", path))?;
    let mut magic = [0; 4];
    if file.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(EngineError::NotASnapshot { path: path.to_owned() });
    }
    let packed = Rc::new(Cell::new(0));
    let source = Counted { inner: magic.chain(file), count: Rc::clone(&packed) };
    let broken = |error: io::Error| refused(path, "the archive", &error.to_string());
    let decoder = zstd::Decoder::with_buffer(BufReader::new(source)).map_err(broken)?;
    let bounded = Bounded { inner: decoder, packed, read: 0 };
    let mut archive = Archive::new(bounded);
    for entry in archive.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            EntryType::Regular => files.add(path, &name, entry.size(), entry)?,
            EntryType::Directory => {}
            other => {
                return Err(refused(path, &name, &format!("is no plain file but {}", kind(other))));
            }
        }
    }
    Ok(())
}

fn kind(other: EntryType) -> &'static str {
    match other {
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        _ => "something else",
    }
}

/// Writes the files in the order of their paths, without times and owners.
pub fn pack(files: &Files, target: &Path) -> Result<(), EngineError> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let failed = || EngineError::file("write", target);
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed())?;
    let mut encoder = zstd::Encoder::new(&mut file, LEVEL).map_err(failed())?;
    encoder.long_distance_matching(true).map_err(failed())?;
    encoder.window_log(WINDOW_LOG).map_err(failed())?;
    encoder.include_checksum(true).map_err(failed())?;
    let mut builder = Builder::new(encoder);
    for (path, content) in files.iter() {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content).map_err(failed())?;
    }
    let encoder = builder.into_inner().map_err(failed())?;
    encoder.finish().and_then(Write::flush).map_err(failed())?;
    file.as_file().sync_all().map_err(failed())?;
    file.persist(target).map_err(|error| EngineError::file("write", target)(error.error))?;
    let _ = std::fs::set_permissions(target, std::os::unix::fs::PermissionsExt::from_mode(0o644));
    Ok(())
}

/// Counts what is read of the packed file.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.set(self.count.get() + n as u64);
        Ok(n)
    }
}

/// Stops where a file unpacks to more than any snapshot would.
struct Bounded<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    read: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.read += n as u64;
        let packed = self.packed.get();
        let too_much = self.read > LARGE && self.read / MOST_RATIO > packed;
        if too_much || self.read > MOST_BYTES {
            return Err(io::Error::other(format!(
                "unpacks to more than {} bytes from {packed}: refused as a decompression bomb",
                self.read
            )));
        }
        Ok(n)
    }
}
