//! How much a trace may take, so that a hostile or broken file is an error and not a dead machine.

/// Bounds on reading.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that events, names and programs may take in memory.
    pub memory: u64,
    /// Bytes that a compressed file may unpack to.
    pub unpacked: u64,
    /// Compressed files that unpack to more than this go through a temporary file.
    pub in_memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 4 << 30, unpacked: 64 << 30, in_memory: 512 << 20 }
    }
}

/// A trace packs ten- to thirtyfold; what unpacks further than this was made to.
pub(crate) const MOST_TIMES: u64 = 400;
/// Small files may pack as well as they like.
pub(crate) const SUSPICIOUS: u64 = 64 << 20;

/// Counts what is kept, and stops at the limit.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: u64,
    used: u64,
    events: u64,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { limit: limits.memory, used: 0, events: 0 }
    }

    /// An event of a file that has been read up to `at`.
    pub(crate) fn event(&mut self, at: u64) -> crate::error::Result<()> {
        self.events += 1;
        self.bytes(crate::model::EVENT_BYTES, at)
    }

    pub(crate) fn bytes(&mut self, bytes: u64, at: u64) -> crate::error::Result<()> {
        self.used += bytes;
        if self.used > self.limit {
            return Err(crate::error::Problem::TooLarge {
                limit: self.limit,
                events: self.events,
                at,
            });
        }
        Ok(())
    }
}
