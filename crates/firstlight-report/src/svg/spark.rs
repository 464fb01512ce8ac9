//! A few snapshots in a row, small: each with its interval, without axes.

use firstlight_plot::palette::Cast;
use firstlight_plot::scale::{Scale, real};
use firstlight_schema::estimate::Estimate;
use maud::{Markup, html};

use super::arm_class;
use super::frame::{Picture, beside, line, pc, px, stretched, up};
use super::looks::marker;

const HEIGHT: f64 = 64.0;

/// One arm in one snapshot.
pub(crate) struct SparkPoint {
    /// The snapshot's place in the row.
    pub(crate) slot: usize,
    pub(crate) estimate: Estimate,
    pub(crate) told: String,
}

/// Nothing where nothing was measured.
pub(crate) fn spark(
    id: &str,
    title: &str,
    lines: &[(&str, Vec<SparkPoint>)],
    slots: usize,
    cast: &Cast,
) -> Option<Markup> {
    let ends = |of: &Estimate| {
        of.interval.map_or((of.point, of.point), |interval| (interval.low, interval.high))
    };
    let all = || lines.iter().flat_map(|(_, points)| points);
    let y = Scale::over(all().flat_map(|point| {
        let (low, high) = ends(&point.estimate);
        [low, point.estimate.point, high]
    }))?;
    let x = |slot: usize| (real(slot) + 0.5) / real(slots.max(1));
    let at = |ns: f64| up(y.at(ns), HEIGHT);
    let description = format!("{} points of {} arms", all().count(), lines.len());
    let picture = Picture { id, title, description: &description, height: HEIGHT };
    Some(picture.draw(
        "beside spark",
        &html! {
            (beside(&y.durations(2), &y, HEIGHT))
            @for (arm, points) in lines {
                g class=(arm_class(cast, arm)) {
                    @if points.len() > 1 {
                        (stretched(HEIGHT, &html! {
                            path class="joined"
                                d=(line(points.iter().map(|of| (x(of.slot), at(of.estimate.point))))) {}
                        }))
                    }
                    @for point in points {
                        @let (low, high) = ends(&point.estimate);
                        @let place = pc(x(point.slot));
                        line class="interval" x1=(place) x2=(place) y1=(px(at(low))) y2=(px(at(high))) {}
                        (marker(cast, arm, (&place, &px(at(point.estimate.point))), "point", &point.told))
                    }
                }
            }
        },
    ))
}
