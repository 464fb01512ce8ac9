//! A small picture of a few snapshots in a row: each with its interval, without axes.

use std::fmt::Write as _;

use firstlight_plot::palette::Cast;
use firstlight_plot::scale::{Scale, real};
use firstlight_schema::estimate::Estimate;
use maud::{Markup, html};

use super::arm_class;
use super::frame::{Picture, WIDTH, beside, line, pc, px, stretched, up};
use super::looks::marker;

const HEIGHT: f64 = 64.0;

/// One arm in one snapshot.
pub(crate) struct SparkPoint {
    /// The snapshot's index in the row.
    pub(crate) slot: usize,
    pub(crate) estimate: Estimate,
    pub(crate) title: String,
}

/// Vertical lines at given places, each from one height to another.
fn intervals(points: impl Iterator<Item = (f64, f64, f64)>) -> String {
    let mut path = String::new();
    for (x, low, high) in points {
        write!(path, "M{:.1} {low:.1}V{high:.1}", x * WIDTH).expect("writing to a string");
    }
    path
}

/// `None` if nothing was measured.
pub(crate) fn spark(
    id: &str,
    title: &str,
    lines: &[(&str, Vec<SparkPoint>)],
    slots: usize,
    cast: &Cast,
) -> Option<Markup> {
    let ends = |one: &Estimate| {
        one.interval.map_or((one.point, one.point), |interval| (interval.low, interval.high))
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
                    (stretched(HEIGHT, &html! {
                        path class="interval" d=(intervals(points.iter().map(|one| {
                            let (low, high) = ends(&one.estimate);
                            (x(one.slot), at(low), at(high))
                        }))) {}
                        @if points.len() > 1 {
                            path class="joined"
                                d=(line(points.iter().map(|one| (x(one.slot), at(one.estimate.point))))) {}
                        }
                    }))
                    // Only the newest has a tooltip and a marker, because a site has many of these pictures.
                    @if let Some(last) = points.last() {
                        @let place = (pc(x(last.slot)), px(at(last.estimate.point)));
                        (marker(cast, arm, (&place.0, &place.1), "point", &last.title))
                    }
                }
            }
        },
    ))
}
