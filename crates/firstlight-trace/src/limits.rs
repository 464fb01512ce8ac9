//! Limits on reading a trace, so that a hostile or broken file causes an error and does not exhaust the
//! machine.

/// Bounds on reading.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory for events, names and programs; a recording that needs more is read in pieces.
    pub memory: u64,
    /// The largest unpacked size of a compressed file, in bytes.
    pub unpacked: u64,
    /// Compressed files with a larger unpacked size than this, or than the memory, are unpacked to a
    /// temporary file.
    pub in_memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 4 << 30, unpacked: 64 << 30, in_memory: 512 << 20 }
    }
}

/// A trace compresses ten- to thirtyfold; a file with a larger ratio than this is malicious.
pub(crate) const MOST_TIMES: u64 = 400;
/// Small files may have any ratio.
pub(crate) const SUSPICIOUS: u64 = 64 << 20;
