//! The observer's cost: the same work without recording, with recording, and with Python frames.

use firstlight_analysis::stats::median;
use firstlight_schema::estimate::Estimate;
use firstlight_schema::finding::Finding;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Bucket, Inflation, TraceDocument, TracedRun, Tracing};

use crate::wrappers::wrappers;

/// A run of the work: its steps by its own clock, and its recording.
#[derive(Clone, Debug)]
pub struct Run {
    pub tracing: Tracing,
    /// Nanoseconds of each step, in order.
    pub steps: Vec<f64>,
    /// The same for the baseline that ran after each step; empty if the work has none.
    pub baselines: Vec<f64>,
    pub wall: Nanos,
    pub document: Option<TraceDocument>,
}

/// One document for all runs: times of the recording with the least tracing, names of the one with the most.
pub fn combined(runs: &[Run]) -> Option<TraceDocument> {
    let recorded = || runs.iter().filter_map(|run| run.document.as_ref());
    let mut document = recorded().next()?.clone();
    let most = recorded().next_back()?.clone();
    let traced: Vec<TracedRun> = runs.iter().map(|run| traced(run, &document)).collect();
    let inflation = inflation(traced);
    document.frames = scaled(&document, most);
    document.wrappers = wrappers(&document.frames, &document.steps);
    document.findings.retain(|reason| reason.finding != Finding::TracerInflated);
    document.inflation = Some(inflation);
    Some(document)
}

/// Computes the factors from the runs.
pub(crate) fn inflation(runs: Vec<TracedRun>) -> Inflation {
    let ratio = |estimate: fn(&TracedRun) -> Option<Estimate>| {
        let mut points = runs.iter().filter_map(estimate).map(|estimate| estimate.point);
        let first = points.next().filter(|first| *first > 0.0)?;
        points.next_back().filter(|last| *last > 0.0).map(|last| last / first)
    };
    Inflation {
        factor: ratio(|run| run.step),
        host_factor: ratio(|run| run.host),
        overhead_factor: ratio(|run| run.overhead),
        runs,
    }
}

/// Steps that are not steady in the recording are excluded in every run.
fn traced(run: &Run, recorded: &TraceDocument) -> TracedRun {
    let left_out = |index: usize| recorded.steps.get(index).is_some_and(|step| !step.is_steady());
    let steady = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        values.enumerate().filter(|(index, _)| !left_out(*index)).map(|(_, ns)| ns).collect()
    };
    let beyond = run.steps.iter().zip(&run.baselines).map(|(step, baseline)| step - baseline);
    let host = run.document.as_ref().and_then(|document| {
        let steps = document.steps.iter().filter(|step| step.is_steady());
        median(&steps.map(|step| step.bucket(Bucket::Host).as_f64()).collect::<Vec<f64>>())
    });
    TracedRun {
        tracing: run.tracing,
        step: median(&steady(&mut run.steps.iter().copied())),
        host,
        overhead: median(&steady(&mut { beyond })),
        wall_ns: run.wall,
        file: run.document.as_ref().map(|document| document.recording.file.clone()),
    }
}

/// The frames of the recording with the most tracing, scaled to the host time of the one with the least.
fn scaled(least: &TraceDocument, most: TraceDocument) -> Vec<firstlight_schema::trace::Frame> {
    let host = |document: &TraceDocument| -> f64 {
        document.frames.iter().map(|frame| frame.exclusive_ns).sum()
    };
    let (small, large) = (host(least), host(&most));
    let scale = if large > 0.0 { small / large } else { 1.0 };
    let mut frames = most.frames;
    for frame in &mut frames {
        frame.inclusive_ns *= scale;
        frame.exclusive_ns *= scale;
    }
    frames
}
