//! Converts a file or a profile folder to a [`Trace`]: detects the format, unpacks, reads and sorts.

mod chrome;
mod collect;
mod decimal;
mod folder;
mod hlo;
mod json_event;
mod messages;
mod pieces;
mod reread;
mod sieve;
mod unpack;
mod wire;
mod xplane;

use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use firstlight_schema::trace::{Notice, NoticeName, TraceDocument};
use firstlight_schema::version::Build;

use crate::error::{Problem, Result, TraceError};
use crate::limits::Limits;
use crate::model::{Line, Trace};
use crate::names::Names;
use crate::recompile::Logs;
use reread::Rest;
pub(crate) use reread::{Pieces, Whole};
use sieve::Sieve;
use unpack::{Unpacked, unpack};

/// A trace and its file. If a recording is larger than the budget, the trace holds everything except the
/// events, which are read again piece by piece.
#[derive(Debug)]
pub struct Opened {
    pub path: PathBuf,
    pub trace: Trace,
    rest: Option<Rest>,
}

impl Opened {
    /// The memory for all events in bytes, if it exceeds the budget.
    pub fn in_pieces(&self) -> Option<u64> {
        self.rest.as_ref().map(Rest::needs)
    }

    /// Attributes the recording, in pieces or not; `file` is its name in the document.
    pub fn document(
        &mut self,
        file: &str,
        logs: Option<&Logs>,
        build: Build,
    ) -> Result<TraceDocument, TraceError> {
        let Some(rest) = &mut self.rest else {
            return Ok(crate::document::document(&self.trace, file, logs, build));
        };
        let mut source = rest.reread(&mut self.trace);
        crate::document::tell(&mut source, file, logs, build)
            .map_err(|problem| TraceError { path: self.path.clone(), problem })
    }
}

/// A source that a recording can be read from more than once.
pub(crate) trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Reads a trace file, or the newest one of a profile folder.
pub fn open(path: &Path, limits: &Limits) -> Result<Opened, TraceError> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |problem| TraceError { path, problem }
    };
    let found = folder::find(path).map_err(wrong(path))?;
    let opened = unpack(&found.file, limits).and_then(|source| match source {
        Unpacked::File(file, bytes) => whole_or_skimmed(Box::new(file), bytes, limits),
        Unpacked::Memory(bytes) => {
            let length = bytes.len() as u64;
            whole_or_skimmed(Box::new(Cursor::new(bytes)), length, limits)
        }
    });
    let (mut trace, rest) = opened.map_err(wrong(&found.file))?;
    trace.notices.extend(found.notices);
    Ok(Opened { path: found.file, trace, rest })
}

/// Reads an uncompressed trace from memory like [`open`] does from a file.
pub fn open_bytes(bytes: Vec<u8>, limits: &Limits) -> Result<Opened> {
    let length = bytes.len() as u64;
    let (trace, rest) = whole_or_skimmed(Box::new(Cursor::new(bytes)), length, limits)?;
    Ok(Opened { path: PathBuf::new(), trace, rest })
}

/// Reads an uncompressed trace of any format from memory, never in pieces.
pub fn read_bytes(bytes: &[u8], limits: &Limits) -> Result<Trace> {
    whole(&mut Cursor::new(bytes), bytes.len() as u64, limits)
}

fn whole_or_skimmed(
    mut source: Box<dyn Source>,
    bytes: u64,
    limits: &Limits,
) -> Result<(Trace, Option<Rest>)> {
    match whole(&mut source, bytes, limits) {
        Err(Problem::TooLarge { .. }) => {
            let (trace, rest) = Rest::skim(source, bytes, limits)?;
            Ok((trace, Some(rest)))
        }
        other => Ok((other?, None)),
    }
}

fn whole(source: &mut (impl Read + Seek), bytes: u64, limits: &Limits) -> Result<Trace> {
    let (mut trace, _) = pass(source, bytes, Sieve::all(limits), Names::default())?;
    trace.lines.retain(|line| !line.events.is_empty());
    let first = trace.lines.iter().filter_map(|line| line.events.start.iter().min()).min();
    let Some(&first) = first else { return Err(Problem::NoEvents) };
    let endless = settle(&mut trace.lines, first);
    trace.began_with(first);
    trace.notices.extend(told_endless(endless));
    Ok(trace)
}

/// One pass over the file, from its beginning.
fn pass(
    mut source: impl Read + Seek,
    bytes: u64,
    sieve: Sieve,
    names: Names,
) -> Result<(Trace, Sieve)> {
    source.rewind()?;
    let mut beginning = [0; 64];
    let mut held = 0;
    while held < beginning.len() {
        match source.read(&mut beginning[held..])? {
            0 => break,
            more => held += more,
        }
    }
    source.rewind()?;
    let beginning = &beginning[..held];
    match kind(beginning)? {
        Kind::Json => chrome::read(source, sieve, names),
        Kind::Protobuf => xplane::read(source, bytes, sieve, names).map_err(|problem| {
            // If the first bytes are invalid, the file is not an xplane.
            match problem {
                Problem::Corrupt { at: 0..8, .. } | Problem::Truncated { .. } if odd(beginning) => {
                    unknown(beginning)
                }
                other => other,
            }
        }),
    }
}

enum Kind {
    Json,
    Protobuf,
}

fn kind(beginning: &[u8]) -> Result<Kind> {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if beginning.is_empty() => Err(Problem::Empty),
        // A plane, an error, a warning, a host's name: the fields of an XSpace. The first is also a line
        // feed, which may precede JSON.
        Some(b'{' | b'[') if !length_follows(beginning) => Ok(Kind::Json),
        _ if matches!(beginning[0], 0x0a | 0x12 | 0x1a | 0x22) => Ok(Kind::Protobuf),
        _ => Err(unknown(beginning)),
    }
}

/// Whether a plane follows: a length, then the plane's number or name.
fn length_follows(beginning: &[u8]) -> bool {
    if beginning[0] != 0x0a {
        return false;
    }
    let Some(length) = beginning[1..].iter().position(|&byte| byte < 0x80) else { return false };
    matches!(beginning.get(length + 2), Some(0x08 | 0x12)) && beginning[1] != b' '
}

/// Whether this is text rather than a protocol buffer message.
fn odd(beginning: &[u8]) -> bool {
    beginning.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

fn unknown(beginning: &[u8]) -> Problem {
    let shown: String = String::from_utf8_lossy(&beginning[..beginning.len().min(16)])
        .chars()
        .flat_map(char::escape_default)
        .collect();
    Problem::Unknown { begins: format!("\"{shown}\"") }
}

/// Sorts events and moves them to one clock that begins with the first of all; returns the number of cut
/// times.
fn settle(lines: &mut [Line], first: i64) -> u64 {
    let mut endless = 0;
    for line in lines {
        for start in &mut line.events.start {
            *start = start.saturating_sub(first);
        }
        for (start, duration) in line.events.start.iter_mut().zip(&mut line.events.duration) {
            // A century: larger sums of times might overflow.
            if *start > FOREVER || *duration > FOREVER {
                (*start, *duration) = ((*start).min(FOREVER), (*duration).min(FOREVER));
                endless += 1;
            }
        }
        line.events.sort();
    }
    endless
}

fn told_endless(events: u64) -> Option<Notice> {
    let text =
        format!("{events} events start or end more than a century away; their times were cut");
    (events > 0).then_some(Notice { name: NoticeName::NoTime, text })
}

pub(crate) const FOREVER: i64 = 3_000_000_000 * 1_000_000_000 / 1_000;
