//! Verdicts: all of a run in one table, and those of a case at their margin.

use firstlight_schema::comparison::{AgainResult, Comparison};
use firstlight_schema::run::CaseResult;
use maud::{Markup, html};

use super::glossary::term;
use super::name;
use super::table::{Cell, Head, Order, table};
use crate::model::Model;
use crate::svg::{Forest, forest_axis, forest_row, verdict_class};
use crate::words::verdict::{range, times, verdict};

const HEADS: [Head<'static>; 5] = [
    Head::Text("case"),
    Head::Text("verdict"),
    Head::Text("regime"),
    Head::Number("ratio"),
    Head::Text("95 % interval"),
];

/// All verdicts of the run, and the control.
pub(super) fn overview(model: &Model<'_>) -> Markup {
    let all: Vec<&Comparison> = model.cases.iter().flat_map(|case| &case.of.comparisons).collect();
    html! {
        section aria-labelledby="verdicts" {
            h2 id="verdicts" { "Verdicts" }
            @if all.is_empty() {
                p { "Nothing was compared: every case has one arm." }
            } @else {
                p class="note" {
                    "The ratio is the time of the " (term("arm")) " over the time of the arm it is compared with: below 1 is faster. Differences within the " (term("margin")) " do not matter."
                }
                div class="verdicts" {
                    (table("All verdicts of this run", Order::Sortable, &HEADS, &rows(&all)))
                }
            }
        }
    }
}

fn rows(all: &[&Comparison]) -> Vec<Vec<Cell>> {
    all.iter()
        .map(|one| {
            let interval = one.ratio.and_then(|ratio| ratio.interval);
            vec![
                Cell::Text(name(&one.case)),
                Cell::Long(html! { (badge(one)) " " bdi { (verdict(one)) } }),
                Cell::Word(html! { (term(one.regime.name())) }),
                Cell::Number(
                    one.ratio.map_or_else(|| "none".to_owned(), |ratio| times(ratio.point)),
                    one.ratio.map(|ratio| ratio.point),
                ),
                Cell::text(&interval.map_or_else(String::new, |ends| range(ends.low, ends.high))),
            ]
        })
        .collect()
}

pub(crate) fn badge(comparison: &Comparison) -> Markup {
    html! { span class={ "badge " (verdict_class(comparison.verdict)) } { (comparison.verdict) } }
}

/// A badge with the given text.
pub(crate) fn badge_of(class: &str, word: &str) -> Markup {
    html! { span class={ "badge " (class) } { (word) } }
}

pub(super) fn control(value: &AgainResult) -> Markup {
    let ratios: Vec<String> = value
        .comparisons
        .iter()
        .filter_map(|one| Some(format!("{} {:.3}", one.regime, one.ratio?.point)))
        .collect();
    html! {
        p {
            strong { (term("A/A control")) " " }
            @match value.passed {
                None => { "inconclusive: more processes are needed to show that two copies of " (name(&value.arm)) " are equivalent" },
                Some(true) => { "passed: no difference between two copies of " (name(&value.arm)) },
                Some(false) => { strong { "failed" } ": two copies of " (name(&value.arm)) " differ" },
            }
            " (case " (name(&value.case)) ", ratios of their times: " (ratios.join(", ")) ")."
        }
    }
}

/// The verdicts of a case, each interval with the margin.
pub(super) fn forest(id: &str, case: &CaseResult) -> Markup {
    if case.comparisons.is_empty() {
        return html! {};
    }
    let forest = Forest::new(&case.comparisons);
    html! {
        h3 { "Verdicts against the margin" }
        p class="note" {
            "Time divided by that of " (name(&case.reference)) ", with its 95 % interval. The grey area is the " (term("margin")) " of "
            (case.margin * 100.0) " % that does not matter."
        }
        ul class="rows" {
            @for (index, comparison) in case.comparisons.iter().enumerate() {
                li {
                    div class="label" {
                        (badge(comparison)) " " strong { (term(comparison.regime.name())) } ": " bdi { (verdict(comparison)) }
                        @if let Some(p) = comparison.adjusted_p {
                            span class="soft" { " " (probability(p)) " after Holm" }
                        }
                    }
                    @if let Some(forest) = forest.as_ref().filter(|_| comparison.ratio.is_some()) {
                        (forest_row(&format!("{id}-forest-{index}"), comparison, forest))
                    }
                }
            }
        }
        @if let Some(forest) = &forest { (forest_axis(forest, &case.reference)) }
    }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}
