//! From how many calls on an arm pays: in words, as curves, and as numbers.

use firstlight_schema::comparison::BreakEven;
use firstlight_schema::run::CaseResult;
use maud::{Markup, html};

use super::case::place;
use super::glossary::term;
use super::name;
use super::table::{Cell, Head, Order, table};
use crate::svg::{arm_class, break_even as picture};
use crate::words::answer::has_many_pairs;
use crate::words::format::{calls, duration};
use crate::words::verdict::answer;

pub(super) fn break_evens(id: &str, case: &CaseResult) -> Markup {
    if case.break_evens.is_empty() {
        return html! {};
    }
    // One chart shows all arms at the top of the case; pairs of many arms are read as sentences.
    let drawn = !has_many_pairs(case);
    html! {
        h3 { (term("break-even")) }
        @if drawn {
            p class="note" {
                "Total time from the start of the process against calls, on logarithmic axes. The grey band is the 95 % confidence interval of the break-even."
            }
            @for (index, of) in case.break_evens.iter().enumerate() {
                (one(&format!("{id}-even-{index}"), case, of))
            }
        } @else {
            ul { @for of in &case.break_evens { li { strong { (of.cold) } ": " bdi { (answer(of)) } } } }
        }
    }
}

fn one(id: &str, case: &CaseResult, of: &BreakEven) -> Markup {
    let classes = [&of.arm, &of.against].map(|arm| arm_class(place(case, arm)));
    html! {
        figure {
            figcaption { strong { (of.cold) } ": " bdi { (answer(of)) } }
            @if let Some(picture) = picture(id, of, [&classes[0], &classes[1]]) {
                (picture)
                ul class="legend" {
                    li { (sample(&classes[0])) (name(&of.arm)) }
                    li { (sample(&classes[1])) (name(&of.against)) }
                }
                details { summary { "Numbers of these curves" } (numbers(of)) }
            }
        }
    }
}

fn sample(class: &str) -> Markup {
    html! {
        svg class={ "swatch " (class) } width="28" height="10" aria-hidden="true" {
            path class={ "curve " (class) } d="M0 5H28" {}
        }
    }
}

fn numbers(of: &BreakEven) -> Markup {
    let heads = [Head::Number("calls"), Head::Number(&of.arm), Head::Number(&of.against)];
    let rows: Vec<Vec<Cell>> = of
        .curve
        .iter()
        .map(|total| {
            vec![
                Cell::number(calls(total.calls), total.calls),
                Cell::number(duration(total.arm_ns), total.arm_ns),
                Cell::number(duration(total.against_ns), total.against_ns),
            ]
        })
        .collect();
    table("Total time against calls", Order::Fixed, &heads, &rows)
}
