//! Opens a file and unpacks gzip and Zstandard: into memory if it is short, otherwise into a temporary file,
//! within the limits.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::{Problem, Result};
use crate::limits::{Limits, MOST_TIMES, SUSPICIOUS};

/// A file that can be read from its beginning.
pub(crate) enum Unpacked {
    File(File, u64),
    Memory(Vec<u8>),
}

pub(crate) fn unpack(path: &Path, limits: &Limits) -> Result<Unpacked> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut magic = [0; 4];
    let known = read_up_to(&mut file, &mut magic)?;
    file.seek(SeekFrom::Start(0))?;
    let buffered = |file| BufReader::with_capacity(1 << 18, file);
    match magic[..known] {
        [] => Err(Problem::Empty),
        [0x1f, 0x8b, ..] => drain(MultiGzDecoder::new(buffered(file)), bytes, limits),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let mut decoder = zstd::Decoder::with_buffer(buffered(file))?;
            // The file determines the window's memory.
            decoder.window_log_max(27)?;
            drain(decoder, bytes, limits)
        }
        _ => Ok(Unpacked::File(file, bytes)),
    }
}

fn read_up_to(source: &mut impl Read, into: &mut [u8]) -> Result<usize> {
    let mut held = 0;
    while held < into.len() {
        match source.read(&mut into[held..])? {
            0 => break,
            more => held += more,
        }
    }
    Ok(held)
}

fn drain(mut source: impl Read, packed: u64, limits: &Limits) -> Result<Unpacked> {
    let mut memory = Vec::new();
    let mut file: Option<File> = None;
    let mut piece = vec![0; 1 << 18];
    let mut length = 0_u64;
    loop {
        let read = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(Problem::Truncated { at: length, inside: "its compressed data" });
            }
            Err(error) => {
                let what = format!("its compressed data: {error}");
                return Err(Problem::Corrupt { at: length, what });
            }
        };
        length += read as u64;
        if length > SUSPICIOUS && length / packed.max(1) > MOST_TIMES {
            return Err(Problem::Bomb { limit: length, times: MOST_TIMES });
        }
        if length > limits.unpacked {
            return Err(Problem::TooLong { limit: limits.unpacked });
        }
        match &mut file {
            Some(file) => file.write_all(&piece[..read])?,
            None => memory.extend_from_slice(&piece[..read]),
        }
        if file.is_none() && length > limits.in_memory.min(limits.memory) {
            let mut spool = tempfile::tempfile()?;
            spool.write_all(&memory)?;
            memory = Vec::new();
            file = Some(spool);
        }
    }
    match file {
        Some(mut file) => {
            file.seek(SeekFrom::Start(0))?;
            Ok(Unpacked::File(file, length))
        }
        None if memory.is_empty() => Err(Problem::Empty),
        None => Ok(Unpacked::Memory(memory)),
    }
}
