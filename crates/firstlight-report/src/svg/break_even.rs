//! Total time against calls, for one pair of arms, with the interval of the crossing as a band.

use firstlight_schema::comparison::{BreakEven, Total};
use maud::{Markup, html};

use super::frame::{AXIS, Picture, TITLE, below, beside, line, pc, px, stretched, titles, up};
use super::totals::apart;
use crate::words::format::{calls, duration};
use crate::words::verdict::answer;
use firstlight_plot::scale::{Scale, real};

const PLOT: f64 = 190.0;
/// The number of points with tooltips.
const TOLD: usize = 24;

/// The number of straight pieces between two points of a curve.
const PIECES: usize = 2;

/// `None` if the curve has fewer than two points.
pub(crate) fn break_even(id: &str, even: &BreakEven, classes: [&str; 2]) -> Option<Markup> {
    let x = Scale::over_ratios(even.curve.iter().map(|total| total.calls))?;
    let y =
        Scale::over_ratios(even.curve.iter().flat_map(|total| [total.arm_ns, total.against_ns]))?;
    if even.curve.len() < 2 {
        return None;
    }
    let curve = bent(&even.curve);
    let path = |value: fn(&Total) -> f64| {
        line(curve.iter().map(|total| (x.at(total.calls), up(y.at(value(total)), PLOT))))
    };
    let last = curve.last()?;
    let ends = [(&even.arm, last.arm_ns), (&even.against, last.against_ns)];
    let ends = ends.map(|(name, ns)| (name, up(y.at(ns), PLOT)));
    let places = apart(&ends.map(|(_, end)| end), PLOT);
    let title =
        format!("Total time of {} and {} against calls, {}", even.arm, even.against, even.cold);
    let picture =
        Picture { id, title: &title, description: &answer(even), height: PLOT + AXIS + TITLE };
    Some(picture.draw(
        "beside labelled break-even",
        &html! {
            (band(even, &x))
            (below(&x.numbers(5), &x, PLOT))
            (beside(&y.durations(4), &y, PLOT))
            (stretched(PLOT, &html! {
                @if let Some(area) = area(&curve, &x, &y) {
                    path class={ "spread " (classes[0]) } d=(area) {}
                }
                path class={ "curve " (classes[1]) } d=(path(|total| total.against_ns)) {}
                path class={ "curve " (classes[0]) } d=(path(|total| total.arm_ns)) {}
            }))
            @for (index, ((name, _), place)) in ends.iter().zip(places).enumerate() {
                text class={ "end " (classes[index]) } x="100%" dx="6" y=(px(place + 4.0)) { (name) }
            }
            (titles("calls", "total time from the start", PLOT))
            @for total in even.curve.iter().step_by(even.curve.len().div_ceil(TOLD)) {
                rect class="hover" x=(pc(x.at(total.calls) - 0.012)) y="0" width="2.4%"
                    height=(px(PLOT)) {
                    title {
                        (calls(total.calls)) ": " (even.arm) " " (duration(total.arm_ns)) ", "
                        (even.against) " " (duration(total.against_ns))
                    }
                }
            }
            @if let Some(crossing) = even.calls {
                @let place = x.at(crossing.point);
                line class="crossing" x1=(pc(place)) x2=(pc(place)) y1="0" y2=(px(PLOT)) {
                    title { "even at " (calls(crossing.point)) }
                }
            }
        },
    ))
}

/// The band of the arm's total, given the other's: along its upper edge, and back along the lower.
fn area(curve: &[Total], x: &Scale, y: &Scale) -> Option<String> {
    let edge = |value: fn(&Total) -> Option<f64>| -> Option<Vec<(f64, f64)>> {
        let place =
            |total: &Total| Some((x.at(total.calls), up(y.at(value(total)?.max(1.0)), PLOT)));
        curve.iter().map(place).collect()
    };
    let mut lower = edge(|total| total.arm_low_ns)?;
    lower.reverse();
    let outline = edge(|total| total.arm_high_ns)?.into_iter().chain(lower);
    Some(line(outline) + "Z")
}

/// Totals grow linearly between two points, which is a curve on logarithmic axes.
fn bent(curve: &[Total]) -> Vec<Total> {
    let between = |pair: &[Total], share: f64| {
        let calls = pair[0].calls * (pair[1].calls / pair[0].calls).powf(share);
        let part = (calls - pair[0].calls) / (pair[1].calls - pair[0].calls);
        let at = |from: f64, to: f64| from + part * (to - from);
        Total {
            calls,
            arm_ns: at(pair[0].arm_ns, pair[1].arm_ns),
            against_ns: at(pair[0].against_ns, pair[1].against_ns),
            arm_low_ns: pair[0].arm_low_ns.zip(pair[1].arm_low_ns).map(|(a, b)| at(a, b)),
            arm_high_ns: pair[0].arm_high_ns.zip(pair[1].arm_high_ns).map(|(a, b)| at(a, b)),
        }
    };
    let pieces = (0..PIECES).map(|piece| real(piece) / real(PIECES));
    curve
        .windows(2)
        .flat_map(|pair| pieces.clone().map(move |share| between(pair, share)))
        .chain(curve.last().copied())
        .collect()
}

/// The interval of the crossing; open ends extend to the edge of the picture.
fn band(even: &BreakEven, x: &Scale) -> Markup {
    let Some(crossing) = even.calls.filter(|one| one.low.is_some() || one.high.is_some()) else {
        return html! {};
    };
    let from = crossing.low.map_or(0.0, |low| x.at(low));
    let to = crossing.high.map_or(1.0, |high| x.at(high));
    html! {
        rect class="band" x=(pc(from)) y="0" width=(pc((to - from).max(0.002))) height=(px(PLOT)) {
            title { (answer(even)) }
        }
    }
}
