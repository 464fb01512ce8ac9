//! Paired differences: the Hodges-Lehmann estimate with the signed-rank interval.
//!
//! The estimate is the median of the Walsh averages `(dᵢ + dⱼ) / 2`, i ≤ j; the interval lies
//! between the k-th smallest and the k-th largest of them, where k comes from the exact null
//! distribution of the signed-rank statistic. (Hollander, Wolfe and Chicken, 3.1 to 3.3.)

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::{CONFIDENCE, middle};

/// The estimate of `after − before`, pair by pair; `None` for no pairs, without an interval for fewer than
/// six.
pub fn paired_difference(pairs: &[(f64, f64)]) -> Option<Estimate> {
    if pairs.is_empty() {
        return None;
    }
    let differences: Vec<f64> = pairs.iter().map(|(before, after)| after - before).collect();
    let mut walsh: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(i, a)| differences[i..].iter().map(move |b| f64::midpoint(*a, *b)))
        .collect();
    walsh.sort_unstable_by(f64::total_cmp);
    let interval = rank(differences.len()).map(|(k, confidence)| Interval {
        low: walsh[k - 1],
        high: walsh[walsh.len() - k],
        confidence,
    });
    Some(Estimate {
        point: middle(&walsh),
        interval,
        n: u32::try_from(differences.len()).unwrap_or(u32::MAX),
        method: Method::SignedRank,
    })
}

/// The largest k with 2 P(T < k) ≤ 1 − confidence, and its actual confidence.
fn rank(n: usize) -> Option<(usize, f64)> {
    let mut below = 0.0;
    let mut best = None;
    for (k, share) in (1..).zip(null_distribution(n)) {
        below += share;
        let confidence = 1.0 - 2.0 * below;
        if confidence < CONFIDENCE {
            break;
        }
        best = Some((k, confidence));
    }
    best
}

/// P(T = t) for t from 0: the share of the subsets of 1..n whose sum is t.
fn null_distribution(n: usize) -> Vec<f64> {
    let mut shares = vec![0.0; n * (n + 1) / 2 + 1];
    shares[0] = 1.0;
    for item in 1..=n {
        for sum in (0..shares.len()).rev() {
            let with = if sum >= item { shares[sum - item] } else { 0.0 };
            shares[sum] = f64::midpoint(shares[sum], with);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn the_null_distribution_matches_the_tables() {
        // n = 5: P(T ≤ 0) = 1/32, P(T ≤ 1) = 2/32, P(T ≤ 2) = 3/32, P(T ≤ 3) = 5/32.
        let shares = null_distribution(5);
        let counts: Vec<f64> = shares[..4].iter().map(|share| share * 32.0).collect();
        assert_eq!(counts, [1.0, 1.0, 1.0, 2.0]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // n = 10, two-sided 5 %: the critical value is 8, so k = 9.
        assert_eq!(rank(10).unwrap().0, 9);
        assert_eq!(rank(5), None);
    }

    #[test]
    fn a_constant_shift_is_found_exactly() {
        let pairs: Vec<(f64, f64)> = (0..8).map(f64::from).map(|x| (x * x, x * x + 3.0)).collect();
        let estimate = paired_difference(&pairs).unwrap();
        let interval = estimate.interval.unwrap();
        for value in [estimate.point, interval.low, interval.high] {
            assert!((value - 3.0).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn the_interval_has_its_nominal_coverage_under_drift() {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let rounds = 2_000;
        let covered = (0..rounds)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> = (0..10)
                    .map(|i| {
                        let drift = f64::from(i) * 0.5;
                        let mut noise = || random.random::<f64>() + random.random::<f64>();
                        (drift + noise(), drift + noise() + 1.0)
                    })
                    .collect();
                let interval = paired_difference(&pairs).unwrap().interval.unwrap();
                (interval.low..=interval.high).contains(&1.0)
            })
            .count();
        let rate = f64::from(u32::try_from(covered).unwrap()) / f64::from(rounds);
        assert!(rate >= CONFIDENCE - 0.01, "{rate}");
    }
}
