//! Processors: their number, clocks and thermal throttling.

use std::collections::BTreeMap;

use firstlight_schema::machine_state::{FrequencyRange, ThrottleCounts, Turbo, TurboSwitch};

use super::files::{Files, listed};

const CPU: &str = "sys/devices/system/cpu";

pub(super) fn online(files: &Files) -> Option<u32> {
    listed(&files.text(&format!("{CPU}/online"))?)
}

pub(super) fn allowed(files: &Files) -> Option<u32> {
    listed(&files.field("proc/self/status", "Cpus_allowed_list")?)
}

pub(super) fn smt(files: &Files) -> Option<bool> {
    files.number::<u8>(&format!("{CPU}/smt/active")).map(|active| active == 1)
}

pub(super) fn numa_nodes(files: &Files) -> Option<u32> {
    listed(&files.text("sys/devices/system/node/online")?)
}

pub(super) fn governors(files: &Files) -> BTreeMap<String, u32> {
    let mut governors = BTreeMap::new();
    for core in cores(files) {
        if let Some(governor) = files.text(&format!("{core}/cpufreq/scaling_governor")) {
            *governors.entry(governor).or_insert(0) += 1;
        }
    }
    governors
}

pub(super) fn turbo(files: &Files) -> Option<Turbo> {
    let off = files.number::<u8>(&format!("{CPU}/intel_pstate/no_turbo"));
    let on = files.number::<u8>(&format!("{CPU}/cpufreq/boost"));
    off.map(|off| Turbo { on: off == 0, switch: TurboSwitch::IntelPstate })
        .or_else(|| on.map(|on| Turbo { on: on == 1, switch: TurboSwitch::Cpufreq }))
}

pub(super) fn frequency(files: &Files) -> Option<FrequencyRange> {
    const HZ_PER_KHZ: u64 = 1000;
    Some(FrequencyRange {
        min_hz: of_cores(files, "cpufreq/scaling_min_freq").min()? * HZ_PER_KHZ,
        max_hz: of_cores(files, "cpufreq/scaling_max_freq").max()? * HZ_PER_KHZ,
    })
}

pub(super) fn throttled(files: &Files) -> Option<ThrottleCounts> {
    let sum = |name: &str| {
        let name = format!("thermal_throttle/{name}");
        of_cores(files, &name).reduce(|sum, count| sum + count)
    };
    let (core, package) = (sum("core_throttle_count"), sum("package_throttle_count"));
    (core.is_some() || package.is_some())
        .then(|| ThrottleCounts { core: core.unwrap_or(0), package: package.unwrap_or(0) })
}

/// A number that each processor has in a file of its own.
fn of_cores(files: &Files, name: &str) -> impl Iterator<Item = u64> {
    cores(files).into_iter().filter_map(move |core| files.number(&format!("{core}/{name}")))
}

/// The folders `cpu0`, `cpu1` and so on, and not `cpufreq` or `cpuidle`.
fn cores(files: &Files) -> Vec<String> {
    let is_core = |name: &String| {
        name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let names = files.names(CPU).unwrap_or_default();
    names.into_iter().filter(is_core).map(|name| format!("{CPU}/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use firstlight_schema::machine_state::{FrequencyRange, ThrottleCounts, Turbo, TurboSwitch};

    use super::{frequency, governors, throttled, turbo};
    use crate::doctor::files::fake::Fake;

    #[test]
    fn governors_are_counted_by_name() {
        let path = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
        let fake = Fake::laptop().with(path, "performance\n");
        let found: Vec<_> = governors(&fake.files()).into_iter().collect();
        assert_eq!(found, [("performance".to_owned(), 1), ("powersave".to_owned(), 3)]);
    }

    #[test]
    fn turbo_is_read_from_either_switch() {
        let intel = turbo(&Fake::laptop().files());
        assert_eq!(intel, Some(Turbo { on: true, switch: TurboSwitch::IntelPstate }));
        let fake = Fake::new().with("sys/devices/system/cpu/cpufreq/boost", "0\n");
        let other = turbo(&fake.files());
        assert_eq!(other, Some(Turbo { on: false, switch: TurboSwitch::Cpufreq }));
    }

    #[test]
    fn frequencies_are_in_hertz_and_span_all_cores() {
        let path = "sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq";
        let fake = Fake::laptop().with(path, "5100000\n");
        let range = FrequencyRange { min_hz: 400_000_000, max_hz: 5_100_000_000 };
        assert_eq!(frequency(&fake.files()), Some(range));
    }

    #[test]
    fn throttle_counters_are_summed_and_missing_ones_are_unknown() {
        let counts = ThrottleCounts { core: 12, package: 20 };
        assert_eq!(throttled(&Fake::laptop().files()), Some(counts));
        assert_eq!(throttled(&Fake::virtual_machine().files()), None);
    }
}
