//! Goldens of the text of `firstlight doctor`: a troubled laptop, a quiet server, a plain guest.

use std::collections::BTreeMap;

use firstlight_analysis::health::checks;
use firstlight_report::terminal::Terminal;
use firstlight_schema::health::HealthDocument;
use firstlight_schema::machine::Machine;
use firstlight_schema::machine_state::{
    ClockLimit, CpuQuota, FrequencyRange, GpuProcess, GpuState, Host, LoadAverages, MachineState,
    ThrottleCounts, Ticks, Turbo, TurboSwitch,
};
use firstlight_schema::version::Build;

fn document(state: MachineState) -> HealthDocument {
    HealthDocument {
        schema: HealthDocument::schema_id(),
        firstlight: Build::new("0.1.0", None),
        machine: Machine {
            cpu: Some("Intel(R) Core(TM) i7-1185G7 @ 3.00GHz".to_owned()),
            cores: state.cores,
            memory_bytes: state.memory_total_bytes,
            kernel: Some("6.8.0-45-generic".to_owned()),
        },
        checks: checks(&state),
        state,
    }
}

fn server() -> MachineState {
    MachineState {
        taken: "2026-01-01T00:00:00.000Z".to_owned(),
        cores: Some(8),
        allowed_cores: Some(8),
        smt: Some(false),
        numa_nodes: Some(2),
        governors: BTreeMap::from([("performance".to_owned(), 8)]),
        turbo: Some(Turbo { on: false, switch: TurboSwitch::Cpufreq }),
        frequency: Some(FrequencyRange { min_hz: 800_000_000, max_hz: 3_600_000_000 }),
        throttled: Some(ThrottleCounts { core: 0, package: 0 }),
        load: Some(LoadAverages { one: 0.05, five: 0.1, fifteen: 0.2 }),
        running: Some(1),
        ticks: Some(Ticks { user: 10_000, idle: 90_000, ..Ticks::default() }),
        cpu_quota: Some(CpuQuota::Unlimited),
        memory_total_bytes: Some(64_000_000_000),
        memory_available_bytes: Some(60_000_000_000),
        swap_used_bytes: Some(0),
        huge_pages: Some("madvise".to_owned()),
        aslr: Some(2),
        clock_source: Some("tsc".to_owned()),
        host: Some(Host::Physical),
        container: None,
        on_battery: Some(false),
        gpus: Some(Vec::new()),
    }
}

fn laptop() -> MachineState {
    MachineState {
        governors: BTreeMap::from([("powersave".to_owned(), 8)]),
        turbo: Some(Turbo { on: true, switch: TurboSwitch::IntelPstate }),
        throttled: Some(ThrottleCounts { core: 12, package: 20 }),
        load: Some(LoadAverages { one: 6.5, five: 2.0, fifteen: 1.0 }),
        cpu_quota: Some(CpuQuota::Cores { cores: 1.5 }),
        swap_used_bytes: Some(1_200_000_000),
        on_battery: Some(true),
        container: Some("docker".to_owned()),
        gpus: Some(vec![GpuState {
            name: "NVIDIA RTX A2000".to_owned(),
            utilisation_percent: Some(40),
            temperature_celsius: Some(83),
            power_watts: Some(34.6),
            clock_mhz: Some(1200),
            clock_limits: Some(vec![ClockLimit::SwThermalSlowdown]),
            persistence: Some(false),
            processes: Some(vec![GpuProcess { pid: 7, memory_bytes: Some(512_000_000) }]),
            ..GpuState::default()
        }]),
        ..server()
    }
}

fn guest() -> MachineState {
    MachineState {
        host: Some(Host::Virtual { name: Some("Amazon EC2 c5.large".to_owned()) }),
        governors: BTreeMap::new(),
        turbo: None,
        frequency: None,
        throttled: None,
        ..server()
    }
}

/// Colours are escape sequences; the text without them must be complete.
fn plain(width: usize, state: MachineState) -> String {
    let mut escaped = false;
    Terminal::new(width)
        .doctor(&document(state))
        .chars()
        .filter(|&c| {
            let was = escaped;
            escaped = (escaped && c != 'm') || c == '\u{1b}';
            !was && !escaped
        })
        .collect()
}

#[test]
fn a_troubled_laptop_at_the_usual_width() {
    insta::assert_snapshot!(plain(100, laptop()));
}

#[test]
fn a_plain_guest_in_a_small_terminal() {
    insta::assert_snapshot!(plain(40, guest()));
}

#[test]
fn a_quiet_server_has_nothing_to_explain() {
    insta::assert_snapshot!(plain(80, server()));
}

#[test]
fn no_line_is_wider_than_a_terminal_that_holds_the_longest_path() {
    for width in [57, 80, 110] {
        for text in [plain(width, laptop()), plain(width, guest()), plain(width, server())] {
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: `{line}`");
            }
        }
    }
}
