//! A case over time in one regime: every snapshot with its interval, joined only while the machine,
//! the suite and the harness stay the same.

use firstlight_schema::estimate::Estimate;
use maud::{Markup, html};

use super::arm_class;
use super::frame::{AXIS, Picture, TITLE, below, beside, line, pc, px, stretched, titles, up};
use super::looks::marker;
use firstlight_plot::palette::Cast;
use firstlight_plot::scale::Scale;

const TOP: f64 = 16.0;
const PLOT: f64 = 200.0;
/// Labels closer than this share of the width would overlap.
const ROOM_FOR_A_LABEL: f64 = 0.16;

/// Snapshots of one arm between two breaks.
pub(crate) struct Line<'a> {
    pub(crate) arm: &'a str,
    /// Points of the first machine are filled, those of others are not.
    pub(crate) is_elsewhere: bool,
    pub(crate) moments: Vec<Moment>,
}

/// One snapshot's figure.
pub(crate) struct Moment {
    /// Seconds.
    pub(crate) at: f64,
    pub(crate) estimate: Estimate,
    pub(crate) title: String,
}

/// Breaks of lines because the measured code or the instrument changed.
pub(crate) struct Break {
    pub(crate) at: f64,
    /// Of our own words.
    pub(crate) label: String,
    pub(crate) why: String,
}

pub(crate) struct HistoryChart<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) lines: &'a [Line<'a>],
    pub(crate) cast: &'a Cast,
    /// The measured quantity.
    pub(crate) what: &'a str,
    pub(crate) breaks: &'a [Break],
    /// Days for labels below the axis, in order.
    pub(crate) days: &'a [(f64, String)],
}

impl HistoryChart<'_> {
    /// `None` if nothing was measured.
    pub(crate) fn draw(&self) -> Option<Markup> {
        let moments = || self.lines.iter().flat_map(|line| &line.moments);
        let x = Scale::over(self.days.iter().map(|(at, _)| *at))?;
        let y = Scale::over(moments().flat_map(|moment| {
            let (low, high) = ends(&moment.estimate);
            [low, moment.estimate.point, high]
        }))?;
        let description = format!(
            "{} points in {} unbroken lines; {} breaks",
            moments().count(),
            self.lines.len(),
            self.breaks.len()
        );
        let height = TOP + PLOT + AXIS + TITLE;
        let picture = Picture { id: self.id, title: self.title, description: &description, height };
        Some(picture.draw(
            "beside history",
            &html! {
                (titles("", self.what, 0.0))
                (breaks(self.breaks, &x))
                svg x="0" y=(px(TOP)) width="100%" height=(px(PLOT + AXIS + TITLE)) {
                    (titles("date of the snapshot", "", PLOT))
                    (below(&spaced(self.days, &x), &x, PLOT))
                    (beside(&y.durations(4), &y, PLOT))
                    @for one in self.lines { (unbroken(one, self.cast, &x, &y)) }
                }
            },
        ))
    }
}

fn unbroken(value: &Line<'_>, cast: &Cast, x: &Scale, y: &Scale) -> Markup {
    let at = |ns: f64| up(y.at(ns), PLOT);
    let path = line(value.moments.iter().map(|one| (x.at(one.at), at(one.estimate.point))));
    let class = if value.is_elsewhere { "point elsewhere" } else { "point" };
    html! {
        g class=(arm_class(cast, value.arm)) {
            @if value.moments.len() > 1 { (stretched(PLOT, &html! { path class="joined" d=(path) {} })) }
            @for moment in &value.moments {
                @let (low, high) = ends(&moment.estimate);
                @let place = pc(x.at(moment.at));
                line class="interval" x1=(place) x2=(place) y1=(px(at(low))) y2=(px(at(high))) {}
                (marker(cast, value.arm, (&place, &px(at(moment.estimate.point))), class, &moment.title))
            }
        }
    }
}

fn breaks(all: &[Break], x: &Scale) -> Markup {
    let mut free = 0.0;
    html! {
        @for one in all {
            @let place = x.at(one.at);
            line class="break" x1=(pc(place)) x2=(pc(place)) y1="0" y2=(px(TOP + PLOT)) {
                title { (one.why) }
            }
            @if place >= free {
                ({ free = place + ROOM_FOR_A_LABEL; "" })
                text class="tick" x=(pc(place)) dx="4" y="10" text-anchor="start" {
                    (one.label) title { (one.why) }
                }
            }
        }
    }
}

fn ends(estimate: &Estimate) -> (f64, f64) {
    estimate
        .interval
        .map_or((estimate.point, estimate.point), |interval| (interval.low, interval.high))
}

/// As many days as there is room for.
fn spaced(days: &[(f64, String)], x: &Scale) -> Vec<(f64, String)> {
    let mut free = 0.0;
    let mut kept = Vec::new();
    for (at, day) in days {
        let place = x.at(*at);
        if place >= free {
            kept.push((*at, day.clone()));
            free = place + ROOM_FOR_A_LABEL + 0.06;
        }
    }
    kept
}
