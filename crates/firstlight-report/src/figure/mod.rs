//! A picture that stands for itself: an SVG file of lines or points, for pages that quote a result.
//! Unlike the report's charts it brings its own colours and its own legend.

mod phases;
mod scale;
mod svg;

use firstlight_analysis::cheapest::cost;
use firstlight_schema::comparison::SweepResult;
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

pub use phases::phases;
use scale::{Axis, Scale};
use svg::{LEFT, RIGHT, Svg, TOP, WIDTH};

use crate::tables::signed_point;

const PLOT: f64 = 300.0;
/// Told apart by people who do not see all colours, and on white and black.
const COLOURS: [&str; 9] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f",
    "#9467bd",
];

const DASHES: [&str; 3] = ["", "9 5", "2 4"];

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

/// What calls take beyond something, against a swept parameter.
pub fn overheads(sweep: &SweepResult, beyond: &str) -> Option<String> {
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
    let title = format!("time per call beyond {beyond}, against {}", sweep.parameter);
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
enum Style {
    Line,
    Points,
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
    let mut svg = Svg::new(title, PLOT);
    let times = match axis {
        Axis::Plain => y.ticks(),
        Axis::Ratios => y.time_ticks(),
    };
    for tick in times {
        svg.rule(LEFT, down(tick), WIDTH - RIGHT, down(tick));
        svg.text(LEFT - 8.0, down(tick) + 4.0, "end", &time_label(tick));
    }
    for tick in x.ticks() {
        svg.rule(across(tick), TOP, across(tick), TOP + PLOT);
        svg.text(across(tick), TOP + PLOT + 18.0, "middle", &plain(tick));
    }
    svg.text(f64::midpoint(LEFT, WIDTH - RIGHT), TOP + PLOT + 40.0, "middle", under);
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        // Lines that lie on each other are told apart by their dashes.
        let dashes = if style == Style::Line { DASHES[index % DASHES.len()] } else { "" };
        let path: Vec<String> = line
            .points
            .iter()
            .map(|&(px, py, _)| format!("{:.1} {:.1}", across(px), down(py)))
            .collect();
        svg.path(&path, colour, dashes);
        if style == Style::Points {
            for &(px, py, ends) in &line.points {
                svg.point(across(px), down(py), ends.map(|(a, b)| (down(a), down(b))), colour);
            }
        }
        match style {
            Style::Line => svg.line_entry(index, colour, dashes, line.name),
            Style::Points => svg.entry(index, colour, line.name),
        }
    }
    Some(svg.finish())
}

/// A count below an axis.
fn plain(value: f64) -> String {
    if value.abs() >= 1e7 { format!("{value:e}") } else { format!("{value}") }
}

/// A time beside an axis: whole minutes and hours, where it has them.
fn time_label(ns: f64) -> String {
    let minutes = ns / 60e9;
    match minutes {
        m if m >= 60.0 && m % 60.0 == 0.0 => format!("{} h", m / 60.0),
        m if m >= 1.0 && m % 1.0 == 0.0 => format!("{m} min"),
        _ => signed_point(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Line, Style, draw, time_label};

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
    fn times_beside_an_axis_are_whole() {
        let told = [1e6, 1e10, 6e10, 6e11, 3.6e12, 3.6e13, -2e6].map(time_label);
        assert_eq!(told, ["1.00 ms", "10.0 s", "1 min", "10 min", "1 h", "10 h", "−2.00 ms"]);
    }
}
