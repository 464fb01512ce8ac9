//! Every process of every arm and regime: a point on its distribution and a row.

use firstlight_schema::suite::Regime;
use maud::{Markup, html};

use super::name;
use super::table::{Cell, Head, Order, table};
use crate::model::{Case, Points};
use crate::svg::{arm_class, points as picture, points_scale};
use crate::words::format::duration;

/// The largest number of rows of a table; the rest is in result.json.
const MOST_ROWS: usize = 1_000;

pub(super) fn processes(id: &str, case: &Case<'_>) -> Markup {
    if case.points.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Every process" }
        p class="note" {
            "Each point is a process. Its height is the share of processes that took at most that long. Below: the estimate and its interval; crosses are invalid processes, which are left out."
        }
        details {
            summary { "Show the distributions" }
            @for (regime, arms) in &case.points { (of_regime(id, case, *regime, arms)) }
        }
    }
}

fn of_regime(id: &str, case: &Case<'_>, regime: Regime, arms: &[Points<'_>]) -> Markup {
    let scale = points_scale(arms);
    let what = arms.first().map_or("", |arm| arm.what);
    html! {
        h4 { (regime) ", " (what) }
        @for (index, arm) in arms.iter().enumerate() {
            figure {
                figcaption { (name(&arm.name())) span class="soft" { (counted(arm)) } }
                @if let Some(scale) = &scale {
                    @let class = arm_class(&case.cast, arm.arm);
                    (picture(&format!("{id}-points-{regime}-{index}"), arm, scale, &class))
                }
            }
        }
        details {
            summary { "Numbers of these processes" }
            @for arm in arms { (numbers(arm)) }
        }
    }
}

fn counted(points: &Points<'_>) -> String {
    let drawn = points.points.iter().filter(|point| point.ns.is_some()).count();
    let missing = points.points.len() - drawn;
    match missing {
        0 => format!(", {} processes", points.points.len()),
        _ => format!(", {} processes, {missing} of them without a value", points.points.len()),
    }
}

fn numbers(points: &Points<'_>) -> Markup {
    let heads = [
        Head::Number("process"),
        Head::Number("round"),
        Head::Number("time"),
        Head::Text("counts"),
    ];
    let rows: Vec<Vec<Cell>> = points
        .points
        .iter()
        .take(MOST_ROWS)
        .map(|point| {
            let round = point.round.map_or_else(String::new, |round| round.to_string());
            vec![
                Cell::count(point.number),
                Cell::Number(round, point.round.map(f64::from)),
                Cell::Number(point.ns.map_or_else(|| "none".to_owned(), duration), point.ns),
                Cell::Long(html! {
                    @if point.valid { "yes" } @else { "no: " bdi { (point.reasons.join("; ")) } }
                }),
            ]
        })
        .collect();
    let caption = format!("{}, {}: {}", points.name(), points.regime, points.what);
    html! {
        (table(&caption, Order::Sortable, &heads, &rows))
        @if points.points.len() > MOST_ROWS {
            p class="note" { (points.points.len() - MOST_ROWS) " more are in result.json." }
        }
    }
}
