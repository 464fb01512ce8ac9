//! The first page: whether anything became slower, a card for each suite and machine, rejected snapshots.

use std::collections::BTreeSet;

use firstlight_schema::estimate::Estimate;
use firstlight_schema::site::{Published, Step};
use maud::{Markup, html};

use super::cards::{Card, Standing, cards, tiles};
use super::timeline::{changes, why};
use super::{Site, links, machine, when};
use crate::html::table::{Cell, Head, Order, table};
use crate::html::{glossary, name};
use crate::words::format::count;
use crate::words::verdict::times;

/// Further regressions are in the table.
const MOST_REGRESSIONS: usize = 25;

pub(super) fn page(site: &Site<'_>) -> String {
    let cards = cards(site);
    let suites: BTreeSet<&str> = site.snapshots.iter().map(|one| one.suite.as_str()).collect();
    let body = html! {
        header {
            h1 { (verdict(site)) @if let Some(since) = since(site) { " since " time { (since) } } }
            p class="soft" {
                (count(site.snapshots.len() as u64, "snapshot")) " of " (count(suites.len() as u64, "suite"))
                @if !site.refused.is_empty() { ", " (site.refused.len()) " rejected" }
                ". Every number was recomputed from the raw readings of its snapshot."
            }
        }
        nav aria-label="Contents" {
            ul {
                li { a href="#results" { "Results" } }
                li { a href="#regressions" { "Regressions" } }
                li { a href=(links::TABLE) { "Table of everything" } }
                li { a href=(links::COMPARE) { "Compare two snapshots" } }
                @if !site.refused.is_empty() { li { a href="#rejected" { "Rejected" } } }
                li { a href="#glossary" { "Glossary" } }
            }
        }
        main id="main" {
            section aria-labelledby="results" {
                h2 id="results" { "Results" }
                (filter(site, &cards))
                (tiles(site, &cards))
            }
            (regressions(site, MOST_REGRESSIONS))
            (refused(site))
            (glossary::glossary())
        }
        (site.footer())
    };
    super::framed("Results", &body)
}

fn verdict(site: &Site<'_>) -> String {
    let found = site.regressions().count() as u64;
    match found {
        _ if site.snapshots.is_empty() => "No snapshots".to_owned(),
        0 => "No regressions".to_owned(),
        _ => count(found, "regression"),
    }
}

/// The day of the oldest snapshot.
fn since<'a>(site: &Site<'a>) -> Option<&'a str> {
    site.snapshots.first()?.created.get(..10)
}

/// Hidden until the script activates it.
fn filter(site: &Site<'_>, cards: &[Card]) -> Markup {
    let value_of = |value: fn(&Published) -> String| -> BTreeSet<String> {
        cards.iter().map(|card| value(card.snapshot(site))).collect()
    };
    let arms: BTreeSet<String> =
        cards.iter().flat_map(|card| card.arms(site)).map(str::to_owned).collect();
    let verdicts = Standing::ALL.map(|one| one.name().to_owned()).into();
    let days = value_of(|one| one.created.get(..10).unwrap_or_default().to_owned());
    let choices: [(&str, &str, BTreeSet<String>); 6] = [
        ("suite", "Suite", value_of(|one| one.suite.clone())),
        ("arms", "Arm", arms),
        ("machine", "Machine", value_of(machine)),
        ("gpu", "GPU", value_of(|one| one.gpu.clone().unwrap_or_else(|| "none".to_owned()))),
        ("verdict", "Change", verdicts),
        ("date", "Since", days),
    ];
    html! {
        form id="filter" class="filter" hidden {
            @for (key, label, values) in &choices {
                label {
                    (label)
                    select name=(key) {
                        option value="" { "all" }
                        @for value in values { option value=(value) { (value) } }
                    }
                }
            }
            label { "Search" input type="search" name="text"; }
            output id="found" class="soft" {}
        }
    }
}

pub(super) fn regressions(site: &Site<'_>, most: usize) -> Markup {
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
    let all = site.regressions().count();
    let rows: Vec<Vec<Cell>> =
        site.regressions().take(most).map(|step| regression(site, step)).collect();
    html! {
        section aria-labelledby="regressions" {
            h2 id="regressions" { "Regressions" }
            @if rows.is_empty() {
                p { "No result is slower than in the previous snapshot on the same machine." }
            } @else {
                p class="note" {
                    "Slower than in the previous snapshot on the same machine: the whole 95 % interval of the ratio lies above the case's "
                    (glossary::term("margin")) "."
                }
                (table("What got slower, the newest first", Order::Sortable, &HEADS, &rows))
                @if all > rows.len() {
                    p class="note" {
                        (all - rows.len()) " older ones: " a href=(links::TABLE) { "see the table" } "."
                    }
                }
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
            said.ratio.map_or_else(String::new, |one| ratio(&one, times)),
            said.ratio.map(|one| one.point),
        ),
        Cell::Word(snapshot_link(after)),
        Cell::Word(snapshot_link(before)),
        Cell::Long(html! { bdi { (around) } }),
    ]
}

/// A ratio with its interval.
pub(super) fn ratio(estimate: &Estimate, number: impl Fn(f64) -> String) -> String {
    estimate.interval.map_or_else(
        || number(estimate.point),
        |ends| {
            format!("{} ({} to {})", number(estimate.point), number(ends.low), number(ends.high))
        },
    )
}

fn refused(site: &Site<'_>) -> Markup {
    let row = |(file, reason): &(&str, &str)| {
        vec![Cell::Text(name(file)), Cell::Long(html! { bdi { (reason) } })]
    };
    let rows: Vec<Vec<Cell>> = site.refused.iter().map(row).collect();
    let heads = [Head::Text("file"), Head::Text("reason")];
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="rejected" {
                h2 id="rejected" { "Rejected" }
                p class="note" { "These snapshots failed verification. None of their numbers is shown." }
                (table("Rejected snapshots", Order::Fixed, &heads, &rows))
            }
        }
    }
}

pub(super) fn case_link(suite: &str, case: &str) -> Markup {
    html! { a href=(links::case_path(suite, case)) { (name(case)) } }
}

pub(super) fn snapshot_link(snapshot: &Published) -> Markup {
    html! { a href=(links::snapshot_path(&snapshot.id)) { (when(snapshot)) } }
}
