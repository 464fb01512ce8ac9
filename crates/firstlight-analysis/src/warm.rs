//! The summary of several warm processes.

use std::collections::BTreeMap;

use firstlight_schema::estimate::{Estimate, Interval};
use firstlight_schema::message::{DeviceMemory, Message, Part};
use firstlight_schema::phase::Phase;
use firstlight_schema::run::{CaseResult, Work};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;
use firstlight_schema::warm::{
    Drift, Spread, States, Throughput, WarmSummary, Window, WindowMemory,
};
use firstlight_schema::window::SteadyState;

use crate::stats::limits::DRIFT_P;
use crate::stats::{
    Components, SteadyPart, block_bootstrap, log_mean, mean, middle, plain_mean, variance,
};
use crate::sweep::regime_of;

/// Summarises the valid processes with a steady state; `None` unless most of them have one.
pub fn summarise_warm(samples: &[Sample], work: Option<&Work>, seed: u64) -> Option<WarmSummary> {
    let valid: Vec<(&Sample, &Window)> = samples
        .iter()
        .filter(|sample| sample.valid)
        .filter_map(|sample| Some((sample, sample.window.as_ref()?)))
        .collect();
    let steady: Vec<_> = valid
        .iter()
        .filter_map(|&(sample, window)| Some((sample, window, window.steady.as_ref()?)))
        .collect();
    if steady.len() * 2 <= valid.len() {
        return None;
    }
    let means: Vec<f64> = steady.iter().map(|(.., steady)| steady.mean_ns).collect();
    let per_call = match steady.as_slice() {
        [(sample, window, _)] => block_bootstrap(&steady_calls(sample, window), seed)?,
        _ => log_mean(&means)?,
    };
    let parts: Vec<SteadyPart> = steady
        .iter()
        .map(|(.., part)| SteadyPart {
            mean: part.mean_ns,
            variance: part.sd_ns * part.sd_ns * part.autocorrelation_time,
            n: usize::try_from(part.calls).unwrap_or(usize::MAX),
        })
        .collect();
    let components = Components::new(&parts);
    let calls = || valid.iter().map(|(_, window)| window.calls);
    let call_sds: Vec<f64> = steady.iter().map(|(.., part)| part.sd_ns / part.mean_ns).collect();
    let best_calls = components.and_then(|components| {
        let fixed: Vec<f64> = steady.iter().map(|(sample, ..)| outside_window(sample)).collect();
        components.optimal_iterations(mean(&fixed), mean(&means))
    });
    Some(WarmSummary {
        throughput: work.map(|work| throughput(work, &per_call, &means)),
        per_call,
        fewest_calls: calls().min().unwrap_or(0),
        most_calls: calls().max().unwrap_or(0),
        autocorrelation_time: typical(steady.iter().map(|(.., part)| part.autocorrelation_time)),
        process_sd: components.map(|components| components.process_sd),
        call_sd: mean(&call_sds),
        best_calls,
        states: states(&valid),
        memory: memory(&valid),
        overhead: mean_of_rounds(&overheads(samples, Statistic::Mean)),
        overhead_median: mean_of_rounds(&overheads(samples, Statistic::Median)),
        collector: plain_mean(
            &steady
                .iter()
                .filter_map(|(_, window, _)| Some(window.collector?.per_call_ns))
                .collect::<Vec<_>>(),
        ),
    })
}

/// The statistic that represents the calls of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    Mean,
    Median,
}

/// The rounds of the valid samples, with the time of their calls beyond the baseline.
pub(crate) fn overheads(samples: &[Sample], statistic: Statistic) -> Vec<(u32, f64)> {
    samples
        .iter()
        .filter(|sample| sample.valid)
        .filter_map(|sample| {
            let overhead = sample.window.as_ref()?.overhead?;
            let ns = match statistic {
                Statistic::Mean => overhead.mean_ns?,
                Statistic::Median => overhead.median_ns,
            };
            Some((sample.round.unwrap_or(sample.number), ns))
        })
        .collect()
}

/// An arm's overhead beyond the reference arm's, in the rounds that have both; empty for the reference.
///
/// The cost of calling the baseline is part of both overheads, and cancels.
pub fn overheads_beyond_reference(
    case: &CaseResult,
    arm: &str,
    statistic: Statistic,
) -> Vec<(u32, f64)> {
    if arm == case.reference {
        return Vec::new();
    }
    let select = |arm| {
        let found = regime_of(&case.arms, arm, Regime::Warm);
        found.map_or_else(Vec::new, |found| overheads(&found.samples, statistic))
    };
    let reference: BTreeMap<u32, f64> = select(&case.reference).into_iter().collect();
    let pairs = select(arm).into_iter();
    pairs.filter_map(|(round, ns)| Some((round, ns - reference.get(&round)?))).collect()
}

/// The mean over rounds with its interval.
pub fn mean_of_rounds(rounds: &[(u32, f64)]) -> Option<Estimate> {
    plain_mean(&rounds.iter().map(|&(_, ns)| ns).collect::<Vec<_>>())
}

/// Counts of an arm's valid processes by how their calls settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settling {
    pub valid: usize,
    /// With a steady part: these carry the arm's numbers.
    pub steady: usize,
    /// With a steady part that changes by at most the margin.
    pub settled: usize,
}

/// Counts the processes, with changes compared with a margin.
pub fn settling(samples: &[Sample], margin: f64) -> Settling {
    let windows = samples.iter().filter(|sample| sample.valid).filter_map(|s| s.window.as_ref());
    let mut found = Settling::default();
    for window in windows {
        let moves = |drift: &Drift| drift.p < DRIFT_P && drift.change.abs() > margin;
        found.valid += 1;
        found.steady += usize::from(window.steady.is_some());
        found.settled +=
            usize::from(window.steady.is_some() && !window.drift.as_ref().is_some_and(moves));
    }
    found
}

/// The change of calls over a whole window at the rate of the steady part: the mean over the processes. The
/// steady part was selected to be nearly level, so the change within it is too small.
pub fn drift_of_arm(samples: &[Sample]) -> Option<Estimate> {
    // The middles of the first and the last third are two thirds apart.
    const THIRDS: f64 = 1.5;
    let windows = samples.iter().filter(|sample| sample.valid).filter_map(|s| s.window.as_ref());
    let pace = |window: &Window| {
        let part = f64::from(window.steady.as_ref()?.calls) / f64::from(window.calls);
        Some(window.drift.as_ref()?.change * THIRDS / part)
    };
    plain_mean(&windows.filter_map(pace).collect::<Vec<_>>())
}

/// The durations of the steady part's calls, from the raw readings.
fn steady_calls(sample: &Sample, window: &Window) -> Vec<f64> {
    let skip = usize::try_from(window.steady_from.unwrap_or(0)).unwrap_or(0);
    sample
        .raw
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Iterations(block) if block.part == Part::Window => Some(block.per_call()),
            _ => None,
        })
        .flatten()
        .skip(skip)
        .collect()
}

/// The time of a process before and after its window.
fn outside_window(sample: &Sample) -> f64 {
    let window = sample.phases.iter().find(|row| row.name == Phase::Window);
    sample.wall_ns.as_f64() - window.map_or(0.0, |row| row.ns.as_f64())
}

fn typical(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    middle(&sorted)
}

fn states(valid: &[(&Sample, &Window)]) -> States {
    let mut states = States::default();
    for (_, window) in valid {
        match window.state {
            SteadyState::Flat => states.flat += 1,
            SteadyState::WarmUp => states.warm_up += 1,
            SteadyState::SlowDown => states.slow_down += 1,
            SteadyState::Unknown => states.unknown += 1,
            SteadyState::None => states.no_steady_state += 1,
        }
    }
    states
}

fn throughput(work: &Work, per_call: &Estimate, means: &[f64]) -> Throughput {
    let rate = |ns: f64| work.per_call / ns * 1e9;
    let interval = per_call.interval.map(|interval| Interval {
        low: rate(interval.high),
        high: rate(interval.low),
        confidence: interval.confidence,
    });
    Throughput {
        unit: work.unit.clone(),
        per_second: Estimate { point: rate(per_call.point), interval, ..*per_call },
        values: means.iter().map(|&mean| rate(mean)).collect(),
    }
}

fn memory(valid: &[(&Sample, &Window)]) -> Option<WindowMemory> {
    let of_window = || {
        valid
            .iter()
            .flat_map(|(sample, _)| &sample.memory)
            .filter(|memory| memory.phase == Phase::Window)
    };
    let mut devices: Vec<DeviceMemory> = Vec::new();
    for reading in of_window().flat_map(|memory| &memory.devices) {
        match devices.iter_mut().find(|known| known.device == reading.device) {
            Some(known) => {
                known.in_use_bytes = known.in_use_bytes.max(reading.in_use_bytes);
                known.peak_bytes = known.peak_bytes.max(reading.peak_bytes);
            }
            None => devices.push(reading.clone()),
        }
    }
    Some(WindowMemory {
        peak_rss_bytes: of_window().map(|memory| memory.peak_rss_bytes).max()?,
        end_rss_bytes: of_window().map(|memory| memory.end_rss_bytes).max()?,
        devices,
    })
}

/// Mean, deviation and range of values; `None` for none.
pub fn spread(values: &[f64]) -> Option<Spread> {
    Some(Spread {
        n: u32::try_from(values.len()).unwrap_or(u32::MAX),
        mean_ns: mean(values),
        sd_ns: variance(values).map(f64::sqrt),
        min_ns: values.iter().copied().reduce(f64::min)?,
        max_ns: values.iter().copied().reduce(f64::max)?,
    })
}
