//! A trace as one HTML file: timelines of its steps, their buckets, what was compiled and why, what the
//! host did, and every event by name.

use firstlight_schema::trace::{Part, Step, TraceDocument, Turn, Wrapper, WrapperPhase};
use maud::{Markup, html};

use super::table::{Cell, Head, Order, table};
use super::{frame, name};
use crate::svg::{step_bar, step_swatch};
use crate::words::format::{bytes, count, duration, share};

/// More timelines than these tell nobody more.
const MOST_STEPS: usize = 60;

/// The whole page.
pub fn trace_page(document: &TraceDocument) -> String {
    let body = html! {
        (header(document))
        nav aria-label="Contents" {
            ul {
                li { a href="#steps" { "Steps" } }
                @if !document.compilations.is_empty() { li { a href="#compilations" { "Compilations" } } }
                li { a href="#host" { "Host" } }
                @if !document.programs.is_empty() { li { a href="#programs" { "Programs" } } }
                li { a href="#events" { "Events" } }
            }
        }
        main id="main" {
            (warnings(document))
            (steps(document))
            (compilations(document))
            (host(document))
            (programs(document))
            (events(document))
        }
        footer {
            "Made by firstlight " (document.firstlight.version) " from the document "
            (document.schema.name) " " (document.schema.version)
            ", which `firstlight trace --format json` prints."
        }
    };
    frame(&format!("Trace {}", document.recording.file), &body)
}

fn header(document: &TraceDocument) -> Markup {
    let of = &document.recording;
    let versions: Vec<String> =
        of.versions.iter().map(|version| format!("{} {}", version.name, version.version)).collect();
    html! {
        header {
            h1 { (name(&of.file)) }
            p class="soft" {
                (of.format.name()) ", " (bytes(of.bytes)) ", " (count(of.events, "event")) " in "
                (duration(of.span_ns.as_f64()))
                @for device in &of.devices { ", " bdi { (device) } }
                @for version in &versions { ", " bdi { (version) } }
                @if let Some(levels) = of.tracer {
                    ", tracer levels: host " (levels.host) ", device " (levels.device) ", Python " (levels.python)
                }
            }
        }
    }
}

fn warnings(document: &TraceDocument) -> Markup {
    html! {
        @for finding in &document.findings {
            div class="finding" {
                p { strong { (finding.finding) } ": " (finding.text) "." }
                @if let Some(advice) = finding.finding.advice() { p { "→ " (advice) } }
            }
        }
        @for notice in &document.notices {
            div class="finding" { p { strong { (notice.name.name()) } ": " bdi { (notice.text) } } }
        }
    }
}

fn steps(document: &TraceDocument) -> Markup {
    let used: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| document.steps.iter().any(|step| step.part(*part).0 > 0))
        .collect();
    let steady: Vec<&Step> = document.steps.iter().filter(|step| step.is_steady()).collect();
    let left_out: Vec<&Step> =
        document.steps.iter().filter(|step| !step.compiled && step.left_out.is_some()).collect();
    let compiled: Vec<&Step> = document.steps.iter().filter(|step| step.compiled).collect();
    html! {
        section aria-labelledby="steps" {
            h2 id="steps" { "Steps" }
            ul class="legend" {
                @for part in &used { li { (step_swatch(*part)) (label(*part)) } }
            }
            (timelines("Steps that compiled nothing", "steady", &steady))
            (timelines("Steps that compiled", "compiled", &compiled))
            (timelines("Steps that are not whole, and in no median", "left-out", &left_out))
            details open {
                summary { "Numbers of the steps" }
                (numbers(document, &used))
            }
        }
    }
}

/// `compile, lower`; a bucket's namesake stands for itself.
fn label(part: Part) -> String {
    let bucket = part.bucket();
    if bucket.name() == part.name() {
        bucket.name().to_owned()
    } else {
        format!("{bucket}, {part}")
    }
}

fn timelines(title: &str, id: &str, steps: &[&Step]) -> Markup {
    if steps.is_empty() {
        return html! {};
    }
    let longest = steps.iter().map(|step| step.duration_ns.as_f64()).fold(1.0, f64::max);
    html! {
        h3 { (title) }
        p class="note" { "The whole width is " (duration(longest)) "." }
        ul class="rows" {
            @for (index, step) in steps.iter().take(MOST_STEPS).enumerate() {
                li {
                    div class="label" {
                        (name(&step.name)) " " (step.number) ": " (duration(step.duration_ns.as_f64()))
                    }
                    (step_bar(&format!("{id}-{index}"), step, longest))
                }
            }
        }
        @if steps.len() > MOST_STEPS {
            p class="note" { "And " (steps.len() - MOST_STEPS) " more, in the table." }
        }
    }
}

fn numbers(document: &TraceDocument, used: &[Part]) -> Markup {
    let names: Vec<String> = used.iter().map(|part| label(*part)).collect();
    let heads: Vec<Head<'_>> = [Head::Number("step"), Head::Number("wall")]
        .into_iter()
        .chain(names.iter().map(|name| Head::Number(name)))
        .chain([
            Head::Number("host outside"),
            Head::Number("hidden host"),
            Head::Number("gap before"),
        ])
        .collect();
    let number = |ns: f64| Cell::number(duration(ns), ns);
    let rows: Vec<Vec<Cell>> = document
        .steps
        .iter()
        .map(|step| {
            #[expect(clippy::cast_precision_loss, reason = "a key to sort by")]
            let key = step.number as f64;
            [Cell::number(step.number.to_string(), key), number(step.duration_ns.as_f64())]
                .into_iter()
                .chain(used.iter().map(|part| number(step.part(*part).as_f64())))
                .chain([
                    number(step.host_outside_ns.as_f64()),
                    number(step.overlapped_host_ns.as_f64()),
                    number(step.gap_ns.as_f64()),
                ])
                .collect()
        })
        .collect();
    let medians: Vec<Vec<Cell>> = document
        .steady
        .iter()
        .map(|row| {
            let what = match row.part {
                None => row.bucket.name().to_owned(),
                Some(part) => format!("… {part}"),
            };
            vec![
                Cell::text(&what),
                number(row.median.point),
                Cell::number(share(row.share), row.share),
            ]
        })
        .collect();
    html! {
        (table("The parts of each step, which sum to its wall time", Order::Sortable, &heads, &rows))
        @if !medians.is_empty() {
            (table(
                "Medians over the steps that compiled nothing",
                Order::Fixed,
                &[Head::Text("part"), Head::Number("median"), Head::Number("share")],
                &medians,
            ))
        }
    }
}

fn compilations(document: &TraceDocument) -> Markup {
    if document.compilations.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="compilations" {
            h2 id="compilations" { "Compilations" }
            @for one in &document.compilations {
                div class="finding" {
                    p {
                        strong { (name(&one.function)) } " "
                        @match one.turn { Turn::Again => "again", Turn::First => "for the first time", Turn::Unknown => "" }
                        @if let Some(step) = one.step { " in step " (step) } @else { " outside of all steps" }
                        ": " (duration(one.duration_ns.as_f64()))
                        @for row in &one.parts { ", " (row.part) " " (duration(row.ns.as_f64())) }
                    }
                    p { "Why: " bdi { (one.cause.text) } }
                }
            }
            @if !document.graph_breaks.is_empty() {
                h3 { "Graph breaks" }
                ul {
                    @for one in &document.graph_breaks {
                        li { bdi { (one.place) } ", compile id " (one.compile_id) ": " bdi { (one.reason) } }
                    }
                }
            }
        }
    }
}

fn host(document: &TraceDocument) -> Markup {
    let rows: Vec<Vec<Cell>> = document
        .frames
        .iter()
        .take(MOST_STEPS * 5)
        .map(|frame| {
            vec![
                Cell::Text(name(&frame.name)),
                Cell::number(duration(frame.inclusive_ns), frame.inclusive_ns),
                Cell::number(duration(frame.exclusive_ns), frame.exclusive_ns),
                whole(frame.count),
            ]
        })
        .collect();
    let heads = [
        Head::Text("event"),
        Head::Number("with calls"),
        Head::Number("alone"),
        Head::Number("times"),
    ];
    html! {
        section aria-labelledby="host" {
            h2 id="host" { "What the host did" }
            @if let Some(of) = &document.host_outside {
                p {
                    "Host outside of the compiled program: " strong { (duration(of.median.point)) }
                    " in the median steady step, waiting included; from " (duration(of.least_ns.as_f64()))
                    " to " (duration(of.most_ns.as_f64())) ", " (share(of.share)) " of the mean step."
                }
            }
            (wrappers(document))
            p class="note" { "Host time by event is without waiting, per steady step on average." }
            (table("Host time by event", Order::Sortable, &heads, &rows))
        }
    }
}

/// What a known wrapper does around the compiled program, phase by phase.
fn wrappers(document: &TraceDocument) -> Markup {
    let heads = [
        Head::Text("phase"),
        Head::Number("per step"),
        Head::Number("of the wrapper"),
        Head::Number("of the step"),
    ];
    let rows = |wrapper: &Wrapper| -> Vec<Vec<Cell>> {
        let row = |phase: &WrapperPhase| {
            let name = match &phase.within {
                Some(outer) => format!("… {} in {outer}", phase.name),
                None => phase.name.clone(),
            };
            vec![
                Cell::text(&name),
                Cell::number(duration(phase.host_ns), phase.host_ns),
                Cell::number(share(phase.share_of_wrapper), phase.share_of_wrapper),
                Cell::number(share(phase.share_of_step), phase.share_of_step),
            ]
        };
        wrapper.phases.iter().map(row).collect()
    };
    html! {
        @for wrapper in &document.wrappers {
            p {
                (name(&wrapper.name)) ": " (duration(wrapper.host_ns)) " of host time per steady step, "
                (share(wrapper.share)) " of it."
            }
            (table(&format!("Phases of {}", wrapper.name), Order::Fixed, &heads, &rows(wrapper)))
        }
    }
}

/// Programs with their longest operators, memory, and the skew between devices.
fn programs(document: &TraceDocument) -> Markup {
    if document.programs.is_empty() && document.memory.is_empty() && document.skew.is_none() {
        return html! {};
    }
    let number = |ns: f64| Cell::number(duration(ns), ns);
    let rows: Vec<Vec<Cell>> = document
        .programs
        .iter()
        .flat_map(|program| program.operators.iter().map(move |row| (program, row)))
        .map(|(program, row)| {
            vec![
                Cell::Text(name(&program.module)),
                Cell::Text(name(&row.name)),
                number(row.total_ns.as_f64()),
                Cell::number(share(row.share), row.share),
                whole(row.count),
            ]
        })
        .collect();
    let heads = [
        Head::Text("program"),
        Head::Text("operator"),
        Head::Number("total"),
        Head::Number("share"),
        Head::Number("count"),
    ];
    html! {
        section aria-labelledby="programs" {
            h2 id="programs" { "Programs" }
            @if let Some(skew) = &document.skew {
                p {
                    "Skew between devices: " strong { (duration(skew.median.point)) }
                    " from the first device that finishes a step to the last one, in the median steady step; "
                    bdi { (skew.last) } " is last in " (count(u64::from(skew.last_in), "step")) "."
                }
            }
            @for row in &document.memory {
                p {
                    "Memory of " bdi { (row.allocator) } ": at most " strong { (bytes(row.peak_bytes)) }
                    " in use, " (duration(row.peak_at_ns.as_f64())) " after the first event"
                    @if let Some(step) = row.peak_step { ", in step " (step) } "."
                }
            }
            @if !rows.is_empty() {
                (table("The ten longest operators of each program, with their share of it", Order::Sortable, &heads, &rows))
            }
        }
    }
}

fn events(document: &TraceDocument) -> Markup {
    let rows: Vec<Vec<Cell>> = document
        .events
        .iter()
        .take(MOST_STEPS * 5)
        .map(|row| {
            vec![
                Cell::Text(name(&row.name)),
                Cell::Word(html! { @if row.on_device { "device" } @else { "host" } }),
                Cell::number(duration(row.total_ns.as_f64()), row.total_ns.as_f64()),
                whole(row.count),
                Cell::number(duration(row.mean_ns), row.mean_ns),
            ]
        })
        .collect();
    let heads = [
        Head::Text("event"),
        Head::Text("on"),
        Head::Number("total"),
        Head::Number("count"),
        Head::Number("mean"),
    ];
    html! {
        section aria-labelledby="events" {
            h2 id="events" { "Events" }
            (table("Events of the whole recording by name", Order::Sortable, &heads, &rows))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a key to sort by")]
fn whole(count: u64) -> Cell {
    Cell::number(count.to_string(), count as f64)
}
