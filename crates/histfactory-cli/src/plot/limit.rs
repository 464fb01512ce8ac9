//! CLs against the parameter of interest: the observed curve over the expected bands.

use firstlight_plot::svg::Stroke;

use super::colour;
use super::frame::{Frame, Key};

/// CLs at one value: observed, and expected at −2, −1, 0, 1 and 2 standard deviations.
pub(crate) struct LimitPoint {
    pub(crate) poi: f64,
    pub(crate) observed: f64,
    pub(crate) expected: [f64; 5],
}

pub(crate) fn limit(parameter: &str, level: f64, observed: f64, points: &[LimitPoint]) -> String {
    let from = points.first().map_or(0.0, |point| point.poi);
    let to = points.last().map_or(1.0, |point| point.poi);
    let title = format!("CLs of {parameter}");
    let description =
        format!("CLs from {from:.4} to {to:.4}; above {observed:.4} it is below {level}");
    let mut frame = Frame::new(&title, &description, [from, to], [0.0, 1.0]);
    let expected = |index: usize| -> Vec<[f64; 2]> {
        points.iter().map(|point| [point.poi, point.expected[index]]).collect()
    };
    frame.band(&expected(0), &expected(4), colour::TWO_SIGMA);
    frame.band(&expected(1), &expected(3), colour::ONE_SIGMA);
    frame.axes(parameter, "CLs");
    let median = Stroke::thin(colour::INK).dashed();
    frame.curve(&expected(2), median);
    let curve: Vec<[f64; 2]> = points.iter().map(|point| [point.poi, point.observed]).collect();
    let line = Stroke::thick(colour::INK);
    frame.curve(&curve, line);
    let cut = Stroke::thin(colour::LEVEL);
    frame.curve(&[[from, level], [to, level]], cut);
    if frame.x.covers(observed) {
        let (low, high) = (frame.place([observed, 0.0]), frame.place([observed, level]));
        frame.svg.line(low, high, cut);
    }
    frame.legend(&[
        ("observed", Key::Line(line)),
        ("expected", Key::Line(median)),
        ("± 1σ", Key::Area(colour::ONE_SIGMA)),
        ("± 2σ", Key::Area(colour::TWO_SIGMA)),
        (&format!("CLs = {level}"), Key::Line(cut)),
    ]);
    frame.svg.finish()
}
