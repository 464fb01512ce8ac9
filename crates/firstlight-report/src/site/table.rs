//! All results as rows: the newest result of each case and machine, and all snapshots.

use std::collections::BTreeMap;

use firstlight_schema::site::{Figure, Published};
use maud::{Markup, html};

use super::index::{case_link, regressions, snapshot_link};
use super::{Site, links, machine, time};
use crate::html::table::{Cell, Head, Order, table};
use crate::html::verdicts::badge;
use crate::html::{glossary, name};
use crate::words::slug::unique;

pub(super) fn page(site: &Site<'_>) -> String {
    let suites = newest(site);
    let anchors = unique(suites.keys().map(|suite| format!("suite-{suite}")));
    let body = html! {
        header {
            h1 { "Table of everything" }
            p class="soft" { "The newest result of each case on each machine, then all snapshots." }
        }
        nav aria-label="Contents" {
            ul {
                li { a href=(links::INDEX) { "Results" } }
                li { a href="#regressions" { "Regressions" } }
                @for (suite, anchor) in suites.keys().zip(&anchors) {
                    li { a href={ "#" (anchor) } { (name(suite)) } }
                }
                li { a href="#snapshots" { "Snapshots" } }
                li { a href=(links::COMPARE) { "Compare two snapshots" } }
                li { a href="#glossary" { "Glossary" } }
            }
        }
        main id="main" {
            (regressions(site, usize::MAX))
            @for ((suite, rows), anchor) in suites.iter().zip(&anchors) {
                (newest_of(anchor, suite, rows))
            }
            (snapshots(site))
            (glossary::glossary())
        }
        (site.footer())
    };
    super::framed("Table of everything", &body)
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
    let rows = |item: Newest<'a>| {
        let all = item.into_iter().flat_map(|((case, on), (place, one))| {
            let figures = one.case(case).map_or(&[][..], |case| &case.figures);
            figures.iter().map(move |figure| newest_row(site, case, &on, (place, one), figure))
        });
        all.collect()
    };
    found.into_iter().map(|(suite, item)| (suite, rows(item))).collect()
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

fn newest_of(id: &str, suite: &str, rows: &[Vec<Cell>]) -> Markup {
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
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (name(suite)) }
            (table(&format!("The newest of each case and machine, {suite}"), Order::Sortable, &HEADS, rows))
        }
    }
}

fn snapshots(site: &Site<'_>) -> Markup {
    const HEADS: [Head<'static>; 6] = [
        Head::Text("snapshot"),
        Head::Text("file"),
        Head::Text("suite"),
        Head::Text("firstlight"),
        Head::Text("machine"),
        Head::Text("id"),
    ];
    let row = |one: &Published| {
        vec![
            Cell::Text(snapshot_link(one)),
            Cell::Text(name(&one.name)),
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
            p class="note" { "The address of a snapshot's page contains its id and never changes." }
            (table("All snapshots, the newest first", Order::Sortable, &HEADS, &rows))
        }
    }
}
