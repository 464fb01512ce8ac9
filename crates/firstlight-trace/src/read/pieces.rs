//! Reads a file in pieces through a moving window, never the whole file at once.

use std::io::{Read, Seek, SeekFrom};

use crate::error::{Problem, Result};

const PIECE: usize = 1 << 20;

/// A window into a source.
#[derive(Debug)]
pub(crate) struct Pieces<R> {
    source: R,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// The offset of `buffer[from]` in the source.
    offset: u64,
    ended: bool,
}

impl<R: Read> Pieces<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; PIECE], from: 0, to: 0, offset: 0, ended: false }
    }

    /// The bytes that have been read but not yet used.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the source ends with the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.from += bytes;
        self.offset += bytes as u64;
    }

    /// Reads until the window holds `wanted` bytes or the source ends.
    #[inline]
    pub(crate) fn want(&mut self, wanted: usize) -> Result<()> {
        if self.to - self.from >= wanted { Ok(()) } else { self.fill(wanted) }
    }

    /// Extends the window; false at the end of the source.
    pub(crate) fn more(&mut self) -> Result<bool> {
        let before = self.window().len();
        // Doubled each time, so that scanning the present bytes again stays cheap.
        self.fill((before * 2).max(before + PIECE / 2))?;
        Ok(self.window().len() > before)
    }

    fn fill(&mut self, wanted: usize) -> Result<()> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        while self.to < wanted && !self.ended {
            // Grown step by step, because a length in a file may be wrong.
            if self.to == self.buffer.len() {
                self.buffer.resize((self.to * 2).min(wanted).max(self.to + PIECE), 0);
            }
            match self.source.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Problem::Io(error)),
            }
        }
        Ok(())
    }
}

impl<R: Read + Seek> Pieces<R> {
    /// Moves to a position in the source, forwards or backwards.
    pub(crate) fn seek(&mut self, offset: u64) -> Result<()> {
        let ahead = offset.checked_sub(self.offset).and_then(|ahead| usize::try_from(ahead).ok());
        if let Some(ahead) = ahead.filter(|&ahead| ahead <= self.to - self.from) {
            self.advance(ahead);
            return Ok(());
        }
        self.source.seek(SeekFrom::Start(offset))?;
        (self.from, self.to, self.offset, self.ended) = (0, 0, offset, false);
        Ok(())
    }
}
