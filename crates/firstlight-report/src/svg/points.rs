//! Every process as a point on its empirical distribution, with the estimate's interval below.

use maud::{Markup, html};

use super::frame::{AXIS, Picture, TITLE, below, dots, line, pc, px, stretched, titles, up};
use crate::model::{Point, Points};
use crate::words::format::duration;
use firstlight_plot::scale::{Scale, real};

const CURVE: f64 = 72.0;
const STRIP: f64 = 92.0;
const PLOT: f64 = 104.0;
/// With more points, they are drawn as one path without tooltips.
const MOST_WITH_WORDS: usize = 2_000;

/// One scale for all arms of a regime.
pub(crate) fn points_scale(arms: &[Points<'_>]) -> Option<Scale> {
    let values = arms.iter().flat_map(|arm| arm.points.iter().filter_map(|point| point.ns));
    let ends = arms.iter().filter_map(|arm| arm.estimate?.interval);
    Scale::over(values.chain(ends.flat_map(|interval| [interval.low, interval.high])))
}

pub(crate) fn points(id: &str, arm: &Points<'_>, scale: &Scale, class: &str) -> Markup {
    let sorted = arm.sorted();
    let n = real(sorted.len().max(1));
    let height = |rank: usize| up(real(rank) / n, CURVE - 8.0) + 4.0;
    let title = format!("{} in the regime {}: {}", arm.name(), arm.regime, arm.what);
    let picture =
        Picture { id, title: &title, description: &in_words(arm), height: PLOT + AXIS + TITLE };
    picture.draw(
        &format!("above points {class}"),
        &html! {
            (below(&scale.durations(4), scale, PLOT))
            (titles(arm.what, "share of processes", PLOT))
            (stretched(PLOT, &html! { path class="ecdf" d=(steps(&sorted, scale, height)) {} }))
            @if sorted.len() <= MOST_WITH_WORDS {
                @for (rank, (ns, point)) in sorted.iter().enumerate() {
                    circle class="point" cx=(pc(scale.at(*ns))) cy=(px(height(rank + 1))) r="3.5" {
                        title { (tooltip(*ns, point)) }
                    }
                }
            } @else {
                @let all = sorted.iter().enumerate();
                (stretched(PLOT, &html! {
                    path class="dots" data-points=(sorted.len())
                        d=(dots(all.map(|(rank, (ns, _))| (scale.at(*ns), height(rank + 1))))) {}
                }))
            }
            (interval(arm, scale))
            @for (ns, point) in arm.invalid() {
                text class="cross" x=(pc(scale.at(ns))) y=(px(STRIP + 4.5)) text-anchor="middle" {
                    "×" title { (tooltip(ns, point)) }
                }
            }
        },
    )
}

fn steps(sorted: &[(f64, &Point)], scale: &Scale, height: impl Fn(usize) -> f64) -> String {
    let Some((first, _)) = sorted.first() else { return String::new() };
    let corners = sorted.iter().enumerate().flat_map(|(rank, (ns, _))| {
        let x = scale.at(*ns);
        [(x, height(rank)), (x, height(rank + 1))]
    });
    let begin = (0.0, height(0));
    let end = (1.0, height(sorted.len()));
    line([begin, (scale.at(*first), height(0))].into_iter().chain(corners).chain([end]))
}

fn interval(points: &Points<'_>, scale: &Scale) -> Markup {
    let Some(estimate) = points.estimate else { return html! {} };
    html! {
        @if let Some(interval) = estimate.interval {
            line class="interval" x1=(pc(scale.at(interval.low))) x2=(pc(scale.at(interval.high)))
                y1=(px(STRIP)) y2=(px(STRIP)) {
                title {
                    "interval " (duration(interval.low)) " to " (duration(interval.high))
                }
            }
        }
        line class="estimate" x1=(pc(scale.at(estimate.point))) x2=(pc(scale.at(estimate.point)))
            y1=(px(STRIP - 7.0)) y2=(px(STRIP + 7.0)) {
            title { (duration(estimate.point)) }
        }
    }
}

fn tooltip(ns: f64, point: &Point) -> String {
    let round = point.round.map_or_else(String::new, |round| format!(", round {round}"));
    let why = if point.valid { String::new() } else { format!("; {}", point.reasons.join("; ")) };
    format!("process {}{round}: {}{why}", point.number, duration(ns))
}

fn in_words(points: &Points<'_>) -> String {
    let sorted = points.sorted();
    let range = match (sorted.first(), sorted.last()) {
        (Some((low, _)), Some((high, _))) => {
            format!(", from {} to {}", duration(*low), duration(*high))
        }
        _ => String::new(),
    };
    let invalid = points.points.len() - points.points.iter().filter(|point| point.valid).count();
    format!("{} valid processes{range}; {invalid} invalid ones, drawn as crosses", sorted.len())
}
