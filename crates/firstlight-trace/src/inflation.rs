//! The observer's cost: the same work untraced, recorded, and recorded with Python frames.

use firstlight_analysis::stats::median;
use firstlight_schema::estimate::Estimate;
use firstlight_schema::finding::Finding;
use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{Bucket, Inflation, TraceDocument, TracedRun, Tracing};

use crate::wrappers::wrappers;

/// A run of the work: its steps by its own clock, and what the recorder made of it.
#[derive(Clone, Debug)]
pub struct Run {
    pub tracing: Tracing,
    /// Nanoseconds of each step, in order.
    pub steps: Vec<f64>,
    /// The same of the baseline that was run after each step; empty where the work has none.
    pub baselines: Vec<f64>,
    pub wall: Nanos,
    pub document: Option<TraceDocument>,
}

/// One document of all runs: times of the least traced recording, names of the most traced one.
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

/// The factors follow from the runs.
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

/// Steps that are not steady in the recording are not in any run, which knows nothing of it.
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

/// The frames of the most traced recording, as large in sum as the host time of the least traced one.
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
