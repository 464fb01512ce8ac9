//! A histogram of values.

use firstlight_plot::svg::Stroke;

use super::colour;
use super::frame::Frame;

const BINS: usize = 40;

/// A histogram of values, with a mark at a value of interest.
pub(crate) fn histogram(name: &str, values: &[f64], mark: f64) -> String {
    let lowest = values.iter().copied().fold(mark, f64::min);
    let highest = values.iter().copied().fold(mark, f64::max);
    let width = ((highest - lowest) / 40.0).max(1e-12);
    let mut counts = [0u32; BINS];
    for value in values {
        let bin = ((value - lowest) / width).floor();
        let index = (0..BINS)
            .rev()
            .find(|index| f64::from(u32::try_from(*index).expect("there are few bins")) <= bin);
        counts[index.unwrap_or(0)] += 1;
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(1));
    let title = format!("{name} in {} toys", values.len());
    let description = format!("from {lowest:.4} to {highest:.4}");
    let range = [lowest, lowest + 40.0 * width];
    let mut frame = Frame::new(&title, &description, range, [0.0, 1.08 * most]);
    for (index, count) in (0u32..).zip(counts) {
        let from = lowest + width * f64::from(index);
        let [left, top] = frame.place([from, f64::from(count)]);
        let [right, bottom] = frame.place([from + width, 0.0]);
        frame.svg.rectangle([left, top], [right - left, bottom - top], colour::ONE_SIGMA);
    }
    frame.axes(name, "toys");
    let (low, high) = (frame.place([mark, 0.0]), frame.place([mark, 1.08 * most]));
    frame.svg.line(low, high, Stroke::thick(colour::LEVEL));
    frame.svg.finish()
}
