//! The distribution of the calls of the steady parts, arm by arm.

use maud::{Markup, html};

use super::arm_class;
use super::frame::{AXIS, Picture, TITLE, below, line, stretched, titles, up};
use crate::model::Distribution;
use crate::words::format::duration;
use firstlight_plot::palette::Cast;
use firstlight_plot::scale::{Scale, real};

const PLOT: f64 = 130.0;

/// One curve for each arm.
pub(crate) fn calls(id: &str, distribution: &Distribution<'_>, cast: &Cast) -> Markup {
    let scale = Scale::exact(distribution.low, distribution.high, distribution.logarithmic);
    let description = format!(
        "empirical distribution of single calls, from {} to {}; {}",
        duration(distribution.low),
        duration(distribution.high),
        distribution
            .arms
            .iter()
            .map(|(arm, n, _)| format!("{arm}: {n} calls"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let title = "Every call of the steady parts";
    let picture = Picture { id, title, description: &description, height: PLOT + AXIS + TITLE };
    picture.draw(
        "above calls",
        &html! {
            (below(&scale.durations(4), &scale, PLOT))
            (titles("time of a call", "share of calls", PLOT))
            (stretched(PLOT, &html! {
                @for (arm, calls, counts) in &distribution.arms {
                    path class={ "ecdf " (arm_class(cast, arm)) } data-calls=(calls)
                        d=(curve(*calls, counts)) {
                        title { (arm) ": " (calls) " calls" }
                    }
                }
            }))
        },
    )
}

/// The curve changes only where a column has a call.
fn curve(calls: usize, counts: &[usize]) -> String {
    let n = real(counts.len());
    let mut last = 0;
    let changes = counts.iter().enumerate().filter_map(|(column, &count)| {
        let before = std::mem::replace(&mut last, count);
        (count != before).then_some((column, before, count))
    });
    let y = |count: usize| up(real(count) / real(calls), PLOT - 8.0) + 4.0;
    let steps = changes.flat_map(|(column, before, count)| {
        [(real(column) / n, y(before)), (real(column + 1) / n, y(count))]
    });
    line(std::iter::once((0.0, y(0))).chain(steps).chain([(1.0, y(calls))]))
}
