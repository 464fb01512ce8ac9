//! An upper bound for a tail quantile, or the number of values that it needs.
//!
//! The number of values at or below the true q quantile is Binomial(n, q), so the k-th smallest value is at
//! least the quantile with probability P(B < k). The smallest k with the confidence is used; it exists only
//! if the maximum is sufficient, 1 − qⁿ ≥ 95 %. (David and Nagaraja, Order Statistics, 7.1.)

use super::{CONFIDENCE, count, short};

/// An upper bound of a quantile, with its confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileBound {
    pub quantile: f64,
    pub bound: f64,
    pub confidence: f64,
    pub n: u32,
}

/// Too few values for a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    pub n: u32,
    /// The number of values that the quantile needs.
    pub needed: u32,
}

/// The smallest value that bounds the quantile, which lies strictly between zero and one.
pub fn quantile_bound(values: &[f64], quantile: f64) -> Result<QuantileBound, TooFew> {
    let n = short(values.len());
    let too_few = TooFew { n, needed: needed(quantile) };
    let (k, confidence) = rank(values.len(), quantile).ok_or(too_few)?;
    let mut values = values.to_vec();
    let (_, bound, _) = values.select_nth_unstable_by(k - 1, f64::total_cmp);
    Ok(QuantileBound { quantile, bound: *bound, confidence, n })
}

/// The smallest k with P(B < k) of at least the confidence, and that probability.
fn rank(n: usize, quantile: f64) -> Option<(usize, f64)> {
    let mut log_term = count(n) * quantile.ln();
    let odds = ((1.0 - quantile) / quantile).ln();
    let mut at_least = 0.0;
    let mut best = None;
    for k in (1..=n).rev() {
        at_least += log_term.exp();
        let confidence = 1.0 - at_least;
        if confidence.is_nan() || confidence < CONFIDENCE {
            break;
        }
        best = Some((k, confidence));
        log_term += (count(k) / count(n - k + 1)).ln() + odds;
    }
    best
}

/// The least n with 1 − qⁿ of at least the confidence.
fn needed(quantile: f64) -> u32 {
    let n = ((1.0 - CONFIDENCE).ln() / quantile.ln()).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from a float saturates"
    )]
    let n = n as u32;
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn the_maximum_bounds_a_quantile_from_the_tabulated_number_on() {
        for (quantile, n) in [(0.9, 29), (0.95, 59), (0.99, 299)] {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let bound = quantile_bound(&values, quantile).unwrap();
            assert!((bound.bound - f64::from(n - 1)).abs() < f64::EPSILON);
            let fewer = quantile_bound(&values[1..], quantile);
            let n = u32::try_from(n).unwrap();
            assert_eq!(fewer, Err(TooFew { n: n - 1, needed: n }));
        }
    }

    #[test]
    fn no_values_bound_nothing() {
        assert_eq!(quantile_bound(&[], 0.9), Err(TooFew { n: 0, needed: 29 }));
    }

    #[test]
    fn a_million_values_do_not_underflow() {
        let (k, confidence) = rank(1_000_000, 0.9).unwrap();
        assert!((900_400..900_600).contains(&k), "{k}");
        assert!((0.95..0.951).contains(&confidence), "{confidence}");
    }

    #[test]
    fn the_bound_has_its_nominal_coverage() {
        let mut noise = Noise::new(5);
        for n in [29, 46, 100] {
            let rounds = 4_000;
            let held = (0..rounds)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| noise.uniform()).collect();
                    quantile_bound(&values, 0.9).unwrap().bound >= 0.9
                })
                .count();
            let rate = count(held) / f64::from(rounds);
            assert!(rate >= CONFIDENCE - 0.01, "n = {n}: {rate}");
        }
    }
}
