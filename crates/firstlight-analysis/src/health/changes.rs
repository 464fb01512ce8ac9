//! Changes of a machine between two readings that make the time between them doubtful.

use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::machine_state::{GpuState, MachineState};

use super::checks::{MUCH_SWAP_BYTES, named, on_off};
use super::gpu::slowed_by;
use super::stolen::{between, stolen};
use super::verdict::bytes;

/// Each change with its number; empty if the machine stayed quiet.
pub fn changes(before: &MachineState, after: &MachineState) -> Vec<Reason> {
    let mut texts = Vec::new();
    texts.extend(throttled(before, after));
    texts.extend(stolen_meanwhile(before, after));
    texts.extend(settings(before, after));
    texts.extend(swapped(before, after));
    for gpu in after.gpus.iter().flatten() {
        let earlier = before.gpus.iter().flatten().find(|earlier| earlier.index == gpu.index);
        texts.extend(gpu_throttled(gpu));
        texts.extend(gpu_shared(earlier, gpu));
    }
    texts.into_iter().map(|text| Reason::new(Finding::NoisyMachine, text)).collect()
}

fn throttled(before: &MachineState, after: &MachineState) -> Option<String> {
    let (before, after) = (before.throttled?, after.throttled?);
    let core = after.core.saturating_sub(before.core);
    let package = after.package.saturating_sub(before.package);
    (core > 0 || package > 0).then(|| {
        format!(
            "the processor lowered its clock because of heat: {core} times more by core, {package} \
             by package"
        )
    })
}

fn stolen_meanwhile(before: &MachineState, after: &MachineState) -> Option<String> {
    let meanwhile = stolen(&between(before.ticks.as_ref()?, after.ticks.as_ref()?));
    meanwhile.is_much.then(|| {
        let percent = meanwhile.share * 100.0;
        format!("the hypervisor gave {percent:.1} % of the busy time to other guests")
    })
}

fn settings(before: &MachineState, after: &MachineState) -> Vec<String> {
    let mut texts = Vec::new();
    let known = !before.governors.is_empty() && !after.governors.is_empty();
    if known && before.governors != after.governors {
        let (old, new) = (named(&before.governors), named(&after.governors));
        texts.push(format!("the governor changed: {old} before, {new} after"));
    }
    if let (Some(old), Some(new)) = (before.turbo, after.turbo)
        && old.on != new.on
    {
        let (old, new) = (on_off(old.on), on_off(new.on));
        texts.push(format!("turbo changed: {old} before, {new} after"));
    }
    if let (Some(old), Some(new)) = (before.on_battery, after.on_battery)
        && old != new
    {
        let source = |battery: bool| if battery { "battery" } else { "mains" };
        let (old, new) = (source(old), source(new));
        texts.push(format!("the power supply changed: {old} before, {new} after"));
    }
    texts
}

fn swapped(before: &MachineState, after: &MachineState) -> Option<String> {
    let grown = after.swap_used_bytes?.saturating_sub(before.swap_used_bytes?);
    (grown > MUCH_SWAP_BYTES).then(|| format!("{} were moved to swap", bytes(grown)))
}

fn gpu_throttled(gpu: &GpuState) -> Option<String> {
    let reasons = slowed_by(gpu);
    (!reasons.is_empty()).then(|| {
        let clock = gpu.clock_mhz.map(|clock| format!(", at {clock} MHz")).unwrap_or_default();
        format!("GPU {} has lowered its clock: {}{clock}", gpu.index, reasons.join(", "))
    })
}

/// Measured processes have exited by then, so a new process belongs to another program.
fn gpu_shared(before: Option<&GpuState>, after: &GpuState) -> Option<String> {
    let known = before?.processes.as_ref()?;
    let new = after
        .processes
        .iter()
        .flatten()
        .filter(|process| known.iter().all(|old| old.pid != process.pid));
    let pids: Vec<String> = new.map(|process| process.pid.to_string()).collect();
    (!pids.is_empty())
        .then(|| format!("GPU {} ran another process meanwhile: {}", after.index, pids.join(", ")))
}
