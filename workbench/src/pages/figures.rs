//! Figures that only pages have: a planted mistake compared with the right value, and overheads as bars.

use firstlight_plot::palette::{FAINT, GRID, LOOKS};
use firstlight_plot::scale::Scale;
use firstlight_plot::svg::{Anchor, Stroke, Svg};
use firstlight_report::words::format::duration;
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::CaseResult;

const WIDTH: f64 = 760.0;
/// Room for the names of arms.
const LEFT: f64 = 170.0;
/// Room for a number after each row.
const RIGHT: f64 = 110.0;
const TOP: f64 = 64.0;
const ROW: f64 = 32.0;
const BELOW: f64 = 50.0;
const BAR: f64 = 16.0;

/// The wrong and the right time per call of every arm, on one logarithmic axis.
pub(super) fn planted(case: &CaseResult) -> Option<String> {
    let rows: Vec<(&str, Estimate, Estimate)> = case
        .planted
        .as_ref()?
        .rows
        .iter()
        .filter_map(|row| Some((row.arm.as_str(), row.time.wrong?, row.time.right?)))
        .collect();
    let x =
        Scale::over_ratios(rows.iter().flat_map(|(_, wrong, right)| [wrong.point, right.point]))?;
    let title = format!("{}: time per call, wrong and right", case.name);
    let (mut svg, across) = frame(&title, "time per call, logarithmic", &x, rows.len());
    let [right_look, wrong_look] = [LOOKS[0], LOOKS[1]];
    for (at, look, name) in
        [(LEFT, right_look, "right"), (LEFT + 80.0, wrong_look, "with the mistake")]
    {
        svg.marker([at, 46.0], look.marker, look.light);
        svg.text([at + 10.0, 50.0], Anchor::Start, name);
    }
    for (index, (arm, wrong, right)) in rows.iter().enumerate() {
        let y = middle(index);
        svg.text([LEFT - 10.0, y + 4.0], Anchor::End, arm);
        svg.line([across(right.point), y], [across(wrong.point), y], Stroke::thick(FAINT));
        svg.marker([across(right.point), y], right_look.marker, right_look.light);
        svg.marker([across(wrong.point), y], wrong_look.marker, wrong_look.light);
        let factor = wrong.point / right.point;
        let factor =
            if factor >= 10.0 { format!("{factor:.0}×") } else { format!("{factor:.1}×") };
        svg.text([WIDTH - RIGHT + 12.0, y + 4.0], Anchor::Start, &factor);
    }
    Some(svg.finish())
}

/// The overhead of every arm per call, with intervals.
pub(super) fn overheads(case: &CaseResult) -> Option<String> {
    let regimes =
        case.arms.iter().flat_map(|arm| arm.regimes.iter().map(move |result| (arm, result)));
    let rows: Vec<(&str, Estimate)> = regimes
        .filter_map(|(arm, result)| Some((arm.name.as_str(), result.warm.as_ref()?.overhead?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let ends =
        |result: &Estimate| result.interval.map_or([result.point; 2], |ends| [ends.low, ends.high]);
    let x = Scale::from_zero(rows.iter().flat_map(|(_, result)| ends(result)))?;
    let title = format!("{}: host time per call beyond the compiled program", case.name);
    let (mut svg, across) = frame(&title, "overhead per call", &x, rows.len());
    let what = "bars: mean; lines: 95 % interval";
    svg.text([LEFT, 50.0], Anchor::Start, what);
    for (index, (arm, result)) in rows.iter().enumerate() {
        let y = middle(index);
        let [low, high] = ends(result).map(&across);
        let (from, to) = (across(result.point.min(0.0)), across(result.point.max(0.0)));
        svg.text([LEFT - 10.0, y + 4.0], Anchor::End, arm);
        svg.rectangle([from, y - BAR / 2.0], [to - from, BAR], LOOKS[5].light);
        svg.line([low, y], [high, y], Stroke::thick(LOOKS[1].light));
        svg.text([WIDTH - RIGHT + 12.0, y + 4.0], Anchor::Start, &duration(result.point));
    }
    Some(svg.finish())
}

/// The middle of a row.
#[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
fn middle(index: usize) -> f64 {
    TOP + (index as f64 + 0.5) * ROW
}

/// An empty plot with its title, grid and axis, and the mapping of values to places.
fn frame(title: &str, under: &str, x: &Scale, rows: usize) -> (Svg, impl Fn(f64) -> f64 + use<>) {
    let bottom = middle(rows) - ROW / 2.0;
    let mut svg = Svg::new(WIDTH, bottom + BELOW, title, title);
    svg.styled([LEFT, 24.0], Anchor::Start, "font-size=\"14\"", title);
    let scale = *x;
    let across = move |value: f64| LEFT + scale.at(value) * (WIDTH - LEFT - RIGHT);
    for (tick, label) in x.durations(7) {
        svg.line([across(tick), TOP], [across(tick), bottom], Stroke::thin(GRID));
        svg.text([across(tick), bottom + 18.0], Anchor::Middle, &label);
    }
    svg.text([f64::midpoint(LEFT, WIDTH - RIGHT), bottom + 40.0], Anchor::Middle, under);
    (svg, across)
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::{overheads, planted};

    #[test]
    fn a_planted_mistake_is_drawn_with_both_values_of_every_arm() {
        let document = open("generate-cpu").unwrap().unwrap().document;
        let case = document.cases.iter().find(|case| case.planted.is_some()).unwrap();
        let svg = planted(case).unwrap();
        let rows = case.planted.as_ref().unwrap().rows.len();
        assert_eq!(svg.matches("<path transform").count(), 2 * rows + 2, "{svg}");
        assert!(svg.contains(">1401×</text>"), "{svg}");
        let other = document.cases.iter().find(|case| case.planted.is_none()).unwrap();
        assert_eq!(planted(other), None);
        assert_eq!(overheads(other), None);
    }

    #[test]
    fn every_arm_with_a_baseline_has_its_bar() {
        let document = open("jit-overhead-cpu").unwrap().unwrap().document;
        let svg = overheads(&document.cases[0]).unwrap();
        assert_eq!(svg.matches("<rect x").count(), document.cases[0].arms.len(), "{svg}");
        assert!(svg.contains(">filter-jit</text>"), "{svg}");
    }
}
