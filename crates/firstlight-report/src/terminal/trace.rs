//! The document `trace` as text: its steps with their buckets, medians over steady steps, compilations and
//! their causes, host work, and the events by name.

use anstyle::{AnsiColor, Color, Style};
use firstlight_schema::trace::{
    Bucket, Compilation, Frame, FrameKind, Framework, GraphBreak, Recording, Served, Step, StepsBy,
    TraceDocument, Turn,
};

use super::page::{BOLD, Page};
use crate::words::format::{self, bytes, count, duration, fit, share};
use crate::words::table::Align;
use crate::words::tables;
use crate::words::trace::{answer, left_out};
use unicode_width::UnicodeWidthStr;

/// With more steps, only the first, the last and those with a compilation are shown.
const MOST_STEPS: usize = 24;
const EDGE: usize = 8;
const BAR: usize = 30;
const NARROWEST_BAR: usize = 6;

pub(super) fn trace(page: &mut Page, document: &TraceDocument, rows: usize) {
    head(page, document);
    steps(page, document);
    steady(page, document);
    inflation(page, document);
    compilations(page, &document.compilations);
    graph_breaks(page, &document.graph_breaks);
    wrappers(page, document);
    super::trace_programs::beyond(page, document, rows);
    frames(page, document, rows);
    events(page, document, rows);
    notices(page, document);
}

fn head(page: &mut Page, document: &TraceDocument) {
    let recording = &document.recording;
    page.sentence(&format!("{BOLD}{}{BOLD:#}", answer(document).text));
    page.line(&fit(&recording.file, page.width()));
    let mut facts = vec![framework(recording)];
    facts.extend(recording.devices.iter().cloned());
    facts.push(format!("{} of {}", recording.format.name(), bytes(recording.bytes)));
    facts.push(format!(
        "{} in {}",
        count(recording.events, "event"),
        duration(recording.span_ns.as_f64())
    ));
    if let Some(levels) = recording.tracer {
        facts.push(format!(
            "tracer levels: host {}, device {}, Python {}",
            levels.host, levels.device, levels.python
        ));
    }
    page.sentence(&facts.join(", "));
}

fn framework(recording: &Recording) -> String {
    let version = |name: &str| recording.versions.iter().find(|version| version.name == name);
    match recording.framework {
        Framework::Jax => match version("jaxlib").or_else(|| version("jax")) {
            Some(version) => format!("JAX {}", version.version),
            None => "JAX".to_owned(),
        },
        Framework::Torch => "PyTorch".to_owned(),
        Framework::Unknown => "unknown framework".to_owned(),
    }
}

fn steps_by(by: StepsBy) -> &'static str {
    match by {
        StepsBy::Annotation => "marked in the program",
        StepsBy::RepeatedCall => "guessed, from call to call",
        StepsBy::RepeatedModule => "guessed, from run to run of a program",
        StepsBy::WholeTrace => "the whole recording as one",
    }
}

fn steps(page: &mut Page, document: &TraceDocument) {
    page.gap();
    page.line(&format!(
        "{BOLD}{}{BOLD:#}, {}, on {}",
        count(document.steps.len() as u64, "step"),
        steps_by(document.steps_by),
        document.thread
    ));
    let has_memory = document.steps.iter().any(|step| step.peak_bytes.is_some());
    let shown = shown(&document.steps);
    let used: Vec<Bucket> = Bucket::ALL
        .into_iter()
        .filter(|bucket| document.steps.iter().any(|step| step.bucket(*bucket).0 > 0))
        .collect();
    let mut header = vec!["step".to_owned(), "wall".to_owned()];
    header.extend(used.iter().map(|bucket| bucket.name().to_owned()));
    header.push("(hidden)".to_owned());
    header.extend(has_memory.then(|| "peak".to_owned()));
    let columns = header.len();
    let mut lines = vec![header];
    for index in &shown {
        let Some(index) = *index else {
            let rest = vec![String::new(); columns - 1];
            lines.push(std::iter::once("…".to_owned()).chain(rest).collect());
            continue;
        };
        let step = &document.steps[index];
        let mut line = vec![step.number.to_string(), duration(step.duration_ns.as_f64())];
        line.extend(used.iter().map(|bucket| duration(step.bucket(*bucket).as_f64())));
        line.push(duration(step.overlapped_host_ns.as_f64()));
        line.extend(has_memory.then(|| step.peak_bytes.map_or_else(String::new, bytes)));
        lines.push(line);
    }
    let align = vec![Align::Right; columns];
    let lines = crate::words::table::columns(&align, &lines, page.width() - 2);
    // The bars get the remaining room.
    let widest = lines.iter().map(|line| line.width()).max().unwrap_or(0);
    let cells = page.width().saturating_sub(widest + 4).min(BAR);
    let bars = std::iter::once(None).chain(shown);
    for (line, index) in lines.iter().zip(bars) {
        let bar = match index {
            Some(index) if cells >= NARROWEST_BAR => bar(&document.steps[index], cells),
            _ => String::new(),
        };
        page.line(&format!("  {line}  {bar}"));
    }
    page.sentence(
        "  wall is the sum of the columns after it, without (hidden): host time while the program ran",
    );
    if has_memory {
        page.sentence("  peak is the most memory in use of the largest allocator");
    }
    for words in left_out(document) {
        page.sentence(&format!("  {words}"));
    }
}

/// The steps to show; a gap where some are left out.
fn shown(steps: &[Step]) -> Vec<Option<usize>> {
    if steps.len() <= MOST_STEPS {
        return (0..steps.len()).map(Some).collect();
    }
    let mut shown = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if index < EDGE || index + EDGE >= steps.len() || step.compiled {
            shown.push(Some(index));
        } else if shown.last() != Some(&None) {
            shown.push(None);
        }
    }
    shown
}

pub(super) fn letter(bucket: Bucket) -> char {
    match bucket {
        Bucket::Compile => 'C',
        Bucket::Callback => 'B',
        Bucket::Execute => 'X',
        Bucket::Transfer => 'T',
        Bucket::Dispatch => 'd',
        Bucket::Wait => 'w',
        Bucket::Host => 'h',
    }
}

pub(super) fn style(bucket: Bucket) -> Style {
    let color = match bucket {
        // As in a ledger; red is reserved for errors.
        Bucket::Compile => AnsiColor::Magenta,
        Bucket::Callback => AnsiColor::Cyan,
        Bucket::Execute => AnsiColor::Green,
        Bucket::Transfer => AnsiColor::BrightCyan,
        Bucket::Dispatch => AnsiColor::Blue,
        Bucket::Wait => AnsiColor::BrightBlack,
        Bucket::Host => AnsiColor::Yellow,
    };
    Style::new().fg_color(Some(Color::Ansi(color)))
}

/// The shares of a step as one line of letters.
fn bar(step: &Step, cells: usize) -> String {
    let shares: Vec<f64> = Bucket::ALL.iter().map(|bucket| step.bucket(*bucket).as_f64()).collect();
    let cells = crate::terminal::bar::apportion(&shares, cells);
    Bucket::ALL
        .iter()
        .zip(cells)
        .map(|(bucket, cells)| letter(*bucket).to_string().repeat(cells))
        .collect()
}

fn steady(page: &mut Page, document: &TraceDocument) {
    let n = document.steps.iter().filter(|step| step.is_steady()).count();
    if n == 0 {
        return;
    }
    page.gap();
    page.line(&format!(
        "{BOLD}a steady step{BOLD:#}, median of {} without a compilation",
        count(n as u64, "step")
    ));
    let mut lines = Vec::new();
    for row in &document.steady {
        let parts = document.steady.iter().filter(|other| other.bucket == row.bucket).count();
        // A bucket with one part equals that part.
        if row.part.is_some() && parts == 2 {
            continue;
        }
        let interval = row
            .median
            .interval
            .map_or_else(String::new, |interval| format::interval(interval.low, interval.high));
        let name = match row.part {
            None => format!("{} {}", letter(row.bucket), row.bucket),
            Some(part) => format!("    {part}"),
        };
        let filled = "█".repeat(cells(row.share));
        lines.push(vec![
            name,
            duration(row.median.point),
            share(row.share),
            interval,
            if row.part.is_none() {
                let style = style(row.bucket);
                format!("{style}{filled}{style:#}")
            } else {
                String::new()
            },
        ]);
    }
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    page.columns(&align, &lines);
    host_outside(page, document);
}

/// The figure commonly called a wrapper's overhead, under its proper name.
fn host_outside(page: &mut Page, document: &TraceDocument) {
    let Some(outside) = &document.host_outside else { return };
    let inflation = document.inflation.as_ref().and_then(|inflation| inflation.host_factor);
    page.sentence(&format!(
        "  {BOLD}host outside of the compiled program{BOLD:#} (w + h): {}, {} of the step, from {} to {} \
         over the steps{}",
        duration(outside.median.point),
        share(outside.share),
        duration(outside.least_ns.as_f64()),
        duration(outside.most_ns.as_f64()),
        inflation.map_or_else(String::new, |factor| {
            format!("; {factor:.2} times as much host time when Python frames are recorded")
        })
    ));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of few cells")]
fn cells(share: f64) -> usize {
    (share * 30.0).round().clamp(0.0, 30.0) as usize
}

/// The cost of recording, next to the recorded values.
fn inflation(page: &mut Page, document: &TraceDocument) {
    let Some(inflation) = &document.inflation else { return };
    page.gap();
    page.line(&format!("{BOLD}cost of recording{BOLD:#}, medians of a steady step"));
    let header = ["run", "step", "host", "whole process"].map(str::to_owned).to_vec();
    let point = |one: Option<firstlight_schema::estimate::Estimate>| {
        one.map_or_else(|| "unknown".to_owned(), |estimate| duration(estimate.point))
    };
    let rows = inflation.runs.iter().map(|run| {
        vec![
            run.tracing.name().to_owned(),
            point(run.step),
            if run.file.is_some() { point(run.host) } else { String::new() },
            duration(run.wall_ns.as_f64()),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    page.columns(&[Align::Left, Align::Right, Align::Right, Align::Right], &rows);
    let times = |factor: Option<f64>| {
        factor.map_or_else(|| "an unknown factor".to_owned(), |factor| format!("{factor:.2} times"))
    };
    page.sentence(&format!(
        "  With Python frames a step takes {} what it takes untraced, and host time is {} that of the \
         recording without. Times above are those without Python frames; names below are those with, \
         scaled to the same sum.",
        times(inflation.factor),
        times(inflation.host_factor)
    ));
}

fn compilations(page: &mut Page, all: &[Compilation]) {
    if all.is_empty() {
        return;
    }
    page.gap();
    page.line(&format!("{BOLD}{}{BOLD:#}", count(all.len() as u64, "compilation")));
    for one in all {
        let place = one
            .step
            .map_or_else(|| "outside of all steps".to_owned(), |step| format!("step {step}"));
        let turn = match one.turn {
            Turn::First => "compiled for the first time",
            Turn::Again => "recompiled",
            Turn::Unknown => "compiled, perhaps again",
        };
        let served = match one.served {
            Served::Compiler => "by the compiler",
            Served::DiskCache => "from a cache on disk",
            Served::Unknown => "whether by the compiler or a cache is unknown",
        };
        let parts: Vec<String> = one
            .parts
            .iter()
            .map(|row| format!("{} {}", row.part, duration(row.ns.as_f64())))
            .collect();
        page.sentence(&format!(
            "  {place}: `{}` {turn}, {served}, {} ({})",
            one.function,
            duration(one.duration_ns.as_f64()),
            parts.join(", ")
        ));
        page.sentence(&format!("    why: {}", one.cause.text));
    }
}

fn graph_breaks(page: &mut Page, all: &[GraphBreak]) {
    if all.is_empty() {
        return;
    }
    page.gap();
    page.line(&format!("{BOLD}{}{BOLD:#}", count(all.len() as u64, "graph break")));
    for one in all {
        let function = one.function.as_deref().unwrap_or("?");
        page.sentence(&format!("  {} in `{function}` ({})", one.place, one.compile_id));
        page.sentence(&format!("    why: {}", one.reason));
    }
}

/// The phases of a known wrapper around the compiled program.
pub(super) fn wrappers(page: &mut Page, document: &TraceDocument) {
    for (title, table) in tables::wrappers(document, "  ") {
        page.gap();
        let (name, rest) = title.split_once(':').unwrap_or((&title, ""));
        page.line(&format!("{BOLD}{name}{BOLD:#}:{rest}"));
        let lines: Vec<Vec<String>> = std::iter::once(table.head).chain(table.rows).collect();
        let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
        page.columns(&align, &lines);
    }
}

fn frames(page: &mut Page, document: &TraceDocument, rows: usize) {
    let frames: Vec<&Frame> = document.frames.iter().take(rows).collect();
    if frames.is_empty() {
        return;
    }
    page.gap();
    page.line(&format!("{BOLD}host work{BOLD:#} outside of the compiled program, per steady step"));
    let header = ["inclusive", "exclusive", "times", "kind", "event"].map(str::to_owned).to_vec();
    let line = |frame: &&Frame| {
        vec![
            duration(frame.inclusive_ns),
            duration(frame.exclusive_ns),
            frame.count.to_string(),
            kind(frame.kind).to_owned(),
            frame.name.clone(),
        ]
    };
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(frames.iter().map(line)).collect();
    let align = [Align::Right, Align::Right, Align::Right, Align::Left, Align::Left];
    page.columns(&align, &lines);
}

fn kind(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Annotation => "annotation",
        FrameKind::Python => "Python",
        FrameKind::Framework => "framework",
        FrameKind::Nothing => "",
    }
}

fn events(page: &mut Page, document: &TraceDocument, rows: usize) {
    page.gap();
    page.line(&format!("{BOLD}events{BOLD:#} of the whole recording, by total time"));
    let header = ["total", "count", "mean", "on", "event"].map(str::to_owned).to_vec();
    let lines = document.events.iter().take(rows).map(|row| {
        vec![
            duration(row.total_ns.as_f64()),
            row.count.to_string(),
            duration(row.mean_ns),
            if row.on_device { "device" } else { "host" }.to_owned(),
            row.name.clone(),
        ]
    });
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
    let align = [Align::Right, Align::Right, Align::Right, Align::Left, Align::Left];
    page.columns(&align, &lines);
}

fn notices(page: &mut Page, document: &TraceDocument) {
    if !document.notices.is_empty() {
        page.gap();
    }
    for notice in &document.notices {
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", notice.name.name(), notice.text));
    }
    for finding in &document.findings {
        page.gap();
        page.sentence(&format!("{BOLD}{}{BOLD:#}: {}", finding.finding, finding.text));
        if let Some(advice) = finding.finding.advice() {
            page.sentence(&format!("  → {advice}"));
        }
    }
}
