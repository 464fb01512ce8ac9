//! How much a snapshot may take, so that a hostile one is an error and not a dead machine. A small archive
//! can unpack to much, and JSON of two characters can become thirty bytes in memory.

use std::fs;

/// Archives that are not large may take this much in memory, and unpack to this many bytes.
const MEMORY: u64 = 416 << 20;
const UNPACKED: u64 = 160 << 20;
/// What larger ones may take, as multiples of their size.
const MEMORY_TIMES: u64 = 42;
const UNPACKED_TIMES: u64 = 16;
/// A document is looked at place by place only where it takes less than this in memory.
const PLACES: u64 = 64 << 20;
/// A line takes at most this.
const LINE: u64 = 96 << 20;

/// Size limit of an unpacked file.
pub(super) fn most_unpacked(packed: u64) -> u64 {
    UNPACKED.max(packed.saturating_mul(UNPACKED_TIMES))
}

/// How much memory may be in use while a snapshot is checked, whose files came from so many bytes.
pub fn most_memory(packed: u64) -> u64 {
    MEMORY.max(packed.saturating_mul(MEMORY_TIMES))
}

/// Whether this process uses more memory than a limit; false if unknown.
pub fn exceeds_memory(limit: u64) -> bool {
    resident().is_some_and(|bytes| bytes > limit)
}

fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Whether a document can be read as a tree of values without taking much memory.
pub fn is_small_as_values(json: &[u8]) -> bool {
    let (commas, colons) = (count(json, b','), count(json, b':'));
    commas.saturating_mul(40).saturating_add(colons.saturating_mul(150)) < PLACES
}

/// Whether a line may be read at all.
pub fn is_readable(line: &[u8]) -> bool {
    let (commas, objects) = (count(line, b','), count(line, b'{'));
    commas.saturating_mul(32).saturating_add(objects.saturating_mul(400)) < LINE
}

fn count(text: &[u8], byte: u8) -> u64 {
    text.split(|&one| one == byte).skip(1).count() as u64
}
