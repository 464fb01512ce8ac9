//! The machine and its total load.

use std::fs::{self, File};
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::thread;

use firstlight_schema::machine::Machine;
use firstlight_schema::nanos::{Moment, Nanos};

use crate::clock::now;

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

/// A random number that the kernel draws at each boot.
pub fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// Counts the CPU time that all processors have spent on anything, stolen time included.
#[derive(Debug)]
pub(crate) struct BusyTime {
    stat: Option<File>,
    tick: Nanos,
    last: Option<(Moment, Nanos)>,
}

impl BusyTime {
    pub(crate) fn new() -> Self {
        let per_second = rustix::param::clock_ticks_per_second();
        let tick = Nanos(1_000_000_000 / per_second);
        Self { stat: File::open("/proc/stat").ok(), tick, last: None }
    }

    /// Since boot. The kernel counts in ticks, so a reading younger than a tick is as good as new.
    pub(crate) fn read(&mut self) -> Option<Nanos> {
        let at = now();
        match self.last {
            Some((then, value)) if at.since(then) < self.tick => Some(value),
            _ => {
                let value = self.count()?;
                self.last = Some((at, value));
                Some(value)
            }
        }
    }

    fn count(&self) -> Option<Nanos> {
        const IDLE: usize = 3;
        const WAITING: usize = 4;
        const GUEST: usize = 8;
        let mut text = [0; 256];
        let length = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        let first = str::from_utf8(&text[..length]).ok()?.lines().next()?;
        let ticks: u64 = first
            .split_whitespace()
            .skip(1)
            .take(GUEST)
            .enumerate()
            .filter(|&(index, _)| index != IDLE && index != WAITING)
            .filter_map(|(_, value)| value.parse::<u64>().ok())
            .sum();
        Some(Nanos(ticks * self.tick.0))
    }
}
