//! Counters and settings of the kernel: load, ticks, memory, pages, clock.

use firstlight_schema::machine_state::{LoadAverages, Ticks};

use super::files::Files;

pub(super) fn load(files: &Files) -> Option<LoadAverages> {
    let text = files.text("proc/loadavg")?;
    let mut numbers = text.split(' ').map_while(|word| word.parse().ok());
    Some(LoadAverages { one: numbers.next()?, five: numbers.next()?, fifteen: numbers.next()? })
}

pub(super) fn running(files: &Files) -> Option<u32> {
    let text = files.text("proc/loadavg")?;
    text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// Time of guests is part of `user` already, and is left out.
pub(super) fn ticks(files: &Files) -> Option<Ticks> {
    let text = files.text("proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut numbers = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    Some(Ticks {
        user: numbers.next()?,
        nice: numbers.next()?,
        system: numbers.next()?,
        idle: numbers.next()?,
        io_wait: numbers.next()?,
        irq: numbers.next()?,
        soft_irq: numbers.next()?,
        stolen: numbers.next()?,
    })
}

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) total: Option<u64>,
    pub(super) available: Option<u64>,
    pub(super) swap_used: Option<u64>,
}

pub(super) fn memory(files: &Files) -> Memory {
    let bytes = |name: &str| {
        let text = files.field("proc/meminfo", name)?;
        text.trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    Memory {
        total: bytes("MemTotal"),
        available: bytes("MemAvailable"),
        swap_used: bytes("SwapTotal")
            .zip(bytes("SwapFree"))
            .map(|(total, free)| total.saturating_sub(free)),
    }
}

/// The current setting is in brackets: `always [madvise] never`.
pub(super) fn huge_pages(files: &Files) -> Option<String> {
    let text = files.text("sys/kernel/mm/transparent_hugepage/enabled")?;
    text.split(' ').find_map(|word| word.strip_prefix('[')?.strip_suffix(']')).map(str::to_owned)
}

pub(super) fn aslr(files: &Files) -> Option<u32> {
    files.number("proc/sys/kernel/randomize_va_space")
}

pub(super) fn clock_source(files: &Files) -> Option<String> {
    files.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
}

#[cfg(test)]
mod tests {
    use super::{Memory, aslr, clock_source, huge_pages, load, memory, running, ticks};
    use crate::doctor::files::fake::Fake;

    #[test]
    fn load_and_running_tasks_come_from_one_line() {
        let fake = Fake::new().with("proc/loadavg", "1.25 0.50 0.10 3/412 9876\n");
        let averages = load(&fake.files()).unwrap();
        assert!((averages.one - 1.25).abs() < 1e-9 && (averages.fifteen - 0.1).abs() < 1e-9);
        assert_eq!(running(&fake.files()), Some(3));
        let odd = Fake::new().with("proc/loadavg", "none\n");
        assert_eq!((load(&odd.files()), running(&odd.files())), (None, None));
    }

    #[test]
    fn ticks_are_those_of_all_processors_together() {
        let counted = ticks(&Fake::virtual_machine().files()).unwrap();
        assert_eq!((counted.user, counted.idle, counted.stolen), (4000, 90_000, 300));
        let old = Fake::new().with("proc/stat", "cpu  1 2 3 4\n");
        assert_eq!(ticks(&old.files()), None, "a kernel that does not count stolen time");
    }

    #[test]
    fn memory_and_swap_are_in_bytes() {
        let text = "MemTotal:   16 kB\nMemAvailable:  8 kB\nSwapTotal: 4 kB\nSwapFree:  1 kB\n";
        let fake = Fake::new().with("proc/meminfo", text);
        let expected =
            Memory { total: Some(16_384), available: Some(8_192), swap_used: Some(3_072) };
        assert_eq!(memory(&fake.files()), expected);
    }

    #[test]
    fn settings_are_read_as_the_kernel_spells_them() {
        let fake = Fake::new()
            .with("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .with("proc/sys/kernel/randomize_va_space", "2\n")
            .with("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
        assert_eq!(huge_pages(&fake.files()).as_deref(), Some("madvise"));
        assert_eq!(aslr(&fake.files()), Some(2));
        assert_eq!(clock_source(&fake.files()).as_deref(), Some("hpet"));
    }
}
