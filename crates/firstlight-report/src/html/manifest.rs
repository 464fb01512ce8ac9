//! The conditions: machine, its state before and after, options, environment, versions.

use maud::{Markup, html};

use super::findings::findings;
use super::table::{Cell, Head, Order, table};
use crate::model::{Fact, Group, Model};

pub(super) fn manifest(model: &Model<'_>) -> Markup {
    html! {
        section aria-labelledby="conditions" {
            h2 id="conditions" { "Conditions" }
            (findings("Findings about the machine", &model.machine))
            @for (index, group) in model.manifest.iter().enumerate() {
                // The facts about the result are open; the rest is folded.
                details open[index == 0] {
                    summary { (group.name) }
                    @if group.facts.is_empty() { p { "Nothing is known." } } @else { (facts(group)) }
                }
            }
        }
    }
}

fn facts(group: &Group) -> Markup {
    if group.facts.iter().any(|fact| fact.after.is_some()) {
        return before_and_after(group);
    }
    html! {
        dl class="facts" {
            @for fact in &group.facts { dt { bdi { (fact.name) } } dd { bdi { (fact.value) } } }
        }
    }
}

fn before_and_after(group: &Group) -> Markup {
    let heads = [Head::Text("reading"), Head::Text("before"), Head::Text("after")];
    let row = |fact: &Fact| {
        vec![
            Cell::text(&fact.name),
            Cell::text(&fact.value),
            Cell::text(fact.after.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<Vec<Cell>> = group.facts.iter().map(row).collect();
    table(
        "The machine's state before the first process and after the last",
        Order::Fixed,
        &heads,
        &rows,
    )
}
