//! Two traces as one HTML file: a waterfall from one wall time to the other, the buckets behind it, and host
//! work.

use firstlight_schema::trace::Bucket;
use firstlight_schema::trace_comparison::{ComparedTrace, Row, TraceComparisonDocument};
use maud::{Markup, html};

use super::table::{Cell, Head, Order, table};
use super::{frame, name};
use crate::svg::Fall;
use crate::words::format::{bytes, count, difference, duration};
use crate::words::recording::versions;
use crate::words::trace::sides;

/// Further frames hardly differ.
const MOST_FRAMES: usize = 200;

/// The whole page.
pub fn trace_comparison_page(document: &TraceComparisonDocument) -> String {
    let (first, second) = sides(document);
    let body = html! {
        header {
            h1 { (answer(document)) }
            dl class="facts" {
                dt { (name(&first)) } dd { (side(&document.first)) }
                dt { (name(&second)) } dd { (side(&document.second)) }
            }
            @if let Some(aligned) = document.aligned_steps {
                p class="note" {
                    (count(aligned.into(), "step")) " with the same number on both sides, compared in pairs."
                }
            }
        }
        nav aria-label="Contents" {
            ul {
                li { a href="#waterfall" { "Waterfall" } }
                li { a href="#buckets" { "Buckets" } }
                @if !document.frames.is_empty() { li { a href="#host" { "Host" } } }
            }
        }
        main id="main" {
            (warnings(document))
            (waterfall(document))
            (buckets(document))
            (host(document))
        }
        footer {
            "Made by firstlight " (document.firstlight.version) " from the document "
            (document.schema.name) " " (document.schema.version)
            ", which `firstlight trace --against --format json` prints."
        }
    };
    frame("Where two recordings differ", &body)
}

/// The difference of a steady step, with its interval.
fn answer(document: &TraceComparisonDocument) -> Markup {
    let Some(wall) = &document.wall else {
        return html! { "A side has no steady step, so there is nothing to compare" };
    };
    let (first, second) = sides(document);
    let interval = wall.difference.interval.map(|interval| {
        format!(" ({} to {})", difference(interval.low), difference(interval.high))
    });
    html! {
        "A steady step of " (name(&second)) " takes " (duration(wall.second_ns)) ": "
        (difference(wall.second_ns - wall.first_ns)) (interval.unwrap_or_default()) " against " (name(&first))
    }
}

fn side(trace: &ComparedTrace) -> Markup {
    let recording = &trace.recording;
    html! {
        (name(&recording.file)) ": " (recording.format.name()) ", " (bytes(recording.bytes)) ", "
        (count(trace.steps.into(), "step")) ", " (trace.steady_steps) " of them steady"
        @for device in &recording.devices { ", " bdi { (device) } }
        @for version in versions(recording) { ", " bdi { (version) } }
        @if let Some(levels) = recording.tracer {
            ", tracer levels: host " (levels.host) ", device " (levels.device) ", Python " (levels.python)
        }
    }
}

fn warnings(document: &TraceComparisonDocument) -> Markup {
    html! {
        @for reason in &document.not_comparable {
            div class="finding" { p { strong { "not comparable" } ": " bdi { (reason) } } }
        }
        @for finding in &document.findings {
            div class="finding" {
                p { strong { (finding.finding) } ": " (finding.text) "." }
                @if let Some(advice) = finding.finding.advice() { p { "→ " (advice) } }
            }
        }
    }
}

fn waterfall(document: &TraceComparisonDocument) -> Markup {
    let Some(wall) = &document.wall else {
        return html! {
            section aria-labelledby="waterfall" {
                h2 id="waterfall" { "Waterfall" }
                p class="warning" { "A side has no steady step, so there is nothing to compare." }
            }
        };
    };
    let (first, second) = sides(document);
    let select = |fall: &firstlight_schema::trace_comparison::Fall| {
        let label = fall.bucket.map_or("rest: medians do not add up", Bucket::name);
        (label, Fall::By { bucket: fall.bucket, from: fall.from_ns, by: fall.by_ns })
    };
    let rows: Vec<(&str, Fall)> = std::iter::once((first.as_str(), Fall::Wall(wall.first_ns)))
        .chain(document.waterfall.iter().map(select))
        .chain([(second.as_str(), Fall::Wall(wall.second_ns))])
        .collect();
    let most = Fall::farthest(&rows.iter().map(|(_, fall)| *fall).collect::<Vec<Fall>>());
    html! {
        section aria-labelledby="waterfall" {
            h2 id="waterfall" { "Waterfall" }
            p {
                "From " (name(&first)) " to " (name(&second)) ": the rows between them sum to "
                strong { (difference(wall.second_ns - wall.first_ns)) } "."
            }
            p class="note" { "Medians over steady steps; the whole width is " (duration(most)) "." }
            ul class="rows" {
                @for (index, (label, fall)) in rows.iter().enumerate() {
                    li {
                        div class="label" {
                            (name(label)) ": "
                            @match fall {
                                Fall::Wall(ns) => { (duration(*ns)) },
                                Fall::By { by, .. } => { (difference(*by)) },
                            }
                        }
                        (fall.draw(&format!("fall-{index}"), label, most, index + 1 == rows.len()))
                    }
                }
            }
        }
    }
}

fn buckets(document: &TraceComparisonDocument) -> Markup {
    let row = |what: String, row: &Row| {
        let interval = row.difference.interval.map_or_else(
            || "too few steps".to_owned(),
            |interval| format!("{} to {}", difference(interval.low), difference(interval.high)),
        );
        vec![
            Cell::text(&what),
            Cell::number(duration(row.first_ns), row.first_ns),
            Cell::number(duration(row.second_ns), row.second_ns),
            Cell::number(difference(row.difference.point), row.difference.point),
            Cell::text(&interval),
        ]
    };
    let label = |row: &Row| match (row.bucket, row.part) {
        (None, _) => "wall".to_owned(),
        (Some(bucket), None) => bucket.name().to_owned(),
        (Some(_), Some(part)) => format!("… {part}"),
    };
    let outside = document
        .host_outside
        .iter()
        .map(|one| row("host outside of the compiled program: wait and host".to_owned(), one));
    let rows: Vec<Vec<Cell>> = document
        .wall
        .iter()
        .chain(&document.buckets)
        .map(|one| row(label(one), one))
        .chain(outside)
        .collect();
    let (first, second) = sides(document);
    let heads = [
        Head::Text("bucket"),
        Head::Number(&first),
        Head::Number(&second),
        Head::Number("difference"),
        Head::Text("95 % interval"),
    ];
    html! {
        section aria-labelledby="buckets" {
            h2 id="buckets" { "Buckets" }
            (table("Medians over the steps without a compilation", Order::Fixed, &heads, &rows))
        }
    }
}

fn host(document: &TraceComparisonDocument) -> Markup {
    if document.frames.is_empty() {
        return html! {};
    }
    let rows: Vec<Vec<Cell>> = document
        .frames
        .iter()
        .take(MOST_FRAMES)
        .map(|row| {
            let by = row.second_ns - row.first_ns;
            vec![
                Cell::Text(name(&row.name)),
                Cell::number(duration(row.first_ns), row.first_ns),
                Cell::number(duration(row.second_ns), row.second_ns),
                Cell::number(difference(by), by),
            ]
        })
        .collect();
    let (first, second) = sides(document);
    let heads = [
        Head::Text("event"),
        Head::Number(&first),
        Head::Number(&second),
        Head::Number("difference"),
    ];
    html! {
        section aria-labelledby="host" {
            h2 id="host" { "What the host did" }
            p class="note" { "Outside of the compiled program, per steady step on average." }
            (table("Host time by event", Order::Sortable, &heads, &rows))
        }
    }
}
