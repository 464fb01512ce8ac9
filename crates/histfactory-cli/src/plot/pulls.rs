//! Pulls: the fitted value of each constrained parameter, in units of its constraint.

use firstlight_plot::svg::{Anchor, Stroke, Svg};

use super::colour;
use super::frame::{Axis, label};

/// A parameter's shift from its auxiliary measurement and its uncertainty after the fit, both in
/// units of its uncertainty before.
pub(crate) struct Pull {
    pub(crate) name: String,
    pub(crate) shift: f64,
    pub(crate) width: f64,
}

const ROW: f64 = 16.0;
const TOP: f64 = 40.0;
const PANEL: f64 = 380.0;

pub(crate) fn pulls(rows: &[Pull]) -> String {
    let names = rows.iter().map(|pull| pull.name.chars().count()).max().unwrap_or(0);
    let left = 24.0 + 6.8 * f64::from(u32::try_from(names.min(60)).unwrap_or(60));
    let count = f64::from(u32::try_from(rows.len()).unwrap_or(u32::MAX));
    let bottom = TOP + ROW * count.max(1.0);
    let description = format!("{} constrained parameters after the fit", rows.len());
    let mut svg = Svg::new(left + PANEL + 20.0, bottom + 48.0, "pulls", &description);
    colour::set_on_dark(&mut svg);
    // A parameter at its bound has no width.
    let width = |pull: &Pull| if pull.width.is_finite() { pull.width } else { 0.0 };
    let widest = rows.iter().map(|pull| pull.shift.abs() + width(pull)).fold(2.5, f64::max);
    let axis = Axis::new([-widest * 1.05, widest * 1.05], left, left + PANEL);
    svg.text([left, 24.0], Anchor::Start, "pulls");
    for (sigma, fill) in [(2.0, colour::TWO_SIGMA), (1.0, colour::ONE_SIGMA)] {
        let (from, to) = (axis.at(-sigma), axis.at(sigma));
        svg.rectangle([from, TOP], [to - from, bottom - TOP], fill);
    }
    for tick in axis.ticks(9) {
        let x = axis.at(tick);
        svg.line([x, bottom], [x, bottom + 5.0], Stroke::thin(colour::INK));
        svg.text([x, bottom + 19.0], Anchor::Middle, &label(tick));
    }
    let middle = axis.at(0.0);
    svg.line([middle, TOP], [middle, bottom], Stroke::thin(colour::FAINT).dashed());
    for (index, pull) in (0u32..).zip(rows) {
        let y = TOP + ROW * (f64::from(index) + 0.5);
        svg.text([left - 8.0, y + 4.0], Anchor::End, &pull.name);
        let (from, to) = (axis.at(pull.shift - width(pull)), axis.at(pull.shift + width(pull)));
        svg.line([from, y], [to, y], Stroke::thin(colour::INK));
        svg.dot([axis.at(pull.shift), y], colour::INK);
    }
    svg.outline([left, TOP], [PANEL, bottom - TOP], Stroke::thin(colour::INK));
    let across = "(fitted − measured before) / uncertainty before";
    svg.text([left + PANEL / 2.0, bottom + 38.0], Anchor::Middle, across);
    svg.finish()
}
