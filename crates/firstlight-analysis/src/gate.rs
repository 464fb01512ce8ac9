//! Decides whether head may replace base, from a run in which both took turns.
//!
//! A gate asks one question: is head slower than the margin allows? An interval that lies below the upper
//! edge of the margin answers it, even where it reaches across the lower edge and `faster` or `equivalent`
//! remains open.

use firstlight_schema::comparison::{Comparison, Verdict};
use firstlight_schema::estimate::Estimate;
use firstlight_schema::gate::{Decision, GateRow, Results};
use firstlight_schema::run::{Agreed, ArmResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;

/// Two arms of the run that are the two sides of one arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The case of the run in which they are compared, and their names there.
    pub case: String,
    pub base: String,
    pub head: String,
    /// The names in the suite of the two commits.
    pub own_case: String,
    pub own_arm: String,
}

/// A row for every pair and regime, in the order of the pairs.
pub fn rows(document: &RunDocument, pairs: &[Pair]) -> Vec<GateRow> {
    let mut found = Vec::new();
    for pair in pairs {
        let Some(case) = document.cases.iter().find(|case| case.name == pair.case) else {
            continue;
        };
        let arm = |name: &str| case.arms.iter().find(|arm| arm.name == name);
        let (Some(base), Some(head)) = (arm(&pair.base), arm(&pair.head)) else { continue };
        for (of_head, of_base) in head.regimes.iter().zip(&base.regimes) {
            let regime = of_head.regime;
            let comparison = case.comparisons.iter().find(|one| {
                one.regime == regime && one.arm == head.name && one.against == base.name
            });
            found.push(row(pair, (base, of_base), (head, of_head), comparison.cloned()));
        }
    }
    found
}

/// One failed row fails the gate. One that failed to run or has no verdict leaves it open.
pub fn decision(rows: &[GateRow]) -> Decision {
    let any = |wanted: Decision| rows.iter().any(|row| row.decision == wanted);
    if any(Decision::Failed) {
        Decision::Failed
    } else if any(Decision::NotRun) {
        Decision::NotRun
    } else if rows.is_empty() || any(Decision::Inconclusive) {
        Decision::Inconclusive
    } else {
        Decision::Passed
    }
}

fn row(
    pair: &Pair,
    (base, of_base): (&ArmResult, &RegimeResult),
    (head, of_head): (&ArmResult, &RegimeResult),
    comparison: Option<Comparison>,
) -> GateRow {
    let (results, difference) = results(base, head);
    let failure = failure("base", base, of_base).or_else(|| failure("head", head, of_head));
    let decision = match (&failure, results, &comparison) {
        (Some(_), ..) => Decision::NotRun,
        (None, Results::Different, _) => Decision::Failed,
        (None, _, None) => Decision::Inconclusive,
        (None, _, Some(comparison)) => decide(comparison),
    };
    let why =
        failure.or(difference).or_else(|| comparison.as_ref().and_then(|one| one.why.clone()));
    GateRow {
        case: pair.own_case.clone(),
        arm: pair.own_arm.clone(),
        regime: of_head.regime,
        decision,
        results,
        base: time(of_base),
        head: time(of_head),
        comparison,
        why,
    }
}

fn decide(comparison: &Comparison) -> Decision {
    match comparison.verdict {
        Verdict::Faster | Verdict::Equivalent => Decision::Passed,
        Verdict::Slower => Decision::Failed,
        Verdict::Inconclusive if is_below_margin(comparison) => Decision::Passed,
        Verdict::Inconclusive | Verdict::TooFew | Verdict::NotConfirmed | Verdict::Invalid => {
            Decision::Inconclusive
        }
    }
}

/// Whether the whole interval excludes a slowdown beyond the margin, and the ranks do not contradict.
fn is_below_margin(comparison: &Comparison) -> bool {
    let edge = 1.0 + comparison.margin;
    let interval = comparison.ratio.and_then(|ratio| ratio.interval);
    let agrees = comparison.robust.is_none_or(|robust| robust.point <= edge);
    interval.is_some_and(|interval| interval.high <= edge) && agrees
}

/// Whether head computes what base computes. Base may differ from itself, which says nothing about head.
fn results(base: &ArmResult, head: &ArmResult) -> (Results, Option<String>) {
    match (&base.agreement, &head.agreement) {
        (Agreed::Differs { how }, _) => (Results::NotCompared, Some(how.clone())),
        (_, Agreed::Differs { how }) => (Results::Different, Some(how.clone())),
        (_, Agreed::Equal | Agreed::Close { .. } | Agreed::Sampled { .. }) => (Results::Same, None),
        (_, Agreed::Reference | Agreed::NotCompared { .. }) => (Results::NotCompared, None),
    }
}

/// Why a side has nothing to compare.
fn failure(side: &str, arm: &ArmResult, of: &RegimeResult) -> Option<String> {
    if let Some(stopped) = &arm.stopped {
        return Some(format!("{side}: {}", stopped.text));
    }
    let valid = of.samples.iter().any(|sample| sample.valid);
    let reason = || of.samples.iter().flat_map(|sample| &sample.reasons).next();
    (!valid && !of.samples.is_empty()).then(|| {
        let why = reason().map_or("no sample is valid", |reason| reason.text.as_str());
        format!("{side}: {why}")
    })
}

/// The number that the verdict is about.
fn time(of: &RegimeResult) -> Option<Estimate> {
    match of.regime {
        Regime::Warm => of.warm.as_ref().map(|warm| warm.per_call),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => {
            let summary = of.summary.as_ref()?;
            Some(summary.first_result.unwrap_or(summary.wall))
        }
    }
}

#[cfg(test)]
mod tests {
    use firstlight_schema::comparison::{Comparison, Verdict};
    use firstlight_schema::estimate::{Estimate, Interval, Method};
    use firstlight_schema::gate::{Decision, GateRow, Results};
    use firstlight_schema::suite::Regime;

    use super::{decide, decision};

    fn comparison(verdict: Verdict, low: f64, high: f64) -> Comparison {
        let interval = Some(Interval { low, high, confidence: 0.95 });
        let point = (low * high).sqrt();
        let ratio = Estimate { point, interval, n: 20, method: Method::PairedLogRatio };
        Comparison {
            case: "c".to_owned(),
            regime: Regime::ColdClean,
            arm: "head".to_owned(),
            against: "base".to_owned(),
            verdict,
            margin: 0.05,
            ratio: Some(ratio),
            robust: None,
            p: None,
            adjusted_p: None,
            why: None,
            needed: None,
            rarity: None,
            nodes: None,
        }
    }

    #[test]
    fn only_a_slowdown_beyond_the_margin_fails() {
        for (verdict, low, high, expected) in [
            (Verdict::Slower, 1.08, 1.12, Decision::Failed),
            (Verdict::Equivalent, 0.98, 1.03, Decision::Passed),
            (Verdict::Faster, 0.7, 0.8, Decision::Passed),
            // The interval excludes a slowdown, though it leaves open how much faster head is.
            (Verdict::Inconclusive, 0.9, 0.99, Decision::Passed),
            (Verdict::Inconclusive, 0.99, 1.08, Decision::Inconclusive),
            (Verdict::TooFew, 0.9, 0.99, Decision::Inconclusive),
            (Verdict::NotConfirmed, 1.06, 1.12, Decision::Inconclusive),
            (Verdict::Invalid, 1.06, 1.12, Decision::Inconclusive),
        ] {
            assert_eq!(decide(&comparison(verdict, low, high)), expected, "{verdict} {low} {high}");
        }
    }

    #[test]
    fn ranks_above_the_margin_leave_the_answer_open() {
        let mut one = comparison(Verdict::Inconclusive, 0.9, 0.99);
        one.robust = one.ratio.map(|ratio| Estimate { point: 1.2, ..ratio });
        assert_eq!(decide(&one), Decision::Inconclusive);
    }

    #[test]
    fn the_worst_row_decides_and_no_row_decides_nothing() {
        let row = |decision| GateRow {
            case: "c".to_owned(),
            arm: "a".to_owned(),
            regime: Regime::Warm,
            decision,
            results: Results::Same,
            base: None,
            head: None,
            comparison: None,
            why: None,
        };
        let of = |decisions: &[Decision]| {
            decision(&decisions.iter().map(|&one| row(one)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), Decision::Inconclusive);
        assert_eq!(of(&[Decision::Passed, Decision::Passed]), Decision::Passed);
        assert_eq!(of(&[Decision::Passed, Decision::Inconclusive]), Decision::Inconclusive);
        assert_eq!(of(&[Decision::NotRun, Decision::Inconclusive]), Decision::NotRun);
        assert_eq!(of(&[Decision::NotRun, Decision::Failed]), Decision::Failed);
    }
}
