//! Checks whether a rerun, on any machine, replicates a result: the same ratios between arms within a
//! margin, and the same outputs. Times and bytes of files do not matter.
//!
//! With rᵢ the ratio of an arm to the reference in round i of a run, the ratio of the two runs'
//! geometric means of rᵢ has Welch's interval on the logarithms. It must lie within the margin.

use firstlight_schema::comparison::{Comparison, Replication, Verdict};
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RunDocument};
use firstlight_schema::suite::Regime;

use crate::agreement::compare_arms as outputs;
use crate::compare::{Names, correct, pairs, refuse, unpaired, values};
use crate::results::{Margins, wanted};
use crate::shards::ratios_of_nodes;

/// Every arm's ratio to the reference in the second run, over the same in the first.
pub fn replicate(
    first: &RunDocument,
    second: &RunDocument,
    margins: &Margins,
    regimes: &[Regime],
) -> Vec<Comparison> {
    let mut found = Vec::new();
    for case in &second.cases {
        let Some(before) = first.cases.iter().find(|known| known.name == case.name) else {
            continue;
        };
        for arm in case.arms.iter().filter(|arm| arm.name != case.reference) {
            for result in arm.regimes.iter().filter(|result| wanted(regimes, result.regime)) {
                let (Some(now), Some(then)) = (
                    ratios(second, case, &arm.name, result.regime),
                    ratios(first, before, &arm.name, result.regime),
                ) else {
                    continue;
                };
                let names = Names {
                    segments: &[],
                    nodes: &[],
                    case: &case.name,
                    regime: result.regime,
                    arm: &arm.name,
                    against: &case.reference,
                };
                let mut comparison = unpaired(names, &now, &then, margins.for_case(case));
                if let Some(why) = why_not(first, second, before, case, arm) {
                    refuse(&mut comparison, why);
                }
                found.push(comparison);
            }
        }
    }
    correct(&mut found.iter_mut().collect::<Vec<_>>());
    found
}

/// An arm's times over the reference's, round by round.
fn ratios(
    document: &RunDocument,
    case: &CaseResult,
    arm: &str,
    regime: Regime,
) -> Option<Vec<f64>> {
    let select = |name: &str| {
        let arm = case.arms.iter().find(|arm| arm.name == name)?;
        arm.regimes.iter().find(|result| result.regime == regime)
    };
    let (reference, arm) = (select(&case.reference)?, select(arm)?);
    if let Some(merged) = ratios_of_nodes(document, arm, reference) {
        return Some(merged);
    }
    let (reference, arm) = (values(&reference.samples, regime), values(&arm.samples, regime));
    Some(pairs(&reference, &arm).into_iter().map(|(reference, arm)| arm / reference).collect())
}

/// The reason why one run is not a valid rerun of the other.
fn why_not(
    first: &RunDocument,
    second: &RunDocument,
    before: &CaseResult,
    case: &CaseResult,
    arm: &ArmResult,
) -> Option<String> {
    if first.suite_digest != second.suite_digest {
        return Some("the suite's files are not the same".to_owned());
    }
    if case.parameters != before.parameters || case.reference != before.reference {
        return Some("the case has other parameters or another reference".to_owned());
    }
    if first.options.precision != second.options.precision {
        return Some("another precision was requested".to_owned());
    }
    let own = |arm: &ArmResult| match &arm.agreement {
        Agreed::Differs { how } => Some(how.clone()),
        Agreed::Reference
        | Agreed::Equal
        | Agreed::Close { .. }
        | Agreed::Sampled { .. }
        | Agreed::NotCompared { .. } => None,
    };
    let then = before.arms.iter().find(|known| known.name == arm.name)?;
    if let Agreed::Differs { how } = outputs(arm, then, &second.options) {
        return Some(format!("the results of the two runs are not the same: {how}"));
    }
    own(arm).or_else(|| own(then))
}

/// The overall outcome of the comparisons.
pub fn replication(comparisons: &[Comparison]) -> Replication {
    let any = |wanted: &[Verdict]| comparisons.iter().any(|one| wanted.contains(&one.verdict));
    if any(&[Verdict::Faster, Verdict::Slower, Verdict::Invalid]) {
        Replication::NotReplicated
    } else if comparisons.is_empty()
        || any(&[Verdict::Inconclusive, Verdict::TooFew, Verdict::NotConfirmed])
    {
        Replication::Inconclusive
    } else {
        Replication::Replicated
    }
}
