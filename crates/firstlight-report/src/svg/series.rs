//! The calls of one warm process in order: its levels, its steady part, and its disturbances.

use maud::{Markup, html};

use super::frame::{
    AXIS, Picture, TITLE, below, beside, dots, line, pc, px, stretched, titles, up,
};
use crate::model::{Column, Drawn, Series, WarmArm};
use crate::words::format::duration;
use firstlight_plot::scale::{Scale, real};

const HEIGHT: f64 = 96.0;

/// One scale for all processes of an arm.
pub(crate) fn series_scale(arm: &WarmArm<'_>) -> Option<Scale> {
    let drawn = arm.processes.iter().filter(|one| one.high > 0.0);
    Scale::over(drawn.flat_map(|one| [one.low, one.high]))
}

pub(crate) fn series(
    id: &str,
    arm: &str,
    value: &Series<'_>,
    scale: &Scale,
    class: &str,
) -> Markup {
    let title = format!("Calls of process {} of {arm}, in order", value.sample.number);
    let picture =
        Picture { id, title: &title, description: &in_words(value), height: HEIGHT + AXIS + TITLE };
    let calls_scale =
        Scale::exact(0.0, f64::from(value.window.map_or(1, |window| window.calls.max(1))), false);
    let validity = if value.sample.valid { "" } else { " invalid" };
    picture.draw(
        &format!("beside series {class}{validity}"),
        &html! {
            (steady(value))
            (beside(&scale.durations(3), scale, HEIGHT))
            (below(&calls_scale.numbers(4), &calls_scale, HEIGHT))
            (titles("call", "time of a call", HEIGHT))
            (stretched(HEIGHT, &html! { (calls(value, scale)) (levels(value, scale)) }))
            @for mark in &value.marks {
                @let place = place(value, mark.call);
                line class="event" x1=(pc(place)) x2=(pc(place)) y1="0" y2=(px(HEIGHT)) {
                    title { "call " (mark.call + 1) ": " (mark.what) }
                }
            }
        },
    )
}

/// The steady part as an area behind the calls.
fn steady(series: &Series<'_>) -> Markup {
    let Some((window, from)) = series.window.and_then(|window| Some((window, window.steady_from?)))
    else {
        return html! {};
    };
    let begin = place(series, from);
    html! {
        rect class="steady" x=(pc(begin)) y="0" width=(pc(1.0 - begin)) height=(px(HEIGHT)) {
            title {
                "steady from call " (from + 1)
                @if let Some(steady) = &window.steady { ": " (duration(steady.mean_ns)) " per call" }
            }
        }
    }
}

fn place(series: &Series<'_>, call: u32) -> f64 {
    let calls = series.window.map_or(1, |window| window.calls.max(1));
    f64::from(call.min(calls)) / f64::from(calls)
}

fn calls(series: &Series<'_>, scale: &Scale) -> Markup {
    let y = |ns: f64| up(scale.at(ns), HEIGHT);
    match &series.drawn {
        Drawn::Calls(calls) => {
            let n = real(calls.len().max(1));
            let points = calls.iter().enumerate();
            let path = dots(points.map(|(call, &ns)| ((real(call) + 0.5) / n, y(ns))));
            html! { path class="dots" data-points=(calls.len()) d=(path) {} }
        }
        Drawn::Envelope(columns) => html! {
            path class="envelope" data-columns=(columns.len()) d=(envelope(columns, y)) {}
        },
    }
}

/// From the shortest to the longest call of each column.
fn envelope(columns: &[Column], y: impl Fn(f64) -> f64) -> String {
    let n = real(columns.len());
    let ends = columns.iter().enumerate().flat_map(|(column, one)| {
        let x = (real(column) + 0.5) / n;
        [(x, y(one.low)), (x, y(one.high))]
    });
    line(ends)
}

/// The means of the segments.
fn levels(series: &Series<'_>, scale: &Scale) -> Markup {
    let segments = series.window.map_or(&[][..], |window| &window.segments);
    html! {
        @for segment in segments {
            @let y = up(scale.at(segment.mean), HEIGHT);
            path class="level"
                d=(line([(place(series, segment.from), y), (place(series, segment.to), y)].into_iter())) {
                title {
                    "calls " (segment.from + 1) " to " (segment.to) ": mean "
                    (duration(segment.mean)) ", standard deviation " (duration(segment.sd))
                }
            }
        }
    }
}

fn in_words(series: &Series<'_>) -> String {
    let Some(window) = series.window else { return "no measured call".to_owned() };
    let steady = match (&window.steady, window.steady_from) {
        (Some(steady), Some(from)) => {
            format!("steady from call {} on at {}", from + 1, duration(steady.mean_ns))
        }
        _ => "no steady part".to_owned(),
    };
    format!(
        "{} calls from {} to {}; {steady}; {} disturbances",
        window.calls,
        duration(series.low),
        duration(series.high),
        series.marks.len()
    )
}
