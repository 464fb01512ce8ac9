//! The typical process of an arm in a regime: the valid one whose time is closest to the median.

use firstlight_schema::run::RegimeResult;
use firstlight_schema::sample::Sample;

pub(crate) fn typical(regime: &RegimeResult) -> Option<&Sample> {
    let valid = || regime.samples.iter().filter(|sample| sample.valid);
    let mut times: Vec<f64> = valid().map(|sample| sample.wall_ns.as_f64()).collect();
    times.sort_by(f64::total_cmp);
    let median = *times.get(times.len() / 2)?;
    let distance = |sample: &&Sample| (sample.wall_ns.as_f64() - median).abs();
    valid().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}
