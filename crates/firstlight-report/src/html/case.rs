//! One case: from the conclusions to the measurements.

use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::glossary::term;
use super::table::{Cell, Head, Order, table};
use super::{
    arm, break_even, card, findings, imports, ledger, memory, name, processes, verdicts, warm,
};
use crate::model::{Case, Row};
use crate::words::tables;

pub(super) fn case(of: &Case<'_>) -> Markup {
    let id = &of.anchor;
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (name(&of.of.name)) @if !of.about.is_empty() { span class="about" { (of.about) } } }
            @if let Some(commands) = card::commands(of.of) { (commands) }
            (card::card(id, of))
            (ledger::ledgers(id, of))
            h3 { "Times" }
            p class="note" { "Each " (term("arm")) " in each " (term("regime")) ". Times of whole processes are medians, times per call are means." }
            (table("Time of each arm in each regime", Order::Sortable, &HEADS, &rows(of)))
            (answer("Overhead", "Time of a call beyond the baseline of each arm", tables::overheads(of.of)))
            (answer("The planted mistake", "The number that would have been published, and the right one", tables::planted(of.of)))
            (verdicts::forest(id, of.of))
            @for cold in [Regime::ColdClean, Regime::ColdPrimed] {
                @if of.of.arms.len() > 2 {
                    (answer(&format!("Which arm for how many calls, {cold}"), "The cheapest arm, start-up included", tables::cheapest(of.of, cold)))
                }
            }
            (break_even::break_evens(id, of))
            div id={ (id) "-findings" } { (findings::findings("Findings", &of.findings)) }
            (imports::imports(id, of.of))
            (warm::warm(id, of))
            (processes::processes(id, of))
            (memory::memory(of))
            (arm::arms(of.of))
        }
    }
}

/// One of the tables that answer the suite's question.
pub(super) fn answer(title: &str, caption: &str, of: Option<tables::Table>) -> Markup {
    let Some(of) = of else { return html! {} };
    let heads: Vec<Head<'_>> = of.head.iter().map(|name| Head::Text(name)).collect();
    let cell = |text: &String| Cell::text(text);
    let rows: Vec<Vec<Cell>> = of.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    html! {
        h3 { (title) }
        (table(caption, Order::Fixed, &heads, &rows))
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
        Cell::Word(html! { (term(of.label)) }),
        Cell::Number(of.time.clone(), of.estimate.map(|estimate| estimate.point)),
        Cell::text(&of.interval),
        Cell::number(of.processes.clone(), crate::svg::real(of.valid)),
        Cell::Long(html! { (of.what) }),
    ]
}
