//! The tables of a trace's page: compilations and their causes, host work, programs with their operators and
//! memory, and every event by name.

use firstlight_schema::trace::{ProgramRow, TraceDocument, Turn, Wrapper, WrapperPhase};
use maud::{Markup, html};

use super::name;
use super::table::{Cell, Head, Order, table};
use crate::words::format::{bytes, count, duration, share};

/// The largest number of rows of a table.
const MOST_ROWS: usize = 300;

pub(super) fn compilations(document: &TraceDocument) -> Markup {
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
                        @match one.turn { Turn::Again => "recompiled", Turn::First => "compiled for the first time", Turn::Unknown => "compiled" }
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

pub(super) fn host(document: &TraceDocument) -> Markup {
    let rows: Vec<Vec<Cell>> = document
        .frames
        .iter()
        .take(MOST_ROWS)
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
        Head::Number("inclusive"),
        Head::Number("exclusive"),
        Head::Number("times"),
    ];
    html! {
        section aria-labelledby="host" {
            h2 id="host" { "What the host did" }
            @if let Some(outside) = &document.host_outside {
                p {
                    "Host outside of the compiled program: " strong { (duration(outside.median.point)) }
                    " in the median steady step, waiting included; from " (duration(outside.least_ns.as_f64()))
                    " to " (duration(outside.most_ns.as_f64())) ", " (share(outside.share)) " of the mean step."
                }
            }
            (wrappers(document))
            p class="note" { "Host time by event, without waiting, as the mean over steady steps." }
            (table("Host time by event", Order::Sortable, &heads, &rows))
        }
    }
}

/// The phases of a known wrapper around the compiled program.
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
pub(super) fn programs(document: &TraceDocument) -> Markup {
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
            (program_memory(document))
            @if !rows.is_empty() {
                (table("The ten longest operators of each program, with their share of it", Order::Sortable, &heads, &rows))
            }
        }
    }
}

/// The memory of each program on its device.
fn program_memory(document: &TraceDocument) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "a key to sort by")]
    let size = |size: u64| Cell::number(bytes(size), size as f64);
    let title = |program: &ProgramRow| {
        let number = program.program.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
        format!("{}{number}", program.module)
    };
    let planned = document.programs.iter().filter_map(|program| {
        let memory = program.memory?;
        Some(vec![
            Cell::Text(name(&title(program))),
            size(memory.arguments_bytes),
            size(memory.outputs_bytes),
            size(memory.constants_bytes),
            size(memory.temporaries_bytes),
            size(memory.total()),
        ])
    });
    let measured = document.programs.iter().filter_map(|program| {
        Some(vec![Cell::Text(name(&title(program))), size(program.peak_bytes?)])
    });
    let (planned, measured): (Vec<Vec<Cell>>, Vec<Vec<Cell>>) =
        (planned.collect(), measured.collect());
    let heads = [
        Head::Text("program"),
        Head::Number("arguments"),
        Head::Number("outputs"),
        Head::Number("constants"),
        Head::Number("temporaries"),
        Head::Number("total"),
    ];
    html! {
        @if !planned.is_empty() {
            (table("Memory that each program's compiler reserved for a run", Order::Sortable, &heads, &planned))
        }
        @if !measured.is_empty() {
            (table(
                "The most memory in use inside each compiled region",
                Order::Sortable,
                &[Head::Text("region"), Head::Number("peak")],
                &measured,
            ))
        }
    }
}

pub(super) fn events(document: &TraceDocument) -> Markup {
    let rows: Vec<Vec<Cell>> = document
        .events
        .iter()
        .take(MOST_ROWS)
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
