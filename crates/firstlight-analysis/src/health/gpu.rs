//! The checks of NVIDIA devices, and their changes.

use firstlight_schema::health::{CheckName, HealthCheck};
use firstlight_schema::machine_state::{GpuProcess, GpuState};

use super::checks::on_off;
use super::verdict::{Verdict, bytes, check};

/// A device that computes for longer than this share of its time is in use.
const BUSY_PERCENT: u32 = 5;

/// Empty without devices; all unknown if the devices did not answer.
pub(super) fn checks(gpus: Option<&[GpuState]>) -> Vec<HealthCheck> {
    if gpus.is_some_and(<[GpuState]>::is_empty) {
        return Vec::new();
    }
    vec![
        check(CheckName::GpuUse, gpus.and_then(in_use)),
        check(CheckName::GpuThrottling, gpus.and_then(throttling)),
        check(CheckName::GpuPersistence, gpus.and_then(persistence)),
    ]
}

fn in_use(gpus: &[GpuState]) -> Option<Verdict> {
    let used = |gpu: &GpuState| {
        gpu.utilisation_percent.is_some_and(|busy| busy > BUSY_PERCENT)
            || gpu.processes.as_ref().is_some_and(|processes| !processes.is_empty())
    };
    let known = gpus.iter().any(|gpu| gpu.utilisation_percent.is_some() || gpu.processes.is_some());
    let advice = "wait until that work finishes; `nvidia-smi` lists the processes";
    known.then(|| Verdict::warn_if(gpus.iter().any(used), each(gpus, usage), advice))
}

fn usage(gpu: &GpuState) -> String {
    let busy = gpu.utilisation_percent.map(|busy| format!("{busy} % busy"));
    let processes = gpu.processes.as_deref().map(held);
    busy.into_iter().chain(processes).collect::<Vec<_>>().join(", ")
}

fn held(processes: &[GpuProcess]) -> String {
    let number = match processes.len() {
        1 => "1 process".to_owned(),
        number => format!("{number} processes"),
    };
    match processes.iter().filter_map(|process| process.memory_bytes).sum() {
        0 => number,
        memory => format!("{number} with {}", bytes(memory)),
    }
}

fn throttling(gpus: &[GpuState]) -> Option<Verdict> {
    let known = gpus.iter().any(|gpu| gpu.clock_limits.is_some());
    let throttled = gpus.iter().any(|gpu| !slowed_by(gpu).is_empty());
    let advice = "`nvidia-smi -q -d PERFORMANCE` shows details; lock a lower clock with \
                  `sudo nvidia-smi --lock-gpu-clocks=MHZ`";
    known.then(|| Verdict::warn_if(throttled, each(gpus, clocks), advice))
}

fn clocks(gpu: &GpuState) -> String {
    let reasons = slowed_by(gpu);
    let slowed = if reasons.is_empty() { "no".to_owned() } else { reasons.join(", ") };
    let clock = gpu.clock_mhz.map(|clock| format!("{clock} MHz"));
    let heat = gpu.temperature_celsius.map(|heat| format!("{heat} °C"));
    let power = gpu.power_watts.map(|power| format!("{power:.0} W"));
    let beside: Vec<String> = [clock, heat, power].into_iter().flatten().collect();
    if beside.is_empty() { slowed } else { format!("{slowed} ({})", beside.join(", ")) }
}

/// Unrequested slowdowns, as text.
pub(super) fn slowed_by(gpu: &GpuState) -> Vec<&'static str> {
    gpu.clock_limits.iter().flatten().filter_map(|limit| limit.throttling()).collect()
}

fn persistence(gpus: &[GpuState]) -> Option<Verdict> {
    let set: Vec<bool> = gpus.iter().filter_map(|gpu| gpu.persistence).collect();
    let off = set.iter().any(|on| !on);
    (!set.is_empty())
        .then(|| Verdict::warn_if(off, on_off(!off), "`sudo nvidia-smi --persistence-mode=1`"))
}

/// One text for all devices, with numbers if there are several.
fn each(gpus: &[GpuState], text: fn(&GpuState) -> String) -> String {
    if let [one] = gpus {
        return text(one);
    }
    let numbered = gpus.iter().map(|gpu| format!("{}: {}", gpu.index, text(gpu)));
    numbered.collect::<Vec<_>>().join("; ")
}
