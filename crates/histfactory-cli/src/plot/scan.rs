//! A profile likelihood: twice the logarithm of the ratio to the best fit.

use firstlight_plot::svg::Stroke;

use super::colour;
use super::frame::Frame;

/// The curve through values and their −2 ln λ, with the levels of one and two standard deviations.
pub(crate) fn scan(parameter: &str, best: f64, points: &[[f64; 2]]) -> String {
    let from = points.first().map_or(0.0, |point| point[0]);
    let to = points.last().map_or(1.0, |point| point[0]);
    let highest = points.iter().map(|point| point[1]).fold(1.2, f64::max);
    let title = format!("profile likelihood of {parameter}");
    let description = format!("−2 ln λ from {from:.4} to {to:.4}; the best fit is {best:.4}");
    let mut frame = Frame::new(&title, &description, [from, to], [0.0, 1.05 * highest]);
    frame.axes(parameter, "−2 ln λ");
    frame.level(1.0, "1σ", colour::FAINT);
    frame.level(4.0, "2σ", colour::FAINT);
    frame.level(9.0, "3σ", colour::FAINT);
    if frame.x.covers(best) {
        let (bottom, top) = (frame.place([best, 0.0]), frame.place([best, 1.05 * highest]));
        frame.svg.line(bottom, top, Stroke::thin(colour::LEVEL).dashed());
    }
    frame.curve(points, Stroke::thick(colour::LINE));
    for point in points {
        let place = frame.place(*point);
        frame.svg.dot(place, colour::LINE);
    }
    frame.svg.finish()
}
