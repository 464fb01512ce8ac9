//! Paired differences: the Hodges-Lehmann estimate with the signed-rank interval.
//!
//! The estimate is the median of the Walsh averages `(dᵢ + dⱼ) / 2`, i ≤ j; the interval lies
//! between the k-th smallest and the k-th largest of them, where k comes from the exact null
//! distribution of the signed-rank statistic. (Hollander, Wolfe and Chicken, 3.1 to 3.3.)
//!
//! Merged results have thousands of pairs. The work for the distribution grows with the third power of their
//! number, so it leaves out what cannot matter and is done once for each number.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::{CONFIDENCE, count};

/// Up to so many pairs, every sum of ranks counts.
const FEW: usize = 300;
/// Sums further from the mean than this many standard deviations have a probability below 10⁻²⁷.
const REACH: f64 = 11.0;

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
    let n = walsh.len();
    let (below, upper, above) = walsh.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *upper;
    let point = if n % 2 == 1 {
        upper
    } else {
        let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
        f64::midpoint(lower, upper)
    };
    let ends = known_rank(differences.len());
    let interval = ends.map(|(k, confidence)| {
        // k lies in the lower half, and its mirror image in the upper one.
        let low = *below.select_nth_unstable_by(k - 1, f64::total_cmp).1;
        let high = *above.select_nth_unstable_by(above.len() - k, f64::total_cmp).1;
        Interval { low, high, confidence }
    });
    Some(Estimate {
        point,
        interval,
        n: u32::try_from(differences.len()).unwrap_or(u32::MAX),
        method: Method::SignedRank,
    })
}

/// [`rank`], computed once for each number of pairs.
fn known_rank(n: usize) -> Option<(usize, f64)> {
    static KNOWN: Mutex<BTreeMap<usize, Option<(usize, f64)>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(n).or_insert_with(|| rank(n))
}

/// The largest k with 2 P(T < k) ≤ 1 − confidence, and the confidence it has.
fn rank(n: usize) -> Option<(usize, f64)> {
    // The median lies beyond every k.
    let mut below = 0.0;
    let mut best = None;
    for (k, share) in (1..).zip(null_distribution(n, n * (n + 1) / 4)) {
        below += share;
        let confidence = 1.0 - 2.0 * below;
        if confidence < CONFIDENCE {
            break;
        }
        best = Some((k, confidence));
    }
    best
}

/// P(T = t) for t from 0 to `last`: the share of the subsets of 1..n whose sum is t.
fn null_distribution(n: usize, last: usize) -> Vec<f64> {
    let mut shares = vec![0.0; last + 1];
    shares[0] = 1.0;
    let mut before = 0..1;
    for item in 1..=n {
        let sums = likely_sums(item, n);
        let sums = sums.start.min(shares.len())..sums.end.min(shares.len());
        shares[before.start..sums.start.max(before.start)].fill(0.0);
        // From the top, so that a share is used before it is replaced; in pieces that do not overlap.
        let mut end = sums.end;
        while end > sums.start.max(item) {
            let begin = sums.start.max(item).max(end.saturating_sub(item));
            let (without, with) = shares.split_at_mut(begin);
            let without = &without[begin - item..end - item];
            for (share, other) in with[..end - begin].iter_mut().zip(without) {
                *share = (*share + other) * 0.5;
            }
            end = begin;
        }
        shares[sums.start.min(item)..sums.end.min(item)].iter_mut().for_each(|share| *share *= 0.5);
        before = sums;
    }
    shares
}

/// The sums of subsets of 1..=item that matter: all of them if there are few pairs.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between zero and the largest sum"
)]
fn likely_sums(item: usize, n: usize) -> Range<usize> {
    let most = item * (item + 1) / 2;
    let past = most + 1;
    if n <= FEW {
        return 0..past;
    }
    let size = count(item);
    let deviation = (size * (size + 1.0) * (2.0 * size + 1.0) / 24.0).sqrt();
    let middle = count(most) / 2.0;
    let low = (middle - REACH * deviation).max(0.0) as usize;
    let high = (middle + REACH * deviation) as usize;
    low..past.min(high + 1)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn the_null_distribution_matches_the_tables() {
        // n = 5: P(T ≤ 0) = 1/32, P(T ≤ 1) = 2/32, P(T ≤ 2) = 3/32, P(T ≤ 3) = 5/32.
        let shares = null_distribution(5, 15);
        let counts: Vec<f64> = shares[..4].iter().map(|share| share * 32.0).collect();
        assert_eq!(counts, [1.0, 1.0, 1.0, 2.0]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // n = 10, two-sided 5 %: the critical value is 8, so k = 9.
        assert_eq!(rank(10).unwrap().0, 9);
        assert_eq!(rank(5), None);
    }

    /// The distribution from its definition, without leaving anything out.
    fn whole_distribution(n: usize) -> Vec<f64> {
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

    #[test]
    fn sums_that_are_left_out_do_not_change_the_rank() {
        for n in (1..40).chain([77, 150, FEW, FEW + 1, 420]) {
            let mut below = 0.0;
            let confidences = whole_distribution(n).into_iter().map(|share| {
                below += share;
                1.0 - 2.0 * below
            });
            let whole = (1..).zip(confidences).take_while(|(_, found)| *found >= CONFIDENCE).last();
            assert_eq!(rank(n), whole, "{n}");
        }
    }

    #[test]
    fn the_ends_are_those_of_the_sorted_averages() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        for n in 1..60 {
            let pairs: Vec<(f64, f64)> =
                (0..n).map(|_| (random.random(), (random.random::<f64>() * 9.0).round())).collect();
            let found = paired_difference(&pairs).unwrap();
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
            let mut walsh: Vec<f64> = (0..n)
                .flat_map(|i| (i..n).map(move |j| (i, j)))
                .map(|(i, j)| f64::midpoint(differences[i], differences[j]))
                .collect();
            walsh.sort_by(f64::total_cmp);
            assert_eq!(found.point.to_bits(), crate::stats::middle(&walsh).to_bits(), "{n}");
            let ends = rank(n).map(|(k, _)| (walsh[k - 1], walsh[walsh.len() - k]));
            assert_eq!(found.interval.map(|ends| (ends.low, ends.high)), ends, "{n}");
        }
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
