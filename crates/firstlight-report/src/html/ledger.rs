//! Where the time to first result goes: a bar for each arm and cold regime, and the numbers.

use firstlight_schema::phase::Phase;
use maud::{Markup, html};

use super::glossary::term;
use super::table::{Cell, Head, Order, table};
use super::{coded, name};
use crate::model::{Case, Ledger};
use crate::svg::{ledger_bar, swatch};
use crate::words::diagnosis::line as words;
use crate::words::format::{duration, share};

pub(super) fn ledgers(id: &str, case: &Case<'_>) -> Markup {
    if case.ledgers.is_empty() {
        return html! {};
    }
    let longest =
        case.ledgers.iter().map(|ledger| ledger.mean_ns).fold(f64::MIN_POSITIVE, f64::max);
    let phases: Vec<Phase> = Phase::ALL
        .into_iter()
        .filter(|phase| case.ledgers.iter().any(|ledger| mean(ledger, *phase).is_some()))
        .collect();
    let (first, others) = visible(&case.ledgers);
    html! {
        h3 { "Where the " (term("time to first result")) " goes" }
        p class="note" { "The " (term("ledger")) " of each " (term("arm")) ", mean over its valid processes." }
        (bars(id, &first, longest))
        @if !others.is_empty() {
            details { summary { "Other regimes" } (bars(&format!("{id}-other"), &others, longest)) }
        }
        ul class="legend" {
            @for phase in &phases { li { (swatch(*phase)) (phase) } }
        }
        details {
            summary { "Numbers of these bars" }
            (numbers(case, &phases))
        }
    }
}

/// Further ledgers are folded, except for the first regime of each arm.
const VISIBLE: usize = 6;

fn visible<'a, 'b>(all: &'b [Ledger<'a>]) -> (Vec<&'b Ledger<'a>>, Vec<&'b Ledger<'a>>) {
    if all.len() <= VISIBLE {
        return (all.iter().collect(), Vec::new());
    }
    let mut seen: Vec<&str> = Vec::new();
    all.iter().partition(|ledger| {
        let new = !seen.contains(&ledger.arm);
        seen.push(ledger.arm);
        new
    })
}

fn bars(id: &str, ledgers: &[&Ledger<'_>], longest: f64) -> Markup {
    html! {
        ul class="rows" {
            @for (index, ledger) in ledgers.iter().enumerate() {
                li {
                    div class="label" {
                        (name(ledger.arm)) ", " (term(ledger.regime)) ": " (duration(ledger.mean_ns))
                        span class="soft" { " on average" }
                    }
                    (ledger_bar(&format!("{id}-ledger-{index}"), ledger, longest))
                    @if !ledger.diagnosis.is_empty() {
                        ul class="diagnosis" {
                            @for line in ledger.diagnosis { li { bdi { (coded(&words(line))) } } }
                        }
                    }
                }
            }
        }
    }
}

fn mean<'a>(
    ledger: &Ledger<'a>,
    phase: Phase,
) -> Option<&'a firstlight_schema::summary::PhaseMean> {
    ledger.phases.iter().find(|row| row.name == phase)
}

fn numbers(case: &Case<'_>, phases: &[Phase]) -> Markup {
    let names: Vec<String> =
        case.ledgers.iter().map(|ledger| format!("{}, {}", ledger.arm, ledger.regime)).collect();
    let heads: Vec<Head<'_>> = [Head::Text("phase")]
        .into_iter()
        .chain(names.iter().map(|name| Head::Number(name)))
        .collect();
    let rows: Vec<Vec<Cell>> = phases
        .iter()
        .map(|phase| {
            let cells = case.ledgers.iter().map(|ledger| match mean(ledger, *phase) {
                Some(row) => Cell::number(
                    format!("{}, {}", duration(row.mean_ns), share(row.share)),
                    row.mean_ns,
                ),
                None => Cell::number("0", 0.0),
            });
            [Cell::text(phase.name())].into_iter().chain(cells).collect()
        })
        .collect();
    table("Mean time of each phase, and its share", Order::Sortable, &heads, &rows)
}
