//! Snapshots as one file: a tar archive, compressed by zstd, the same bytes for the same files.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::rc::Rc;

use tar::{Archive, Builder, EntryType, Header};

use super::files::{Files, MOST_BYTES, refused};
use super::limits::most_unpacked;
use crate::EngineError;
use crate::writing::{beside, is_replaceable, write_bytes};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A large file that expands by more than this factor is rejected as hostile.
const MOST_RATIO: u64 = 200;
const LARGE: u64 = 64 << 20;
const BLOCK: u64 = 512;
/// Two blocks of zeros, and what a writer fills its last record with.
const MOST_PADDING: u64 = 20 * BLOCK;
/// The result repeats the raw readings; a window that spans both stores them once.
const WINDOW_LOG: u32 = 27;
const LEVEL: i32 = 12;

/// Reads an archive into memory.
pub(super) fn read(path: &Path, files: &mut Files) -> Result<(), EngineError> {
    // Opening a pipe would block until it has a writer.
    let known = fs::metadata(path).map_err(EngineError::file("read", path))?;
    if !known.is_file() {
        return Err(EngineError::NotASnapshot { path: path.to_owned() });
    }
    files.set_packed(known.len());
    let mut file = File::open(path).map_err(EngineError::file("read", path))?;
    let mut magic = [0; 4];
    if file.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(EngineError::NotASnapshot { path: path.to_owned() });
    }
    let packed = Rc::new(Cell::new(0));
    let source = Counted { inner: magic.chain(file), count: Rc::clone(&packed) };
    let broken = |error: io::Error| refused(path, "the archive", &error.to_string());
    let decoder = zstd::Decoder::with_buffer(BufReader::new(source)).map_err(broken)?;
    let most = most_unpacked(known.len()).min(MOST_BYTES);
    let bounded = Bounded { inner: decoder, packed, read: 0, most };
    let mut archive = Archive::new(bounded);
    let mut end = 0;
    for entry in archive.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        end = entry.raw_file_position() + entry.size().next_multiple_of(BLOCK);
        match entry.header().entry_type() {
            EntryType::Regular => files.add(path, &name, entry.size(), entry)?,
            EntryType::Directory => {}
            other => {
                return Err(refused(
                    path,
                    &name,
                    &format!("is not a regular file but {}", kind(other)),
                ));
            }
        }
    }
    check_end(archive.into_inner(), end, path)
}

/// Only zeros may follow an archive, because nothing vouches for other bytes.
fn check_end(mut rest: Bounded<impl Read>, end: u64, path: &Path) -> Result<(), EngineError> {
    let broken = |error: io::Error| refused(path, "the archive", &error.to_string());
    let trailing = || refused(path, "the archive", "has extra bytes after its end");
    let mut buffer = [0; 4096];
    loop {
        let n = rest.read(&mut buffer).map_err(broken)?;
        if n == 0 {
            break;
        }
        if buffer[..n].iter().any(|&byte| byte != 0) {
            return Err(trailing());
        }
    }
    if rest.read > end.saturating_add(MOST_PADDING) { Err(trailing()) } else { Ok(()) }
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
    let failed = || EngineError::file("write", target);
    if !is_replaceable(target) {
        let mut packed = Vec::new();
        write(files, &mut packed).map_err(failed())?;
        return write_bytes(target, &packed);
    }
    let mut file = beside(target).map_err(failed())?;
    write(files, &mut file).map_err(failed())?;
    file.as_file().sync_all().map_err(failed())?;
    file.persist(target).map(|_| ()).map_err(|error| failed()(error.error))
}

fn write(files: &Files, target: &mut impl Write) -> io::Result<()> {
    let mut encoder = zstd::Encoder::new(target, LEVEL)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW_LOG)?;
    encoder.include_checksum(true)?;
    let mut builder = Builder::new(encoder);
    for (path, content) in files.iter() {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content)?;
    }
    builder.into_inner()?.finish()?.flush()
}

/// Counts the bytes read from the packed file.
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

/// Stops if a file unpacks to more than any snapshot would.
struct Bounded<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    read: u64,
    most: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.read += n as u64;
        let packed = self.packed.get();
        let too_much = self.read > LARGE && self.read / MOST_RATIO > packed;
        if too_much || self.read > self.most {
            return Err(io::Error::other(format!(
                "unpacks to more than {} bytes from {packed}, {} are allowed: refused as a decompression bomb",
                self.read, self.most
            )));
        }
        Ok(n)
    }
}
