//! Everything that is concluded from a run's regimes: agreement, verdicts, break-evens, sweeps.
//! All of it follows from the document itself, so it can be made again.

use firstlight_schema::comparison::{AgainResult, BreakEven, Comparison, Verdict};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{
    Agreed, ArmResult, CaseResult, RegimeResult, RunDocument, RunOptions,
};
use firstlight_schema::suite::Regime;

use crate::agreement::{agreement, precision};
use crate::break_even::break_even;
use crate::compare::{Names, correct, mark_unproved, paired, refuse, unproved};
use crate::programs::nondeterministic;
use crate::sweep::sweeps;

/// Makes all conclusions anew.
pub fn judge(document: &mut RunDocument) {
    document.control = document.cases.iter().find_map(control);
    let failed: Vec<Regime> = document.control.iter().flat_map(differing).collect();
    for case in &mut document.cases {
        conclude_arms(case, &document.options);
        blame(case, document.control.as_ref());
        case.comparisons = comparisons(case, &failed, document.imported.is_some());
        case.break_evens = break_evens(case);
    }
    let all = document.cases.iter_mut().flat_map(|case| &mut case.comparisons);
    correct(&mut all.collect::<Vec<_>>());
    if document.imported.is_some() {
        let all = document.cases.iter_mut().flat_map(|case| &mut case.comparisons);
        all.for_each(mark_unproved);
    }
    document.sweeps = sweeps(&document.cases);
}

/// The reference arm against itself.
fn control(case: &CaseResult) -> Option<AgainResult> {
    let again = case.again.as_ref()?;
    let arm = case.arms.iter().find(|arm| arm.name == again.name)?;
    let mut comparisons: Vec<Comparison> =
        regimes(again, arm).map(|(a, b)| compare(case, again, arm, a, b, paired)).collect();
    correct(&mut comparisons.iter_mut().collect::<Vec<_>>());
    let mut result =
        AgainResult { case: case.name.clone(), arm: again.name.clone(), comparisons, passed: true };
    result.passed = differing(&result).is_empty();
    Some(result)
}

/// The regimes in which the control differs from itself.
fn differing(control: &AgainResult) -> Vec<Regime> {
    let differing = control.comparisons.iter().filter(|one| is_different(one));
    differing.map(|comparison| comparison.regime).collect()
}

fn regimes<'a>(
    arm: &'a ArmResult,
    against: &'a ArmResult,
) -> impl Iterator<Item = (&'a RegimeResult, &'a RegimeResult)> {
    arm.regimes.iter().filter_map(|regime| {
        let other = against.regimes.iter().find(|known| known.regime == regime.regime)?;
        Some((regime, other))
    })
}

/// Pair by pair or not.
type How = fn(Names<'_>, &RegimeResult, &RegimeResult, f64) -> Comparison;

fn compare(
    case: &CaseResult,
    arm: &ArmResult,
    against: &ArmResult,
    of_arm: &RegimeResult,
    of_against: &RegimeResult,
    how: How,
) -> Comparison {
    let names =
        Names { case: &case.name, regime: of_arm.regime, arm: &arm.name, against: &against.name };
    how(names, of_arm, of_against, case.margin)
}

/// Agreement and findings of every arm.
fn conclude_arms(case: &mut CaseResult, options: &RunOptions) {
    let Some(reference) = case.arms.iter().find(|arm| arm.name == case.reference).cloned() else {
        return;
    };
    for arm in &mut case.arms {
        arm.agreement = agreement(arm, &reference, options);
        arm.findings = nondeterministic(arm).into_iter().collect();
        arm.findings.extend(precision(arm, &reference, options));
        if let Agreed::Differs { how } = &arm.agreement {
            arm.findings.push(Reason::new(Finding::OutputDiffers, how.as_str()));
        }
    }
}

/// A failed control is a finding about the arm that was measured twice.
fn blame(case: &mut CaseResult, control: Option<&AgainResult>) {
    let Some(control) = control.filter(|control| !control.passed && control.case == case.name)
    else {
        return;
    };
    let Some(arm) = case.arms.iter_mut().find(|arm| arm.name == control.arm) else { return };
    for one in control.comparisons.iter().filter(|one| is_different(one)) {
        let ratio = one.ratio.map_or(1.0, |ratio| ratio.point);
        let text =
            format!("measured twice, {} is {ratio:.3} times itself ({})", arm.name, one.regime);
        arm.findings.push(Reason::new(Finding::ControlFailed, text));
    }
}

fn is_different(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::Faster | Verdict::Slower)
}

/// Every other arm against the reference.
fn comparisons(case: &CaseResult, failed: &[Regime], imported: bool) -> Vec<Comparison> {
    let how: How = if imported { unproved } else { paired };
    let Some(reference) = case.arms.iter().find(|arm| arm.name == case.reference) else {
        return Vec::new();
    };
    let others = case.arms.iter().filter(|arm| arm.name != case.reference);
    others
        .flat_map(|arm| {
            let why = why_not(arm, reference);
            regimes(arm, reference).map(move |(a, b)| {
                let mut comparison = compare(case, arm, reference, a, b, how);
                if let Some(why) = &why {
                    refuse(&mut comparison, why.clone());
                } else if failed.contains(&a.regime) {
                    let why = "the control failed: the reference differs from itself".to_owned();
                    refuse(&mut comparison, why);
                }
                comparison
            })
        })
        .collect()
}

/// Why two arms cannot be compared though both have numbers.
fn why_not(arm: &ArmResult, reference: &ArmResult) -> Option<String> {
    let asked = |arm: &ArmResult| {
        let wrong = |reason: &&Reason| {
            reason.finding == Finding::PrecisionDiffers && reason.text.contains("asked for")
        };
        arm.findings.iter().find(wrong).map(|reason| format!("{}: {}", arm.name, reason.text))
    };
    match &arm.agreement {
        Agreed::Differs { how } => Some(how.clone()),
        Agreed::Reference | Agreed::Equal | Agreed::Close { .. } | Agreed::NotCompared { .. } => {
            asked(arm).or_else(|| asked(reference))
        }
    }
}

/// Every pair of arms whose results agree, for each cold regime.
fn break_evens(case: &CaseResult) -> Vec<BreakEven> {
    let arms: Vec<&ArmResult> =
        case.arms.iter().filter(|arm| !matches!(arm.agreement, Agreed::Differs { .. })).collect();
    let mut found = Vec::new();
    for cold in [Regime::ColdClean, Regime::ColdPrimed] {
        for (place, against) in arms.iter().enumerate() {
            found.extend(arms[place + 1..].iter().filter_map(|arm| break_even(cold, arm, against)));
        }
    }
    found
}
