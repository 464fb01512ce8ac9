//! A swept parameter: the measurement at each value, and the fitted lines.

use firstlight_schema::comparison::{SweepLine, SweepRow};
use maud::{Markup, html};

use super::arm_class;
use super::frame::{AXIS, Picture, TITLE, below, beside, line, pc, px, stretched, titles, up};
use super::looks::marker;
use super::totals::apart;
use crate::words::format::{duration, fit as shortened};
use firstlight_plot::palette::Cast;
use firstlight_plot::scale::{Scale, number, real};

const PLOT: f64 = 200.0;
/// The number of straight pieces of a fitted line, which is curved on logarithmic axes.
const PIECES: usize = 60;

/// The longest name at the end of a line; titles of axes have the same room.
const LONGEST_LABEL: usize = 14;
const LONGEST_TITLE: usize = 40;

/// Values closer than this share of the width would overlap.
const ROOM_FOR_A_VALUE: f64 = 0.13;

/// The arms of one regime, over a parameter. `None` if fewer than two values are numbers.
pub(crate) fn sweep(
    id: &str,
    (parameter, what): (&str, &str),
    lines: &[&SweepLine],
    title: &str,
    cast: &Cast,
) -> Option<Markup> {
    let rows = || lines.iter().flat_map(|line| line.rows.iter().filter_map(measured));
    let x = Scale::over(rows().map(|(x, ..)| x))?;
    let y = Scale::over(rows().flat_map(|(_, low, point, high)| [low, point, high]))?;
    let first = rows().next()?.0;
    if rows().all(|(value, ..)| value.total_cmp(&first).is_eq()) {
        return None;
    }
    let description = format!("time against {parameter}, {} arms", lines.len());
    let picture = Picture { id, title, description: &description, height: PLOT + AXIS + TITLE };
    let ends: Vec<(&str, f64)> = lines.iter().filter_map(|line| end(line, &y)).collect();
    let places = apart(&ends.iter().map(|(_, end)| *end).collect::<Vec<_>>(), PLOT);
    Some(picture.draw(
        "beside labelled sweep",
        &html! {
            (below(&ticks(rows().map(|(x, ..)| x), &x), &x, PLOT))
            (beside(&y.durations(4), &y, PLOT))
            (titles(&shortened(parameter, LONGEST_TITLE), what, PLOT))
            @for line in lines {
                g class=(arm_class(cast, &line.arm)) {
                    (stretched(PLOT, &html! { path class="fitted" d=(fitted(line, &x, &y)) {} }))
                    @for row in &line.rows {
                        @if let Some(values) = measured(row) { (point(line, values, (&x, &y), cast)) }
                    }
                }
            }
            @for ((arm, _), place) in ends.iter().zip(places) {
                text class={ "end " (arm_class(cast, arm)) } x="100%" dx="6" y=(px(place + 4.0)) {
                    (shortened(arm, LONGEST_LABEL))
                }
            }
        },
    ))
}

/// The height of the last value, next to which the arm's name is placed.
fn end<'a>(line: &'a SweepLine, y: &Scale) -> Option<(&'a str, f64)> {
    let (_, _, time, _) = line.rows.iter().filter_map(measured).next_back()?;
    Some((&line.arm, up(y.at(time), PLOT)))
}

/// The values themselves if there is room for them, otherwise round numbers.
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
    sweep_line: &SweepLine,
    (value, low, time, high): (f64, f64, f64, f64),
    (x, y): (&Scale, &Scale),
    cast: &Cast,
) -> Markup {
    let (place, at) = (pc(x.at(value)), |ns: f64| px(up(y.at(ns), PLOT)));
    let (time_words, low_words, high_words) = (duration(time), duration(low), duration(high));
    let title = format!(
        "{} at {}: {time_words} ({low_words} to {high_words})",
        sweep_line.arm,
        number(value)
    );
    html! {
        line class="interval" x1=(place) x2=(place) y1=(at(low)) y2=(at(high)) {}
        (marker(cast, &sweep_line.arm, (&place, &at(time)), "point", &title))
    }
}

fn fitted(sweep_line: &SweepLine, x: &Scale, y: &Scale) -> String {
    let (Some(constant), Some(slope)) = (sweep_line.constant, sweep_line.slope) else {
        return String::new();
    };
    let places = (0..=PIECES).map(|piece| real(piece) / real(PIECES));
    let points = places.map(|place| (place, constant.point + slope.point * x.value(place)));
    let inside = points.filter(|(_, ns)| (y.low..=y.high).contains(ns));
    line(inside.map(|(place, ns)| (place, up(y.at(ns), PLOT))))
}
