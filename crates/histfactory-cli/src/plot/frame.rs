//! Axes: maps numbers to places, with ticks at round values, grid and labels.

use firstlight_plot::scale::Scale;
use firstlight_plot::svg::{Anchor, Stroke, Svg};

use super::colour;

/// A range of numbers along one side of the plot.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    scale: Scale,
    start: f64,
    end: f64,
}

impl Axis {
    pub(super) fn new([from, to]: [f64; 2], start: f64, end: f64) -> Self {
        let (from, to) = if to > from { (from, to) } else { (from - 0.5, from + 0.5) };
        Self { scale: Scale::exact(from, to, false), start, end }
    }

    /// The place of a value; values outside are moved to the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.start + self.scale.at(value) * (self.end - self.start)
    }

    pub(super) fn covers(&self, value: f64) -> bool {
        self.scale.covers(value)
    }

    /// At most this many round values.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        self.scale.ticks(most)
    }
}

/// A tick's label: no more digits than it needs.
pub(super) fn label(value: f64) -> String {
    let rounded = format!("{value:.6}");
    let trimmed = rounded.trim_end_matches('0').trim_end_matches('.');
    match trimmed {
        "-0" | "" => "0".to_owned(),
        trimmed if trimmed == "0" && value != 0.0 => format!("{value:.1e}"),
        trimmed => trimmed.to_owned(),
    }
}

/// A plot with two axes.
pub(super) struct Frame {
    pub(super) svg: Svg,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

pub(super) const WIDTH: f64 = 640.0;
pub(super) const HEIGHT: f64 = 440.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;

impl Frame {
    pub(super) fn new(title: &str, description: &str, x: [f64; 2], y: [f64; 2]) -> Self {
        let mut svg = Svg::new(WIDTH, HEIGHT, title, description);
        colour::set_on_dark(&mut svg);
        svg.text([LEFT, 24.0], Anchor::Start, title);
        let x = Axis::new(x, LEFT, WIDTH - RIGHT);
        let y = Axis::new(y, HEIGHT - BOTTOM, TOP);
        Self { svg, x, y }
    }

    /// Grid and axes; drawn over the areas and under the lines.
    pub(super) fn axes(&mut self, across: &str, up: &str) {
        let (bottom, top) = (HEIGHT - BOTTOM, TOP);
        for tick in self.x.ticks(9) {
            let x = self.x.at(tick);
            self.svg.line([x, top], [x, bottom], Stroke::thin(colour::GRID));
            self.svg.text([x, bottom + 18.0], Anchor::Middle, &label(tick));
        }
        for tick in self.y.ticks(8) {
            let y = self.y.at(tick);
            self.svg.line([LEFT, y], [WIDTH - RIGHT, y], Stroke::thin(colour::GRID));
            self.svg.text([LEFT - 8.0, y + 4.0], Anchor::End, &label(tick));
        }
        let box_size = [WIDTH - LEFT - RIGHT, bottom - top];
        self.svg.outline([LEFT, top], box_size, Stroke::thin(colour::INK));
        self.svg.text([f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 14.0], Anchor::Middle, across);
        self.svg.upright([18.0, f64::midpoint(top, bottom)], up);
    }

    pub(super) fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.x.at(x), self.y.at(y)]
    }

    pub(super) fn curve(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        let places: Vec<_> = points.iter().map(|point| self.place(*point)).collect();
        self.svg.path(&places, stroke);
    }

    /// The area between two curves over the same values.
    pub(super) fn band(&mut self, lower: &[[f64; 2]], upper: &[[f64; 2]], fill: &str) {
        let around = upper.iter().chain(lower.iter().rev());
        let places: Vec<_> = around.map(|point| self.place(*point)).collect();
        self.svg.area(&places, fill);
    }

    /// A horizontal line at a value, with a label.
    pub(super) fn level(&mut self, value: f64, word: &str, colour: &'static str) {
        if !self.y.covers(value) {
            return;
        }
        let y = self.y.at(value);
        self.svg.line([LEFT, y], [WIDTH - RIGHT, y], Stroke::thin(colour).dashed());
        self.svg.text([f64::midpoint(LEFT, WIDTH - RIGHT), y - 5.0], Anchor::Middle, word);
    }

    /// The meaning of lines and areas, in the upper right corner.
    pub(super) fn legend(&mut self, entries: &[(&str, Key)]) {
        for (row, (word, key)) in (0u32..).zip(entries) {
            let y = TOP + 18.0 + 18.0 * f64::from(row);
            let x = WIDTH - RIGHT - 150.0;
            match key {
                Key::Area(fill) => self.svg.rectangle([x, y - 10.0], [22.0, 12.0], fill),
                Key::Line(stroke) => self.svg.line([x, y - 4.0], [x + 22.0, y - 4.0], *stroke),
            }
            self.svg.text([x + 30.0, y], Anchor::Start, word);
        }
    }
}

pub(super) enum Key {
    Area(&'static str),
    Line(Stroke),
}

#[cfg(test)]
mod tests {
    use super::{Axis, label};

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::new([0.13, 2.94], 0.0, 100.0);
        assert_eq!(
            axis.ticks(6).iter().map(|t| label(*t)).collect::<Vec<_>>(),
            ["0.5", "1", "1.5", "2", "2.5"]
        );
        let axis = Axis::new([-0.02, 0.02], 0.0, 100.0);
        assert!(axis.ticks(6).iter().any(|tick| label(*tick) == "0"));
        assert_eq!(label(-0.0), "0");
    }
}
