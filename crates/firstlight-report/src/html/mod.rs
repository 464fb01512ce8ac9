//! A run as one HTML file: no other file is needed, nothing is fetched, and what a suite or a
//! workload wrote is text wherever it stands.

mod arm;
mod break_even;
mod case;
mod findings;
mod ledger;
mod manifest;
mod memory;
mod policy;
mod processes;
mod recording;
mod sweeps;
pub(crate) mod table;
mod trace;
mod trace_comparison;
pub(crate) mod verdicts;
mod warm;

use firstlight_schema::run::RunDocument;
use firstlight_schema::suite_trace::SuiteTraceDocument;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::format::bytes;
use crate::model::Model;

pub use trace::trace_page;
pub use trace_comparison::trace_comparison_page;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The whole page.
pub fn page(document: &RunDocument) -> String {
    page_below(None, document, None)
}

/// The page as part of a site, whose first page is at that address; with what recording cost the arms,
/// where that is known.
pub fn page_below(
    home: Option<&str>,
    document: &RunDocument,
    traced: Option<&SuiteTraceDocument>,
) -> String {
    let model = Model::new(document);
    let body = html! {
        (header(document))
        (contents(&model, home, traced.is_some()))
        main id="main" { (results(&model, traced)) }
        footer {
            "Made by firstlight " (document.firstlight.version) " from the document "
            (document.schema.name) " " (document.schema.version)
            ". Every number is in its result.json, every reading in raw.jsonl beside it."
        }
    };
    frame(&model.title(), &body)
}

/// What every page shares: the policy, the style, the script, and a way past the contents.
pub(crate) fn frame(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a class="skip" href="#main" { "Skip to the results" }
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy::policy(STYLE, SCRIPT));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn header(document: &RunDocument) -> Markup {
    let machine = &document.machine;
    let unknown = || "unknown".to_owned();
    html! {
        header {
            h1 { (name(&document.suite)) }
            p class="soft" {
                (document.created) ", " (machine.cpu.clone().unwrap_or_else(|| "unknown processor".to_owned()))
                ", " (machine.cores.map_or_else(unknown, |cores| cores.to_string())) " cores, "
                (machine.memory_bytes.map_or_else(unknown, bytes)) ", Linux "
                (machine.kernel.clone().unwrap_or_else(unknown))
                @if let Some(python) = &document.environment.python { ", " (python) }
            }
            @if !document.complete {
                p class="warning" { "This run did not take all the samples it was asked for." }
            }
        }
    }
}

fn contents(model: &Model<'_>, home: Option<&str>, traced: bool) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                @if let Some(home) = home { li { a href=(home) { "All suites" } } }
                li { a href="#verdicts" { "Verdicts" } }
                @for (index, case) in model.cases.iter().enumerate() {
                    li { a href={ "#case-" (index) } { (name(&case.of.name)) } }
                }
                @if !model.document.sweeps.is_empty() { li { a href="#sweeps" { "Sweeps" } } }
                @if traced { li { a href="#recording" { "What recording costs" } } }
                li { a href="#conditions" { "Conditions" } }
            }
        }
    }
}

fn results(model: &Model<'_>, traced: Option<&SuiteTraceDocument>) -> Markup {
    html! {
        (verdicts::overview(model))
        @for (index, case) in model.cases.iter().enumerate() { (case::case(index, case)) }
        (sweeps::sweeps(model.document))
        @if let Some(traced) = traced { (recording::recording(traced)) }
        (manifest::manifest(model))
    }
}

/// A name that somebody chose: its direction of writing stays its own.
pub(crate) fn name(of: &str) -> Markup {
    html! {
        bdi { @if of.is_empty() { "(no name)" } @else { (of) } }
    }
}
