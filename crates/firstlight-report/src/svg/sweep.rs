//! A swept parameter: what was measured at each value, and the fitted lines.

use firstlight_schema::comparison::{SweepLine, SweepRow};
use maud::{Markup, html};

use super::arm_class;
use super::frame::{AXIS, Picture, below, beside, line, pc, px, stretched, up};
use crate::words::format::duration;
use firstlight_plot::scale::{Scale, number, real};

const PLOT: f64 = 200.0;
/// Straight pieces in which a fitted line is drawn: on logarithmic axes it bends.
const PIECES: usize = 60;

/// Values closer than this share of the width would stand in each other's way.
const ROOM_FOR_A_VALUE: f64 = 0.13;

/// The arms of one regime; each line with the number that gives it its colour. Nothing where fewer
/// than two values are numbers.
pub(crate) fn sweep(
    id: &str,
    parameter: &str,
    lines: &[(usize, &SweepLine)],
    title: &str,
) -> Option<Markup> {
    let rows = || lines.iter().flat_map(|(_, line)| line.rows.iter().filter_map(measured));
    let x = Scale::over(rows().map(|(x, ..)| x))?;
    let y = Scale::over(rows().flat_map(|(_, low, point, high)| [low, point, high]))?;
    let first = rows().next()?.0;
    if rows().all(|(value, ..)| value.total_cmp(&first).is_eq()) {
        return None;
    }
    let description = format!("time against {parameter}, {} arms", lines.len());
    let picture = Picture { id, title, description: &description, height: PLOT + AXIS };
    Some(picture.draw(
        "beside sweep",
        &html! {
            (below(&ticks(rows().map(|(x, ..)| x), &x), &x, PLOT))
            (beside(&y.durations(4), &y, PLOT))
            @for (index, line) in lines {
                g class=(arm_class(*index)) {
                    (stretched(PLOT, &html! { path class="fitted" d=(fitted(line, &x, &y)) {} }))
                    @for row in &line.rows {
                        @if let Some(values) = measured(row) { (point(line, values, &x, &y)) }
                    }
                }
            }
        },
    ))
}

/// The values themselves where there is room for them, else round numbers.
fn ticks(values: impl Iterator<Item = f64>, x: &Scale) -> Vec<(f64, String)> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let has_room = values.windows(2).all(|pair| x.at(pair[1]) - x.at(pair[0]) > ROOM_FOR_A_VALUE);
    if has_room {
        return values.into_iter().map(|value| (value, number(value))).collect();
    }
    x.numbers(5)
}

/// The value, and the time with both ends of its interval.
fn measured(row: &SweepRow) -> Option<(f64, f64, f64, f64)> {
    let (x, time) = (row.number?, row.time?);
    let (low, high) = time.interval.map_or((time.point, time.point), |ends| (ends.low, ends.high));
    Some((x, low, time.point, high))
}

fn point(
    of: &SweepLine,
    (value, low, time, high): (f64, f64, f64, f64),
    x: &Scale,
    y: &Scale,
) -> Markup {
    let (place, at) = (pc(x.at(value)), |ns: f64| px(up(y.at(ns), PLOT)));
    html! {
        line class="interval" x1=(place) x2=(place) y1=(at(low)) y2=(at(high)) {}
        circle class="point" cx=(place) cy=(at(time)) r="4" {
            title {
                (of.arm) " at " (number(value)) ": " (duration(time)) " (" (duration(low)) " to "
                (duration(high)) ")"
            }
        }
    }
}

fn fitted(of: &SweepLine, x: &Scale, y: &Scale) -> String {
    let (Some(constant), Some(slope)) = (of.constant, of.slope) else { return String::new() };
    let places = (0..=PIECES).map(|piece| real(piece) / real(PIECES));
    let points = places.map(|place| (place, constant.point + slope.point * x.value(place)));
    let inside = points.filter(|(_, ns)| (y.low..=y.high).contains(ns));
    line(inside.map(|(place, ns)| (place, up(y.at(ns), PLOT))))
}
