//! What all pictures share: the outer element with its name, axes, and places as text.

use std::fmt::Write as _;

use maud::{Markup, html};

use firstlight_plot::scale::Scale;

/// The width of the stretched part, in its own units.
pub(super) const WIDTH: f64 = 1000.0;
/// Room for the labels below an axis.
pub(super) const AXIS: f64 = 20.0;
/// Room for the title of the horizontal axis.
pub(super) const TITLE: f64 = 14.0;

/// A picture with its name and what can be said of it in words.
pub(super) struct Picture<'a> {
    /// Unique in the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    pub(super) height: f64,
}

impl Picture<'_> {
    pub(super) fn draw(&self, class: &str, body: &Markup) -> Markup {
        let (title, description) = (format!("{}-t", self.id), format!("{}-d", self.id));
        html! {
            svg class={ "chart " (class) } role="img" width="100%" height=(px(self.height))
                aria-labelledby=(title) aria-describedby=(description) {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                (body)
            }
        }
    }
}

/// A part in which x goes from 0 to [`WIDTH`], however wide it is drawn.
pub(super) fn stretched(height: f64, body: &Markup) -> Markup {
    html! {
        svg x="0" y="0" width="100%" height=(px(height))
            viewBox=(format!("0 0 {WIDTH} {}", px(height))) preserveAspectRatio="none" {
            (body)
        }
    }
}

/// Lines and labels of the horizontal axis; the plot is `height` high.
pub(super) fn below(ticks: &[(f64, String)], scale: &Scale, height: f64) -> Markup {
    html! {
        @for (value, label) in ticks {
            @let place = scale.at(*value);
            line class="grid" x1=(pc(place)) x2=(pc(place)) y1="0" y2=(px(height)) {}
            text class="tick" x=(pc(place)) y=(px(height + 14.0)) text-anchor=(anchor(place)) {
                (label)
            }
        }
    }
}

/// Lines and labels of the vertical axis; the style sheet leaves room on the left (`.beside`).
pub(super) fn beside(ticks: &[(f64, String)], scale: &Scale, height: f64) -> Markup {
    html! {
        @for (value, label) in ticks {
            @let y = up(scale.at(*value), height);
            line class="grid" x1="0" x2="100%" y1=(px(y)) y2=(px(y)) {}
            text class="tick" x="-6" y=(px(y + 4.0)) text-anchor="end" { (label) }
        }
    }
}

fn anchor(place: f64) -> &'static str {
    match place {
        p if p < 0.05 => "start",
        p if p > 0.95 => "end",
        _ => "middle",
    }
}

/// What both axes show: below the labels of the horizontal one, and above the vertical one, where the
/// style sheet leaves room (`.above`, `.beside`).
pub(super) fn titles(across: &str, upwards: &str, height: f64) -> Markup {
    html! {
        text class="axis" x="50%" y=(px(height + AXIS + 11.0)) text-anchor="middle" { (across) }
        text class="axis" x="0" y="-7" text-anchor="start" { (upwards) }
    }
}

/// From a place between 0 and 1 to a distance from the top.
pub(super) fn up(place: f64, height: f64) -> f64 {
    height - place * height
}

pub(super) fn pc(place: f64) -> String {
    format!("{:.2}%", place * 100.0)
}

pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A line through points of a stretched part.
pub(super) fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        write!(path, "{letter}{:.1} {y:.1}", x * WIDTH).expect("writing to a string");
    }
    path
}

/// Points of a stretched part that are round at any width: lines without a length.
pub(super) fn dots(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        write!(path, "M{:.1} {y:.1}h0", x * WIDTH).expect("writing to a string");
    }
    path
}
