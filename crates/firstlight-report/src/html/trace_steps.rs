//! The steps of a trace's page: as columns, one of them beside a steady one, along the recording, and as
//! numbers.

use firstlight_schema::trace::{Part, Step, TraceDocument};
use maud::{Markup, html};

use super::name;
use super::table::{Cell, Head, Order, table};
use crate::svg::{Extent, memory_line, recording_strip, step_bar, step_columns, step_swatch};
use crate::words::format::{bytes, difference, duration, share};
use crate::words::trace::{Answer, left_out, median_step};

/// More timelines than this add no information.
const MOST_STEPS: usize = 60;

pub(super) fn steps(document: &TraceDocument, answer: &Answer) -> Markup {
    let used = used(document);
    let longest = document.steps.iter().map(|step| step.duration_ns.as_f64()).fold(0.0, f64::max);
    html! {
        section aria-labelledby="steps" {
            h2 id="steps" { "Steps" }
            (step_columns("columns", &document.steps, answer.step))
            p class="note" {
                "Each column is a step, in order; the tallest takes " (duration(longest)) "."
                @for words in left_out(document) { " " (sentence(&words)) }
            }
            ul class="legend" {
                @for part in &used { li { (step_swatch(*part)) (label(*part)) } }
            }
            @if let Some(place) = answer.step { (beside_steady(document, &document.steps[place])) }
        }
    }
}

/// Begins with a capital letter and ends with a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn used(document: &TraceDocument) -> Vec<Part> {
    let any = |part: &Part| document.steps.iter().any(|step| step.part(*part).0 > 0);
    Part::ALL.into_iter().filter(any).collect()
}

/// The ledger of one step next to that of a steady one.
fn beside_steady(document: &TraceDocument, step: &Step) -> Markup {
    let Some(steady) = median_step(document) else { return html! {} };
    let rows: Vec<Vec<Cell>> = Part::ALL
        .into_iter()
        .map(|part| (part, step.part(part).as_f64(), steady.part(part).as_f64()))
        .filter(|(_, one, other)| *one > 0.0 || *other > 0.0)
        .map(|(part, one, other)| ledger_row(&label(part), one, other))
        .chain([ledger_row("wall", step.duration_ns.as_f64(), steady.duration_ns.as_f64())])
        .collect();
    let number = format!("step {}", step.number);
    let other = format!("step {} (steady)", steady.number);
    let heads = [
        Head::Text("part"),
        Head::Number(&number),
        Head::Number(&other),
        Head::Number("difference"),
    ];
    html! {
        h3 { "Step " (step.number) " beside a steady step" }
        p class="note" { "Each bar is scaled to its own step." }
        ul class="rows" {
            @for (id, own) in [("ledger-one", step), ("ledger-steady", steady)] {
                li {
                    div class="label" { "step " (own.number) ": " (duration(own.duration_ns.as_f64())) }
                    (step_bar(id, own, own.duration_ns.as_f64().max(1.0)))
                }
            }
        }
        (table("The parts of both steps, which sum to their wall times", Order::Fixed, &heads, &rows))
    }
}

fn ledger_row(what: &str, one: f64, other: f64) -> Vec<Cell> {
    vec![
        Cell::text(what),
        Cell::number(duration(one), one),
        Cell::number(duration(other), other),
        Cell::number(difference(one - other), one - other),
    ]
}

/// `compile, lower`; a part with its bucket's name stands alone.
fn label(part: Part) -> String {
    let bucket = part.bucket();
    if bucket.name() == part.name() {
        bucket.name().to_owned()
    } else {
        format!("{bucket}, {part}")
    }
}

/// The steps along the recording, the memory over the same time, and each step separately.
pub(super) fn timeline(document: &TraceDocument) -> Markup {
    if document.steps.is_empty() {
        return html! {};
    }
    let all = &document.steps;
    let steady: Vec<&Step> = all.iter().filter(|step| step.is_steady()).collect();
    let compiled: Vec<&Step> = all.iter().filter(|step| step.compiled).collect();
    let left_out: Vec<&Step> =
        all.iter().filter(|step| !step.compiled && step.left_out.is_some()).collect();
    let extent = Extent::new(all);
    html! {
        section aria-labelledby="timeline" {
            h2 id="timeline" { "Timeline" }
            div class="zoomable" {
                div class="scroll" role="region" aria-label="Timeline of the recording" tabindex="0" {
                    div {
                        (recording_strip("strip", all, &extent))
                        @if let Some(row) = document.memory.first() { (memory_line("memory", row, &extent)) }
                    }
                }
                p class="note" {
                    "The whole width is " (duration(extent.nanoseconds())) ", from the first step to the end of the last."
                    @if let Some(row) = document.memory.first() {
                        " Below it is the memory of " bdi { (row.allocator) } ", at most " (bytes(row.peak_bytes)) "."
                    }
                }
            }
            (timelines(document, "Steps that compiled", "compiled", &compiled))
            (timelines(document, "Steps without a compilation", "steady", &steady))
            (timelines(document, "Steps that are in no median", "left-out", &left_out))
            details open {
                summary { "Numbers of the steps" }
                (numbers(document, &used(document)))
            }
        }
    }
}

fn timelines(document: &TraceDocument, title: &str, id: &str, steps: &[&Step]) -> Markup {
    if steps.is_empty() {
        return html! {};
    }
    let longest = steps.iter().map(|step| step.duration_ns.as_f64()).fold(1.0, f64::max);
    html! {
        h3 { (title) }
        p class="note" { "The whole width is " (duration(longest)) "." }
        ul class="rows" {
            @for (index, step) in steps.iter().take(MOST_STEPS).enumerate() {
                li data-number=(step.number) data-words=(words(document, step)) {
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

/// The text for searching a step: its name, its compilations and their causes.
fn words(document: &TraceDocument, step: &Step) -> String {
    let mut words = format!("{} {}", step.name, if step.compiled { "compiled" } else { "steady" });
    for one in document.compilations.iter().filter(|one| one.step == Some(step.number)) {
        for more in [&one.function, &one.cause.text] {
            words.push(' ');
            words.push_str(more);
        }
    }
    words.to_lowercase()
}

fn numbers(document: &TraceDocument, used: &[Part]) -> Markup {
    let names: Vec<String> = used.iter().map(|part| label(*part)).collect();
    let has_memory = document.steps.iter().any(|step| step.peak_bytes.is_some());
    let heads: Vec<Head<'_>> = [Head::Number("step"), Head::Number("wall")]
        .into_iter()
        .chain(names.iter().map(|name| Head::Number(name)))
        .chain([
            Head::Number("host outside"),
            Head::Number("hidden host"),
            Head::Number("gap before"),
        ])
        .chain(has_memory.then_some(Head::Number("peak memory")))
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
                .chain(has_memory.then(|| memory(step.peak_bytes)))
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
                "Medians over the steps without a compilation",
                Order::Fixed,
                &[Head::Text("part"), Head::Number("median"), Head::Number("share")],
                &medians,
            ))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a key to sort by")]
fn memory(peak: Option<u64>) -> Cell {
    let key = peak.map(|peak| peak as f64);
    Cell::Number(peak.map_or_else(|| "unknown".to_owned(), bytes), key)
}
