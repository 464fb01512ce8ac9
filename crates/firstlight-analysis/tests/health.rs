//! A quiet machine passes, and each planted problem is reported under its own name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use firstlight_analysis::health::{changes, checks};
use firstlight_schema::finding::Finding;
use firstlight_schema::health::{CheckName, CheckStatus, HealthCheck};
use firstlight_schema::machine_state::{
    ClockLimit, CpuQuota, FrequencyRange, GpuProcess, GpuState, Host, LoadAverages, MachineState,
    ThrottleCounts, Ticks, Turbo, TurboSwitch,
};

fn governors(name: &str, cores: u32) -> BTreeMap<String, u32> {
    BTreeMap::from([(name.to_owned(), cores)])
}

fn quiet() -> MachineState {
    MachineState {
        taken: "2026-01-01T00:00:00.000Z".to_owned(),
        cores: Some(8),
        allowed_cores: Some(8),
        governors: governors("performance", 8),
        turbo: Some(Turbo { on: false, switch: TurboSwitch::IntelPstate }),
        frequency: Some(FrequencyRange { min_hz: 800_000_000, max_hz: 3_600_000_000 }),
        throttled: Some(ThrottleCounts { core: 0, package: 0 }),
        load: Some(LoadAverages { one: 0.2, five: 3.0, fifteen: 9.0 }),
        ticks: Some(Ticks { user: 10_000, idle: 90_000, ..Ticks::default() }),
        cpu_quota: Some(CpuQuota::Cores { cores: 8.0 }),
        memory_total_bytes: Some(16_000_000_000),
        memory_available_bytes: Some(12_000_000_000),
        swap_used_bytes: Some(2_000_000),
        clock_source: Some("tsc".to_owned()),
        host: Some(Host::Physical),
        on_battery: Some(false),
        gpus: Some(vec![gpu(0), gpu(1)]),
        ..MachineState::default()
    }
}

fn gpu(index: u32) -> GpuState {
    GpuState {
        index,
        name: "NVIDIA H100".to_owned(),
        utilisation_percent: Some(0),
        clock_mhz: Some(1980),
        clock_limits: Some(vec![ClockLimit::GpuIdle]),
        persistence: Some(true),
        processes: Some(Vec::new()),
        ..GpuState::default()
    }
}

fn planted(plant: impl FnOnce(&mut MachineState)) -> MachineState {
    let mut state = quiet();
    plant(&mut state);
    state
}

fn second(state: &mut MachineState) -> &mut GpuState {
    &mut state.gpus.as_mut().unwrap()[1]
}

fn warned(plant: impl FnOnce(&mut MachineState)) -> Vec<HealthCheck> {
    let all = checks(&planted(plant));
    all.into_iter().filter(|check| check.status == CheckStatus::Warn).collect()
}

fn only(plant: impl FnOnce(&mut MachineState), name: CheckName, value: &str) {
    let found = warned(plant);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].name, found[0].value.as_str()), (name, value));
    assert!(found[0].advice.is_some() && found[0].why == name.why());
}

#[test]
fn a_quiet_machine_passes_every_check() {
    let found = checks(&quiet());
    assert!(found.iter().all(|check| check.status == CheckStatus::Ok), "{found:?}");
    let names: Vec<_> = found.iter().map(|check| check.name).collect();
    assert_eq!(names, CheckName::ALL);
}

#[test]
fn a_busy_or_shared_processor_is_found() {
    only(
        |state| state.load = Some(LoadAverages { one: 4.1, five: 0.0, fifteen: 0.0 }),
        CheckName::Load,
        "4.10 over the last minute, on 8 cores",
    );
    only(
        |state| state.ticks = Some(Ticks { user: 950, stolen: 50, ..Ticks::default() }),
        CheckName::StolenTime,
        "5.00 % of the busy time since boot",
    );
    only(
        |state| state.cpu_quota = Some(CpuQuota::Cores { cores: 1.5 }),
        CheckName::CpuQuota,
        "1.50 of 8 cores",
    );
    only(
        |state| state.host = Some(Host::Virtual { name: Some("QEMU".to_owned()) }),
        CheckName::VirtualMachine,
        "yes: QEMU",
    );
}

#[test]
fn an_unstable_clock_is_found() {
    only(
        |state| {
            state.governors.insert("powersave".to_owned(), 1);
        },
        CheckName::Governor,
        "performance on 8 cores, powersave on 1 core",
    );
    only(
        |state| state.turbo = Some(Turbo { on: true, switch: TurboSwitch::Cpufreq }),
        CheckName::Turbo,
        "on, up to 3600 MHz",
    );
    only(
        |state| state.throttled = Some(ThrottleCounts { core: 12, package: 0 }),
        CheckName::Throttling,
        "since boot 12 by core, 0 by package",
    );
    only(|state| state.on_battery = Some(true), CheckName::Battery, "in use");
    only(|state| state.clock_source = Some("hpet".to_owned()), CheckName::ClockSource, "hpet");
}

#[test]
fn scarce_memory_and_swap_are_found() {
    only(
        |state| state.memory_available_bytes = Some(900_000_000),
        CheckName::Memory,
        "900 MB of 16.0 GB available",
    );
    only(|state| state.swap_used_bytes = Some(1_500_000_000), CheckName::Swap, "1.5 GB in use");
}

#[test]
fn a_device_that_others_use_is_found() {
    only(
        |state| second(state).utilisation_percent = Some(97),
        CheckName::GpuUse,
        "0: 0 % busy, 0 processes; 1: 97 % busy, 0 processes",
    );
    only(
        |state| {
            state.gpus.as_mut().unwrap().remove(0);
            state.gpus.as_mut().unwrap()[0].processes =
                Some(vec![GpuProcess { pid: 7, memory_bytes: Some(2_000_000_000) }]);
        },
        CheckName::GpuUse,
        "0 % busy, 1 process with 2.0 GB",
    );
}

#[test]
fn a_device_that_is_slowed_down_or_set_up_anew_is_found() {
    only(
        |state| second(state).clock_limits = Some(vec![ClockLimit::SwPowerCap]),
        CheckName::GpuThrottling,
        "0: no (1980 MHz); 1: power cap (1980 MHz)",
    );
    only(|state| second(state).persistence = Some(false), CheckName::GpuPersistence, "off");
}

#[test]
fn a_machine_that_reports_nothing_has_only_unknowns() {
    let found = checks(&MachineState::default());
    assert_eq!(found.len(), CheckName::ALL.len());
    assert!(found.iter().all(|check| check.status == CheckStatus::Unknown), "{found:?}");
}

#[test]
fn without_a_device_there_are_no_checks_of_devices() {
    let found = checks(&planted(|state| state.gpus = Some(Vec::new())));
    assert!(found.iter().all(|check| !check.name.name().starts_with("gpu")), "{found:?}");
}

fn change(plant: impl FnOnce(&mut MachineState)) -> String {
    let found = changes(&quiet(), &planted(plant));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].finding, Finding::NoisyMachine);
    found[0].text.clone()
}

#[test]
fn a_quiet_machine_has_no_changes() {
    assert_eq!(changes(&quiet(), &quiet()), []);
    assert_eq!(changes(&MachineState::default(), &quiet()), [], "an unknown value is not a change");
    assert_eq!(changes(&quiet(), &MachineState::default()), []);
}

#[test]
fn a_processor_that_was_throttled_or_stolen_is_reported_with_the_number() {
    let text = change(|state| state.throttled = Some(ThrottleCounts { core: 3, package: 1 }));
    assert!(text.ends_with("3 times more by core, 1 by package"), "{text}");
    let text = change(|state| {
        state.ticks = Some(Ticks { user: 10_950, idle: 99_000, stolen: 50, ..Ticks::default() });
    });
    assert_eq!(text, "the hypervisor gave 5.0 % of the busy time to other guests");
}

#[test]
fn changed_settings_are_reported_with_both_values() {
    let text = change(|state| state.governors = governors("powersave", 8));
    assert_eq!(text, "the governor changed: performance before, powersave after");
    let text =
        change(|state| state.turbo = Some(Turbo { on: true, switch: TurboSwitch::IntelPstate }));
    assert_eq!(text, "turbo changed: off before, on after");
    let text = change(|state| state.on_battery = Some(true));
    assert_eq!(text, "the power supply changed: mains before, battery after");
}

#[test]
fn swap_counts_from_a_minimum_growth_on() {
    let text = change(|state| state.swap_used_bytes = Some(62_000_000));
    assert_eq!(text, "60 MB were moved to swap");
    let little = planted(|state| state.swap_used_bytes = Some(52_000_000));
    assert_eq!(changes(&quiet(), &little), []);
}

#[test]
fn a_device_that_got_hot_or_other_work_is_reported_with_its_number() {
    let text = change(|state| {
        second(state).clock_limits = Some(vec![ClockLimit::GpuIdle, ClockLimit::SwThermalSlowdown]);
    });
    assert_eq!(text, "GPU 1 has lowered its clock: heat, at 1980 MHz");
    let text = change(|state| {
        second(state).processes = Some(vec![GpuProcess { pid: 42, memory_bytes: None }]);
    });
    assert_eq!(text, "GPU 1 ran another process meanwhile: 42");
}
