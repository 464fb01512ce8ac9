//! One case: from what is claimed to what was measured.

use maud::{Markup, html};

use super::table::{Cell, Head, Order, table};
use super::{arm, break_even, findings, ledger, memory, name, processes, verdicts, warm};
use crate::model::{Case, Row};

pub(super) fn case(index: usize, of: &Case<'_>) -> Markup {
    let id = format!("case-{index}");
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (name(&of.of.name)) }
            @if !of.about.is_empty() { p class="soft" { (of.about) } }
            h3 { "Regimes side by side" }
            (table("Time of each arm in each regime", Order::Sortable, &HEADS, &rows(of)))
            (verdicts::forest(&id, of.of))
            (break_even::break_evens(&id, of.of))
            (findings::findings("Findings", &of.findings))
            (ledger::ledgers(&id, of))
            (processes::processes(&id, of))
            (warm::warm(&id, of))
            (memory::memory(of))
            (arm::arms(of.of))
            h3 { "Run it again" }
            pre { code { (of.rerun) } }
            p class="note" {
                "A suite of your own is named by its folder; the digest of its files is among the conditions."
            }
        }
    }
}

const HEADS: [Head<'static>; 6] = [
    Head::Text("arm"),
    Head::Text("regime"),
    Head::Number("time"),
    Head::Text("interval"),
    Head::Number("processes"),
    Head::Text("what"),
];

fn rows(of: &Case<'_>) -> Vec<Vec<Cell>> {
    of.rows.iter().map(row).collect()
}

fn row(of: &Row<'_>) -> Vec<Cell> {
    vec![
        Cell::Text(name(of.arm)),
        Cell::Word(html! { (of.regime) }),
        Cell::Number(of.time.clone(), of.estimate.map(|estimate| estimate.point)),
        Cell::text(&of.interval),
        Cell::number(of.processes.clone(), crate::chart::real(of.valid)),
        Cell::Long(html! { (of.what) }),
    ]
}

/// Where an arm stands among its case's arms, which gives it its colour.
pub(super) fn place(of: &firstlight_schema::run::CaseResult, arm: &str) -> usize {
    of.arms.iter().position(|known| known.name == arm).unwrap_or(0)
}
