//! Swept parameters: the picture, the lines in words, the numbers.

use firstlight_analysis::sweep::beyond_reference;
use firstlight_plot::palette::Cast;
use firstlight_schema::comparison::{SweepLine, SweepResult};
use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::case::answer;
use super::name;
use super::table::{Cell, Head, Order, table};
use crate::model::Model;
use crate::svg::{key, sweep as picture};
use crate::words::format::duration;
use crate::words::slug::unique;
use crate::words::sweep::fit;
use crate::words::tables;

pub(super) fn sweeps(model: &Model<'_>) -> Markup {
    let (document, all) = (model.document, &model.document.sweeps);
    html! {
        @if !all.is_empty() {
            section aria-labelledby="sweeps" {
                h2 id="sweeps" { "Sweeps" }
                @for (one, anchor) in all.iter().zip(anchors(all)) {
                    (sweep(&anchor, one, &beyond_reference(&document.cases, one), &model.cast))
                }
            }
        }
    }
}

/// `sweep-step-width`: names as addresses of places in a page.
fn anchors(all: &[SweepResult]) -> Vec<String> {
    let names = all.iter().map(|one| format!("sweep-{}-{}", one.case, one.parameter));
    unique(names)
}

fn sweep(anchor: &str, value: &SweepResult, beyond: &SweepResult, cast: &Cast) -> Markup {
    html! {
        h3 id=(anchor) { (name(&value.case)) " over " (name(&value.parameter)) }
        @for regime in Regime::ALL {
            @let lines = lines(value, regime);
            @if !lines.is_empty() { (of_regime(&format!("{anchor}-{regime}"), value, regime, &lines, cast)) }
        }
        (answer(&format!("Overhead against {}", value.parameter), "Beyond the baseline, with the slope and its interval", tables::slopes(value)))
        (answer(&format!("Overhead beyond the reference arm against {}", value.parameter), "With the slope and its interval", tables::slopes(beyond)))
    }
}

fn lines(sweep: &SweepResult, regime: Regime) -> Vec<&SweepLine> {
    sweep.lines.iter().filter(|line| line.regime == regime).collect()
}

fn of_regime(
    id: &str,
    sweep: &SweepResult,
    regime: Regime,
    lines: &[&SweepLine],
    cast: &Cast,
) -> Markup {
    let what = if regime.is_cold() { "time to first result" } else { "time per call" };
    let title = format!("{}, {regime}: {what} against {}", sweep.case, sweep.parameter);
    html! {
        figure {
            figcaption { strong { (regime) } ": " (what) " against " (name(&sweep.parameter)) }
            @if let Some(picture) = picture(id, (&sweep.parameter, what), lines, &title, cast) { (picture) }
            ul class="legend" {
                @for line in lines {
                    li {
                        (key(cast, &line.arm))
                        span { (name(&line.arm)) ": " bdi { (fit(line, &sweep.parameter)) } }
                    }
                }
            }
            details { summary { "Numbers of this sweep" } (numbers(sweep, lines, &title)) }
        }
    }
}

fn numbers(sweep: &SweepResult, lines: &[&SweepLine], caption: &str) -> Markup {
    let heads: Vec<Head<'_>> = [Head::Number(&sweep.parameter)]
        .into_iter()
        .chain(lines.iter().map(|line| Head::Number(&line.arm)))
        .collect();
    let first = lines.first().map_or(&[][..], |line| &line.rows);
    let rows: Vec<Vec<Cell>> = first
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let times = lines.iter().map(|line| {
                let ns = line.rows.get(place).and_then(|row| Some(row.time?.point));
                Cell::Number(ns.map_or_else(|| "none".to_owned(), duration), ns)
            });
            [Cell::Number(row.value.clone(), row.number)].into_iter().chain(times).collect()
        })
        .collect();
    table(caption, Order::Sortable, &heads, &rows)
}
