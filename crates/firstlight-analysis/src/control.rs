//! The cost of the hooks, from pairs of hooked and unhooked processes.

use firstlight_schema::reading::{Outcome, RawSample};
use firstlight_schema::sample::Sample;
use firstlight_schema::summary::HookPrice;

use crate::stats::{median, paired_difference};

/// Compares each measured process with the unhooked one of its round. Skips pairs with an invalid side and
/// unhooked processes that had to be started again.
pub fn price(measured: &[Sample], controls: Vec<(u32, RawSample)>) -> HookPrice {
    let completed = |raw: &RawSample| raw.outcome == Outcome::Completed;
    let pairs: Vec<(&RawSample, &RawSample)> = measured
        .iter()
        .filter(|sample| sample.valid)
        .filter_map(|sample| {
            let of_round =
                |(round, raw): &&(u32, RawSample)| Some(*round) == sample.round && completed(raw);
            Some((&controls.iter().find(of_round)?.1, &sample.raw))
        })
        .collect();
    let compare = |reading: fn(&RawSample) -> f64| {
        let values: Vec<_> =
            pairs.iter().map(|(control, raw)| (reading(control), reading(raw))).collect();
        paired_difference(&values)
    };
    let walls: Vec<f64> = pairs.iter().map(|(control, _)| control.wall().as_f64()).collect();
    HookPrice {
        price_wall: compare(|raw| raw.wall().as_f64()),
        price_cpu: compare(|raw| raw.usage.cpu_ns().as_f64()),
        wall: median(&walls),
        samples: controls.into_iter().map(|(_, raw)| raw).collect(),
    }
}
