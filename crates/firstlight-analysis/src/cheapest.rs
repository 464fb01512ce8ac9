//! The cheapest arm for each number of calls: the lower envelope of all arms' total costs.
//!
//! After n calls an arm has cost C + (n − 1) W. C and W are Hodges-Lehmann estimates over the rounds that
//! have both, as in the break-even of two arms. Where the cheapest arm changes, the number of calls and its
//! interval are those of that break-even.

use firstlight_schema::comparison::{BreakEven, Pays};
use firstlight_schema::run::{ArmResult, CaseResult};
use firstlight_schema::suite::Regime;

use crate::compare::{pairs, values};
use crate::stats::paired_difference;

/// Numbers of calls for which one arm is the cheapest.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    pub arm: String,
    /// The first number of calls.
    pub from: f64,
    /// The last one; absent if unlimited.
    pub to: Option<f64>,
    /// The 95 % interval of the change from the previous arm to this one.
    pub change: Option<(Option<f64>, Option<f64>)>,
    /// Arms that may be as fast at `from`.
    pub also: Vec<String>,
}

/// The parts of an arm's total cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub first_ns: f64,
    pub call_ns: f64,
}

impl Cost {
    pub fn total(self, calls: f64) -> f64 {
        self.first_ns + (calls - 1.0) * self.call_ns
    }
}

/// The total time of an arm with this cold regime; `None` unless both regimes were measured.
pub fn cost(arm: &ArmResult, cold: Regime) -> Option<Cost> {
    let found = |regime| {
        let known = arm.regimes.iter().find(|known| known.regime == regime)?;
        Some(values(&known.samples, regime))
    };
    let (first, warm) = (found(cold)?, found(Regime::Warm)?);
    let rounds: Vec<(f64, f64)> = pairs(&first, &warm);
    let estimate = |values: Vec<(f64, f64)>| Some(paired_difference(&values)?.point);
    Some(Cost {
        first_ns: estimate(rounds.iter().map(|&(first, _)| (0.0, first)).collect())?,
        call_ns: estimate(rounds.iter().map(|&(_, call)| (0.0, call)).collect())?,
    })
}

/// The cheapest arm for every number of calls; empty unless two arms have both regimes. Skips arms whose
/// results differ from the reference's.
pub fn cheapest(case: &CaseResult, cold: Regime) -> Vec<Stretch> {
    let differs =
        |arm: &ArmResult| matches!(arm.agreement, firstlight_schema::run::Agreed::Differs { .. });
    let arms: Vec<(&str, Cost)> = case
        .arms
        .iter()
        .filter(|arm| !differs(arm))
        .filter_map(|arm| Some((arm.name.as_str(), cost(arm, cold)?)))
        .collect();
    let mut stretches: Vec<Stretch> = Vec::new();
    if arms.len() < 2 {
        return stretches;
    }
    let at_first = |cost: Cost| (cost.total(1.0), cost.call_ns);
    let cheaper = |a: &&(&str, Cost), b: &&(&str, Cost)| {
        let (a, b) = (at_first(a.1), at_first(b.1));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let mut next = arms.iter().min_by(cheaper).map(|&(arm, cost)| (1.0, arm, cost));
    while let Some((from, arm, best)) = next {
        // Each arm has cheaper calls than the previous one, so this loop ends.
        next = arms
            .iter()
            .filter(|(_, other)| other.call_ns < best.call_ns)
            .map(|&(name, other)| {
                let known = between(case, cold, arm, name).and_then(|even| even.calls);
                let point = known.map_or_else(|| crossing(best, other), |calls| calls.point);
                (point.max(from + 1.0), name, other)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let change = stretches.last().and_then(|last| interval(case, cold, &last.arm, arm));
        stretches.push(Stretch {
            arm: arm.to_owned(),
            from,
            to: next.map(|(next, ..)| next - 1.0),
            change,
            also: undecided(case, cold, arm, from, &arms),
        });
    }
    stretches
}

/// The first integer number of calls for which the arm with the cheaper calls is cheaper.
fn crossing(now: Cost, later: Cost) -> f64 {
    let even = 1.0 + (later.first_ns - now.first_ns) / (now.call_ns - later.call_ns);
    even.floor() + 1.0
}

fn between<'a>(case: &'a CaseResult, cold: Regime, a: &str, b: &str) -> Option<&'a BreakEven> {
    case.break_evens.iter().find(|even| {
        even.cold == cold
            && ((even.arm == a && even.against == b) || (even.arm == b && even.against == a))
    })
}

fn interval(
    case: &CaseResult,
    cold: Regime,
    a: &str,
    b: &str,
) -> Option<(Option<f64>, Option<f64>)> {
    between(case, cold, a, b)?.calls.map(|calls| (calls.low, calls.high))
}

/// Arms that may be as fast as the best one.
fn undecided(
    case: &CaseResult,
    cold: Regime,
    best: &str,
    calls: f64,
    arms: &[(&str, Cost)],
) -> Vec<String> {
    let others = arms.iter().map(|(arm, _)| *arm).filter(|arm| *arm != best);
    others
        .filter(|other| {
            let found = between(case, cold, best, other).and_then(|one| cheaper(one, calls));
            found != Some(best)
        })
        .map(str::to_owned)
        .collect()
}

/// The arm of the two that is certainly cheaper at this number of calls.
fn cheaper(even: &BreakEven, calls: f64) -> Option<&str> {
    let early = |low: Option<f64>| low.is_some_and(|low| calls <= low);
    let late = |high: Option<f64>| high.is_some_and(|high| calls >= high);
    match (even.pays, even.calls) {
        (Pays::FromTheFirstCall, _) => Some(&even.arm),
        (Pays::Never, _) => Some(&even.against),
        (Pays::Later, Some(at)) if early(at.low) => Some(&even.against),
        (Pays::Later, Some(at)) if late(at.high) => Some(&even.arm),
        (Pays::AtFirst, Some(at)) if early(at.low) => Some(&even.arm),
        (Pays::AtFirst, Some(at)) if late(at.high) => Some(&even.against),
        (Pays::Later | Pays::AtFirst | Pays::Undecided | Pays::TooFewRounds, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, crossing};

    #[test]
    fn the_crossing_is_the_first_whole_call_at_which_the_later_one_is_cheaper() {
        let (now, later) =
            (Cost { first_ns: 10.0, call_ns: 5.0 }, Cost { first_ns: 110.0, call_ns: 1.0 });
        let calls = crossing(now, later);
        assert!(later.total(calls) < now.total(calls));
        assert!(later.total(calls - 1.0) >= now.total(calls - 1.0));
    }
}
