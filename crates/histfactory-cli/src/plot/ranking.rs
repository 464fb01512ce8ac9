//! A ranking: the impact of each parameter on the parameter of interest, largest first, with its pull.

use firstlight_plot::svg::{Anchor, Stroke, Svg};

use super::colour;
use super::frame::{Axis, label};

/// A parameter, its impact on the parameter of interest, and its pull.
pub(crate) struct Impact {
    pub(crate) name: String,
    /// With the parameter held one standard deviation up and down, by its uncertainty after the fit.
    pub(crate) up: f64,
    pub(crate) down: f64,
    /// The same with its uncertainty before the fit.
    pub(crate) prefit: [f64; 2],
    /// Shift and width in units of the constraint.
    pub(crate) pull: Option<[f64; 2]>,
}

const ROW: f64 = 22.0;
const TOP: f64 = 56.0;
const PANEL: f64 = 230.0;
const GAP: f64 = 24.0;

pub(crate) fn ranking(poi: &str, rows: &[Impact]) -> String {
    let names = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = 24.0 + 6.8 * f64::from(u32::try_from(names.min(60)).unwrap_or(60));
    let count = f64::from(u32::try_from(rows.len()).unwrap_or(u32::MAX));
    let bottom = TOP + ROW * count.max(1.0);
    let right = left + 2.0 * PANEL + GAP;
    let title = format!("impact on {poi}");
    let description = format!("the {} parameters with the largest impact", rows.len());
    let mut svg = Svg::new(right + 20.0, bottom + 48.0, &title, &description);
    colour::set_on_dark(&mut svg);
    let sizes = rows.iter().flat_map(|row| {
        let [a, b] = row.prefit;
        [row.up, row.down, a, b]
    });
    let largest = sizes.map(f64::abs).fold(1e-12, f64::max) * 1.1;
    let impact = Axis::new([-largest, largest], left, left + PANEL);
    let pull = Axis::new([-2.5, 2.5], left + PANEL + GAP, right);
    heading(&mut svg, left, right);
    bands(&mut svg, &pull, bottom);
    for (index, row) in (0u32..).zip(rows) {
        let y = TOP + ROW * (f64::from(index) + 0.5);
        svg.text([left - 8.0, y + 4.0], Anchor::End, &row.name);
        draw_impact(&mut svg, &impact, row, y);
        if let Some([shift, width]) = row.pull {
            let (from, to) = (pull.at(shift - width), pull.at(shift + width));
            svg.line([from, y], [to, y], Stroke::thin(colour::INK));
            svg.dot([pull.at(shift), y], colour::INK);
        }
    }
    for (axis, start, word) in
        [(&impact, left, format!("Δ{poi}")), (&pull, left + PANEL + GAP, "pull".to_owned())]
    {
        svg.outline([start, TOP], [PANEL, bottom - TOP], Stroke::thin(colour::INK));
        let middle = axis.at(0.0);
        svg.line([middle, TOP], [middle, bottom], Stroke::thin(colour::FAINT).dashed());
        for tick in axis.ticks(6) {
            let x = axis.at(tick);
            svg.line([x, bottom], [x, bottom + 5.0], Stroke::thin(colour::INK));
            svg.text([x, bottom + 19.0], Anchor::Middle, &label(tick));
        }
        svg.text([start + PANEL / 2.0, bottom + 38.0], Anchor::Middle, &word);
    }
    svg.finish()
}

fn heading(svg: &mut Svg, left: f64, right: f64) {
    let y = 30.0;
    for (x, fill, word) in
        [(left, colour::UP, "parameter up"), (left + 120.0, colour::DOWN, "parameter down")]
    {
        svg.rectangle([x, y - 10.0], [14.0, 12.0], fill);
        svg.text([x + 20.0, y], Anchor::Start, word);
    }
    let x = left + 262.0;
    svg.outline([x, y - 10.0], [14.0, 12.0], Stroke::thin(colour::INK));
    svg.text([x + 20.0, y], Anchor::Start, "before the fit");
    svg.text([right, y], Anchor::End, "± 1σ, ± 2σ");
}

fn bands(svg: &mut Svg, pull: &Axis, bottom: f64) {
    for (sigma, fill) in [(2.0, colour::TWO_SIGMA), (1.0, colour::ONE_SIGMA)] {
        let (from, to) = (pull.at(-sigma), pull.at(sigma));
        svg.rectangle([from, TOP], [to - from, bottom - TOP], fill);
    }
}

fn draw_impact(svg: &mut Svg, axis: &Axis, row: &Impact, y: f64) {
    let zero = axis.at(0.0);
    let span = |value: f64| {
        let x = axis.at(value);
        (zero.min(x), (zero - x).abs())
    };
    // Both impacts on one side: half-height bars keep each other visible.
    for (value, fill, top) in [(row.up, colour::UP, y - ROW * 0.36), (row.down, colour::DOWN, y)] {
        let (x, width) = span(value);
        svg.rectangle([x, top], [width, ROW * 0.36], fill);
    }
    for (value, top) in row.prefit.into_iter().zip([y - ROW * 0.36, y]) {
        let (x, width) = span(value);
        svg.outline([x, top], [width, ROW * 0.36], Stroke::thin(colour::INK));
    }
}
