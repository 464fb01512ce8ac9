//! The number of calls after which one arm is faster in total than another, start-up included.
//!
//! After n calls an arm has cost C + (n − 1) W: the time to its first result, and the time of every further
//! call. Round by round the difference of two arms is `dᵢ(n) = ΔCᵢ + (n − 1) ΔWᵢ`. For each n its sign is
//! judged by the signed-rank interval over the rounds; the numbers of calls for which that interval contains
//! zero are the interval of the break-even. (Inverting a test: Hollander, Wolfe and Chicken, 3.3; for a ratio
//! of means this is Fieller's.)
//!
//! The curves come from the same rounds and the same estimator: the other arm's total is the
//! Hodges-Lehmann estimate of its totals, and the arm's total lies above it by the estimate of the
//! differences, with their interval as its band. So the curves cross at the break-even, and the band's
//! edges at the ends of its interval.

use firstlight_schema::comparison::{BreakEven, Crossing, Pays, Total};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::{ArmResult, RegimeResult};
use firstlight_schema::suite::Regime;

use crate::cheapest::Cost;
use crate::compare::values;
use crate::stats::limits::FEWEST_FOR_INTERVAL;
use crate::stats::paired_difference;

/// Larger numbers of calls are treated as infinite.
const FOR_EVER: f64 = 1e12;
/// The number of points of a curve in each power of ten.
const STEPS: u32 = 8;

/// The crossing of two total times; `None` unless both arms have both regimes.
pub(crate) fn break_even(cold: Regime, arm: &ArmResult, against: &ArmResult) -> Option<BreakEven> {
    let select =
        |arm: &ArmResult, regime| regime_of(arm, regime).map(|r| values(&r.samples, regime));
    let first = (select(against, cold)?, select(arm, cold)?);
    let later = (select(against, Regime::Warm)?, select(arm, Regime::Warm)?);
    let rounds: Vec<Round> = first
        .0
        .iter()
        .filter_map(|&(round, c0)| {
            let at =
                |values: &[(u32, f64)]| values.iter().find(|one| one.0 == round).map(|one| one.1);
            let (c1, w0, w1) = (at(&first.1)?, at(&later.0)?, at(&later.1)?);
            let against = Cost { first_ns: c0, call_ns: w0 };
            Some(Round { start: c1 - c0, call: w1 - w0, against })
        })
        .collect();
    let (pays, calls) = crossing(&rounds)?;
    Some(BreakEven {
        cold,
        arm: arm.name.clone(),
        against: against.name.clone(),
        pays,
        calls,
        curve: curve(&rounds, calls.as_ref()),
    })
}

fn regime_of(arm: &ArmResult, regime: Regime) -> Option<&RegimeResult> {
    arm.regimes.iter().find(|known| known.regime == regime)
}

/// One round: the differences of the start and of every call.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: f64,
    call: f64,
    /// The total time of the other arm.
    against: Cost,
}

impl Round {
    fn difference(&self, calls: f64) -> f64 {
        self.start + (calls - 1.0) * self.call
    }
}

/// The sign of the difference at a number of calls: of the interval, if there is one, and of the point.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sign {
    /// −1: the arm is cheaper; +1: the other one is; 0: the interval contains zero.
    sure: i8,
    point: f64,
}

/// The Hodges-Lehmann estimate of a figure of all rounds, with its signed-rank interval.
fn estimate(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> Option<Estimate> {
    paired_difference(&rounds.iter().map(|round| (0.0, figure(round))).collect::<Vec<_>>())
}

fn sign(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> Option<Sign> {
    let estimate = estimate(rounds, figure)?;
    let sure = match estimate.interval {
        Some(interval) if interval.high < 0.0 => -1,
        Some(interval) if interval.low > 0.0 => 1,
        _ => 0,
    };
    Some(Sign { sure, point: estimate.point })
}

fn at(rounds: &[Round], calls: f64) -> Option<Sign> {
    sign(rounds, |round| round.difference(calls))
}

fn crossing(rounds: &[Round]) -> Option<(Pays, Option<Crossing>)> {
    let first = at(rounds, 1.0)?;
    let last = sign(rounds, |round| round.call)?;
    if first.sure == last.sure && first.sure != 0 {
        return Some((if first.sure < 0 { Pays::FromTheFirstCall } else { Pays::Never }, None));
    }
    // If the points do not cross, the arm that is cheaper in the end is cheaper from the start.
    let crosses = (first.point < 0.0) != (last.point < 0.0);
    let point =
        if crosses { smallest(|n| Some(at(rounds, n)?.point * last.point > 0.0)) } else { 1.0 };
    // Up to here the first arm is certainly cheaper, from there on the last one.
    let low = (first.sure != 0)
        .then(|| smallest(|n| Some(at(rounds, n)?.sure != first.sure)))
        .map(|n| (n - 1.0).max(1.0));
    let high = (last.sure != 0).then(|| smallest(|n| Some(at(rounds, n)?.sure == last.sure)));
    let pays = match (rounds.len() < FEWEST_FOR_INTERVAL, last.sure) {
        (true, _) => Pays::TooFewRounds,
        (false, -1) => Pays::Later,
        (false, 1) => Pays::AtFirst,
        (false, _) => Pays::Undecided,
    };
    let pairs = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    Some((pays, Some(Crossing { point, low, high, pairs })))
}

/// The smallest integer from which the condition holds permanently.
fn smallest(holds: impl Fn(f64) -> Option<bool>) -> f64 {
    let holds = |n: f64| holds(n).unwrap_or(false);
    let mut high = 1.0;
    while !holds(high) && high < FOR_EVER {
        high *= 2.0;
    }
    let mut low = (high / 2.0).floor();
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high).floor();
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Total costs at growing numbers of calls, to well past the break-even, which is one of them.
fn curve(rounds: &[Round], crossing: Option<&Crossing>) -> Vec<Total> {
    let last = (crossing.map_or(100.0, |crossing| crossing.point) * 10.0).clamp(1e3, FOR_EVER);
    let mut calls: Vec<f64> = Vec::new();
    let mut decade = 1.0;
    while decade <= last {
        let steps = (0..STEPS).map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS)));
        calls.extend(steps.map(|step| (decade * step).round()).filter(|&calls| calls <= last));
        decade *= 10.0;
    }
    let ends = crossing.map(|crossing| [Some(crossing.point), crossing.low, crossing.high]);
    calls.extend(ends.into_iter().flatten().flatten().filter(|&calls| calls <= last));
    calls.sort_unstable_by(f64::total_cmp);
    calls.dedup();
    calls.into_iter().filter_map(|calls| total(rounds, calls)).collect()
}

fn total(rounds: &[Round], calls: f64) -> Option<Total> {
    let against = estimate(rounds, |round| round.against.total(calls))?.point;
    let difference = estimate(rounds, |round| round.difference(calls))?;
    Some(Total {
        calls,
        arm_ns: against + difference.point,
        against_ns: against,
        arm_low_ns: difference.interval.map(|interval| against + interval.low),
        arm_high_ns: difference.interval.map(|interval| against + interval.high),
    })
}

#[cfg(test)]
mod tests {
    use super::{Cost, Round, crossing, curve};
    use firstlight_schema::comparison::Pays;

    const AGAINST: Cost = Cost { first_ns: 5_000.0, call_ns: 20.0 };

    fn rounds(start: f64, call: f64, noise: f64) -> Vec<Round> {
        (0..10)
            .map(|i| {
                let wave = noise * f64::from(i % 3 - 1);
                Round { start: start + wave, call: call + wave / 100.0, against: AGAINST }
            })
            .collect()
    }

    #[test]
    fn costs_cross_at_the_first_whole_call_after_the_crossing() {
        // 1000 more at the start, 10 less for every call: equal at 101 calls.
        let (pays, calls) = crossing(&rounds(1_000.0, -10.0, 0.0)).unwrap();
        let calls = calls.unwrap();
        assert_eq!(pays, Pays::Later);
        assert_eq!((calls.point, calls.low, calls.high), (102.0, Some(100.0), Some(102.0)));
    }

    #[test]
    fn noise_gives_the_crossing_an_interval() {
        let (pays, calls) = crossing(&rounds(1_000.0, -10.0, 100.0)).unwrap();
        let calls = calls.unwrap();
        let (low, high) = (calls.low.unwrap(), calls.high.unwrap());
        assert_eq!(pays, Pays::Later);
        assert!(low < calls.point && calls.point < high, "{calls:?}");
        assert!(low > 70.0 && high < 140.0, "{calls:?}");
    }

    #[test]
    fn an_arm_that_is_always_cheaper_pays_from_the_first_call_and_the_other_never() {
        assert_eq!(crossing(&rounds(-5.0, -1.0, 0.1)), Some((Pays::FromTheFirstCall, None)));
        assert_eq!(crossing(&rounds(5.0, 1.0, 0.1)), Some((Pays::Never, None)));
    }

    #[test]
    fn an_arm_that_starts_sooner_and_runs_slower_pays_at_first() {
        let (pays, calls) = crossing(&rounds(-1_000.0, 10.0, 1.0)).unwrap();
        assert_eq!(pays, Pays::AtFirst);
        assert!((calls.unwrap().point - 102.0).abs() <= 1.0);
    }

    #[test]
    fn equal_speeds_leave_it_undecided() {
        let open: Vec<Round> = (0..10)
            .map(|i| Round { start: 1_000.0, call: f64::from(i % 2) * 2.0 - 1.0, against: AGAINST })
            .collect();
        let (pays, calls) = crossing(&open).unwrap();
        assert_eq!(pays, Pays::Undecided);
        assert_eq!(calls.unwrap().high, None);
    }

    #[test]
    fn an_uncertain_start_is_not_called_cheaper() {
        let open: Vec<Round> = (0..10)
            .map(|i| Round {
                start: f64::from(i % 3 - 1) * 100.0 + 5.0,
                call: 10.0,
                against: AGAINST,
            })
            .collect();
        let (pays, calls) = crossing(&open).unwrap();
        let calls = calls.unwrap();
        assert_eq!((pays, calls.point, calls.low), (Pays::AtFirst, 1.0, None));
        assert!(calls.high.unwrap() > 1.0);
    }

    #[test]
    fn five_rounds_have_a_point_and_no_interval() {
        let (pays, calls) = crossing(&rounds(1_000.0, -10.0, 1.0)[..5]).unwrap();
        let calls = calls.unwrap();
        assert_eq!(pays, Pays::TooFewRounds);
        assert_eq!((calls.low, calls.high), (None, None));
        assert!((calls.point - 102.0).abs() <= 1.0);
    }

    /// Rounds whose medians and means cross at another number of calls than their differences.
    fn skewed() -> Vec<Round> {
        (0..12)
            .map(|i| {
                let slow = if i % 4 == 0 { 3.0 } else { 1.0 };
                let against = Cost { first_ns: 1_000.0 * slow, call_ns: 20.0 };
                Round { start: 1_000.0 + 40.0 * f64::from(i), call: -10.0, against }
            })
            .collect()
    }

    #[test]
    fn the_curves_cross_where_the_break_even_says_and_the_band_at_its_interval() {
        let rounds = skewed();
        let (_, calls) = crossing(&rounds).unwrap();
        let calls = calls.unwrap();
        let totals = curve(&rounds, Some(&calls));
        let first = |holds: fn(&super::Total) -> bool| {
            Some(totals.iter().find(|total| holds(total))?.calls)
        };
        assert_eq!(first(|total| total.arm_ns < total.against_ns), Some(calls.point));
        assert_eq!(first(|total| total.arm_high_ns < Some(total.against_ns)), calls.high);
        let before = totals.iter().rev().find(|total| total.arm_low_ns > Some(total.against_ns));
        assert_eq!(before.map(|total| total.calls), calls.low);
    }
}
