//! The difference of two medians with an interval from resampling.
//!
//! The steps of each side are drawn with replacement, as many as there are, and the medians of both draws
//! subtracted; the interval lies between percentiles of such differences. (Efron and Tibshirani, An
//! Introduction to the Bootstrap, chapter 13.) Steps of one recording come from one process, so the interval
//! does not cover differences between runs.

use firstlight_analysis::stats::CONFIDENCE;
use firstlight_schema::estimate::{Estimate, Interval, Method};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ROUNDS: usize = 2_000;
/// With fewer values on a side, resampling only repeats them.
pub(super) const FEWEST: usize = 5;

/// The method of drawing values of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// Each side independently.
    Apart,
    /// The values at one index of both sides, together.
    InPairs,
}

/// Second minus first; `None` if a side has no value.
pub(super) fn difference_of_medians(
    first: &[f64],
    second: &[f64],
    drawn: Drawn,
    seed: u64,
) -> Option<Estimate> {
    let point = middle(second)? - middle(first)?;
    let n = first.len().min(second.len());
    let interval = (n >= FEWEST).then(|| interval(first, second, drawn, seed));
    Some(Estimate {
        point,
        interval,
        n: u32::try_from(n).unwrap_or(u32::MAX),
        method: Method::MedianBootstrap,
    })
}

fn interval(first: &[f64], second: &[f64], drawn: Drawn, seed: u64) -> Interval {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut places = |count: usize| -> Vec<usize> {
        (0..count).map(|_| random.random_range(0..count)).collect()
    };
    let at = |values: &[f64], places: &[usize]| {
        median(&mut places.iter().map(|&place| values[place]).collect::<Vec<f64>>())
    };
    let mut differences: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let one = places(first.len());
            let other = match drawn {
                Drawn::Apart => places(second.len()),
                Drawn::InPairs => one.clone(),
            };
            at(second, &other) - at(first, &one)
        })
        .collect();
    differences.sort_unstable_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of the rounds"
    )]
    let outside = ((1.0 - CONFIDENCE) / 2.0 * ROUNDS as f64).floor() as usize;
    Interval {
        low: differences[outside],
        high: differences[ROUNDS - 1 - outside],
        confidence: CONFIDENCE,
    }
}

pub(super) fn middle(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(&mut values.to_vec()))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[half - 1], values[half])
    } else {
        values[half]
    }
}

#[cfg(test)]
mod tests {
    use super::{Drawn, difference_of_medians};

    #[test]
    fn the_interval_holds_the_difference_and_is_repeatable() {
        let first: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 7)).collect();
        let second: Vec<f64> = first.iter().map(|value| value + 20.0).collect();
        let one = difference_of_medians(&first, &second, Drawn::Apart, 1).unwrap();
        let interval = one.interval.unwrap();
        assert!((one.point - 20.0).abs() < 1e-9);
        assert!(interval.low > 15.0 && interval.low <= 20.0 && interval.high >= 20.0);
        assert_eq!(Some(one), difference_of_medians(&first, &second, Drawn::Apart, 1));
        // Each second value is its first one and the same again: paired resampling is exact here.
        let pairs = difference_of_medians(&first, &second, Drawn::InPairs, 1).unwrap();
        let pairs = pairs.interval.unwrap();
        assert!((pairs.low - 20.0).abs() < 1e-9 && (pairs.high - 20.0).abs() < 1e-9);
        let same =
            difference_of_medians(&first, &first, Drawn::Apart, 1).unwrap().interval.unwrap();
        assert!(same.low <= 0.0 && 0.0 <= same.high);
    }

    #[test]
    fn few_steps_have_no_interval() {
        assert_eq!(
            difference_of_medians(&[1.0], &[3.0, 4.0, 5.0], Drawn::Apart, 1).unwrap().interval,
            None
        );
        assert_eq!(difference_of_medians(&[], &[3.0], Drawn::Apart, 1), None);
    }
}
