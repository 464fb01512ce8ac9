//! The mean of a single series with a moving-block bootstrap.
//!
//! Blocks of neighbouring values are drawn with replacement until they are as many as the series,
//! so that what is correlated stays together; the interval lies between percentiles of the means so
//! drawn. Few blocks make it too narrow, so the percentiles are moved outwards as t moves from the
//! normal, with one degree of freedom less than there are blocks. (Künsch, Ann. Stat. 17, 1989;
//! Hesterberg, Am. Stat. 69, 2015, for the percentiles.)
//!
//! The interval describes the uncertainty of this process's mean, not of the program's: another process would
//! have another mean, and no resampling of this one can show that.

use firstlight_schema::estimate::{Estimate, Interval, Method};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{CONFIDENCE, autocorrelation_time, count, short, student};

const ROUNDS: usize = 2_000;
/// The minimum length of a block, in autocorrelation times.
const TIMES: f64 = 2.0;
/// The smallest number of blocks for an interval.
const FEWEST_BLOCKS: usize = 4;

/// The mean; `None` for no values, without an interval if there are too few for their autocorrelation.
pub fn block_bootstrap(values: &[f64], seed: u64) -> Option<Estimate> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let sums = Sums::new(values);
    Some(Estimate {
        point: sums.mean,
        interval: interval(&sums, block_length(values), seed),
        n: short(values.len()),
        method: Method::BlockBootstrap,
    })
}

/// Two autocorrelation times, but at least long enough for the bootstrap to converge.
fn block_length(values: &[f64]) -> usize {
    let length = (TIMES * autocorrelation_time(values)).max(count(values.len()).cbrt()).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least one, at most a few thousand"
    )]
    let length = length as usize;
    length
}

fn interval(sums: &Sums, block: usize, seed: u64) -> Option<Interval> {
    let n = sums.around_mean.len() - 1;
    let blocks = n / block;
    if blocks < FEWEST_BLOCKS {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut draw = || {
        let sum: f64 =
            (0..blocks).map(|_| sums.of_block(random.random_range(0..=n - block), block)).sum();
        sums.mean + sum / count(blocks * block)
    };
    let mut means: Vec<f64> = (0..ROUNDS).map(|_| draw()).collect();
    means.sort_unstable_by(f64::total_cmp);
    let outside = outside(blocks)?.min(ROUNDS / 2 - 1);
    let (low, high) = (means[outside], means[ROUNDS - 1 - outside]);
    Some(Interval { low, high, confidence: CONFIDENCE })
}

/// The number of bootstrap means outside the interval on either side.
fn outside(blocks: usize) -> Option<usize> {
    let blocks = count(blocks);
    let reach = student::reach(blocks - 1.0)? * (blocks / (blocks - 1.0)).sqrt();
    let share = Normal::standard().sf(reach);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the rounds"
    )]
    let outside = (share * count(ROUNDS)).floor() as usize;
    Some(outside)
}

/// Running sums around the mean: a block's sum is a difference of two.
struct Sums {
    mean: f64,
    around_mean: Vec<f64>,
}

impl Sums {
    fn new(values: &[f64]) -> Self {
        let mean = super::mean(values);
        let running = values.iter().scan(0.0, |sum, value| {
            *sum += value - mean;
            Some(*sum)
        });
        Self { mean, around_mean: std::iter::once(0.0).chain(running).collect() }
    }

    fn of_block(&self, from: usize, length: usize) -> f64 {
        self.around_mean[from + length] - self.around_mean[from]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values = Noise::new(1).series(200, 1e6, 0.01, 0.7);
        assert_eq!(block_bootstrap(&values, 5), block_bootstrap(&values, 5));
        assert_ne!(block_bootstrap(&values, 5), block_bootstrap(&values, 6));
    }

    #[test]
    fn correlated_values_have_a_wider_interval_than_independent_ones() {
        let width = |rho| {
            let values = Noise::new(2).series(1_000, 1e6, 0.01, rho);
            let interval = block_bootstrap(&values, 1).unwrap().interval.unwrap();
            interval.high - interval.low
        };
        assert!(width(0.7) > 1.7 * width(0.0), "{} {}", width(0.7), width(0.0));
    }

    #[test]
    fn few_values_have_a_point_and_no_interval() {
        let estimate = block_bootstrap(&[1.0, 2.0, 6.0], 1).unwrap();
        assert!((estimate.point - 3.0).abs() < 1e-12);
        assert_eq!(estimate.interval, None);
        assert_eq!(block_bootstrap(&[], 1), None);
        assert_eq!(block_bootstrap(&[f64::NAN], 1), None);
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let interval = block_bootstrap(&[5.0; 40], 1).unwrap().interval.unwrap();
        assert!((interval.high - interval.low).abs() < 1e-12);
    }
}
