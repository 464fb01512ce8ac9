//! Limits on the memory of a snapshot, so that a hostile one is an error and does not exhaust the machine. A
//! small archive can unpack to much, and JSON of two characters can become thirty bytes in memory.

/// Archives that are not large may take this much in memory, and unpack to this many bytes.
const MEMORY: u64 = 416 << 20;
const UNPACKED: u64 = 160 << 20;
/// The limits for larger ones, as multiples of their size.
const MEMORY_TIMES: u64 = 42;
const UNPACKED_TIMES: u64 = 16;
/// A document is looked at place by place only where it takes less than this in memory.
const PLACES: u64 = 64 << 20;
/// A line takes at most this.
const LINE: u64 = 256 << 20;
/// So does a document of a newer version, which is read as a tree of values.
const NEWER: u64 = 160 << 20;

/// Size limit of an unpacked file.
pub(super) fn most_unpacked(packed: u64) -> u64 {
    UNPACKED.max(packed.saturating_mul(UNPACKED_TIMES))
}

/// How much memory the readings of a snapshot may take, whose files came from so many bytes.
pub(super) fn most_memory(packed: u64) -> u64 {
    MEMORY.max(packed.saturating_mul(MEMORY_TIMES))
}

/// Whether a document can be read as a tree of values without taking much memory.
pub fn is_small_as_values(json: &[u8]) -> bool {
    as_values(json) < PLACES
}

/// Whether a document of a newer version may be read, value by value.
pub(super) fn is_readable_as_values(json: &[u8]) -> bool {
    as_values(json) < NEWER
}

/// Whether a line may be read at all.
pub fn is_readable(line: &[u8]) -> bool {
    as_record(line) < LINE
}

/// The memory that raw readings take, estimated from their text: the same for every machine and whatever
/// else the process holds.
pub fn as_records(lines: &[&[u8]]) -> u64 {
    lines.iter().fold(0, |sum: u64, line| sum.saturating_add(as_record(line)))
}

/// Text, elements of lists and objects, with what is computed from them: a call has two commas and takes
/// about 170 bytes, a message five commas and 1,500 bytes.
fn as_record(line: &[u8]) -> u64 {
    let (commas, objects) = (count(line, b','), count(line, b'{'));
    let lists = commas.saturating_mul(90).saturating_add(objects.saturating_mul(1_000));
    lists.saturating_add(line.len() as u64)
}

fn as_values(json: &[u8]) -> u64 {
    let (commas, colons) = (count(json, b','), count(json, b':'));
    commas.saturating_mul(40).saturating_add(colons.saturating_mul(150))
}

fn count(text: &[u8], byte: u8) -> u64 {
    memchr::memchr_iter(byte, text).count() as u64
}
