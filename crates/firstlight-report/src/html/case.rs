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

pub(super) fn case(value: &Case<'_>) -> Markup {
    let id = &value.anchor;
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (name(&value.of.name)) @if !value.about.is_empty() { span class="about" { (value.about) } } }
            @if let Some(commands) = card::commands(value.of) { (commands) }
            (card::card(id, value))
            (ledger::ledgers(id, value))
            h3 { "Times" }
            p class="note" { "Each " (term("arm")) " in each " (term("regime")) ". Times of whole processes are medians, times per call are means." }
            (table("Time of each arm in each regime", Order::Sortable, &HEADS, &rows(value)))
            (answer("Overhead", "Time of a call beyond the baseline of each arm", tables::overheads(value.of)))
            (answer("The planted mistake", "The number that would have been published, and the right one", tables::planted(value.of)))
            (verdicts::forest(id, value.of))
            @for cold in [Regime::ColdClean, Regime::ColdPrimed] {
                @if value.of.arms.len() > 2 {
                    (answer(&format!("Which arm for how many calls, {cold}"), "The fastest arm, start-up included", tables::cheapest(value.of, cold)))
                }
            }
            (break_even::break_evens(id, value))
            div id={ (id) "-findings" } { (findings::findings("Findings", &value.findings)) }
            (imports::imports(id, value.of))
            (warm::warm(id, value))
            (processes::processes(id, value))
            (memory::memory(value))
            (arm::arms(value.of))
        }
    }
}

/// One of the tables that answer the suite's question.
pub(super) fn answer(title: &str, caption: &str, value: Option<tables::Table>) -> Markup {
    let Some(value) = value else { return html! {} };
    let heads: Vec<Head<'_>> = value.head.iter().map(|name| Head::Text(name)).collect();
    let cell = |text: &String| Cell::text(text);
    let rows: Vec<Vec<Cell>> =
        value.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
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
    Head::Text("statistic"),
];

fn rows(case: &Case<'_>) -> Vec<Vec<Cell>> {
    case.rows.iter().map(row).collect()
}

fn row(value: &Row<'_>) -> Vec<Cell> {
    vec![
        Cell::Text(name(value.arm)),
        Cell::Word(html! { (term(value.label)) }),
        Cell::Number(value.time.clone(), value.estimate.map(|estimate| estimate.point)),
        Cell::text(&value.interval),
        Cell::number(value.processes.clone(), crate::svg::real(value.valid)),
        Cell::Long(html! { (value.what) }),
    ]
}
