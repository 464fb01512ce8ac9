//! The price of the hooks, from pairs of hooked and unhooked processes.

use firstlight_schema::cold::Control;
use firstlight_schema::reading::{Outcome, RawSample};
use firstlight_schema::sample::Sample;

use crate::stats::{median, paired_difference};

/// Compares each measured process with the control that was taken beside it. A pair with an invalid
/// side counts for nothing.
pub fn price(measured: &[Sample], controls: Vec<RawSample>) -> Control {
    let pairs: Vec<(&RawSample, &RawSample)> = controls
        .iter()
        .zip(measured)
        .filter(|(control, sample)| control.outcome == Outcome::Completed && sample.valid)
        .map(|(control, sample)| (control, &sample.raw))
        .collect();
    let compare = |reading: fn(&RawSample) -> f64| {
        let values: Vec<_> =
            pairs.iter().map(|(control, raw)| (reading(control), reading(raw))).collect();
        paired_difference(&values)
    };
    let walls: Vec<f64> = pairs.iter().map(|(control, _)| control.wall().as_f64()).collect();
    Control {
        price_wall: compare(|raw| raw.wall().as_f64()),
        price_cpu: compare(|raw| raw.usage.cpu_ns().as_f64()),
        wall: median(&walls),
        samples: controls,
    }
}
