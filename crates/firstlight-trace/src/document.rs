//! Converts a trace to a document: attribution, causes and summaries.

use std::collections::BTreeMap;

use firstlight_analysis::stats;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{
    Bucket, Framework, HostOutside, NamedVersion, Notice, NoticeName, Part, Recording, Skew,
    SteadyRow, Step, StepsBy, TraceDocument,
};
use firstlight_schema::version::Build;

use crate::attribute::{self, Attribution, Booker, Frames, Operators};
use crate::error::Result;
use crate::inflation::inflation;
use crate::intervals::Set;
use crate::memory::memory;
use crate::model::Trace;
use crate::read::{Pieces, Whole};
use crate::recompile::{Explainer, Logs};
use crate::rules::JaxRules;
use crate::wrappers::wrappers;

/// The largest number of frames in a document; the rest are negligibly short.
const MOST_FRAMES: usize = 2_000;

/// Attributes a trace; `file` is its name in the document.
pub fn document(trace: &Trace, file: &str, logs: Option<&Logs>, build: Build) -> TraceDocument {
    let document = tell(&mut Whole(trace), file, logs, build);
    document.expect("a trace in memory is not read again")
}

/// The same for a recording that may be read in pieces.
pub(crate) fn tell(
    source: &mut dyn Pieces,
    file: &str,
    logs: Option<&Logs>,
    build: Build,
) -> Result<TraceDocument> {
    let found = attribute::find(source)?;
    let mut swept = sweep(source, &found, Explained::Steady)?;
    // If every step compiles, all of them are explained.
    if !swept.steps.iter().any(Step::is_steady) {
        swept = sweep(source, &found, Explained::All)?;
    }
    let trace = source.trace();
    let owner = &trace.lines[found.owner];
    let thread = format!("{}, {}", owner.group, owner.name);
    let mut document =
        TraceDocument::new(build, recording(trace, &found, file), found.steps_by, thread);
    document.compilations = swept.explainer.finish(trace, logs);
    document.graph_breaks = logs.map(|logs| logs.torch.graph_breaks()).unwrap_or_default();
    document.notices = notices(trace, &found);
    document.frames = swept.frames.finish(&trace.names, &found.frames);
    document.frames.truncate(MOST_FRAMES);
    document.programs = swept.operators.finish(trace);
    document.steps = several_devices(swept.steps);
    attribute::keep_empty_alone(&mut document.steps);
    document.memory = memory(trace, &mut document.steps);
    document.skew = skew(&document.steps);
    document.steady = steady_rows(&document.steps);
    document.host_outside = host_outside(&document.steps);
    document.wrappers = wrappers(&document.frames, &document.steps);
    document.events = found.totals.events(&trace.names);
    document.findings = findings(&document);
    Ok(document)
}

/// A single device cannot be late.
fn several_devices(mut steps: Vec<Step>) -> Vec<Step> {
    let devices = || steps.iter().flat_map(|step| &step.devices).map(|own| own.device.as_str());
    let first = devices().next();
    if devices().all(|device| Some(device) == first) {
        for step in &mut steps {
            step.devices.clear();
        }
    }
    steps
}

/// The time between the first and the last device finishing, over the steady steps.
fn skew(steps: &[Step]) -> Option<Skew> {
    let steady: Vec<&Step> = steps.iter().filter(|step| step.is_steady()).collect();
    let values: Vec<f64> =
        steady.iter().filter_map(|step| step.skew()).map(Nanos::as_f64).collect();
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &steady {
        if let Some(own) = step.devices.iter().max_by_key(|own| own.end_ns) {
            *last.entry(&own.device).or_default() += 1;
        }
    }
    let (device, times) = last.into_iter().max_by_key(|(_, times)| *times)?;
    Some(Skew {
        median: stats::median(&values)?,
        last: device.to_owned(),
        last_in: u32::try_from(times).unwrap_or(u32::MAX),
    })
}

/// The steps whose host time is explained by frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Explained {
    Steady,
    All,
}

struct Swept<'a> {
    steps: Vec<Step>,
    operators: Operators<'a>,
    frames: Frames,
    explainer: Explainer<'a>,
}

/// Processes all pieces, and attributes the steps of each before dropping it.
fn sweep<'a>(
    source: &mut dyn Pieces,
    found: &'a Attribution,
    wanted: Explained,
) -> Result<Swept<'a>> {
    let (mut divider, mut books) = (found.divider(), Booker::default());
    let mut swept = Swept {
        steps: Vec::new(),
        operators: Operators::new(found),
        frames: Frames::default(),
        explainer: Explainer::new(found),
    };
    source.each(&found.steps, found.held(), &mut |piece, span| {
        let layers = divider.divide(piece, span);
        swept.explainer.feed(piece, span, &layers);
        swept.operators.feed(piece);
        let mut booked = books.book(found, &layers, span);
        for (one, devices) in booked.iter_mut().zip(attribute::device_times(piece, found, span)) {
            one.step.devices = devices;
        }
        let explained =
            booked.iter().filter(|one| wanted == Explained::All || one.step.is_steady());
        let host = explained.clone().flat_map(|one| one.host.spans()).copied().collect();
        swept.frames.feed(piece, found, &Set::union(host), explained.count());
        swept.steps.extend(booked.into_iter().map(|one| one.step));
        0
    })?;
    Ok(swept)
}

/// Recomputes all values that follow from the document's own steps, frames and runs: a published document
/// that differs was changed.
pub fn recomputed(document: &TraceDocument) -> TraceDocument {
    let mut copy = document.clone();
    for step in &mut copy.steps {
        step.duration_ns = step.parts.iter().map(|row| row.ns).sum();
        step.host_outside_ns = Step::outside(&step.parts);
        step.compiled = step.parts.iter().any(|row| row.part.bucket() == Bucket::Compile);
    }
    for compilation in &mut copy.compilations {
        compilation.duration_ns = compilation.parts.iter().map(|row| row.ns).sum();
    }
    copy.steady = steady_rows(&copy.steps);
    copy.host_outside = host_outside(&copy.steps);
    copy.skew = skew(&copy.steps);
    copy.wrappers = wrappers(&copy.frames, &copy.steps);
    copy.inflation = copy.inflation.map(|own| inflation(own.runs));
    copy
}

fn recording(trace: &Trace, found: &Attribution, file: &str) -> Recording {
    let python = trace.facts.tracer.is_some_and(|levels| levels.python > 0) || found.totals.python;
    let version = |(name, version): &(String, String)| NamedVersion {
        name: name.clone(),
        version: version.clone(),
    };
    Recording {
        file: file.to_owned(),
        format: trace.format,
        bytes: trace.bytes,
        events: trace.events() as u64,
        lines: trace.lines.len() as u64,
        framework: found.framework,
        versions: trace.facts.versions.iter().map(version).collect(),
        devices: trace.facts.devices.clone(),
        hosts: trace.facts.hosts.clone(),
        tracer: trace.facts.tracer,
        python_traced: python,
        span_ns: Nanos(u64::try_from(found.totals.end).unwrap_or(0)),
        rules: found.rules.to_owned(),
    }
}

fn notices(trace: &Trace, found: &Attribution) -> Vec<Notice> {
    let mut notices = trace.notices.clone();
    let mut add = |name, text: &str| notices.push(Notice { name, text: text.to_owned() });
    match found.steps_by {
        StepsBy::Annotation => {}
        StepsBy::RepeatedCall => add(
            NoticeName::StepsGuessed,
            "no step is marked: each lasts from one call of the function with the most time to the next",
        ),
        StepsBy::RepeatedModule => add(
            NoticeName::StepsGuessed,
            "no step is marked: a step lasts from one run of the longest program to the next",
        ),
        StepsBy::WholeTrace => {
            add(NoticeName::StepsGuessed, "no step is marked: the whole recording counts as one");
        }
    }
    if found.others > 0 {
        let others = found.others;
        let text = format!(
            "{others} other threads also have steps; those of the thread with the most are shown"
        );
        add(NoticeName::OtherThreads, &text);
    }
    if found.framework == Framework::Jax {
        let version = trace.facts.version("jaxlib").or_else(|| trace.facts.version("jax"));
        if !JaxRules::for_version(version).1 {
            add(
                NoticeName::UnknownVersion,
                "jaxlib's version is not in the file: the rules of the newest version were used",
            );
        }
        let graphs = trace.names.ids().any(|id| trace.names.text(id).starts_with("command_buffer"));
        if graphs {
            add(
                NoticeName::CudaGraphs,
                "kernels ran in CUDA graphs, so the recording does not name their operations",
            );
        }
    }
    notices
}

/// Medians of buckets and of their parts over the steps without a compilation.
fn steady_rows(steps: &[Step]) -> Vec<SteadyRow> {
    let steady: Vec<&Step> = steps.iter().filter(|step| step.is_steady()).collect();
    let whole: f64 = steady.iter().map(|step| step.duration_ns.as_f64()).sum();
    let mut rows = Vec::new();
    let mut row = |bucket: Bucket, part: Option<Part>, time: &dyn Fn(&Step) -> Nanos| {
        let values: Vec<f64> = steady.iter().map(|step| time(step).as_f64()).collect();
        let sum: f64 = values.iter().sum();
        if sum > 0.0
            && let Some(median) = stats::median(&values)
        {
            rows.push(SteadyRow { bucket, part, median, share: sum / whole });
        }
    };
    for bucket in Bucket::ALL {
        row(bucket, None, &|step| step.bucket(bucket));
        for part in Part::ALL.into_iter().filter(|part| part.bucket() == bucket) {
            row(bucket, Some(part), &|step| step.part(part));
        }
    }
    rows
}

fn host_outside(steps: &[Step]) -> Option<HostOutside> {
    let steady = || steps.iter().filter(|step| step.is_steady());
    let values: Vec<f64> = steady().map(|step| step.host_outside_ns.as_f64()).collect();
    let whole: f64 = steady().map(|step| step.duration_ns.as_f64()).sum();
    Some(HostOutside {
        median: stats::median(&values)?,
        least_ns: steady().map(|step| step.host_outside_ns).min()?,
        most_ns: steady().map(|step| step.host_outside_ns).max()?,
        // Steps of zero duration have no shares.
        share: if whole > 0.0 { values.iter().sum::<f64>() / whole } else { 0.0 },
    })
}

fn findings(document: &TraceDocument) -> Vec<Reason> {
    let mut findings = Vec::new();
    if document.recording.python_traced {
        let text = "Python frames were recorded, which inflates host time, and some frames more than \
                    others: use the names of this recording, and the times of one without Python frames";
        findings.push(Reason::new(Finding::TracerInflated, text));
    }
    let calls: u64 = document.steps.iter().map(|step| u64::from(step.calls)).sum();
    let ran = |step: &Step| {
        step.device_busy_ns > Nanos::ZERO || step.bucket(Bucket::Callback) > Nanos::ZERO
    };
    if calls > 0 && !document.steps.iter().any(ran) {
        let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        let text = format!("{calls} of compiled functions, but no execution in the recording");
        findings.push(Reason::new(Finding::ExecutionNotRecorded, text));
    }
    findings
}
