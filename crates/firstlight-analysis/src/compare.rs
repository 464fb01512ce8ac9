//! Verdicts: one arm against another in one regime, at a margin.

use std::collections::BTreeMap;

use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::estimate::{Estimate, Interval};
use firstlight_schema::run::RegimeResult;
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;

use crate::stats::limits::{FEWEST_FOR_VERDICT, SIGNIFICANT, rarity};
use crate::stats::{ByNode, Ratio, holm, log_ratios, robust, short};

/// Larger numbers of processes are not proposed.
const MOST_PROPOSED: f64 = 1e4;

/// The value of one sample: its time per call, to first result, or as a whole.
pub fn headline(sample: &Sample, regime: Regime) -> Option<f64> {
    match regime {
        Regime::ColdClean | Regime::ColdPrimed => {
            let first = sample.first_result.as_ref().map(|first| first.ns);
            Some(first.unwrap_or(sample.wall_ns).as_f64())
        }
        Regime::Warm => Some(sample.window.as_ref()?.steady.as_ref()?.mean_ns),
        Regime::Fresh => Some(sample.wall_ns.as_f64()),
    }
}

/// The rounds and times of the valid samples.
pub fn values(samples: &[Sample], regime: Regime) -> Vec<(u32, f64)> {
    samples
        .iter()
        .filter(|sample| sample.valid)
        .filter_map(|sample| {
            Some((sample.round.unwrap_or(sample.number), headline(sample, regime)?))
        })
        .collect()
}

/// Times of two arms from the same round: of `against`, then of `arm`.
pub fn pairs(against: &[(u32, f64)], arm: &[(u32, f64)]) -> Vec<(f64, f64)> {
    // The first value of a round counts, so later ones are inserted first.
    let arm: BTreeMap<u32, f64> = arm.iter().rev().copied().collect();
    let pair = |&(round, first): &(u32, f64)| Some((first, *arm.get(&round)?));
    against.iter().filter_map(pair).collect()
}

/// The names of the compared arms, case and regime.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The numbers of the processes with which the run was resumed.
    pub segments: &'a [u32],
    /// For a merged result: the node of each segment, including the first.
    pub nodes: &'a [usize],
    pub case: &'a str,
    pub regime: Regime,
    pub arm: &'a str,
    pub against: &'a str,
}

/// Compares interleaved arms.
pub fn paired(
    names: Names<'_>,
    arm: &RegimeResult,
    against: &RegimeResult,
    margin: f64,
) -> Comparison {
    let (a, b) = (values(&against.samples, names.regime), values(&arm.samples, names.regime));
    let (pairs, blocks, nodes) = in_blocks(names, (&against.samples, &a), (&arm.samples, &b));
    let is_merged = nodes.iter().any(|node| *node != nodes[0]);
    let ratio = if is_merged {
        Ratio::paired_over_nodes(&pairs, &nodes)
    } else {
        Ratio::paired_in_blocks(&pairs, &blocks)
    };
    let mut comparison = judge(names, ratio, robust(&pairs), pairs.len(), margin);
    if is_merged {
        // More processes of the same nodes would not make it narrower.
        comparison.needed = comparison.needed.filter(|_| comparison.verdict == Verdict::TooFew);
        comparison.nodes = log_ratios(&pairs)
            .and_then(|ratios| ByNode::new(nodes.into_iter().zip(ratios)).components());
    }
    comparison
}

/// The pairs of two arms, with the segment and the node of each. Two processes of one round that were
/// measured on different nodes are not a pair.
fn in_blocks(
    names: Names<'_>,
    (of_against, against): (&[Sample], &[(u32, f64)]),
    (of_arm, arm): (&[Sample], &[(u32, f64)]),
) -> (Vec<(f64, f64)>, Vec<usize>, Vec<usize>) {
    let segments = |samples: &[Sample]| -> BTreeMap<u32, usize> {
        let place = |sample: &Sample| {
            let round = sample.round.unwrap_or(sample.number);
            (round, names.segments.partition_point(|&first| first <= sample.number))
        };
        samples.iter().rev().map(place).collect()
    };
    let (of_against, of_arm) = (segments(of_against), segments(of_arm));
    let node = |segment: usize| names.nodes.get(segment).copied().unwrap_or(0);
    let second: BTreeMap<u32, f64> = arm.iter().rev().copied().collect();
    let mut found = (Vec::new(), Vec::new(), Vec::new());
    for &(round, first) in against {
        let Some(&second) = second.get(&round) else { continue };
        let segment = |result: &BTreeMap<u32, usize>| result.get(&round).copied().unwrap_or(0);
        let (here, there) = (segment(&of_against), segment(&of_arm));
        if node(here) == node(there) {
            found.0.push((first, second));
            found.1.push(here);
            found.2.push(node(here));
        }
    }
    found
}

/// Compares measurements of another tool, interleaved or not.
pub fn unproved(
    names: Names<'_>,
    arm: &RegimeResult,
    against: &RegimeResult,
    margin: f64,
) -> Comparison {
    unpaired(names, &times(arm), &times(against), margin)
}

/// The times of the valid samples.
pub fn times(regime_result: &RegimeResult) -> Vec<f64> {
    values(&regime_result.samples, regime_result.regime).into_iter().map(|(_, time)| time).collect()
}

/// Notes that a verdict depends on another tool's data.
pub fn mark_unproved(comparison: &mut Comparison) {
    const WORDS: &str = "imported: unpaired, and no condition was proved";
    comparison.why = Some(match &comparison.why {
        Some(why) => format!("{why}; {WORDS}"),
        None => WORDS.to_owned(),
    });
}

/// Compares results that were not interleaved.
pub fn unpaired(names: Names<'_>, arm: &[f64], against: &[f64], margin: f64) -> Comparison {
    judge(names, Ratio::unpaired(against, arm), None, arm.len().min(against.len()), margin)
}

fn judge(
    names: Names<'_>,
    ratio: Option<Ratio>,
    robust: Option<Estimate>,
    n: usize,
    margin: f64,
) -> Comparison {
    let estimate = ratio.map(|ratio| ratio.estimate);
    let claimed =
        estimate.and_then(|estimate| estimate.interval).map(|interval| claim(&interval, margin));
    let (verdict, why) = match claimed {
        None if n == 0 => (Verdict::Invalid, Some("there is nothing to compare".to_owned())),
        _ if n < FEWEST_FOR_VERDICT => (Verdict::TooFew, None),
        None => (Verdict::Inconclusive, None),
        Some(claimed) => match robust.filter(|robust| !supports(robust, claimed, margin)) {
            Some(robust) => {
                let why = format!(
                    "a few processes cause the difference: by ranks the ratio is {:.3}",
                    robust.point
                );
                (Verdict::Inconclusive, Some(why))
            }
            None => (claimed, None),
        },
    };
    let needed = match verdict {
        Verdict::TooFew => Some(short(FEWEST_FOR_VERDICT)),
        Verdict::Inconclusive => ratio.as_ref().and_then(|ratio| proposed(ratio, n, margin)),
        _ => None,
    };
    let p = ratio.and_then(|ratio| match verdict {
        Verdict::Equivalent => ratio.p_within(margin),
        Verdict::Faster | Verdict::Slower => ratio.p_beyond(margin),
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed | Verdict::Invalid => None,
    });
    Comparison {
        case: names.case.to_owned(),
        regime: names.regime,
        arm: names.arm.to_owned(),
        against: names.against.to_owned(),
        verdict,
        margin,
        ratio: estimate,
        robust,
        p,
        adjusted_p: None,
        why,
        needed,
        rarity: rarity(short(n)),
        nodes: None,
    }
}

/// Number of processes that would move the interval off the margin, if the ratio stays the same.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "above zero and bounded before the cast"
)]
fn proposed(ratio: &Ratio, n: usize, margin: f64) -> Option<u32> {
    let interval = ratio.estimate.interval?;
    let half_width = (interval.high / interval.low).ln() / 2.0;
    let distance = (ratio.log_mean.abs() - margin.ln_1p()).abs();
    let needed = (crate::stats::count(n) * (half_width / distance).powi(2)).ceil();
    (needed <= MOST_PROPOSED).then_some(needed as u32)
}

/// The verdict of an interval at a margin.
fn claim(interval: &Interval, margin: f64) -> Verdict {
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    match interval {
        _ if interval.high < low => Verdict::Faster,
        _ if interval.low > high => Verdict::Slower,
        _ if interval.low >= low && interval.high <= high => Verdict::Equivalent,
        _ => Verdict::Inconclusive,
    }
}

/// Whether the estimate by ranks supports the claim.
fn supports(robust: &Estimate, claimed: Verdict, margin: f64) -> bool {
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    match claimed {
        Verdict::Faster => robust.point < low,
        Verdict::Slower => robust.point > high,
        Verdict::Equivalent => (low..=high).contains(&robust.point),
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed | Verdict::Invalid => true,
    }
}

/// Withdraws the claims that are not significant after the correction for several comparisons.
pub fn correct(comparisons: &mut [&mut Comparison]) {
    let p: Vec<f64> = comparisons.iter().map(|comparison| comparison.p.unwrap_or(1.0)).collect();
    let total = comparisons.len();
    for (comparison, adjusted) in comparisons.iter_mut().zip(holm(&p)) {
        if comparison.p.is_none() {
            continue;
        }
        comparison.adjusted_p = Some(adjusted);
        if adjusted > SIGNIFICANT {
            comparison.why = Some(format!(
                "{} alone, but not after Holm's correction for {total} comparisons (p = \
                 {adjusted:.3})",
                comparison.verdict,
            ));
            comparison.verdict = Verdict::NotConfirmed;
        }
    }
}

/// Withholds a verdict for a reason outside the numbers.
pub fn refuse(comparison: &mut Comparison, why: String) {
    comparison.verdict = Verdict::Invalid;
    comparison.p = None;
    comparison.needed = None;
    comparison.why = Some(why);
}
