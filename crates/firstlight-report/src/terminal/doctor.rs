//! The document `doctor` as text: all checks, then each warning with its reason and its remedy.

use firstlight_schema::health::{CheckStatus, HealthCheck, HealthDocument};
use firstlight_schema::machine::Machine;
use firstlight_schema::machine_state::{GpuState, MachineState};

use super::page::{BOLD, Page};
use crate::words::format::{bytes, count, fit};

pub(super) fn doctor(page: &mut Page, document: &HealthDocument) {
    let headline = fit(&headline(&document.machine), page.width());
    page.line(&format!("{BOLD}{headline}{BOLD:#}"));
    page.gap();
    table(page, &document.checks);
    let besides = besides(&document.state);
    if !besides.is_empty() {
        page.gap();
        page.facts(&[("besides", besides)]);
    }
    for check in document.checks.iter().filter(|check| check.status == CheckStatus::Warn) {
        warning(page, check);
    }
    page.gap();
    page.sentence(&closing(&document.checks));
}

fn headline(machine: &Machine) -> String {
    let facts = [
        machine.cpu.clone(),
        machine.cores.map(|cores| count(cores.into(), "core")),
        machine.memory_bytes.map(bytes),
        machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
    ];
    let known: Vec<String> = facts.into_iter().flatten().collect();
    if known.is_empty() { "this machine".to_owned() } else { known.join(", ") }
}

fn table(page: &mut Page, checks: &[HealthCheck]) {
    let names: Vec<String> =
        checks.iter().map(|check| format!("{:4}  {}", mark(check.status), check.name)).collect();
    let facts: Vec<(&str, String)> = names
        .iter()
        .zip(checks)
        .map(|(name, check)| (name.as_str(), check.value.clone()))
        .collect();
    page.facts(&facts);
}

fn mark(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warn => "warn",
        CheckStatus::Unknown => "?",
    }
}

/// Facts that are recorded and neither good nor bad.
fn besides(state: &MachineState) -> String {
    let on_off = |on: bool| if on { "on" } else { "off" };
    let mut facts = vec![
        state.container.as_ref().map(|name| format!("in a container ({name})")),
        state.smt.map(|on| format!("SMT {}", on_off(on))),
        state.numa_nodes.map(|nodes| count(nodes.into(), "NUMA node")),
        state.huge_pages.as_ref().map(|mode| format!("huge pages {mode}")),
        state.aslr.map(|level| format!("ASLR {}", on_off(level > 0))),
    ];
    facts.push(Some(devices(state.gpus.as_deref())));
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn devices(gpus: Option<&[GpuState]>) -> String {
    match gpus {
        None => "nvidia-smi gave no answer".to_owned(),
        Some([]) => "no NVIDIA GPU known".to_owned(),
        Some([one]) => one.name.clone(),
        Some([first, others @ ..]) if others.iter().all(|gpu| gpu.name == first.name) => {
            format!("{} × {}", others.len() + 1, first.name)
        }
        Some(gpus) => gpus.iter().map(|gpu| gpu.name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

fn warning(page: &mut Page, check: &HealthCheck) {
    page.gap();
    page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", check.name, check.value));
    let mut facts = vec![("why", check.why.clone())];
    facts.extend(check.advice.clone().map(|advice| ("advice", advice)));
    page.facts(&facts);
}

fn closing(checks: &[HealthCheck]) -> String {
    let with = |status| checks.iter().filter(move |check| check.status == status);
    let [fine, warned, unknown] =
        [CheckStatus::Ok, CheckStatus::Warn, CheckStatus::Unknown].map(|one| with(one).count());
    let counts = [
        (true, format!("{fine} of {} checks are fine", checks.len())),
        (warned > 0, format!("{warned} {}", if warned == 1 { "warns" } else { "warn" })),
        (unknown > 0, format!("{unknown} could not be read")),
    ];
    let parts: Vec<String> =
        counts.into_iter().filter(|(any, _)| *any).map(|(_, text)| text).collect();
    let disturbed = with(CheckStatus::Warn).any(|check| check.name.disturbs_a_run());
    format!("{}. {}", parts.join(", "), meaning(warned, disturbed))
}

fn meaning(warned: usize, disturbed: bool) -> &'static str {
    match warned {
        0 => "No check found a problem on this machine.",
        _ if disturbed => {
            "A run made now is likely to be disturbed: its arms are interleaved and suffer alike, \
             but intervals get wider, and runs are hardly comparable with each other."
        }
        _ => {
            "Results from this machine are comparable within a run, because its arms are \
             interleaved, and less so across runs."
        }
    }
}
