//! The first page: what got slower, the newest result of everything, all snapshots, what was refused.

use std::collections::BTreeMap;

use firstlight_schema::estimate::Estimate;
use firstlight_schema::site::{Figure, Published, Step};
use maud::{Markup, html};

use super::timeline::{changes, why};
use super::{Site, links, machine, time, when};
use crate::html::table::{Cell, Head, Order, table};
use crate::html::verdicts::badge;
use crate::html::{frame, name};
use crate::words::format::count;
use crate::words::verdict::times;

pub(super) fn page(site: &Site<'_>) -> String {
    let suites = newest(site);
    let body = html! {
        header {
            h1 { "Results" }
            p class="soft" {
                (count(site.snapshots.len() as u64, "snapshot")) " of " (count(suites.len() as u64, "suite"))
                @if !site.refused.is_empty() { ", " (site.refused.len()) " refused" }
            }
        }
        nav aria-label="Contents" {
            ul {
                li { a href="#regressions" { "Regressions" } }
                @for (index, suite) in suites.keys().enumerate() {
                    li { a href={ "#suite-" (index) } { (name(suite)) } }
                }
                li { a href="#snapshots" { "Snapshots" } }
                @if !site.refused.is_empty() { li { a href="#refused" { "Refused" } } }
            }
        }
        main id="main" {
            (regressions(site))
            @for (index, (suite, rows)) in suites.into_iter().enumerate() {
                (newest_of(index, suite, &rows))
            }
            (snapshots(site))
            (refused(site))
        }
        (site.footer())
    };
    frame("Results", &body)
}

fn regressions(site: &Site<'_>) -> Markup {
    const HEADS: [Head<'static>; 8] = [
        Head::Text("case"),
        Head::Text("suite"),
        Head::Text("arm"),
        Head::Text("regime"),
        Head::Number("ratio"),
        Head::Text("snapshot"),
        Head::Text("before it"),
        Head::Text("machine, and what else changed"),
    ];
    let rows: Vec<Vec<Cell>> = site.regressions().map(|step| regression(site, step)).collect();
    html! {
        section aria-labelledby="regressions" {
            h2 id="regressions" { "Regressions" }
            @if rows.is_empty() {
                p { "Nothing is known to be slower than in the snapshot before it on the same machine." }
            } @else {
                p class="note" {
                    "Slower than in the snapshot before it on the same machine, by more than the case's margin: the whole 95 % interval of the ratio lies above it."
                }
                (table("What got slower, the newest first", Order::Sortable, &HEADS, &rows))
            }
        }
    }
}

fn regression(site: &Site<'_>, step: &Step) -> Vec<Cell> {
    let (before, after) = (&site.snapshots[step.before], &site.snapshots[step.after]);
    let said = &step.comparison;
    let changed = why(&changes(before, after));
    let around =
        if changed.is_empty() { machine(after) } else { format!("{}; {changed}", machine(after)) };
    vec![
        Cell::Text(case_link(&after.suite, &said.case)),
        Cell::Text(name(&after.suite)),
        Cell::Text(name(&said.arm)),
        Cell::Word(html! { (said.regime) }),
        Cell::Number(
            said.ratio.map_or_else(String::new, |of| ratio(&of, times)),
            said.ratio.map(|of| of.point),
        ),
        Cell::Word(snapshot_link(after)),
        Cell::Word(snapshot_link(before)),
        Cell::Long(html! { bdi { (around) } }),
    ]
}

/// A ratio with its interval.
pub(super) fn ratio(of: &Estimate, number: impl Fn(f64) -> String) -> String {
    of.interval.map_or_else(
        || number(of.point),
        |ends| format!("{} ({} to {})", number(of.point), number(ends.low), number(ends.high)),
    )
}

/// The newest snapshot of a case on a machine.
type Newest<'a> = BTreeMap<(&'a str, String), (usize, &'a Published)>;

fn newest<'a>(site: &Site<'a>) -> BTreeMap<&'a str, Vec<Vec<Cell>>> {
    let mut found: BTreeMap<&str, Newest<'_>> = BTreeMap::new();
    for (place, one) in site.snapshots.iter().enumerate() {
        let of_suite = found.entry(&one.suite).or_default();
        let on = machine(one);
        for case in &one.cases {
            of_suite.insert((&case.name, on.clone()), (place, one));
        }
    }
    let rows = |of: Newest<'a>| {
        let all = of.into_iter().flat_map(|((case, on), (place, one))| {
            let figures = one.case(case).map_or(&[][..], |case| &case.figures);
            figures.iter().map(move |figure| newest_row(site, case, &on, (place, one), figure))
        });
        all.collect()
    };
    found.into_iter().map(|(suite, of)| (suite, rows(of))).collect()
}

fn newest_row(
    site: &Site<'_>,
    case: &str,
    on: &str,
    (place, one): (usize, &Published),
    figure: &Figure,
) -> Vec<Cell> {
    let [time, interval] = time(figure);
    vec![
        Cell::Text(case_link(&one.suite, case)),
        Cell::Text(name(&figure.arm)),
        Cell::Word(html! { (figure.regime) }),
        time,
        interval,
        Cell::Word(html! {
            @if let Some(step) = site.step(place, case, figure) { (badge(&step.comparison)) }
        }),
        Cell::Word(snapshot_link(one)),
        Cell::Long(html! { bdi { (on) } }),
    ]
}

fn newest_of(index: usize, suite: &str, rows: &[Vec<Cell>]) -> Markup {
    const HEADS: [Head<'static>; 8] = [
        Head::Text("case"),
        Head::Text("arm"),
        Head::Text("regime"),
        Head::Number("time"),
        Head::Text("interval"),
        Head::Text("against before"),
        Head::Text("snapshot"),
        Head::Text("machine"),
    ];
    let id = format!("suite-{index}");
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (name(suite)) }
            (table(&format!("The newest of each case and machine, suite {}", index + 1), Order::Sortable, &HEADS, rows))
        }
    }
}

fn snapshots(site: &Site<'_>) -> Markup {
    const HEADS: [Head<'static>; 5] = [
        Head::Text("snapshot"),
        Head::Text("suite"),
        Head::Text("firstlight"),
        Head::Text("machine"),
        Head::Text("id"),
    ];
    let row = |one: &Published| {
        vec![
            Cell::Text(snapshot_link(one)),
            Cell::Text(name(&one.suite)),
            Cell::Text(html! { bdi { (one.harness) } }),
            Cell::Long(html! { bdi { (machine(one)) } }),
            Cell::Word(html! { code { (one.id.chars().take(19).collect::<String>()) } }),
        ]
    };
    let rows: Vec<Vec<Cell>> = site.snapshots.iter().rev().map(row).collect();
    html! {
        section aria-labelledby="snapshots" {
            h2 id="snapshots" { "Snapshots" }
            p class="note" { "The address of a snapshot's page is made of its id, and stays." }
            (table("All snapshots, the newest first", Order::Sortable, &HEADS, &rows))
        }
    }
}

fn refused(site: &Site<'_>) -> Markup {
    let row = |(file, reason): &(&str, &str)| {
        vec![Cell::Text(name(file)), Cell::Long(html! { bdi { (reason) } })]
    };
    let rows: Vec<Vec<Cell>> = site.refused.iter().map(row).collect();
    let heads = [Head::Text("file"), Head::Text("reason")];
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="refused" {
                h2 id="refused" { "Refused" }
                p class="note" { "These did not verify. Nothing that they say is shown." }
                (table("Snapshots that were refused", Order::Fixed, &heads, &rows))
            }
        }
    }
}

fn case_link(suite: &str, case: &str) -> Markup {
    html! { a href=(links::case_path(suite, case)) { (name(case)) } }
}

fn snapshot_link(of: &Published) -> Markup {
    html! { a href=(links::snapshot_path(&of.id)) { (when(of)) } }
}
