//! Whether a steady part still drifts: the rank correlation of its batches with time.
//!
//! Spearman's r of the medians of m batches, with t = r √((m − 2) / (1 − r²)) on m − 2 degrees of freedom.
//! The batches are several autocorrelation times long, because a slow wave would otherwise look like a drift.
//! The time is computed from the residuals of a straight line, because a drift would otherwise look like a
//! wave. (Hollander, Wolfe and Chicken, 8.5; batches: Schmeiser, Oper. Res. 30, 1982.)

use super::clip::{clip, median_of};
use super::{count, student, time_around_a_line};

/// The minimum length of a batch, in autocorrelation times.
const TIMES: f64 = 5.0;
const MOST_BATCHES: usize = 50;
const FEWEST_BATCHES: usize = 8;

/// The drift of a steady part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Spearman's: above zero, the iterations become slower.
    pub correlation: f64,
    pub p: f64,
    /// From the median of the first third to that of the last, relative to the first.
    pub change: f64,
    pub batches: usize,
}

/// Tests for a drift; `None` if the series is too short for its autocorrelation.
pub fn drift(values: &[f64]) -> Option<Drift> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let batch = batch(&clip(values).values)?;
    let levels: Vec<f64> = values.chunks_exact(batch).map(median_of).collect();
    let correlation = spearman(&levels);
    let third = values.len() / 3;
    let (first, last) = (median_of(&values[..third]), median_of(&values[values.len() - third..]));
    Some(Drift {
        correlation,
        p: p(correlation, levels.len())?,
        change: last / first - 1.0,
        batches: levels.len(),
    })
}

/// The number of values in a batch; `None` if there would be too few batches.
fn batch(values: &[f64]) -> Option<usize> {
    let long = (TIMES * time_around_a_line(values)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least one, at most a few thousand"
    )]
    let batch = (long as usize).max(values.len().div_ceil(MOST_BATCHES));
    (values.len() / batch.max(1) >= FEWEST_BATCHES).then_some(batch)
}

/// The rank correlation of the values with their order; zero if they are all the same.
fn spearman(values: &[f64]) -> f64 {
    let middle = (count(values.len()) - 1.0) / 2.0;
    let pairs: Vec<(f64, f64)> = (0..).map(|i| count(i) - middle).zip(ranks(values)).collect();
    let product = |f: fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let spread = (product(|(x, _)| x * x) * product(|(_, y)| y * y)).sqrt();
    if spread > 0.0 { product(|(x, y)| x * y) / spread } else { 0.0 }
}

/// The ranks around their mean; values that are the same share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        f64::midpoint(count(below), count(up_to)) - count(sorted.len()) / 2.0
    };
    values.iter().map(rank).collect()
}

fn p(correlation: f64, m: usize) -> Option<f64> {
    let df = count(m) - 2.0;
    let t = correlation.abs() * (df / (1.0 - correlation * correlation).max(0.0)).sqrt();
    student::tail(t, df).map(|tail| (2.0 * tail).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn a_flat_correlated_series_does_not_drift() {
        // Nominally one in a hundred; estimating the autocorrelation time adds a few.
        for (rho, n) in [(0.0, 300), (0.7, 300), (0.7, 2_000)] {
            let drifting = (0..2_000).filter(|seed| {
                let values = Noise::new(*seed).series(n, 1e6, 0.01, rho);
                drift(&values).is_some_and(|drift| drift.p < 0.01)
            });
            let rate = count(drifting.count()) / 2_000.0;
            assert!(rate <= 0.02, "rho {rho}, n {n}: {rate}");
        }
    }

    #[test]
    fn a_slow_drift_is_found_and_sized() {
        for seed in 0..100 {
            let mut noise = Noise::new(seed);
            let mut values = noise.series(300, 1e6, 0.01, 0.0);
            values.iter_mut().enumerate().for_each(|(i, value)| *value *= 1.0 + count(i) * 1e-4);
            noise.slow_some(&mut values, 0.03, 20.0);
            let found = drift(&values).unwrap();
            assert!(found.p < 0.01, "{seed}: {found:?}");
            // Thirds are two thirds of the way apart.
            assert!((found.change - 0.02).abs() < 0.007, "{seed}: {found:?}");
        }
    }

    #[test]
    fn too_few_values_are_not_tested() {
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&[1.0; 7]), None);
        assert_eq!(drift(&[f64::NAN; 70]), None);
    }

    #[test]
    fn equal_values_do_not_drift() {
        let found = drift(&[5.0; 100]).unwrap();
        assert!(found.correlation.abs() < f64::EPSILON && (found.p - 1.0).abs() < 1e-12);
    }

    #[test]
    fn values_that_only_rise_are_certain_to_drift() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let found = drift(&values).unwrap();
        assert!((found.correlation - 1.0).abs() < 1e-12 && found.p < 1e-12, "{found:?}");
    }
}
