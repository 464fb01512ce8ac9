//! A stand-alone SVG file of lines or points, for documents that quote a result. Lines are labelled at their
//! ends.

mod phases;

use firstlight_analysis::cheapest::cost;
use firstlight_plot::palette::{self, Cast, Look};
use firstlight_plot::scale::{Scale, number};
use firstlight_plot::svg::{Anchor, Stroke, Svg};
use firstlight_schema::comparison::SweepResult;
use firstlight_schema::run::CaseResult;
use firstlight_schema::suite::Regime;

pub use phases::phases;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;
/// Room for the names of arms at the ends of their lines.
const RIGHT: f64 = 190.0;
const BELOW: f64 = 50.0;
const PLOT: f64 = 300.0;
/// Labels closer than this would overlap.
const LINE_HEIGHT: f64 = 15.0;

/// A point, with the ends of its interval if it has one.
type Point = (f64, f64, Option<(f64, f64)>);

/// One arm.
struct Line<'a> {
    name: &'a str,
    look: Look,
    points: Vec<Point>,
}

/// Values on an axis: linear from zero, or logarithmic.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Plain,
    Ratios,
}

impl Axis {
    fn scale(self, values: &[f64]) -> Option<Scale> {
        match self {
            Self::Plain => Scale::from_zero(values.iter().copied()),
            Self::Ratios => Scale::over_ratios(values.iter().copied()),
        }
    }
}

/// Total time against calls with every arm, from the start of the process.
pub fn totals(case: &CaseResult, cold: Regime) -> Option<String> {
    let calls: Vec<f64> = (0..=20).map(|step| 10f64.powf(f64::from(step) / 4.0)).collect();
    let looks = Cast::new(case.arms.iter().map(|arm| arm.name.as_str()));
    let lines: Vec<Line<'_>> = case
        .arms
        .iter()
        .filter_map(|arm| {
            let cost = cost(arm, cold)?;
            let points = calls.iter().map(|&calls| (calls, cost.total(calls), None)).collect();
            Some(Line { name: &arm.name, look: looks.look(&arm.name), points })
        })
        .collect();
    let title = format!("{}, {cold}: total time against calls", case.name);
    draw(&title, ("calls", "total time"), &lines, Axis::Ratios, Style::Line)
}

/// The time of calls beyond a baseline, against a swept parameter.
pub fn overheads(sweep: &SweepResult, beyond: &str) -> Option<String> {
    let cast = cast(sweep);
    let lines: Vec<Line<'_>> = sweep
        .overheads
        .iter()
        .map(|line| Line {
            name: &line.arm,
            look: cast.look(&line.arm),
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
    draw(&title, (&sweep.parameter, "time per call beyond it"), &lines, Axis::Plain, Style::Points)
}

/// An arm looks the same in every picture of a sweep, whichever arms the picture shows.
fn cast(sweep: &SweepResult) -> Cast {
    Cast::new(sweep.lines.iter().chain(&sweep.overheads).map(|line| line.arm.as_str()))
}

/// The times of a sweep in one regime.
pub fn sweep(result: &SweepResult, regime: Regime) -> Option<String> {
    let cast = cast(result);
    let lines: Vec<Line<'_>> = result
        .lines
        .iter()
        .filter(|line| line.regime == regime)
        .map(|line| Line {
            name: &line.arm,
            look: cast.look(&line.arm),
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
    let what = if regime.is_cold() { "time to first result" } else { "time per call" };
    let title = format!("{}, {regime}: {what} against {}", result.case, result.parameter);
    draw(&title, (&result.parameter, what), &lines, Axis::Ratios, Style::Points)
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Line,
    Points,
}

fn draw(
    title: &str,
    (under, upwards): (&str, &str),
    lines: &[Line<'_>],
    axis: Axis,
    style: Style,
) -> Option<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let xs: Vec<f64> = points().map(|point| point.0).collect();
    let ys: Vec<f64> = points()
        .flat_map(|&(_, y, ends)| [Some(y), ends.map(|ends| ends.0), ends.map(|ends| ends.1)])
        .flatten()
        .collect();
    if xs.is_empty() {
        return None;
    }
    let (x, y) = (axis.scale(&xs)?, axis.scale(&ys)?);
    let right = WIDTH - RIGHT;
    let across = |value: f64| LEFT + x.at(value) * (right - LEFT);
    let down = |value: f64| TOP + (1.0 - y.at(value)) * PLOT;
    let mut svg = titled(title, PLOT);
    for (tick, label) in y.durations(8) {
        svg.line([LEFT, down(tick)], [right, down(tick)], Stroke::thin(palette::GRID));
        svg.text([LEFT - 8.0, down(tick) + 4.0], Anchor::End, &label);
    }
    for tick in x.ticks(8) {
        svg.line([across(tick), TOP], [across(tick), TOP + PLOT], Stroke::thin(palette::GRID));
        svg.text([across(tick), TOP + PLOT + 18.0], Anchor::Middle, &number(tick));
    }
    svg.text([f64::midpoint(LEFT, right), TOP + PLOT + 40.0], Anchor::Middle, under);
    svg.upright([16.0, TOP + PLOT / 2.0], upwards);
    let mut labels = Vec::new();
    for line in lines {
        let colour = line.look.light;
        let places: Vec<[f64; 2]> =
            line.points.iter().map(|&(px, py, _)| [across(px), down(py)]).collect();
        svg.path(&places, Stroke::thick(colour).with_dashes(line.look.dashes));
        if style == Style::Points {
            for &(px, py, ends) in &line.points {
                if let Some((low, high)) = ends {
                    let (low, high) = ([across(px), down(low)], [across(px), down(high)]);
                    svg.line(low, high, Stroke::thin(colour));
                }
                svg.marker([across(px), down(py)], line.look.marker, colour);
            }
        }
        if let Some(&[_, end]) = places.last() {
            labels.push((end, line));
        }
    }
    label_ends(&mut svg, labels);
    Some(svg.finish())
}

/// An empty picture with its title on top; `height` is that of the plot.
fn titled(title: &str, height: f64) -> Svg {
    let mut svg = Svg::new(WIDTH, TOP + height + BELOW, title, title);
    svg.styled([LEFT, 24.0], Anchor::Start, "font-size=\"14\"", title);
    svg
}

/// The names of the lines at their ends, moved apart to avoid overlaps.
fn label_ends(svg: &mut Svg, mut labels: Vec<(f64, &Line<'_>)>) {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bottom = TOP + PLOT;
    let mut places: Vec<f64> = Vec::new();
    for (end, _) in &labels {
        let free = places.last().map_or(TOP, |above| above + LINE_HEIGHT);
        places.push(end.max(free));
    }
    let beyond = places.last().map_or(0.0, |last| (last - bottom).max(0.0));
    for ((end, line), place) in labels.iter().zip(places) {
        let (from, to) = (WIDTH - RIGHT + 2.0, WIDTH - RIGHT + 14.0);
        let place = place - beyond;
        svg.line([from, *end], [to, place], Stroke::thin(line.look.light));
        let style = format!("fill=\"{}\" font-weight=\"600\"", line.look.light);
        svg.styled([to + 4.0, place + 4.0], Anchor::Start, &style, line.name);
    }
}

#[cfg(test)]
mod tests {
    use firstlight_plot::palette;

    use super::{Axis, Line, Style, draw};

    #[test]
    fn every_arm_has_its_line_its_points_and_its_name() {
        let line = |look: usize, name, points| Line { name, look: palette::LOOKS[look], points };
        let lines = [
            line(0, "a<b", vec![(1.0, 10.0, None), (10.0, 1e3, Some((500.0, 2e3)))]),
            line(1, "c", vec![(1.0, 20.0, None), (10.0, 30.0, None)]),
        ];
        let svg = draw("t", ("n", "time"), &lines, Axis::Ratios, Style::Points).unwrap();
        assert!(svg.contains("a&lt;b") && svg.contains(">c</text>"), "{svg}");
        assert_eq!(svg.matches("<path transform").count(), 4);
        assert!(svg.contains("stroke-dasharray=\"7 3\""), "lines differ without their colours");
        assert_eq!(draw("t", ("n", "time"), &[], Axis::Plain, Style::Line), None);
    }
}
