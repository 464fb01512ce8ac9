//! A run as one self-contained HTML file: it loads nothing, and text of a suite or a workload is always
//! escaped.

mod arm;
mod break_even;
mod card;
mod case;
mod findings;
pub(crate) mod glossary;
mod imports;
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
mod trace_steps;
mod trace_tables;
pub(crate) mod verdicts;
mod warm;

use std::sync::LazyLock;

use firstlight_schema::run::RunDocument;
use firstlight_schema::suite_trace::SuiteTraceDocument;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::model::Model;
use crate::svg::{looks, phases};
use crate::words::format::is_invisible;
use crate::words::machine::machine;

pub use trace::trace_page;
pub use trace_comparison::trace_comparison_page;

/// The common rules of all pages, and the colours of phases and arms.
pub(crate) static STYLE: LazyLock<String> =
    LazyLock::new(|| [include_str!("style.css"), &phases::rules(), &looks::rules()].concat());
const SCRIPT: &str = include_str!("script.js");

/// The data of a page besides the document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'a> {
    /// The address of the site's first page, if the page is part of a site.
    pub home: Option<&'a str>,
    /// The question that the suite answers.
    pub question: Option<&'a str>,
    /// The cost of recording for the arms.
    pub traced: Option<&'a SuiteTraceDocument>,
    /// All arms that the suite declares, selected or not, so that they keep their looks.
    pub declared: &'a [String],
    /// The snapshot of the page.
    pub seal: Option<Seal<'a>>,
}

/// Facts about a snapshot as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Seal<'a> {
    pub id: &'a str,
    /// Whether every rule of `firstlight verify` passed when the page was created.
    pub verified: bool,
}

/// The whole page.
pub fn page(document: &RunDocument, around: Around<'_>) -> String {
    let model = Model::beside(document, around.declared);
    let body = html! {
        (header(&model, around))
        (contents(&model, around))
        main id="main" { (results(&model, around.traced)) }
        footer {
            "Made by firstlight " (document.firstlight.version) " from the document "
            (document.schema.name) " " (document.schema.version)
            ". Every number is in its result.json, every reading in raw.jsonl beside it."
        }
    };
    frame(&model.title(), &body)
}

/// The common parts of every page: the policy, the style, the script, and a link that skips the contents.
pub(crate) fn frame(title: &str, body: &Markup) -> String {
    frame_with(title, body, &STYLE, &[])
}

/// The same with additional style and scripts.
pub(crate) fn frame_with(title: &str, body: &Markup, style: &str, more: &[&'static str]) -> String {
    let scripts = [&[SCRIPT], more].concat();
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, style, &scripts))
            body {
                a class="skip" href="#main" { "Skip to the results" }
                (body)
                @for script in &scripts { script { (PreEscaped(script)) } }
            }
        }
    }
    .into_string()
}

fn head(title: &str, style: &str, scripts: &[&str]) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy::policy(style, scripts));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            title { (title.replace(is_invisible, " ")) }
            style { (PreEscaped(style)) }
        }
    }
}

fn header(model: &Model<'_>, around: Around<'_>) -> Markup {
    let document = model.document;
    let day = document.created.get(..10).unwrap_or(&document.created);
    html! {
        header {
            div class="top" {
                h1 { (title(model)) }
                p class="soft" {
                    (machine(document)) ", " time datetime=(document.created) { (day) }
                    @if let Some(python) = &document.environment.python { ", " (python) }
                }
            }
            @if let Some(question) = around.question { p class="question" { (question) } }
            @if let Some(control) = &document.control { (verdicts::control(control)) }
            @if let Some(Seal { id, verified }) = around.seal {
                p class="seal" {
                    @if verified { (verdicts::badge_of("v-faster", "verified ✓")) }
                    @else { (verdicts::badge_of("v-slower", "verification failed")) }
                    " " (glossary::term("snapshot")) " " code { (id) }
                }
            }
            @if !document.complete {
                p class="warning" { "This run ended before all requested samples were taken." }
            }
        }
    }
}

/// The suite, or the command if there is only one.
fn title(model: &Model<'_>) -> Markup {
    match model.only_command() {
        Some(command) => html! { code { (command) } },
        None => name(&model.document.suite),
    }
}

fn contents(model: &Model<'_>, around: Around<'_>) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                @if let Some(home) = around.home { li { a href=(home) { "All suites" } } }
                @for case in &model.cases {
                    li { a href={ "#" (case.anchor) } { (name(&case.of.name)) } }
                }
                li { a href="#verdicts" { "Verdicts" } }
                @if !model.document.sweeps.is_empty() { li { a href="#sweeps" { "Sweeps" } } }
                @if around.traced.is_some() { li { a href="#recording" { "Cost of recording" } } }
                li { a href="#conditions" { "Conditions" } }
                li { a href="#glossary" { "Glossary" } }
            }
        }
    }
}

fn results(model: &Model<'_>, traced: Option<&SuiteTraceDocument>) -> Markup {
    html! {
        @for case in &model.cases { (case::case(case)) }
        (verdicts::overview(model))
        (sweeps::sweeps(model))
        @if let Some(traced) = traced { (recording::recording(traced)) }
        (manifest::manifest(model))
        (glossary::glossary())
    }
}

/// A name of unknown writing direction, which does not affect the text around it.
pub(crate) fn name(text: &str) -> Markup {
    html! {
        bdi { @if text.is_empty() { "(no name)" } @else { (text) } }
    }
}

/// A sentence in which text between backticks is code.
pub(crate) fn coded(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
