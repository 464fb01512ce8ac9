//! Compares the ledger with JAX's own ahead-of-time timings, and checks the cache policies.

use std::fs;

use firstlight_schema::cache::Layer;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::phase::Phase;
use firstlight_schema::run::RegimeResult;
use firstlight_schema::sample::{Compile, Sample};
use serde_json::Value;

use super::{Workshop, judge, median};
use xtask::shell::Result;

const RUNS: &str = "10";
const STAGES: [&str; 3] = ["trace", "lower", "compile"];

pub(super) fn bench(workshop: &Workshop) -> Result {
    for model in ["mlp", "transformer"] {
        for policy in ["clean", "primed"] {
            println!("── bench ledger: {model}, caches {policy}, {RUNS} fresh processes");
            let (document, own) = measure(workshop, model, policy)?;
            closes(&document);
            agrees(&document, &own);
            proves(&document, policy);
        }
    }
    Ok(())
}

/// Samples of the script, and the script's own timings, process by process.
fn measure(workshop: &Workshop, model: &str, policy: &str) -> Result<(RegimeResult, Vec<Value>)> {
    let file = workshop.folder.path().join(format!("{model}-{policy}.jsonl"));
    let python = workshop.python.display().to_string();
    let options = ["--runs", RUNS, "--cache", policy, "--bytecode", "primed"];
    let script = Workshop::script("aot.py");
    let document =
        workshop.cold(&options, &[&python, &script, model, &file.display().to_string()])?;
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let mut own: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // The priming process wrote the first line.
    own.drain(..own.len().saturating_sub(document.samples.len()));
    Ok((document, own))
}

fn closes(document: &RegimeResult) {
    let booked = |sample: &Sample| sample.phases.iter().map(|row| row.ns).sum::<Nanos>();
    let exact = document.samples.iter().filter(|sample| booked(sample) == sample.wall_ns).count();
    let all = document.samples.len();
    let wanted = "the phases sum to the wall time";
    judge("ledger closes exactly", &format!("{exact} of {all} samples"), wanted, exact == all);
    let share = |sample: &Sample| {
        let row = sample.phases.iter().find(|row| row.name == Phase::Unattributed);
        row.map_or(0.0, |row| row.ns.as_f64()) / sample.wall_ns.as_f64()
    };
    let most = document.samples.iter().map(share).fold(0.0, f64::max) * 100.0;
    judge(
        "unattributed, at most",
        &format!("{most:.3} %"),
        "under 3 % of the wall time",
        most < 3.0,
    );
}

/// Compares the monitored stages of the step with the script's own timings of the same calls.
fn agrees(document: &RegimeResult, own: &[Value]) {
    let stage = |compile: &Compile, name: &str| match name {
        "trace" => compile.trace_ns,
        "lower" => compile.lower_ns,
        _ => compile.compile_ns,
    };
    for name in STAGES {
        let ratios: Vec<f64> = document
            .samples
            .iter()
            .zip(own)
            .filter_map(|(sample, own)| {
                let step = sample.compiles.iter().find(|c| c.function == "jit(step)")?;
                Some(stage(step, name)?.as_f64() / own[name].as_f64()?)
            })
            .collect();
        let (low, high) = (
            ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratios.iter().copied().fold(0.0, f64::max),
        );
        let figure = format!("{:.3} of AOT's ({low:.3} to {high:.3})", median(&ratios));
        let met = ratios.len() == document.samples.len() && low > 0.9 && high < 1.1;
        judge(name, &figure, "within 10 % in every sample", met);
    }
}

fn proves(document: &RegimeResult, policy: &str) {
    let ns = |sample: &Sample, phase: Phase| {
        sample.phases.iter().find(|row| row.name == phase).map_or(0, |row| row.ns.0)
    };
    let good = |sample: &&Sample| {
        let Some(jax) = sample.caches.iter().find(|layer| layer.layer == Layer::Jax) else {
            return false;
        };
        let programs = sample.compiles.len() as u64;
        let served = policy == "primed";
        let (idle, busy) = if served {
            (Phase::Compile, Phase::CacheRead)
        } else {
            (Phase::CacheRead, Phase::Compile)
        };
        sample.valid
            && programs > 0
            && jax.requests == Some(programs)
            && jax.hits == Some(if served { programs } else { 0 })
            && ns(sample, idle) == 0
            && ns(sample, busy) > 0
    };
    let count = document.samples.iter().filter(good).count();
    let wanted = match policy {
        "primed" => "hits equal programs, and reading replaces compiling",
        _ => "no hits, and nothing is read",
    };
    let figure = format!("{count} of {} samples", document.samples.len());
    judge("cache policy proved", &figure, wanted, count == document.samples.len());
}
