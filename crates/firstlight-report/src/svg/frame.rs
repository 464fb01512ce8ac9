//! Common parts of all pictures: the outer element with its name, axes, and coordinates as text.

use std::fmt::Write as _;

use maud::{Markup, html};

use firstlight_plot::scale::Scale;

/// The width of the stretched part, in its own units.
pub(super) const WIDTH: f64 = 1000.0;
/// Room for the labels below an axis.
pub(super) const AXIS: f64 = 20.0;
/// Room for the title of the horizontal axis.
pub(super) const TITLE: f64 = 14.0;

/// A picture with its name and description.
pub(super) struct Picture<'a> {
    /// Unique in the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    pub(super) height: f64,
}

impl Picture<'_> {
    pub(super) fn draw(&self, class: &str, body: &Markup) -> Markup {
        let [title, description] = ["t", "d"].map(|part| short(self.id) + part);
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

/// A short replacement for a long identifier, which every picture repeats four times. FNV-1a (Fowler, Noll
/// and Vo), of which forty bits are enough for the pictures of a page.
fn short(id: &str) -> String {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let digit = |place: u32| {
        char::from(b"abcdefghijkmnopqrstuvwxyz2345678"[(hash >> (5 * place) & 31) as usize])
    };
    // Identifiers must begin with a letter.
    std::iter::once('p').chain((0..8).map(digit)).collect()
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

/// The titles of both axes: below the labels of the horizontal one, and above the vertical one, where the
/// style sheet leaves room (`.above`, `.beside`).
pub(super) fn titles(across: &str, upwards: &str, height: f64) -> Markup {
    html! {
        text class="axis" x="50%" y=(px(height + AXIS + 11.0)) text-anchor="middle" { (across) }
        text class="axis" x="0" y="-7" text-anchor="start" { (upwards) }
    }
}

/// Converts a place between 0 and 1 to a distance from the top.
pub(super) fn up(place: f64, height: f64) -> f64 {
    height - place * height
}

pub(super) fn pc(place: f64) -> String {
    let text = format!("{:.2}", place * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A line through points of a stretched part.
pub(super) fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut pen = Pen::default();
    points.for_each(|(x, y)| pen.line_to(x * WIDTH, y));
    pen.path
}

/// Points of a stretched part that are round at any width: lines of zero length.
pub(super) fn dots(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut pen = Pen::default();
    points.for_each(|(x, y)| pen.dot(x * WIDTH, y));
    pen.path
}

/// A path in tenths of a unit, each point relative to the previous one: pages hold many points, and most of
/// them are close to their neighbours. Distances are those of rounded places, so that errors do not
/// accumulate.
#[derive(Debug, Default)]
struct Pen {
    path: String,
    at: (i64, i64),
    points: usize,
}

impl Pen {
    fn line_to(&mut self, x: f64, y: f64) {
        // From the third pair on no letter is needed.
        match self.points {
            0 => self.path.push('M'),
            1 => self.path.push('l'),
            _ => {}
        }
        self.points += 1;
        self.pair(x, y);
    }

    fn dot(&mut self, x: f64, y: f64) {
        self.path.push('m');
        self.pair(x, y);
        self.path.push_str("h0");
    }

    fn pair(&mut self, x: f64, y: f64) {
        let to = (tenths(x), tenths(y));
        self.number(to.0 - self.at.0);
        self.number(to.1 - self.at.1);
        self.at = to;
    }

    /// Writes a number without unnecessary zeros; a minus sign replaces a space.
    fn number(&mut self, tenths: i64) {
        let after_digit = self.path.ends_with(|last: char| last.is_ascii_digit());
        if after_digit && tenths >= 0 {
            self.path.push(' ');
        }
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
        let written = match (whole, rest) {
            (whole, 0) => write!(self.path, "{sign}{whole}"),
            (0, rest) => write!(self.path, "{sign}.{rest}"),
            (whole, rest) => write!(self.path, "{sign}{whole}.{rest}"),
        };
        written.expect("writing to a string");
    }
}

#[expect(clippy::cast_possible_truncation, reason = "places in a picture are small")]
fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::{dots, line, pc};

    #[test]
    fn a_path_is_minimal_and_its_errors_do_not_accumulate() {
        let points = [(0.0, 1.0), (0.0005, 0.96), (0.001, 0.96), (0.5, 20.0)];
        assert_eq!(line(points.into_iter()), "M0 1l.5 0 .5 0 499 19");
        let steps = (0..1000).map(|n| (f64::from(n) / 3000.0, f64::from(n) / 30.0));
        let drawn = line(steps);
        let numbers = drawn[1..].replace('l', " ").replace('-', " -");
        let sum: f64 =
            numbers.split_whitespace().step_by(2).map(|x| x.parse::<f64>().unwrap()).sum();
        assert!((sum - 333.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn dots_are_consecutive() {
        assert_eq!(dots([(0.001, 2.0), (0.002, 1.5)].into_iter()), "m1 2h0m1-.5h0");
        assert_eq!(dots(std::iter::empty()), "");
    }

    #[test]
    fn a_place_has_at_most_two_digits() {
        assert_eq!([pc(0.0), pc(0.5), pc(0.123_45), pc(1.0)], ["0%", "50%", "12.35%", "100%"]);
    }
}
