//! A trace as one HTML file: the answer, its steps and their positions, compilations and their causes, host
//! work, and every event by name.

use std::sync::LazyLock;

use firstlight_schema::trace::TraceDocument;
use maud::{Markup, html};

use super::trace_steps::{steps, timeline};
use super::trace_tables::{compilations, events, host, programs};
use super::{STYLE, frame_with, name};
use crate::words::format::{bytes, count, duration};
use crate::words::recording::versions;
use crate::words::trace::{Answer, answer, median_step};

/// The common rules and script of all pages, and those of this page.
static TRACE_STYLE: LazyLock<String> =
    LazyLock::new(|| [STYLE.as_str(), include_str!("trace.css")].concat());
const TRACE_SCRIPT: &str = include_str!("trace.js");

/// The whole page.
pub fn trace_page(document: &TraceDocument) -> String {
    let answer = answer(document);
    let body = html! {
        (header(document, &answer))
        nav aria-label="Contents" {
            ul {
                li { a href="#steps" { "Steps" } }
                li { a href="#timeline" { "Timeline" } }
                @if !document.compilations.is_empty() { li { a href="#compilations" { "Compilations" } } }
                li { a href="#host" { "Host" } }
                @if !document.programs.is_empty() { li { a href="#programs" { "Programs" } } }
                li { a href="#events" { "Events" } }
            }
        }
        main id="main" {
            (steps(document, &answer))
            (warnings(document))
            (timeline(document))
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
    frame_with(&answer.text.replace('`', ""), &body, &TRACE_STYLE, &[TRACE_SCRIPT])
}

fn header(document: &TraceDocument, answer: &Answer) -> Markup {
    let recording = &document.recording;
    let versions = versions(recording);
    let steady = median_step(document).filter(|_| answer.step.is_some());
    html! {
        header {
            h1 class="answer" { (with_code(&answer.text)) "." }
            @if let Some(step) = steady {
                p { "A steady step takes " strong { (duration(step.duration_ns.as_f64())) } "." }
            }
            p class="soft" {
                (name(&recording.file)) ": "
                (recording.format.name()) ", " (bytes(recording.bytes)) ", " (count(recording.events, "event")) " in "
                (duration(recording.span_ns.as_f64()))
                @for device in &recording.devices { ", " bdi { (device) } }
                @for version in &versions { ", " bdi { (version) } }
                @if let Some(levels) = recording.tracer {
                    ", tracer levels: host " (levels.host) ", device " (levels.device) ", Python " (levels.python)
                }
            }
        }
    }
}

/// Text between backquotes becomes code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (index, piece) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (name(piece)) } } @else { bdi { (piece) } }
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
