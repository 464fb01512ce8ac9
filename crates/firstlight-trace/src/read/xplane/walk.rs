//! Reads a message that does not fit in memory: heads of fields, and parts loaded into the window.

use std::io::{Read, Seek};

use super::Reader;
use crate::error::{Problem, Result};
use crate::read::wire;

/// A longer entry is not a name with its constants; programs are the longest.
const LONGEST_ENTRY: u64 = 1 << 30;
/// A longer event is invalid.
pub(super) const LONGEST_EVENT: u64 = 1 << 24;

/// A field of a message that does not fit in memory: its number, and the position of its content.
pub(super) enum Head {
    Number(u32, u64),
    Stretch { number: u32, from: u64, to: u64 },
}

impl<R: Read + Seek> Reader<R> {
    /// The next field's head, in a message that ends at `end`; `None` at its end.
    #[inline]
    pub(super) fn head(&mut self, end: u64) -> Result<Option<Head>> {
        let at = self.pieces.offset();
        if at >= end {
            return Ok(None);
        }
        self.pieces.want(20)?;
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        let window = self.pieces.window();
        let window = &window[..window.len().min(left).min(20)];
        let (key, used) = varint(window, at, self.bytes)?;
        let number = u32::try_from(key >> 3).unwrap_or(0);
        if number == 0 {
            return Err(Problem::Corrupt { at, what: format!("no field has the key {key}") });
        }
        match key & 7 {
            0 => {
                let (value, more) = varint(&window[used..], at, self.bytes)?;
                self.pieces.advance(used + more);
                Ok(Some(Head::Number(number, value)))
            }
            2 => {
                let (length, more) = varint(&window[used..], at, self.bytes)?;
                let from = at + (used + more) as u64;
                let to = from.checked_add(length).filter(|&to| to <= end).ok_or_else(|| {
                    if from.saturating_add(length) > self.bytes {
                        Problem::Truncated { at: self.bytes, inside: inside(end == self.bytes) }
                    } else {
                        let left = end - from;
                        let what = format!("a field of {length} bytes where {left} are left");
                        Problem::Corrupt { at, what }
                    }
                })?;
                self.pieces.advance(used + more);
                Ok(Some(Head::Stretch { number, from, to }))
            }
            wire @ (1 | 5) => {
                let width = if wire == 1 { 8 } else { 4 };
                if window.len() < used + width {
                    return Err(Problem::Truncated {
                        at: at + window.len() as u64,
                        inside: "a number",
                    });
                }
                self.pieces.advance(used + width);
                Ok(Some(Head::Number(number, 0)))
            }
            other => Err(Problem::Corrupt { at, what: format!("wire type {other}") }),
        }
    }

    /// Loads a part into the window, from its beginning.
    #[inline]
    pub(super) fn hold(
        &mut self,
        from: u64,
        to: u64,
        longest: u64,
        what: &'static str,
    ) -> Result<usize> {
        if to - from > longest {
            let what = format!("{what} of {} bytes", to - from);
            return Err(Problem::Corrupt { at: from, what });
        }
        self.pieces.seek(from)?;
        let length = usize::try_from(to - from).expect("shorter than the longest");
        self.pieces.want(length)?;
        if self.pieces.window().len() < length {
            let at = from + self.pieces.window().len() as u64;
            return Err(Problem::Truncated { at, inside: what });
        }
        Ok(length)
    }

    pub(super) fn entry(&mut self, from: u64, to: u64) -> Result<Vec<u8>> {
        let length = self.hold(from, to, LONGEST_ENTRY, "an entry")?;
        let bytes = self.pieces.window()[..length].to_vec();
        self.pieces.advance(length);
        Ok(bytes)
    }

    pub(super) fn text(&mut self, from: u64, to: u64) -> Result<String> {
        let length = self.hold(from, to, LONGEST_EVENT, "a text")?;
        let text = String::from_utf8_lossy(&self.pieces.window()[..length]).into_owned();
        self.sieve.bytes(text.len() as u64, from)?;
        self.pieces.advance(length);
        Ok(text)
    }
}

fn inside(space: bool) -> &'static str {
    if space { "a plane" } else { "a field" }
}

/// A varint of a stream, and its length in bytes.
#[inline]
fn varint(window: &[u8], at: u64, end: u64) -> Result<(u64, usize)> {
    match window {
        // Most are a single byte.
        [byte, ..] if *byte < 0x80 => Ok((u64::from(*byte), 1)),
        _ => wire::varint(window).ok_or_else(|| endless(window, at, end)),
    }
}

#[cold]
fn endless(window: &[u8], at: u64, end: u64) -> Problem {
    if window.len() < 10 && at + window.len() as u64 >= end {
        return Problem::Truncated { at: end, inside: "a varint" };
    }
    Problem::Corrupt { at, what: "a varint that does not end".to_owned() }
}
