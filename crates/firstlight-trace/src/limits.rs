//! How much a trace may take, so that a hostile or broken file is an error and not a dead machine.

/// Bounds on reading.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that events, names and programs may take in memory; events that take more are read in
    /// pieces.
    pub memory: u64,
    /// Bytes that a compressed file may unpack to.
    pub unpacked: u64,
    /// Compressed files that unpack to more than this, or than the memory, go through a temporary file.
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
