//! Break-evens: in words, as curves, and as numbers.

use firstlight_schema::comparison::BreakEven;
use maud::{Markup, html};

use super::glossary::term;
use super::name;
use super::table::{Cell, Head, Order, table};
use crate::model::Case;
use crate::svg::{arm_class, break_even as picture, key};
use crate::words::answer::has_many_pairs;
use crate::words::format::{calls, duration};
use crate::words::verdict::answer;

pub(super) fn break_evens(id: &str, case: &Case<'_>) -> Markup {
    let all = &case.of.break_evens;
    if all.is_empty() {
        return html! {};
    }
    // One chart shows all arms at the top of the case; pairs of many arms are listed as sentences.
    let drawn = !has_many_pairs(case.of);
    html! {
        h3 class="capital" { (term("break-even")) }
        @if drawn {
            p class="note" {
                "Total time from the start of the process against calls, on logarithmic axes. The grey band is the 95 % confidence interval of the break-even."
            }
            @for (index, even) in all.iter().enumerate() {
                (one(&format!("{id}-even-{index}"), case, even))
            }
        } @else {
            ul { @for even in all { li { strong { (even.cold) } ": " bdi { (answer(even)) } } } }
        }
    }
}

fn one(id: &str, case: &Case<'_>, even: &BreakEven) -> Markup {
    let classes = [&even.arm, &even.against].map(|arm| arm_class(&case.cast, arm));
    html! {
        figure {
            figcaption { strong { (even.cold) } ": " bdi { (answer(even)) } }
            @if let Some(picture) = picture(id, even, [&classes[0], &classes[1]]) {
                (picture)
                ul class="legend" {
                    li { (key(&case.cast, &even.arm)) (name(&even.arm)) }
                    li { (key(&case.cast, &even.against)) (name(&even.against)) }
                }
                details { summary { "Numbers of these curves" } (numbers(even)) }
            }
        }
    }
}

fn numbers(even: &BreakEven) -> Markup {
    let heads = [Head::Number("calls"), Head::Number(&even.arm), Head::Number(&even.against)];
    let rows: Vec<Vec<Cell>> = even
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
