//! The summary of several samples: medians with intervals, means that add up.

use std::collections::BTreeMap;

use firstlight_schema::cache::LayerEvidence;
use firstlight_schema::message::{CacheAnswer, Event, Message};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::phase::Phase;
use firstlight_schema::sample::{PartTime, PhaseTime, Sample};
use firstlight_schema::summary::{
    BackgroundMean, DevicePeak, MarkTime, PackageMean, PhaseMean, Program, Summary,
};

use crate::stats::{median, middle};

/// Summarises the valid samples; `None` if there are none.
pub fn summarise(samples: &[Sample]) -> Option<Summary> {
    let valid: Vec<&Sample> = samples.iter().filter(|sample| sample.valid).collect();
    summary(&valid, samples.len())
}

/// Summarises the completed samples if none is valid.
pub fn summarise_invalid(samples: &[Sample]) -> Option<Summary> {
    if samples.iter().any(|sample| sample.valid) {
        return None;
    }
    let failed = |sample: &&Sample| sample.reasons.iter().any(|one| one.finding.is_failure());
    let completed: Vec<&Sample> = samples.iter().filter(|sample| !failed(sample)).collect();
    let found = summary(&completed, samples.len())?;
    Some(Summary { valid: 0, invalid: count(samples.len()), ..found })
}

fn summary(valid: &[&Sample], all: usize) -> Option<Summary> {
    let walls: Vec<f64> = valid.iter().map(|sample| sample.wall_ns.as_f64()).collect();
    let wall = median(&walls)?;
    let ledgers: Vec<&[PhaseTime]> = valid.iter().map(|sample| &*sample.phases).collect();
    let firsts: Option<Vec<_>> = valid.iter().map(|sample| sample.first_result.as_ref()).collect();
    let peak_of = |chosen: fn(Phase) -> bool| {
        valid
            .iter()
            .flat_map(|sample| &sample.memory)
            .filter(|memory| chosen(memory.phase))
            .map(|memory| memory.peak_rss_bytes)
            .max()
    };
    Some(Summary {
        valid: count(valid.len()),
        invalid: count(all - valid.len()),
        wall,
        first_result: firsts.as_ref().and_then(|firsts| {
            median(&firsts.iter().map(|first| first.ns.as_f64()).collect::<Vec<_>>())
        }),
        phases: means(&ledgers),
        first_result_phases: firsts
            .map(|firsts| means(&firsts.iter().map(|first| &*first.phases).collect::<Vec<_>>())),
        peak_rss_bytes: valid.iter().map(|sample| sample.peak_rss_bytes).max().unwrap_or(0),
        compile_peak_rss_bytes: peak_of(Phase::is_compilation),
        run_peak_rss_bytes: peak_of(is_running),
        devices: devices(valid),
        contention_cores: typical(valid.iter().filter_map(|sample| sample.contention_cores)),
        caches: caches(valid),
        programs: programs(valid),
        packages: packages(valid),
        background: background(valid),
        marks: marks(valid),
    })
}

/// Every mark that all samples set: its first time in each.
fn marks(samples: &[&Sample]) -> Vec<MarkTime> {
    let of_sample = |sample: &Sample| -> Vec<(String, f64)> {
        let mut found: Vec<(String, f64)> = Vec::new();
        for message in &sample.raw.messages {
            if let Message::Event(event) = message
                && let Event::Mark(mark) = &event.event
                && !found.iter().any(|(known, _)| *known == mark.name)
            {
                found.push((mark.name.clone(), event.at.since(sample.raw.spawn).as_f64()));
            }
        }
        found
    };
    let all: Vec<Vec<(String, f64)>> = samples.iter().map(|sample| of_sample(sample)).collect();
    let names = all.first().into_iter().flatten().map(|(name, _)| name);
    let time = |name: &String| -> Option<MarkTime> {
        let at = |marks: &Vec<(String, f64)>| marks.iter().find(|one| one.0 == *name).map(|m| m.1);
        let times: Option<Vec<f64>> = all.iter().map(at).collect();
        Some(MarkTime { name: name.clone(), at: median(&times?)? })
    };
    names.filter_map(time).collect()
}

fn is_running(phase: Phase) -> bool {
    matches!(phase, Phase::FirstRun | Phase::Run | Phase::WarmUp | Phase::Window)
}

fn devices(samples: &[&Sample]) -> Vec<DevicePeak> {
    let mut peaks: BTreeMap<&str, DevicePeak> = BTreeMap::new();
    for memory in samples.iter().flat_map(|sample| &sample.memory) {
        for reading in &memory.devices {
            let peak = peaks.entry(&reading.device).or_insert_with(|| DevicePeak {
                device: reading.device.clone(),
                after_compiling_bytes: None,
                after_running_bytes: None,
            });
            if memory.phase.is_compilation() {
                peak.after_compiling_bytes = peak.after_compiling_bytes.max(reading.peak_bytes);
            } else if is_running(memory.phase) {
                peak.after_running_bytes = peak.after_running_bytes.max(reading.peak_bytes);
            }
        }
    }
    peaks.into_values().collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn typical(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| middle(&values))
}

fn means(ledgers: &[&[PhaseTime]]) -> Vec<PhaseMean> {
    let n = f64::from(count(ledgers.len()));
    let total: f64 = ledgers.iter().copied().flatten().map(|row| row.ns.as_f64()).sum();
    let mut rows: BTreeMap<Phase, (f64, BTreeMap<&str, u64>)> = BTreeMap::new();
    for row in ledgers.iter().copied().flatten() {
        let (sum, parts) = rows.entry(row.name).or_default();
        *sum += row.ns.as_f64();
        for part in &row.parts {
            *parts.entry(&part.name).or_default() += part.ns.0;
        }
    }
    let share = |sum: f64| if total > 0.0 { sum / total } else { 0.0 };
    rows.into_iter()
        .map(|(name, (sum, parts))| {
            let mut parts: Vec<PartTime> = parts
                .into_iter()
                .map(|(name, sum)| PartTime {
                    name: name.to_owned(),
                    ns: Nanos(sum / u64::from(count(ledgers.len()))),
                })
                .collect();
            parts.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
            PhaseMean { name, mean_ns: sum / n, share: share(sum), parts }
        })
        .collect()
}

fn caches(samples: &[&Sample]) -> Vec<LayerEvidence> {
    let mut layers: Vec<LayerEvidence> = Vec::new();
    for evidence in samples.iter().flat_map(|sample| &sample.caches) {
        let Some(known) = layers.iter_mut().find(|known| known.layer == evidence.layer) else {
            layers.push(evidence.clone());
            continue;
        };
        known.before = evidence.before.or(known.before);
        known.after = evidence.after.or(known.after);
        known.requests = add(known.requests, evidence.requests);
        known.hits = add(known.hits, evidence.hits);
        known.enabled = known.enabled.or(evidence.enabled);
    }
    layers
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (value, None) | (None, value) => value,
    }
}

/// Programs by function and signature, slowest first.
fn programs(samples: &[&Sample]) -> Vec<Program> {
    let n = f64::from(count(samples.len()));
    let mut programs: BTreeMap<(&str, Option<&str>), Program> = BTreeMap::new();
    for compile in samples.iter().flat_map(|sample| &sample.compiles) {
        let key = (compile.function.as_str(), compile.signature.as_deref());
        let program = programs.entry(key).or_insert_with(|| Program {
            function: compile.function.clone(),
            signature: compile.signature.clone(),
            count: 0.0,
            hits: 0.0,
            trace_ns: 0.0,
            lower_ns: 0.0,
            compile_ns: 0.0,
            cause: None,
            source: None,
            op_by_op: compile.op_by_op,
        });
        let mean = |ns: Option<Nanos>| ns.map_or(0.0, Nanos::as_f64) / n;
        program.cause = program.cause.take().or_else(|| compile.cause.clone());
        program.source = program.source.take().or_else(|| compile.source.clone());
        program.count += 1.0 / n;
        program.hits += if compile.cache == Some(CacheAnswer::Hit) { 1.0 / n } else { 0.0 };
        program.trace_ns += mean(compile.trace_ns);
        program.lower_ns += mean(compile.lower_ns);
        program.compile_ns += mean(compile.compile_ns);
    }
    let mut programs: Vec<Program> = programs.into_values().collect();
    let cost = |program: &Program| program.trace_ns + program.lower_ns + program.compile_ns;
    programs.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    programs
}

fn packages(samples: &[&Sample]) -> Vec<PackageMean> {
    let n = f64::from(count(samples.len()));
    let mut packages: BTreeMap<&str, PackageMean> = BTreeMap::new();
    for package in samples.iter().flat_map(|sample| &sample.packages) {
        let mean = packages.entry(&package.name).or_insert_with(|| PackageMean {
            name: package.name.clone(),
            self_ns: 0.0,
            cumulative_ns: 0.0,
        });
        mean.self_ns += package.self_ns.as_f64() / n;
        mean.cumulative_ns += package.cumulative_ns.as_f64() / n;
    }
    let mut packages: Vec<PackageMean> = packages.into_values().collect();
    packages.sort_by(|a, b| b.self_ns.total_cmp(&a.self_ns));
    packages
}

fn background(samples: &[&Sample]) -> Vec<BackgroundMean> {
    let n = f64::from(count(samples.len()));
    let mut phases: BTreeMap<Phase, f64> = BTreeMap::new();
    for row in samples.iter().flat_map(|sample| &sample.background) {
        *phases.entry(row.phase).or_default() += row.ns.as_f64() / n;
    }
    let mut rows: Vec<BackgroundMean> =
        phases.into_iter().map(|(phase, mean_ns)| BackgroundMean { phase, mean_ns }).collect();
    rows.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns));
    rows
}
