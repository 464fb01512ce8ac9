//! The end of what a command wrote, and how much it wrote.

use std::io::{ErrorKind, Read};

const KEPT: usize = 8 << 10;

/// Counts everything and keeps the last few kilobytes.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: u64,
    kept: Vec<u8>,
}

impl Tail {
    fn push(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        self.kept.extend_from_slice(data);
        if self.kept.len() > 2 * KEPT {
            self.kept.drain(..self.kept.len() - KEPT);
        }
    }

    /// Reads what is there now; true when the other side has closed.
    pub(super) fn drain(&mut self, source: &mut impl Read, buffer: &mut [u8]) -> bool {
        loop {
            match source.read(buffer) {
                Ok(0) => return true,
                Ok(n) => self.push(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    pub(super) fn finish(mut self) -> (u64, String) {
        let excess = self.kept.len().saturating_sub(KEPT);
        self.kept.drain(..excess);
        (self.bytes, String::from_utf8_lossy(&self.kept).into_owned())
    }
}
