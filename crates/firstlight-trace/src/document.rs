//! A trace becomes a document: attributed, explained, summed up.

use firstlight_analysis::stats;
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::nanos::Nanos;
use firstlight_schema::trace::{
    Bucket, EventRow, Framework, HostOutside, NamedVersion, Notice, NoticeName, Part, Recording,
    SteadyRow, Step, StepsBy, TraceDocument,
};
use firstlight_schema::version::Build;

use crate::attribute::{self, Findings, book, frames};
use crate::intervals::Set;
use crate::model::{Detail, Line, Place, Trace};
use crate::recompile::{TorchTrace, explain};
use crate::rules::JaxRules;
use crate::wrappers::wrappers;

/// Names in the table of events; the rest are too short in sum for anybody to miss.
const MOST_EVENTS: usize = 2_000;
const MOST_FRAMES: usize = 2_000;

/// Attributes a trace; `file` is what it is called in the document.
pub fn document(
    trace: &Trace,
    file: &str,
    log: Option<&TorchTrace>,
    build: Build,
) -> TraceDocument {
    let found = attribute::find(trace);
    let booked = book(&found);
    let owner = &trace.lines[found.owner];
    let thread = format!("{}, {}", owner.group, owner.name);
    let mut document =
        TraceDocument::new(build, recording(trace, &found, file), found.steps_by, thread);
    document.compilations = explain(trace, &found, log);
    document.notices = notices(trace, &found);
    let steady = booked.iter().any(|one| !one.step.compiled);
    let explained = booked.iter().filter(|one| !one.step.compiled || !steady);
    let host = explained.clone().flat_map(|one| one.host.spans()).copied().collect();
    document.frames = frames(trace, &found, &Set::union(host), explained.count());
    document.frames.truncate(MOST_FRAMES);
    document.steps = booked.into_iter().map(|one| one.step).collect();
    document.steady = steady_rows(&document.steps);
    document.host_outside = host_outside(&document.steps);
    document.wrappers = wrappers(&document.frames, &document.steps);
    document.events = events(trace);
    document.findings = findings(&document);
    document
}

fn recording(trace: &Trace, found: &Findings, file: &str) -> Recording {
    let ends = trace.lines.iter().flat_map(|line| {
        line.events.start.iter().zip(&line.events.duration).map(|(start, long)| start + long)
    });
    let python = trace.facts.tracer.is_some_and(|levels| levels.python > 0)
        || trace.lines[found.owner]
            .events
            .name
            .iter()
            .any(|name| found.frames[*name] == firstlight_schema::trace::FrameKind::Python);
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
        span_ns: Nanos(u64::try_from(ends.max().unwrap_or(0)).unwrap_or(0)),
        rules: found.rules.to_owned(),
    }
}

fn notices(trace: &Trace, found: &Findings) -> Vec<Notice> {
    let mut notices = trace.notices.clone();
    let mut add = |name, text: &str| notices.push(Notice { name, text: text.to_owned() });
    match found.steps_by {
        StepsBy::Annotation => {}
        StepsBy::RepeatedCall => add(
            NoticeName::StepsGuessed,
            "no step is marked: a step is from one call of the function that takes most to the next",
        ),
        StepsBy::RepeatedModule => add(
            NoticeName::StepsGuessed,
            "no step is marked: a step is from one run of the program that takes most to the next",
        ),
        _ => add(NoticeName::StepsGuessed, "no step is marked: the whole recording is one"),
    }
    let others = other_threads(trace, found);
    if others > 0 {
        let text = format!("{others} other threads have steps too; these are of the one with most");
        add(NoticeName::OtherThreads, &text);
    }
    if found.framework == Framework::Jax {
        let version = trace.facts.version("jaxlib").or_else(|| trace.facts.version("jax"));
        if !JaxRules::of(version).1 {
            add(
                NoticeName::UnknownVersion,
                "jaxlib's version is not in the file: newest rules taken",
            );
        }
        let graphs = trace.names.ids().any(|id| trace.names.text(id).starts_with("command_buffer"));
        if graphs {
            add(
                NoticeName::CudaGraphs,
                "kernels ran in CUDA graphs: which operation each belongs to is lost",
            );
        }
    }
    notices
}

/// Host lines that have steps, besides the one that is shown.
fn other_threads(trace: &Trace, found: &Findings) -> usize {
    let steps = |line: &Line| {
        (0..line.events.len()).any(|index| matches!(trace.detail(line, index), Detail::Step(_)))
    };
    let lines = trace.lines.iter().enumerate();
    lines
        .filter(|(index, line)| *index != found.owner && line.place == Place::Host && steps(line))
        .count()
}

/// Medians of buckets and of their parts over the steps that compiled nothing.
fn steady_rows(steps: &[Step]) -> Vec<SteadyRow> {
    let steady: Vec<&Step> = steps.iter().filter(|step| !step.compiled).collect();
    let whole: f64 = steady.iter().map(|step| step.duration_ns.as_f64()).sum();
    let mut rows = Vec::new();
    let mut row = |bucket: Bucket, part: Option<Part>, of: &dyn Fn(&Step) -> Nanos| {
        let values: Vec<f64> = steady.iter().map(|step| of(step).as_f64()).collect();
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
    let steady = || steps.iter().filter(|step| !step.compiled);
    let values: Vec<f64> = steady().map(|step| step.host_outside_ns.as_f64()).collect();
    let whole: f64 = steady().map(|step| step.duration_ns.as_f64()).sum();
    Some(HostOutside {
        median: stats::median(&values)?,
        least_ns: steady().map(|step| step.host_outside_ns).min()?,
        most_ns: steady().map(|step| step.host_outside_ns).max()?,
        share: values.iter().sum::<f64>() / whole,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a mean is shown with three digits")]
fn events(trace: &Trace) -> Vec<EventRow> {
    let mut sums = vec![[(0_u64, 0_u64); 2]; trace.names.len()];
    for line in &trace.lines {
        let place = usize::from(line.place == Place::Device);
        for (name, duration) in line.events.name.iter().zip(&line.events.duration) {
            let sum = &mut sums[name.index()][place];
            sum.0 += 1;
            sum.1 = sum.1.saturating_add(duration.unsigned_abs());
        }
    }
    let mut rows: Vec<EventRow> = Vec::new();
    for (id, places) in trace.names.ids().zip(sums) {
        for (place, (count, total)) in places.into_iter().enumerate() {
            if count > 0 {
                rows.push(EventRow {
                    name: trace.names.text(id).to_owned(),
                    on_device: place == 1,
                    count,
                    total_ns: Nanos(total),
                    mean_ns: total as f64 / count as f64,
                });
            }
        }
    }
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows.truncate(MOST_EVENTS);
    rows
}

fn findings(document: &TraceDocument) -> Vec<Reason> {
    let mut findings = Vec::new();
    if document.recording.python_traced {
        let text = "Python frames were recorded: host time is larger than without them, and some \
                    frames grow more than others; take the names from here and the times from a \
                    recording without";
        findings.push(Reason::new(Finding::TracerInflated, text));
    }
    findings
}
