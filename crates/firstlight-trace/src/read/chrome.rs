//! Reads Chrome JSON of Kineto and JAX in pieces. Events are parsed one by one from a window that moves over
//! the file; an invalid event is repaired or skipped, and counted.

use std::io::Read;

use firstlight_schema::trace::{NoticeName, TraceFormat};
use memchr::memmem;
use serde_json::value::RawValue;

use super::collect::Collector;
use super::json_event::JsonEvent;
use super::pieces::Pieces;
use super::sieve::Sieve;
use crate::error::{Problem, Result};
use crate::model::Trace;
use crate::names::Names;

/// A longer value of the header is not kept.
const LONGEST_VALUE: usize = 1 << 16;
/// Longer text is not an event; the search for the next event stops here.
const LONGEST_EVENT: usize = 64 << 20;
/// The largest number of events that JAX's own converter writes, in older and newer versions.
const CAPS: [u64; 2] = [1_000_000, 5_000_000];

pub(crate) fn read(source: impl Read, sieve: Sieve, names: Names) -> Result<(Trace, Sieve)> {
    let mut reader = Reader {
        pieces: Pieces::new(source),
        collector: Collector::new(sieve, names),
        events: 0,
        repaired: 0,
        skipped: 0,
        first_wrong: None,
        cut: None,
    };
    reader.whole()?;
    reader.finish()
}

struct Reader<R> {
    pieces: Pieces<R>,
    collector: Collector,
    events: u64,
    repaired: u64,
    skipped: u64,
    first_wrong: Option<u64>,
    /// The offset at which the file ended before the list of events did.
    cut: Option<u64>,
}

impl<R: Read> Reader<R> {
    fn whole(&mut self) -> Result<()> {
        self.pieces.want(3)?;
        if self.pieces.window().starts_with(b"\xef\xbb\xbf") {
            self.pieces.advance(3);
        }
        match self.peek()? {
            Some(b'[') => {
                self.pieces.advance(1);
                self.list()
            }
            Some(b'{') => {
                self.pieces.advance(1);
                self.object()
            }
            Some(_) => Err(self.corrupt("no JSON object or list".to_owned())),
            None => Err(Problem::Empty),
        }
    }

    /// The outer object: `traceEvents` and its other fields.
    fn object(&mut self) -> Result<()> {
        let mut seen = false;
        loop {
            match self.peek()? {
                Some(b'}') => break,
                Some(b',') => {
                    self.pieces.advance(1);
                    continue;
                }
                Some(b'"') => {}
                None if seen => {
                    self.cut.get_or_insert(self.pieces.offset());
                    break;
                }
                None => {
                    let at = self.pieces.offset();
                    return Err(Problem::Truncated { at, inside: "the header" });
                }
                Some(_) if seen => {
                    // The rest after the events is a footer; without it the events are still valid.
                    self.wrong();
                    break;
                }
                Some(_) => return Err(self.corrupt("no name of a field".to_owned())),
            }
            let key = self.raw()?;
            if self.peek()? != Some(b':') {
                return Err(self.corrupt("no colon behind a field's name".to_owned()));
            }
            self.pieces.advance(1);
            if key == "\"traceEvents\"" && self.peek()? == Some(b'[') {
                self.pieces.advance(1);
                seen = true;
                self.list()?;
            } else {
                let value = self.raw()?;
                self.collector.header(&key, &value);
            }
        }
        if seen { Ok(()) } else { Err(Problem::NoEvents) }
    }

    fn list(&mut self) -> Result<()> {
        loop {
            match self.peek()? {
                Some(b']') => {
                    self.pieces.advance(1);
                    return Ok(());
                }
                Some(b',') => self.pieces.advance(1),
                Some(_) => self.event()?,
                None => {
                    self.cut.get_or_insert(self.pieces.offset());
                    return Ok(());
                }
            }
        }
    }

    fn event(&mut self) -> Result<()> {
        loop {
            let at = self.pieces.offset();
            let window = self.pieces.window();
            let mut stream =
                serde_json::Deserializer::from_slice(window).into_iter::<JsonEvent<'_>>();
            match stream.next() {
                Some(Ok(event)) => {
                    let used = stream.byte_offset();
                    self.events += u64::from(event.ph.0 == "X");
                    self.collector.event(&event, at)?;
                    self.pieces.advance(used);
                    return Ok(());
                }
                Some(Err(error)) if error.is_eof() && !self.pieces.ended() => {
                    if window.len() > LONGEST_EVENT {
                        return self.recover();
                    }
                    self.pieces.more()?;
                }
                Some(Err(error)) if error.is_eof() => {
                    // An unbalanced quote swallows the following text, so reaching the end does not prove a
                    // truncation.
                    return self.recover();
                }
                Some(Err(_)) | None => return self.recover(),
            }
        }
    }

    /// Moves to the beginning of the next event; the text before it is repaired, or counted as skipped.
    fn recover(&mut self) -> Result<()> {
        let at = self.pieces.offset();
        self.first_wrong.get_or_insert(at);
        let mut searched = 1;
        let end = loop {
            let window = self.pieces.window();
            if let Some(found) = boundary(window, searched) {
                break found;
            }
            searched = window.len().saturating_sub(16).max(1);
            if self.pieces.ended() || window.len() > LONGEST_EVENT {
                break window.len();
            }
            self.pieces.more()?;
        };
        let piece = &self.pieces.window()[..end];
        let last = self.pieces.ended() && end == self.pieces.window().len();
        if let Some(text) = repaired(piece)
            && let Ok(event) = serde_json::from_slice::<JsonEvent<'_>>(&text)
        {
            self.repaired += 1;
            self.events += u64::from(event.ph.0 == "X");
            self.collector.event(&event, at)?;
        } else {
            self.skipped += 1;
            if last {
                self.cut.get_or_insert(at + piece.len() as u64);
            }
        }
        self.pieces.advance(end);
        Ok(())
    }

    /// The next byte that is not a space.
    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let window = self.pieces.window();
            let blank = window.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if let Some(&byte) = window.get(blank) {
                self.pieces.advance(blank);
                return Ok(Some(byte));
            }
            self.pieces.advance(blank);
            if self.pieces.ended() {
                return Ok(None);
            }
            self.pieces.want(1)?;
        }
    }

    /// A value of the header as text; empty if it is long.
    fn raw(&mut self) -> Result<String> {
        self.peek()?;
        loop {
            let window = self.pieces.window();
            let mut stream = serde_json::Deserializer::from_slice(window).into_iter::<&RawValue>();
            let value = stream.next();
            let used = stream.byte_offset();
            match value {
                // A number that touches the window's end may continue after it.
                Some(Ok(_)) if used == window.len() && !self.pieces.ended() => {}
                Some(Ok(value)) => {
                    let text = value.get();
                    let text = if text.len() > LONGEST_VALUE { "" } else { text }.to_owned();
                    self.pieces.advance(used);
                    return Ok(text);
                }
                Some(Err(error)) if !error.is_eof() => {
                    let what = error.to_string();
                    return Err(self.corrupt(what));
                }
                _ => {}
            }
            if self.pieces.window().len() > LONGEST_EVENT || !self.pieces.more()? {
                let at = self.pieces.offset() + self.pieces.window().len() as u64;
                return Err(Problem::Truncated { at, inside: "the header" });
            }
        }
    }

    fn wrong(&mut self) {
        self.skipped += 1;
        self.first_wrong.get_or_insert(self.pieces.offset());
    }

    fn corrupt(&self, what: String) -> Problem {
        Problem::Corrupt { at: self.pieces.offset(), what }
    }

    fn finish(self) -> Result<(Trace, Sieve)> {
        let bytes = self.pieces.offset() + self.pieces.window().len() as u64;
        let (mut trace, sieve) = self.collector.finish(bytes);
        if self.repaired + self.skipped > 0 {
            let at = self.first_wrong.unwrap_or(0);
            trace.notice(
                NoticeName::InvalidJson,
                format!(
                    "invalid JSON, first at byte {at}: {} events were repaired, {} skipped",
                    self.repaired, self.skipped
                ),
            );
        }
        if let Some(at) = self.cut {
            trace.notice(
                NoticeName::Truncated,
                format!("the file ends at byte {at}, before the list of events does"),
            );
        }
        if trace.format == TraceFormat::JaxJson && CAPS.contains(&self.events) {
            trace.notice(
                NoticeName::EventCap,
                format!(
                    "exactly {} events: JAX's converter keeps no more and says nothing, so later \
                     steps are missing; read the xplane.pb beside it",
                    self.events
                ),
            );
        }
        if trace.lines.is_empty() && self.skipped > 0 {
            let at = self.first_wrong.unwrap_or(0);
            return Err(Problem::Corrupt { at, what: "no event is valid JSON".to_owned() });
        }
        Ok((trace, sieve))
    }
}

/// The beginning of an event at or after `from`: a brace after a line's end or a comma.
fn boundary(window: &[u8], from: usize) -> Option<usize> {
    let mut best = None;
    for mark in [&b"\n  {"[..], b"\n{", b"},{\"", b"}, {\""] {
        let brace = mark.iter().rposition(|&byte| byte == b'{').expect("a mark has a brace");
        let start = from.saturating_sub(brace);
        let limit = best.map_or(window.len(), |best: usize| (best + mark.len()).min(window.len()));
        if let Some(found) = window.get(start..limit).and_then(|part| memmem::find(part, mark)) {
            let at = start + found + brace;
            best = Some(best.map_or(at, |best: usize| best.min(at)));
        }
    }
    best
}

/// The text with raw control characters replaced by spaces; `None` if it has none.
fn repaired(piece: &[u8]) -> Option<Vec<u8>> {
    let end = piece.iter().rposition(|&byte| byte == b'}')? + 1;
    let piece = &piece[..end];
    let control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\n' | b'\r');
    let broken = piece.iter().any(control) || std::str::from_utf8(piece).is_err();
    let newline = piece.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    if !broken && !newline {
        return None;
    }
    // Line ends may also be inside a text; between tokens a space is equivalent.
    let clean: Vec<u8> = piece.iter().map(|&byte| if byte < b' ' { b' ' } else { byte }).collect();
    Some(String::from_utf8_lossy(&clean).into_owned().into_bytes())
}
