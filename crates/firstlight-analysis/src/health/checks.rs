//! The state of a machine as a list of checks.

use std::collections::BTreeMap;

use firstlight_schema::health::{CheckName, HealthCheck};
use firstlight_schema::machine_state::{CpuQuota, Host, MachineState, TurboSwitch};

use super::gpu;
use super::stolen::stolen;
use super::verdict::{Verdict, bytes, check, count};

/// A load above this share of the cores is caused by other processes.
const BUSY_SHARE: f64 = 0.5;
/// Less available memory than this share is scarce.
const SCARCE_MEMORY_SHARE: f64 = 0.1;
/// A smaller amount in swap was moved there long ago and does not matter.
pub(super) const MUCH_SWAP_BYTES: u64 = 50_000_000;
/// Governors with a constant clock.
const STEADY_GOVERNORS: [&str; 2] = ["performance", "userspace"];
/// Clock sources that need a system call.
const SLOW_CLOCK_SOURCES: [&str; 4] = ["hpet", "acpi_pm", "pit", "jiffies"];

/// All checks in display order; device checks only if there are devices.
pub fn checks(state: &MachineState) -> Vec<HealthCheck> {
    let mut checks = vec![
        check(CheckName::Load, load(state)),
        check(CheckName::StolenTime, stolen_time(state)),
        check(CheckName::CpuQuota, cpu_quota(state)),
        check(CheckName::VirtualMachine, state.host.as_ref().map(virtual_machine)),
        check(CheckName::Governor, governor(&state.governors)),
        check(CheckName::Turbo, turbo(state)),
        check(CheckName::Throttling, throttling(state)),
        check(CheckName::Battery, state.on_battery.map(battery)),
        check(CheckName::Memory, memory(state)),
        check(CheckName::Swap, state.swap_used_bytes.map(swap)),
        check(CheckName::ClockSource, state.clock_source.as_deref().map(clock_source)),
    ];
    checks.extend(gpu::checks(state.gpus.as_deref()));
    checks
}

fn load(state: &MachineState) -> Option<Verdict> {
    let (load, cores) = (state.load?, state.cores?);
    let value = format!("{:.2} over the last minute, on {}", load.one, count(cores.into(), "core"));
    let busy = load.one > BUSY_SHARE * f64::from(cores);
    Some(Verdict::warn_if(
        busy,
        value,
        "wait until the machine is idle; `top` lists busy processes",
    ))
}

fn stolen_time(state: &MachineState) -> Option<Verdict> {
    let stolen = stolen(state.ticks.as_ref()?);
    let value = format!("{:.2} % of the busy time since boot", stolen.share * 100.0);
    let advice = "use a machine or instance type with dedicated processors";
    Some(Verdict::warn_if(stolen.is_much, value, advice))
}

fn cpu_quota(state: &MachineState) -> Option<Verdict> {
    Some(match state.cpu_quota? {
        CpuQuota::Unlimited => Verdict::ok("none"),
        CpuQuota::Cores { cores: quota } => {
            let usable = state.allowed_cores.or(state.cores)?;
            let value = format!("{quota:.2} of {}", count(usable.into(), "core"));
            let advice = "give the container whole cores (`docker run --cpuset-cpus`) instead \
                          of a share of time (`--cpus`), or measure outside it";
            Verdict::warn_if(quota < f64::from(usable), value, advice)
        }
    })
}

fn virtual_machine(host: &Host) -> Verdict {
    match host {
        Host::Physical => Verdict::ok("no"),
        Host::Virtual { name } => {
            let value =
                name.as_ref().map_or_else(|| "yes".to_owned(), |name| format!("yes: {name}"));
            Verdict::warn(value, "compare within one run, or measure on a dedicated host")
        }
    }
}

fn governor(governors: &BTreeMap<String, u32>) -> Option<Verdict> {
    let steady = governors.keys().all(|name| STEADY_GOVERNORS.contains(&name.as_str()));
    let advice = "`sudo cpupower frequency-set --governor performance`";
    (!governors.is_empty()).then(|| Verdict::warn_if(!steady, named(governors), advice))
}

/// `powersave`, or names with counts if there are several.
pub(super) fn named(governors: &BTreeMap<String, u32>) -> String {
    let several = governors.len() > 1;
    let one = |(name, cores): (&String, &u32)| {
        if several { format!("{name} on {}", count((*cores).into(), "core")) } else { name.clone() }
    };
    governors.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn turbo(state: &MachineState) -> Option<Verdict> {
    let turbo = state.turbo?;
    let top = state.frequency.map(|range| format!(", up to {} MHz", range.max_hz / 1_000_000));
    let value = format!("{}{}", on_off(turbo.on), top.unwrap_or_default());
    let advice = match turbo.switch {
        TurboSwitch::IntelPstate => {
            "`echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo` switches it off"
        }
        TurboSwitch::Cpufreq => {
            "`echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost` switches it off"
        }
    };
    Some(Verdict::warn_if(turbo.on, value, advice))
}

pub(super) fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn throttling(state: &MachineState) -> Option<Verdict> {
    let counts = state.throttled?;
    let value = match (counts.core, counts.package) {
        (0, 0) => "never since boot".to_owned(),
        (core, package) => format!("since boot {core} by core, {package} by package"),
    };
    let hot = counts.core > 0 || counts.package > 0;
    Some(Verdict::warn_if(
        hot,
        value,
        "improve cooling or switch turbo off; each run records new throttling",
    ))
}

fn battery(on_battery: bool) -> Verdict {
    let value = if on_battery { "in use" } else { "not in use" };
    Verdict::warn_if(on_battery, value, "plug it in")
}

#[expect(clippy::cast_precision_loss, reason = "a share of some gigabytes")]
fn memory(state: &MachineState) -> Option<Verdict> {
    let (available, total) = (state.memory_available_bytes?, state.memory_total_bytes?);
    let scarce = (available as f64) < SCARCE_MEMORY_SHARE * total as f64;
    let value = format!("{} of {} available", bytes(available), bytes(total));
    Some(Verdict::warn_if(scarce, value, "close programs that use it; `top -o %MEM` lists them"))
}

fn swap(used: u64) -> Verdict {
    let value =
        if used == 0 { "none in use".to_owned() } else { format!("{} in use", bytes(used)) };
    let advice = "`sudo swapoff -a && sudo swapon -a` moves it back to memory, if there is room";
    Verdict::warn_if(used > MUCH_SWAP_BYTES, value, advice)
}

fn clock_source(name: &str) -> Verdict {
    let slow = SLOW_CLOCK_SOURCES.contains(&name);
    Verdict::warn_if(
        slow,
        name,
        "`dmesg | grep -i clocksource` shows why a faster one was rejected",
    )
}
