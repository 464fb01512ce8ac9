//! The median with an exact, distribution-free interval.
//!
//! For independent values the number below the true median is Binomial(n, 1/2), so the interval from the k-th
//! smallest to the k-th largest covers it with probability 1 − 2 P(B < k). The largest k with the requested
//! confidence is used. (David and Nagaraja, Order Statistics, 7.1.)

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::{CONFIDENCE, middle};

/// The median of the values; `None` for no values, without an interval for fewer than six.
pub fn median(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let interval = rank(sorted.len()).map(|(k, confidence)| Interval {
        low: sorted[k - 1],
        high: sorted[sorted.len() - k],
        confidence,
    });
    Some(Estimate {
        point: middle(&sorted),
        interval,
        n: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
        method: Method::OrderStatisticMedian,
    })
}

/// The largest k whose interval has the confidence, and its actual confidence.
fn rank(n: usize) -> Option<(usize, f64)> {
    let mut below = 0.0;
    let mut best = None;
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let count = n as f64;
    let mut log_term = -count * std::f64::consts::LN_2;
    for k in 1..=n / 2 {
        #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
        let rank = k as f64;
        below += log_term.exp();
        let confidence = 1.0 - 2.0 * below;
        if confidence < CONFIDENCE {
            break;
        }
        best = Some((k, confidence));
        log_term += ((count - rank + 1.0) / rank).ln();
    }
    best
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn the_ranks_match_the_tables() {
        let ranks: Vec<_> = [5, 6, 10, 20, 30].map(|n| rank(n).map(|(k, _)| k)).into();
        assert_eq!(ranks, [None, Some(1), Some(2), Some(6), Some(10)]);
        let (_, confidence) = rank(10).unwrap();
        assert!((confidence - 0.978_515_625).abs() < 1e-12, "{confidence}");
    }

    #[test]
    fn a_single_value_is_its_own_median_without_an_interval() {
        let estimate = median(&[3.0]).unwrap();
        assert!((estimate.point - 3.0).abs() < f64::EPSILON);
        assert_eq!(estimate.interval, None);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn thousands_of_values_do_not_underflow() {
        let (k, confidence) = rank(5_000).unwrap();
        assert!((2_400..2_500).contains(&k), "{k}");
        assert!((0.95..0.96).contains(&confidence), "{confidence}");
    }

    #[test]
    fn the_interval_of_skewed_values_has_its_nominal_coverage() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let truth = 1.0_f64;
        for n in [6, 10, 20] {
            let rounds = 4_000;
            let covered = (0..rounds)
                .filter(|_| {
                    // Log-uniform around 1, with one value in ten far too slow.
                    let values: Vec<f64> = (0..n)
                        .map(|_| {
                            let value = (random.random::<f64>() - 0.5).exp();
                            if random.random::<f64>() < 0.1 && value > truth {
                                value * 9.0
                            } else {
                                value
                            }
                        })
                        .collect();
                    let interval = median(&values).unwrap().interval.unwrap();
                    (interval.low..=interval.high).contains(&truth)
                })
                .count();
            let rate = f64::from(u32::try_from(covered).unwrap()) / f64::from(rounds);
            assert!(rate >= CONFIDENCE - 0.01, "n = {n}: {rate}");
        }
    }
}
