//! A picture that stands for itself: an SVG file of lines or points, for pages that quote a result.
//! Unlike the report's charts it brings its own colours and its own legend.

use std::fmt::Write as _;

use firstlight_analysis::cheapest::cost;
use firstlight_schema::comparison::SweepResult;
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

use crate::format::duration;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 190.0;
const PLOT: f64 = 300.0;
const BELOW: f64 = 50.0;
/// Told apart by people who do not see all colours, and on white and black.
const COLOURS: [&str; 9] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f",
    "#9467bd",
];

/// A place, with the ends of its interval where it has one.
type Point = (f64, f64, Option<(f64, f64)>);

/// One arm.
struct Line<'a> {
    name: &'a str,
    points: Vec<Point>,
}

/// Total time against calls with every arm, from the start of the process.
pub fn totals(case: &CaseResult, cold: Regime) -> Option<String> {
    let calls: Vec<f64> = (0..=20).map(|step| 10f64.powf(f64::from(step) / 4.0)).collect();
    let lines: Vec<Line<'_>> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let cost = cost(arm, cold)?;
            let points = calls.iter().map(|&calls| (calls, cost.of(calls), None)).collect();
            Some(Line { name: &arm.name, points })
        })
        .collect();
    let title = format!("{}, {cold}: total time against calls", case.name);
    draw(&title, "calls", &lines, Axis::Ratios, Style::Line)
}

/// What calls take beyond their baseline, against a swept parameter.
pub fn overheads(sweep: &SweepResult) -> Option<String> {
    let lines: Vec<Line<'_>> = sweep
        .overheads
        .iter()
        .map(|line| Line {
            name: &line.arm,
            points: line
                .rows
                .iter()
                .filter_map(|row| {
                    let time = row.time?;
                    let ends = time.interval.map(|ends| (ends.low, ends.high));
                    Some((row.number?, time.point, ends))
                })
                .collect(),
        })
        .collect();
    let title = format!("overhead per call against {}", sweep.parameter);
    draw(&title, &sweep.parameter, &lines, Axis::Plain, Style::Points)
}

/// The times of a sweep in one regime.
pub fn sweep(of: &SweepResult, regime: Regime) -> Option<String> {
    let lines: Vec<Line<'_>> = of
        .lines
        .iter()
        .filter(|line| line.regime == regime)
        .map(|line| Line {
            name: &line.arm,
            points: line
                .rows
                .iter()
                .filter_map(|row| {
                    let time = row.time?;
                    Some((row.number?, time.point, time.interval.map(|ends| (ends.low, ends.high))))
                })
                .collect(),
        })
        .collect();
    let title = format!("{}, {regime}: time against {}", of.case, of.parameter);
    draw(&title, &of.parameter, &lines, Axis::Ratios, Style::Points)
}

#[derive(Clone, Copy, PartialEq)]
enum Axis {
    /// From zero, or below where values are.
    Plain,
    /// Logarithmic, both ways.
    Ratios,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Line,
    Points,
}

/// A range of values on a stretch of the picture.
struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
}

impl Scale {
    fn over(axis: Axis, values: &[f64]) -> Option<Self> {
        let kept = values.iter().copied().filter(|value| match axis {
            Axis::Plain => value.is_finite(),
            Axis::Ratios => value.is_finite() && *value > 0.0,
        });
        let (low, high) = kept.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return None;
        }
        let (low, high) = match axis {
            Axis::Plain => (low.min(0.0), high.max(0.0)),
            Axis::Ratios => (low.log10(), high.log10()),
        };
        let room = if high > low { (high - low) * 0.04 } else { 1.0 };
        Some(Self { axis, low: low - room, high: high + room })
    }

    /// From 0 to 1.
    fn at(&self, value: f64) -> f64 {
        let value = match self.axis {
            Axis::Plain => value,
            Axis::Ratios => value.max(f64::MIN_POSITIVE).log10(),
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round values within the range.
    fn ticks(&self) -> Vec<f64> {
        match self.axis {
            Axis::Ratios => {
                let decades = self.high - self.low;
                let steps: &[f64] = if decades < 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let all = (-3..=15)
                    .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
                all.filter(|value| (self.low..=self.high).contains(&value.log10())).collect()
            }
            Axis::Plain => {
                let rough = (self.high - self.low) / 5.0;
                let decade = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0]
                    .map(|step| step * decade)
                    .into_iter()
                    .find(|step| *step >= rough)
                    .unwrap_or(decade);
                let first = (self.low / step).ceil();
                (0..12)
                    .map(|at| (first + f64::from(at)) * step)
                    .filter(|value| *value <= self.high)
                    .collect()
            }
        }
    }
}

fn draw(title: &str, under: &str, lines: &[Line<'_>], axis: Axis, style: Style) -> Option<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let xs: Vec<f64> = points().map(|point| point.0).collect();
    let ys: Vec<f64> = points()
        .flat_map(|&(_, y, ends)| [Some(y), ends.map(|ends| ends.0), ends.map(|ends| ends.1)])
        .flatten()
        .collect();
    let (x, y) = (Scale::over(axis, &xs)?, Scale::over(axis, &ys)?);
    let across = |value: f64| LEFT + x.at(value) * (WIDTH - LEFT - RIGHT);
    let down = |value: f64| TOP + (1.0 - y.at(value)) * PLOT;
    let mut svg = Svg::new(title);
    for tick in y.ticks() {
        let sign = if tick < 0.0 { "−" } else { "" };
        let label = format!("{sign}{}", duration(tick.abs()));
        svg.rule(LEFT, down(tick), WIDTH - RIGHT, down(tick));
        svg.text(LEFT - 8.0, down(tick) + 4.0, "end", &label);
    }
    for tick in x.ticks() {
        svg.rule(across(tick), TOP, across(tick), TOP + PLOT);
        svg.text(across(tick), TOP + PLOT + 18.0, "middle", &plain(tick));
    }
    svg.text(f64::midpoint(LEFT, WIDTH - RIGHT), TOP + PLOT + 40.0, "middle", under);
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let path: Vec<String> = line
            .points
            .iter()
            .map(|&(px, py, _)| format!("{:.1} {:.1}", across(px), down(py)))
            .collect();
        svg.path(&path, colour);
        if style == Style::Points {
            for &(px, py, ends) in &line.points {
                svg.point(across(px), down(py), ends.map(|(a, b)| (down(a), down(b))), colour);
            }
        }
        svg.entry(index, colour, line.name);
    }
    Some(svg.finish())
}

fn plain(value: f64) -> String {
    if value.abs() >= 1e4 { format!("{value:e}") } else { format!("{value}") }
}

struct Svg(String);

impl Svg {
    fn new(title: &str) -> Self {
        let height = TOP + PLOT + BELOW;
        let mut svg = Self(String::new());
        svg.add(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\">"
        ));
        let title = escaped(title);
        svg.add(&format!("<title>{title}</title>"));
        svg.add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
        svg.add(&format!("<text x=\"{LEFT}\" y=\"24\" font-size=\"14\">{title}</text>"));
        svg
    }

    fn add(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("writing to a string");
    }

    fn rule(&mut self, x1: f64, y1: f64, x2: f64, y2: f64) {
        self.add(&format!(
            "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#ddd\" fill=\"none\"/>"
        ));
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped(text);
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn path(&mut self, points: &[String], colour: &str) {
        let path = points.join("L");
        self.add(&format!(
            "<path d=\"M{path}\" stroke=\"{colour}\" stroke-width=\"1.5\" fill=\"none\"/>"
        ));
    }

    fn point(&mut self, x: f64, y: f64, ends: Option<(f64, f64)>, colour: &str) {
        if let Some((low, high)) = ends {
            self.add(&format!(
                "<path d=\"M{x:.1} {low:.1}L{x:.1} {high:.1}\" stroke=\"{colour}\"/>"
            ));
        }
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"));
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
    fn entry(&mut self, index: usize, colour: &str, name: &str) {
        let (x, y) = (WIDTH - RIGHT + 16.0, TOP + 12.0 + index as f64 * 20.0);
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"));
        self.text(x + 12.0, y + 4.0, "start", name);
    }

    fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Axis, Line, Scale, Style, draw};

    #[test]
    fn every_arm_has_its_line_its_points_and_its_name() {
        let lines = [
            Line { name: "a<b", points: vec![(1.0, 10.0, None), (10.0, 1e3, Some((500.0, 2e3)))] },
            Line { name: "c", points: vec![(1.0, 20.0, None), (10.0, 30.0, None)] },
        ];
        let svg = draw("t", "n", &lines, Axis::Ratios, Style::Points).unwrap();
        assert!(svg.contains("a&lt;b") && svg.contains(">c</text>"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 4 + 2);
        assert_eq!(draw("t", "n", &[], Axis::Plain, Style::Line), None);
    }

    #[test]
    fn values_below_zero_have_their_place_on_a_plain_axis() {
        let scale = Scale::over(Axis::Plain, &[-5.0, 20.0]).unwrap();
        assert!(scale.at(-5.0) < scale.at(0.0) && scale.at(0.0) < scale.at(20.0));
        assert!(scale.ticks().contains(&0.0));
    }
}
