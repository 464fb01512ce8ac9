//! A case's page: its history in every regime, then every snapshot with its verdict.

use firstlight_plot::palette::Cast;
use firstlight_schema::site::Figure;
use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::timeline::{Entry, Timeline, why};
use super::{Site, links, machine, time, when};
use crate::html::table::{Cell, Head, Order, table};
use crate::html::verdicts::badge;
use crate::html::{frame, glossary, name};
use crate::svg::{Break, HistoryChart, key};
use crate::words::verdict::times;

const HEADS: [Head<'static>; 10] = [
    Head::Text("snapshot"),
    Head::Number("machine"),
    Head::Text("arm"),
    Head::Text("regime"),
    Head::Number("time"),
    Head::Text("interval"),
    Head::Number("processes"),
    Head::Text("against the one before"),
    Head::Number("ratio"),
    Head::Text("what to know"),
];

pub(super) fn page(all: &Site<'_>, suite: &str, case: &str) -> String {
    let timeline = Timeline::new(all, suite, case);
    let looks = all.cast(suite);
    let breaks = timeline.breaks();
    let body = html! {
        header {
            h1 { (name(case)) }
            p class="soft" { "A case of " (name(suite)) ", through time" }
            @for line in sizes(&timeline) { p class="soft" { (name(line)) } }
        }
        nav aria-label="Contents" {
            ul {
                li { a href=(links::HOME) { "All suites" } }
                li { a href="#history" { "History" } }
                li { a href="#machines" { "Machines" } }
                li { a href="#snapshots" { "Snapshots" } }
                li { a href="#glossary" { "Glossary" } }
            }
        }
        main id="main" {
            (history(&timeline, &breaks, &looks))
            (machines(&timeline))
            (snapshots(all, &timeline))
            (glossary::glossary())
        }
        (all.footer())
    };
    frame(&format!("{case}, {suite}"), &body)
}

/// Sizes and element types in the newest snapshot that has them.
fn sizes<'a>(timeline: &Timeline<'a>) -> &'a [String] {
    let known = timeline.entries.iter().rev().map(|entry| entry.case.arrays.as_slice());
    known.into_iter().find(|lines| !lines.is_empty()).unwrap_or_default()
}

fn history(timeline: &Timeline<'_>, breaks: &[Break], cast: &Cast) -> Markup {
    let days = timeline.days();
    html! {
        section aria-labelledby="history" {
            h2 id="history" { "History" }
            p class="note" {
                "Each point is a snapshot with its interval. Points are joined while the machine, the suite's files and firstlight's version stay the same. Hollow points are of other machines than the first."
            }
            ul class="legend" {
                @for arm in &timeline.arms { li { (key(cast, arm)) (name(arm)) } }
            }
            @for regime in Regime::ALL {
                @let lines = timeline.lines(regime);
                @let id = format!("history-{}", regime.name());
                @let title = format!("Time in the regime {regime}, over snapshots");
                @let chart = HistoryChart {
                    id: &id, title: &title, lines: &lines, cast, what: what(regime), breaks, days: &days,
                };
                @if let Some(picture) = chart.draw() {
                    figure { figcaption { strong { (glossary::term(regime.name())) } } (picture) }
                }
            }
            @if !breaks.is_empty() {
                h3 { "Where lines are broken" }
                ul { @for one in breaks { li { bdi { (one.why) } } } }
            }
        }
    }
}

pub(super) fn what(regime: Regime) -> &'static str {
    match regime {
        Regime::Warm => "time per call",
        Regime::ColdClean | Regime::ColdPrimed => "time to first result",
        Regime::Fresh => "wall time",
    }
}

fn machines(timeline: &Timeline<'_>) -> Markup {
    html! {
        section aria-labelledby="machines" {
            h2 id="machines" { "Machines" }
            ol { @for first in &timeline.machines { li { bdi { (machine(first)) } } } }
        }
    }
}

fn snapshots(site: &Site<'_>, timeline: &Timeline<'_>) -> Markup {
    let rows: Vec<Vec<Cell>> = timeline
        .entries
        .iter()
        .rev()
        .flat_map(|entry| entry.case.figures.iter().map(|figure| row(site, entry, figure)))
        .collect();
    html! {
        section aria-labelledby="snapshots" {
            h2 id="snapshots" { "Snapshots" }
            p class="note" {
                "The ratio is the time divided by that of the previous snapshot on the same machine, with its 95 % interval. The two were not interleaved, so it includes whatever else changed between them."
            }
            (table("Every snapshot of this case, the newest first", Order::Sortable, &HEADS, &rows))
        }
    }
}

fn row(site: &Site<'_>, entry: &Entry<'_>, figure: &Figure) -> Vec<Cell> {
    let snapshot = entry.snapshot;
    let step = site.step(entry.place, &entry.case.name, figure);
    let ratio = step.and_then(|step| step.comparison.ratio);
    let before = step.map(|step| &site.snapshots[step.before]);
    let verdict = html! {
        @if let Some((step, before)) = step.zip(before) {
            (badge(&step.comparison)) " "
            a href={ "../" (links::snapshot_path(&before.id)) } { (when(before)) }
        } @else { "the first" }
    };
    let mut notes: Vec<String> = Vec::new();
    notes.extend((!entry.changes.is_empty()).then(|| why(&entry.changes)));
    notes.extend((!snapshot.complete).then(|| "the run is not complete".to_owned()));
    notes.extend(step.and_then(|step| step.comparison.why.clone()));
    let [time, interval] = time(figure);
    vec![
        Cell::Text(
            html! { a href={ "../" (links::snapshot_path(&snapshot.id)) } { (when(snapshot)) } },
        ),
        Cell::number((entry.machine + 1).to_string(), crate::svg::real(entry.machine)),
        Cell::Text(name(&figure.arm)),
        Cell::Word(html! { (figure.regime) }),
        time,
        interval,
        Cell::number(figure.times.len().to_string(), crate::svg::real(figure.times.len())),
        Cell::Word(verdict),
        Cell::Number(
            ratio.map_or_else(String::new, |ratio| super::index::ratio(&ratio, times)),
            ratio.map(|ratio| ratio.point),
        ),
        Cell::Long(html! { bdi { (notes.join("; ")) } }),
    ]
}
