//! The ratio of the second arm to the first, and whether it is beyond a margin.
//!
//! Paired: with dᵢ = ln(secondᵢ / firstᵢ), d̄ ± t(n−1) s / √n, wider where a few pairs are of another
//! kind (`rare_kinds.rs`). Unpaired: Welch's interval on the
//! logarithms of the processes, with Welch and Satterthwaite's degrees of freedom. The margin δ
//! lies at ±ln(1 + δ), and the p values are twice a one-sided tail, so that p ≤ 0.05 says the same
//! as the interval: wholly beyond the margin, or wholly within it. (Schuirmann, J. Pharmacokinet.
//! Biopharm. 15, 1987: two one-sided tests.)
//!
//! Pairs of a run that was resumed lie in blocks. Where the blocks' means differ by more than their
//! pairs explain, the interval is that of a one-way random-effects model: with mean squares B between
//! and W within k blocks of nᵢ pairs, N in all, and n₀ = (N − Σnᵢ²/N)/(k − 1), the variance of d̄ is
//! c B + (1/N − c) W with c = Σnᵢ²/(N² n₀), on Satterthwaite's degrees of freedom. (Searle, Casella
//! and others, Variance Components, 1992, chapter 3.) Blocks of unequal size make 1/N − c negative. That
//! term is then left out: the interval gets wider, and the degrees of freedom stay at k − 1 or above.

use std::collections::BTreeMap;

use firstlight_schema::estimate::{Estimate, Interval, Method};

use super::log_mean::around;
use super::moments::{logs, mean, variance};
use super::nodes::ByNode;
use super::rare_kinds::{Reach, reach};
use super::{count, paired_difference, short, student};

/// The second arm over the first: above one, the second is slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub estimate: Estimate,
    /// The logarithm of the point.
    pub log_mean: f64,
    /// Absent if there are too few values for an interval.
    pub error: Option<LogError>,
}

/// The standard errors of the logarithm to either side and the degrees of freedom behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogError {
    pub below: f64,
    pub above: f64,
    pub df: f64,
}

impl Ratio {
    /// From pairs of adjacent processes; `None` if there are no pairs or a value is not positive.
    pub fn paired(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences = log_ratios(pairs)?;
        let error = reach(&differences).and_then(|reach| {
            let df = count(pairs.len() - 1);
            let t = student::reach(df)?;
            Some(LogError { below: reach.below / t, above: reach.above / t, df })
        });
        Some(Self::new(mean(&differences), error, pairs.len(), Method::PairedLogRatio))
    }

    /// The same where pairs lie in blocks; the wider of the two intervals, because blocks that happen to
    /// agree do not prove that blocks agree.
    pub fn paired_in_blocks(pairs: &[(f64, f64)], blocks: &[usize]) -> Option<Self> {
        let plain = Self::paired(pairs)?;
        let Some(between) = between_blocks(&log_ratios(pairs)?, blocks) else { return Some(plain) };
        let reach = |error: &LogError| {
            student::reach(error.df).map_or(0.0, |t| t * error.below.max(error.above))
        };
        let is_wider = plain.error.is_some_and(|error| reach(&between) > reach(&error));
        if !is_wider {
            return Some(plain);
        }
        let (centre, n) = (plain.log_mean, pairs.len());
        Some(Self::new(centre, Some(between), n, Method::PairedLogRatio))
    }

    /// The same over the nodes of a merged result, each of which counts once. Where a few pairs are of
    /// another kind, the interval is at least as wide as they make it.
    pub fn paired_over_nodes(pairs: &[(f64, f64)], nodes: &[usize]) -> Option<Self> {
        let plain = Self::paired(pairs)?;
        let differences = log_ratios(pairs)?;
        let by_node = ByNode::new(nodes.iter().copied().zip(differences.iter().copied()));
        let Some(over) = by_node.mean() else { return Some(plain) };
        let t = student::reach(over.df)?;
        let usual = (variance(&differences)? / count(differences.len())).sqrt();
        let side = |of: fn(&LogError) -> f64| {
            let rare = plain.error.filter(|error| of(error) > usual * (1.0 + 1e-9));
            let reach = rare.and_then(|error| Some(of(&error) * student::reach(error.df)?));
            over.error.max(reach.unwrap_or(0.0) / t)
        };
        let (below, above) = (side(|error| error.below), side(|error| error.above));
        let error = LogError { below, above, df: over.df };
        Some(Self::new(over.mean, Some(error), pairs.len(), Method::PairedLogRatio))
    }

    /// From two independent sets of processes, such as two stored results.
    pub fn unpaired(first: &[f64], second: &[f64]) -> Option<Self> {
        let (first, second) = (logs(first.iter().copied())?, logs(second.iter().copied())?);
        let centre = mean(&second) - mean(&first);
        let n = first.len() + second.len();
        Some(Self::new(centre, welch(&first, &second), n, Method::UnpairedLogRatio))
    }

    /// The p value for lying beyond the margin, on the side of the point.
    pub fn p_beyond(&self, margin: f64) -> Option<f64> {
        let edge = edge(margin)?;
        let error = self.error?;
        // The relevant error is that on the side towards zero.
        let se = if self.log_mean > 0.0 { error.below } else { error.above };
        twice_the_tail(self.log_mean.abs() - edge, se, error.df)
    }

    /// The p value for lying within the margin.
    pub fn p_within(&self, margin: f64) -> Option<f64> {
        let edge = edge(margin)?;
        let LogError { below, above, df } = self.error?;
        let side = |room: f64, se: f64| {
            let at_the_edge = se == 0.0 && room == 0.0;
            if at_the_edge { Some(0.0) } else { twice_the_tail(room, se, df) }
        };
        Some(side(edge - self.log_mean, above)?.max(side(edge + self.log_mean, below)?))
    }

    fn new(log_mean: f64, error: Option<LogError>, n: usize, method: Method) -> Self {
        let interval = error.and_then(|LogError { below, above, df }| {
            let t = student::reach(df)?;
            Some(around(log_mean, Reach { below: below * t, above: above * t }))
        });
        let estimate = Estimate { point: log_mean.exp(), interval, n: short(n), method };
        Self { estimate, log_mean, error }
    }
}

/// The robust check of a paired ratio; no interval for fewer than six pairs.
pub fn robust(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let zero_and: Vec<_> = log_ratios(pairs)?.into_iter().map(|ratio| (0.0, ratio)).collect();
    let estimate = paired_difference(&zero_and)?;
    Some(Estimate {
        point: estimate.point.exp(),
        interval: estimate.interval.map(|interval| Interval {
            low: interval.low.exp(),
            high: interval.high.exp(),
            ..interval
        }),
        method: Method::SignedRankRatio,
        ..estimate
    })
}

pub(crate) fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let first = logs(pairs.iter().map(|pair| pair.0))?;
    let second = logs(pairs.iter().map(|pair| pair.1))?;
    Some(second.iter().zip(&first).map(|(second, first)| second - first).collect())
}

/// The standard error of the mean with blocks as a random effect; `None` for fewer than two blocks, for pairs
/// without variance within blocks, or if the blocks agree.
fn between_blocks(differences: &[f64], blocks: &[usize]) -> Option<LogError> {
    let mut groups: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (&difference, &block) in differences.iter().zip(blocks) {
        groups.entry(block).or_default().push(difference);
    }
    let (n, k) = (count(differences.len()), count(groups.len()));
    if k < 2.0 || n <= k {
        return None;
    }
    let centre = mean(differences);
    let size = |group: &Vec<f64>| count(group.len());
    let between: f64 =
        groups.values().map(|group| size(group) * (mean(group) - centre).powi(2)).sum();
    let within: f64 = groups
        .values()
        .flat_map(|group| {
            let centre = mean(group);
            group.iter().map(move |value| (value - centre).powi(2))
        })
        .sum();
    let squares: f64 = groups.values().map(|group| size(group).powi(2)).sum();
    let typical = (n - squares / n) / (k - 1.0);
    let (between, within) = (between / (k - 1.0), within / (n - k));
    if between <= within || typical <= 0.0 {
        return None;
    }
    let share = squares / (n * n * typical);
    let (a, b) = (share * between, (1.0 / n - share).max(0.0) * within);
    let variance_of_mean = a + b;
    let df = variance_of_mean.powi(2) / (a * a / (k - 1.0) + b * b / (n - k));
    let se = variance_of_mean.sqrt();
    (variance_of_mean > 0.0 && df.is_finite()).then_some(LogError { below: se, above: se, df })
}

fn welch(first: &[f64], second: &[f64]) -> Option<LogError> {
    let (n, m) = (count(first.len()), count(second.len()));
    let (a, b) = (variance(first)? / n, variance(second)? / m);
    let squared = a + b;
    let df = squared.powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0));
    // Two arms without any variance give no weights for the degrees of freedom.
    let df = if df.is_finite() { df } else { n + m - 2.0 };
    let se = squared.sqrt();
    Some(LogError { below: se, above: se, df })
}

/// Twice the probability that chance alone moves the point so far past an edge.
fn twice_the_tail(past: f64, se: f64, df: f64) -> Option<f64> {
    if se > 0.0 {
        return student::tail(past / se, df).map(|tail| (2.0 * tail).min(1.0));
    }
    Some(if past > 0.0 { 0.0 } else { 1.0 })
}

/// The ends of the margin on the logarithmic scale.
fn edge(margin: f64) -> Option<f64> {
    (margin >= 0.0).then(|| margin.ln_1p())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise::Noise;

    /// How often the interval covers the true ratio of one, over simulated runs in which every block shifts
    /// the ratio.
    fn coverage(blocks: usize, rounds: usize, between: f64, in_blocks: bool) -> f64 {
        let covered = (0..2_000_u64).filter(|&run| {
            let mut noise = Noise::new(run * 7919 + 13);
            let (mut pairs, mut places) = (Vec::new(), Vec::new());
            for block in 0..blocks {
                let effect = between * noise.normal();
                for _ in 0..rounds {
                    pairs.push((1.0, (effect + 0.02 * noise.normal()).exp()));
                    places.push(block);
                }
            }
            let places = if in_blocks { places } else { vec![0; pairs.len()] };
            let found = Ratio::paired_in_blocks(&pairs, &places).unwrap().estimate;
            found.interval.is_some_and(|ends| ends.low <= 1.0 && 1.0 <= ends.high)
        });
        count(covered.count()) / 2_000.0
    }

    #[test]
    fn intervals_cover_the_variance_of_segments() {
        for (blocks, rounds) in [(3, 6), (4, 5), (8, 4), (20, 3)] {
            for between in [0.0, 0.02, 0.06] {
                let share = coverage(blocks, rounds, between, true);
                assert!((0.93..=0.99).contains(&share), "{blocks} × {rounds}, {between}: {share}");
            }
        }
        assert!(coverage(4, 5, 0.06, false) < 0.75, "without blocks the interval is too narrow");
    }

    #[test]
    fn blocks_of_unequal_size_have_a_finite_interval() {
        // A long segment and a short one whose own pair lies close to the others.
        let logs = [0.30, 0.31, 0.29, 0.33, 0.27, 0.35, 0.26, 0.24, 0.20, 0.28];
        let pairs = logs.map(|log: f64| (1.0, log.exp()));
        for last in 1..5 {
            let blocks: Vec<usize> = (0..10).map(|at| usize::from(at >= 10 - last)).collect();
            let found = Ratio::paired_in_blocks(&pairs, &blocks).unwrap();
            let ends = found.estimate.interval.unwrap();
            assert!(ends.low > 0.5 && ends.high < 4.0, "{last}: {found:?}");
        }
    }

    fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
        let value = || 0.9_f64..1.1;
        prop::collection::vec((value(), value()), 2..12)
    }

    /// Whether p ≤ 0.05 agrees with the interval, unless the two touch within rounding.
    fn agree(p: f64, says: bool) -> bool {
        (p - 0.05).abs() < 1e-9 || (p <= 0.05) == says
    }

    fn p_values_agree_with_the_interval(ratio: &Ratio, margin: f64) {
        let interval = ratio.estimate.interval.unwrap();
        let (low, high) = ((1.0 + margin).recip(), 1.0 + margin);
        let beyond = interval.low > high || interval.high < low;
        let within = interval.low >= low && interval.high <= high;
        assert!(agree(ratio.p_beyond(margin).unwrap(), beyond), "{ratio:?}");
        assert!(agree(ratio.p_within(margin).unwrap(), within), "{ratio:?}");
    }

    proptest! {
        #[test]
        fn a_p_value_agrees_with_the_interval(
            pairs in pairs(), shift in 0.85_f64..1.15, margin in 0.0_f64..0.2
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (a, b * shift)).collect();
            p_values_agree_with_the_interval(&Ratio::paired(&pairs).unwrap(), margin);
            let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            p_values_agree_with_the_interval(&Ratio::unpaired(&first, &second).unwrap(), margin);
        }

        #[test]
        fn swapping_the_arms_inverts_the_ratio(pairs in pairs()) {
            let swapped: Vec<_> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let there = Ratio::paired(&pairs).unwrap();
            let back = Ratio::paired(&swapped).unwrap();
            prop_assert!((there.estimate.point * back.estimate.point - 1.0).abs() < 1e-12);
            let (there, back) = (there.p_beyond(0.01).unwrap(), back.p_beyond(0.01).unwrap());
            prop_assert!((there - back).abs() < 1e-9);
        }
    }

    #[test]
    fn pairs_without_variance_decide_with_certainty() {
        let same = Ratio::paired(&[(2.0, 2.0); 4]).unwrap();
        assert_eq!((same.p_beyond(0.0), same.p_within(0.0)), (Some(1.0), Some(0.0)));
        let slower = Ratio::paired(&[(2.0, 2.2); 4]).unwrap();
        assert_eq!((slower.p_beyond(0.05), slower.p_within(0.05)), (Some(0.0), Some(1.0)));
        assert_eq!((slower.p_beyond(0.2), slower.p_within(0.2)), (Some(1.0), Some(0.0)));
        let interval = slower.estimate.interval.unwrap();
        assert!(interval.high - interval.low < 1e-12);
        let apart = Ratio::unpaired(&[2.0; 3], &[2.2; 3]).unwrap();
        assert_eq!(apart.p_beyond(0.05), Some(0.0));
    }

    #[test]
    fn a_single_pair_has_a_point_and_no_verdict() {
        let ratio = Ratio::paired(&[(2.0, 3.0)]).unwrap();
        assert!((ratio.estimate.point - 1.5).abs() < 1e-12);
        assert_eq!(ratio.estimate.interval, None);
        assert_eq!((ratio.p_beyond(0.0), ratio.p_within(0.1)), (None, None));
        assert_eq!(Ratio::unpaired(&[1.0], &[2.0, 3.0]).unwrap().error, None);
    }

    #[test]
    fn a_negative_margin_is_rejected() {
        let ratio = Ratio::paired(&[(2.0, 3.0), (2.0, 3.1)]).unwrap();
        assert_eq!((ratio.p_beyond(-0.1), ratio.p_within(f64::NAN)), (None, None));
    }

    #[test]
    fn welch_has_the_degrees_of_freedom_of_the_formula() {
        // Variances 1 and 4 of three values each: (1/3 + 4/3)² / (1/18 + 16/18) = 50/17.
        let exp = |logs: [f64; 3]| logs.map(f64::exp);
        let ratio = Ratio::unpaired(&exp([0.0, 1.0, 2.0]), &exp([0.0, 2.0, 4.0])).unwrap();
        let error = ratio.error.unwrap();
        assert!((error.df - 50.0 / 17.0).abs() < 1e-9, "{error:?}");
        assert!((error.above - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{error:?}");
    }

    #[test]
    fn one_outlying_pair_does_not_move_the_robust_ratio() {
        let mut pairs: Vec<(f64, f64)> =
            (0..9).map(|i| (1.0, 1.05 + f64::from(i) * 1e-4)).collect();
        pairs.push((1.0, 40.0));
        let estimate = robust(&pairs).unwrap();
        assert!((estimate.point - 1.05).abs() < 0.001, "{estimate:?}");
        assert_eq!(estimate.method, Method::SignedRankRatio);
        assert_eq!(robust(&[(0.0, 1.0)]), None);
    }
}
