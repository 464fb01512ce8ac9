//! From a file or a profile folder to a [`Trace`]: what it is, unpacked, read, in order.

mod chrome;
mod collect;
mod decimal;
mod folder;
mod hlo;
mod json_event;
mod messages;
mod pieces;
mod unpack;
mod wire;
mod xplane;

use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use firstlight_schema::trace::NoticeName;

use crate::error::{Problem, Result, TraceError};
use crate::limits::Limits;
use crate::model::Trace;
use unpack::{Unpacked, unpack};

/// A trace and the file it was read from.
#[derive(Debug)]
pub struct Opened {
    pub path: PathBuf,
    pub trace: Trace,
}

/// Reads a trace file, or the newest one of a profile folder.
pub fn open(path: &Path, limits: &Limits) -> Result<Opened, TraceError> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |problem| TraceError { path, problem }
    };
    let found = folder::find(path).map_err(wrong(path))?;
    let mut trace = unpack(&found.file, limits)
        .and_then(|source| match source {
            Unpacked::File(file, bytes) => read(file, bytes, limits),
            Unpacked::Memory(bytes) => {
                let length = bytes.len() as u64;
                read(Cursor::new(bytes), length, limits)
            }
        })
        .map_err(wrong(&found.file))?;
    trace.notices.extend(found.notices);
    Ok(Opened { path: found.file, trace })
}

/// Reads a trace from memory, whatever format it is in; not compressed.
pub fn read_bytes(bytes: &[u8], limits: &Limits) -> Result<Trace> {
    read(Cursor::new(bytes), bytes.len() as u64, limits)
}

fn read(mut source: impl Read + Seek, bytes: u64, limits: &Limits) -> Result<Trace> {
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
    let mut trace = match kind(beginning)? {
        Kind::Json => chrome::read(source, limits)?,
        Kind::Protobuf => xplane::read(source, bytes, limits).map_err(|problem| {
            // What fails on its first bytes was never an xplane.
            match problem {
                Problem::Corrupt { at: 0..8, .. } | Problem::Truncated { .. } if odd(beginning) => {
                    unknown(beginning)
                }
                other => other,
            }
        })?,
    };
    settle(&mut trace)?;
    Ok(trace)
}

enum Kind {
    Json,
    Protobuf,
}

fn kind(beginning: &[u8]) -> Result<Kind> {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if beginning.is_empty() => Err(Problem::Empty),
        // A plane, an error, a warning, a host's name: the fields of an XSpace. The first is also a
        // line feed, behind which JSON may begin.
        Some(b'{' | b'[') if !length_follows(beginning) => Ok(Kind::Json),
        _ if matches!(beginning[0], 0x0a | 0x12 | 0x1a | 0x22) => Ok(Kind::Protobuf),
        _ => Err(unknown(beginning)),
    }
}

/// Whether these bytes begin a plane: a length, then the plane's number or name.
fn length_follows(beginning: &[u8]) -> bool {
    if beginning[0] != 0x0a {
        return false;
    }
    let Some(length) = beginning[1..].iter().position(|&byte| byte < 0x80) else { return false };
    matches!(beginning.get(length + 2), Some(0x08 | 0x12)) && beginning[1] != b' '
}

/// Whether this is text rather than a message of protocol buffers.
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

/// Puts all events into order and onto one clock that begins with the first of them.
fn settle(trace: &mut Trace) -> Result<()> {
    trace.lines.retain(|line| !line.events.is_empty());
    let first = trace.lines.iter().filter_map(|line| line.events.start.iter().min()).min();
    let Some(&first) = first else { return Err(Problem::NoEvents) };
    let mut endless = 0;
    for line in &mut trace.lines {
        for start in &mut line.events.start {
            *start = start.saturating_sub(first);
        }
        for (start, duration) in line.events.start.iter_mut().zip(&mut line.events.duration) {
            // A century: beyond it no sum of times is safe.
            if *start > FOREVER || *duration > FOREVER {
                (*start, *duration) = ((*start).min(FOREVER), (*duration).min(FOREVER));
                endless += 1;
            }
        }
        line.events.sort();
    }
    if let Some(began) = &mut trace.facts.began {
        *began = began.saturating_add(first);
    }
    if endless > 0 {
        let text = format!("{endless} events lie a century away or last as long; cut there");
        trace.notice(NoticeName::NoTime, text);
    }
    Ok(())
}

const FOREVER: i64 = 3_000_000_000 * 1_000_000_000 / 1_000;
