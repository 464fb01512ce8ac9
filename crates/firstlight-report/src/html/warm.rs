//! Warm processes: their calls in order, their steady parts, and the distribution of single calls.

use maud::{Markup, html};

use super::glossary::term;
use super::name;
use super::table::{Cell, Head, Order, table};
use crate::model::{Case, Drawn, Series, WarmArm};
use crate::svg::{arm_class, calls, key, series as picture, series_scale};
use crate::words::format::{duration, share};

pub(super) fn warm(id: &str, case: &Case<'_>) -> Markup {
    if case.warm.iter().all(|arm| arm.processes.is_empty()) {
        return html! {};
    }
    html! {
        h3 { "Warm calls in order" }
        p class="note" {
            "The process closest to the median, and those that stand out, with their calls from left to right. The shaded area is the " (term("steady state")) ". Thin lines are the means of stretches of one level. Dashed lines mark a compilation or another disturbance in the window."
        }
        @for (index, arm) in case.warm.iter().enumerate().filter(|(_, arm)| !arm.processes.is_empty()) {
            (of_arm(&format!("{id}-warm-{index}"), case, arm))
        }
        @if let Some(one) = &case.calls {
            h4 { "Single calls of the steady parts" }
            p class="note" { "The share of calls that took at most this long, over all valid processes." }
            (calls(&format!("{id}-calls"), one, &case.cast))
            ul class="legend" {
                @for (arm, n, _) in &one.arms {
                    li {
                        (key(&case.cast, arm))
                        span { (name(arm)) ", " (n) " calls" }
                    }
                }
            }
        }
    }
}

fn of_arm(id: &str, case: &Case<'_>, arm: &WarmArm<'_>) -> Markup {
    let scale = series_scale(arm);
    let class = arm_class(&case.cast, arm.arm);
    html! {
        h4 { (name(arm.arm)) }
        @if let Some(one) = &arm.regime.warm {
            p class="note" {
                (share(one.call_sd)) " between calls"
                @if let Some(sd) = one.process_sd { ", " (share(sd)) " between processes" }
                @if let Some(nodes) = &arm.regime.nodes { ", " (share(nodes.between)) " between nodes" }
                "; autocorrelation time " (format!("{:.1}", one.autocorrelation_time)) " calls"
                @if let Some(best) = one.best_calls { "; " (best) " calls per process give the narrowest interval for the same time" }
                "."
            }
        }
        @let shown = arm.shown();
        @let draw = |index: usize, one: &Series<'_>, what: &str| html! {
            figure {
                figcaption { strong { (what) } ": " (caption(one)) }
                @if let Some(scale) = scale.as_ref().filter(|_| one.high > 0.0) {
                    (picture(&format!("{id}-{index}"), arm.arm, one, scale, &class))
                }
            }
        };
        div class="grid-2" {
            @if let Some(one) = shown.typical { (draw(0, one, "Typical")) }
            @for (index, (one, what)) in shown.standing_out.iter().enumerate() {
                (draw(index + 1, one, what))
            }
        }
        @if shown.alike + shown.more > 0 {
            p class="note" {
                @if shown.alike > 0 { (shown.alike) @if shown.alike == 1 { " process" } @else { " processes" } " like the typical one" }
                @if shown.alike > 0 && shown.more > 0 { " and " }
                @if shown.more > 0 { (shown.more) " more that stand out" }
                " are not drawn; the table lists all."
            }
        }
        details { summary { "Numbers of these processes" } (numbers(arm)) }
    }
}

fn caption(series: &Series<'_>) -> Markup {
    html! {
        "process " (series.sample.number)
        @match series.window {
            Some(window) => { ": " (window.calls) " calls, " (window.state) },
            None => ": no measured call",
        }
        @if matches!(series.drawn, Drawn::Envelope(_)) { span class="soft" { ", shortest to longest" } }
        @if !series.sample.valid {
            " " span class="badge v-slower" { "invalid" } " "
            bdi { (series.sample.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")) }
        }
    }
}

const HEADS: [Head<'static>; 8] = [
    Head::Number("process"),
    Head::Number("calls"),
    Head::Text("state"),
    Head::Number("steady from"),
    Head::Number("mean"),
    Head::Number("sd"),
    Head::Number("shortest"),
    Head::Number("longest"),
];

fn numbers(arm: &WarmArm<'_>) -> Markup {
    let rows: Vec<Vec<Cell>> = arm.processes.iter().map(row).collect();
    table(&format!("Warm processes of {}", arm.arm), Order::Sortable, &HEADS, &rows)
}

fn row(series: &Series<'_>) -> Vec<Cell> {
    let steady = series.window.and_then(|window| window.steady.as_ref());
    let from = series.window.and_then(|window| window.steady_from).map(|from| from + 1);
    let time = |ns: Option<f64>| Cell::Number(ns.map_or_else(String::new, duration), ns);
    let state = match series.window {
        _ if !series.sample.valid => "invalid".to_owned(),
        Some(window) => window.state.to_string(),
        None => "no window".to_owned(),
    };
    vec![
        Cell::count(series.sample.number),
        Cell::count(series.window.map_or(0, |window| window.calls)),
        Cell::text(&state),
        Cell::Number(from.map_or_else(String::new, |from| from.to_string()), from.map(f64::from)),
        time(steady.map(|part| part.mean_ns)),
        time(steady.map(|part| part.sd_ns)),
        time(steady.map(|part| part.min_ns)),
        time(steady.map(|part| part.max_ns)),
    ]
}
