//! Resident memory while a phase lasts: the kernel's high-water mark, reset at each phase's edge.

use std::fs;

use firstlight_schema::message::MemoryReading;
use firstlight_schema::nanos::Moment;
use firstlight_schema::phase::Phase;

/// The peak since the last reading, and the present memory; `None` if the kernel does not report it.
pub(crate) fn cut(phase: Phase, at: Moment) -> Option<MemoryReading> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    fs::write("/proc/self/clear_refs", "5").ok()?;
    Some(MemoryReading {
        at,
        phase,
        rss_bytes: field(&status, "VmRSS:")?,
        peak_rss_bytes: field(&status, "VmHWM:")?,
        devices: Vec::new(),
    })
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1024)
}
