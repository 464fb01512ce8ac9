//! Swept parameters: the picture, the lines in words, the numbers.

use firstlight_analysis::sweep::beyond_reference;
use firstlight_schema::comparison::{SweepLine, SweepResult};
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::case::answer;
use super::name;
use super::table::{Cell, Head, Order, table};
use crate::svg::{arm_class, sweep as picture};
use crate::terminal::fit;
use crate::words::format::duration;
use crate::words::tables;

pub(super) fn sweeps(document: &RunDocument) -> Markup {
    let all = &document.sweeps;
    html! {
        @if !all.is_empty() {
            section aria-labelledby="sweeps" {
                h2 id="sweeps" { "Sweeps" }
                @for (index, of) in all.iter().enumerate() { (sweep(index, of, &beyond_reference(&document.cases, of))) }
            }
        }
    }
}

fn sweep(index: usize, of: &SweepResult, beyond: &SweepResult) -> Markup {
    html! {
        h3 { (name(&of.case)) " over " (name(&of.parameter)) }
        @for regime in Regime::ALL {
            @let lines = lines(of, regime);
            @if !lines.is_empty() { (of_regime(&format!("sweep-{index}-{regime}"), of, regime, &lines)) }
        }
        (answer(&format!("Overhead against {}", of.parameter), "Beyond the baseline, with the slope and its interval", tables::slopes(of)))
        (answer(&format!("Overhead beyond the reference arm against {}", of.parameter), "With the slope and its interval", tables::slopes(beyond)))
    }
}

/// The lines of a regime, each with its arm's place.
fn lines(of: &SweepResult, regime: Regime) -> Vec<(usize, &SweepLine)> {
    let mut arms: Vec<&str> = Vec::new();
    for line in &of.lines {
        if !arms.contains(&line.arm.as_str()) {
            arms.push(&line.arm);
        }
    }
    let place = |line: &SweepLine| arms.iter().position(|arm| *arm == line.arm).unwrap_or(0);
    let lines = of.lines.iter().filter(|line| line.regime == regime);
    lines.map(|line| (place(line), line)).collect()
}

fn of_regime(id: &str, of: &SweepResult, regime: Regime, lines: &[(usize, &SweepLine)]) -> Markup {
    let what = if regime.is_cold() { "time to first result" } else { "time per call" };
    let title = format!("{}, {regime}: {what} against {}", of.case, of.parameter);
    html! {
        figure {
            figcaption { strong { (regime) } ": " (what) " against " (name(&of.parameter)) }
            @if let Some(picture) = picture(id, &of.parameter, lines, &title) { (picture) }
            ul class="legend" {
                @for (index, line) in lines {
                    li {
                        svg class={ "swatch " (arm_class(*index)) } width="14" height="14" aria-hidden="true" {
                            circle class="point" cx="7" cy="7" r="5" {}
                        }
                        span { (name(&line.arm)) ": " bdi { (fit(line, &of.parameter)) } }
                    }
                }
            }
            details { summary { "Numbers of this sweep" } (numbers(of, lines, &title)) }
        }
    }
}

fn numbers(of: &SweepResult, lines: &[(usize, &SweepLine)], caption: &str) -> Markup {
    let heads: Vec<Head<'_>> = [Head::Number(&of.parameter)]
        .into_iter()
        .chain(lines.iter().map(|(_, line)| Head::Number(&line.arm)))
        .collect();
    let first = lines.first().map_or(&[][..], |(_, line)| &line.rows);
    let rows: Vec<Vec<Cell>> = first
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let times = lines.iter().map(|(_, line)| {
                let ns = line.rows.get(place).and_then(|row| Some(row.time?.point));
                Cell::Number(ns.map_or_else(|| "none".to_owned(), duration), ns)
            });
            [Cell::Number(row.value.clone(), row.number)].into_iter().chain(times).collect()
        })
        .collect();
    table(caption, Order::Sortable, &heads, &rows)
}
