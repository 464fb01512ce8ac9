//! What the machine is, and how busy it is as a whole.

use std::fs;
use std::num::NonZero;
use std::thread;

use firstlight_schema::machine::Machine;
use firstlight_schema::nanos::Nanos;

/// Reads the machine's description; what cannot be read is unknown.
pub fn describe() -> Machine {
    Machine {
        cpu: field("/proc/cpuinfo", "model name"),
        cores: thread::available_parallelism()
            .ok()
            .and_then(|cores| u32::try_from(NonZero::get(cores)).ok()),
        memory_bytes: field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
            .map(|kilobytes| kilobytes * 1024),
        kernel: Some(rustix::system::uname().release().to_string_lossy().into_owned()),
    }
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// CPU time that all processors have spent on anything since boot, stolen time included.
pub(crate) fn busy_time() -> Option<Nanos> {
    const IDLE: usize = 3;
    const WAITING: usize = 4;
    const GUEST: usize = 8;
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .take(GUEST)
        .enumerate()
        .filter(|&(index, _)| index != IDLE && index != WAITING)
        .filter_map(|(_, value)| value.parse::<u64>().ok())
        .sum();
    let per_second = rustix::param::clock_ticks_per_second();
    Some(Nanos(ticks * (1_000_000_000 / per_second)))
}
