//! All conclusions from a run's regimes: agreement, verdicts, break-evens, sweeps. They follow from the
//! document itself, so they can be recomputed.

use firstlight_schema::comparison::{AgainResult, BreakEven, Comparison, Verdict};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{
    Agreed, ArmResult, CaseResult, NodeRecord, RegimeResult, RunDocument, RunOptions,
};
use firstlight_schema::suite::{Agreement, Regime};

use crate::agreement::{agreement, asked_precision, other_precision};
use crate::break_even::break_even;
use crate::compare::{Names, correct, mark_unproved, paired, unproved};
use crate::planted::planted;
use crate::programs::nondeterministic;
use crate::sweep::sweeps;
use crate::withhold::{Terms, why_not, withhold};

/// Recomputes all conclusions.
pub fn judge(document: &mut RunDocument) {
    let segments = document.segments.clone();
    let nodes = nodes_of_segments(&document.nodes);
    document.control = document.cases.iter().find_map(|case| control(case, &segments, &nodes));
    let failed = failed_regimes(document.control.as_ref());
    for case in &mut document.cases {
        conclude_arms(case, &document.options);
        blame(case, document.control.as_ref());
        let imported = document.imported.is_some();
        if case.planted.is_some() {
            continue;
        }
        if document.options.verdicts {
            let how: How = if imported { unproved } else { paired };
            let how = Comparing { segments: &segments, nodes: &nodes, how };
            case.comparisons = comparisons(case, &failed, &document.options, how);
        }
        case.break_evens = break_evens(case, &failed, &document.options);
    }
    judge_planted(&mut document.cases);
    let all = document.cases.iter_mut().flat_map(|case| &mut case.comparisons);
    correct(&mut all.collect::<Vec<_>>());
    if document.imported.is_some() {
        let all = document.cases.iter_mut().flat_map(|case| &mut case.comparisons);
        all.for_each(mark_unproved);
    }
    document.sweeps = sweeps(&document.cases);
}

/// Compares every planted case with the one without its mistake.
fn judge_planted(cases: &mut [CaseResult]) {
    let found: Vec<_> = cases
        .iter()
        .map(|case| {
            let one = case.planted.as_ref().map(|planted| planted.of.as_str());
            planted(case, cases.iter().find(|right| Some(right.name.as_str()) == one))
        })
        .collect();
    for (case, found) in cases.iter_mut().zip(found) {
        case.planted = found;
    }
}

/// The A/A control: the reference arm against itself.
fn control(case: &CaseResult, segments: &[u32], nodes: &[usize]) -> Option<AgainResult> {
    let how = Comparing { segments, nodes, how: paired };
    let again = case.again.as_ref()?;
    let arm = case.arms.iter().find(|arm| arm.name == again.name)?;
    let mut comparisons: Vec<Comparison> =
        regimes(again, arm).map(|(a, b)| compare(case, again, arm, a, b, how)).collect();
    correct(&mut comparisons.iter_mut().collect::<Vec<_>>());
    let measured = comparisons.iter().any(|one| one.ratio.is_some());
    let mut result =
        AgainResult { case: case.name.clone(), arm: again.name.clone(), comparisons, passed: None };
    let open = |one: &Comparison| one.ratio.is_some() && one.verdict != Verdict::Equivalent;
    result.passed = match failed_regimes(Some(&result)).is_empty() {
        false => Some(false),
        true if !measured || result.comparisons.iter().any(open) => None,
        true => Some(true),
    };
    Some(result)
}

/// The regimes in which the control differs from itself.
pub(crate) fn failed_regimes(control: Option<&AgainResult>) -> Vec<Regime> {
    let comparisons = control.into_iter().flat_map(|control| &control.comparisons);
    comparisons.filter(|one| is_different(one)).map(|one| one.regime).collect()
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

/// Paired or unpaired comparison.
type How = fn(Names<'_>, &RegimeResult, &RegimeResult, f64) -> Comparison;

/// The comparison of arms, and the resumptions of the run.
#[derive(Clone, Copy)]
struct Comparing<'a> {
    segments: &'a [u32],
    nodes: &'a [usize],
    how: How,
}

fn compare(
    case: &CaseResult,
    arm: &ArmResult,
    against: &ArmResult,
    of_arm: &RegimeResult,
    of_against: &RegimeResult,
    how: Comparing<'_>,
) -> Comparison {
    let names = Names {
        segments: how.segments,
        nodes: how.nodes,
        case: &case.name,
        regime: of_arm.regime,
        arm: &arm.name,
        against: &against.name,
    };
    (how.how)(names, of_arm, of_against, case.margin)
}

/// The node of each segment of a merged result, in the order of the segments.
pub(crate) fn nodes_of_segments(nodes: &[NodeRecord]) -> Vec<usize> {
    let parts = nodes.iter().enumerate();
    let parts = parts.flat_map(|(node, one)| one.parts.iter().map(move |part| (part.first, node)));
    let mut parts: Vec<(u32, usize)> = parts.collect();
    parts.sort_unstable();
    parts.into_iter().map(|(_, node)| node).collect()
}

/// Agreement and findings of every arm.
fn conclude_arms(case: &mut CaseResult, options: &RunOptions) {
    let Some(reference) = case.arms.iter().find(|arm| arm.name == case.reference) else {
        return;
    };
    let conclusions: Vec<(Agreed, Vec<Reason>)> = case
        .arms
        .iter()
        .map(|arm| {
            let agreed = agreement(arm, reference, options);
            let mut findings: Vec<Reason> = nondeterministic(arm).into_iter().collect();
            findings.extend(match asked_precision(arm, options) {
                Some(wrong) => Some(wrong),
                None => other_precision(arm, reference),
            });
            match &agreed {
                Agreed::Differs { how } => {
                    findings.push(Reason::new(Finding::OutputDiffers, how.as_str()));
                }
                Agreed::NotCompared { why }
                    if options.outputs != Agreement::Unchecked && has_valid_sample(arm) =>
                {
                    findings.push(Reason::new(Finding::OutputUnread, why.as_str()));
                }
                _ => {}
            }
            (agreed, findings)
        })
        .collect();
    for (arm, (agreement, findings)) in case.arms.iter_mut().zip(conclusions) {
        (arm.agreement, arm.findings) = (agreement, findings);
    }
}

fn has_valid_sample(arm: &ArmResult) -> bool {
    arm.regimes.iter().flat_map(|regime| &regime.samples).any(|sample| sample.valid)
}

/// Adds a failed control as a finding about the arm that was measured twice.
fn blame(case: &mut CaseResult, control: Option<&AgainResult>) {
    let Some(control) = control.filter(|control| control.case == case.name) else {
        return;
    };
    let Some(arm) = case.arms.iter_mut().find(|arm| arm.name == control.arm) else { return };
    for one in control.comparisons.iter().filter(|one| is_different(one)) {
        let ratio = one.ratio.map_or(1.0, |ratio| ratio.point);
        let text = format!(
            "the second copy of {} takes {ratio:.3} times as long as the first ({})",
            arm.name, one.regime
        );
        arm.findings.push(Reason::new(Finding::ControlFailed, text));
    }
}

fn is_different(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::Faster | Verdict::Slower)
}

/// Every other arm against the reference.
fn comparisons(
    case: &CaseResult,
    failed: &[Regime],
    options: &RunOptions,
    how: Comparing<'_>,
) -> Vec<Comparison> {
    let Some(reference) = case.arms.iter().find(|arm| arm.name == case.reference) else {
        return Vec::new();
    };
    let others = case.arms.iter().filter(|arm| arm.name != case.reference);
    others
        .flat_map(|arm| {
            regimes(arm, reference).map(move |(a, b)| {
                let mut comparison = compare(case, arm, reference, a, b, how);
                let terms = Terms { regime: a.regime, failed, options, margin: case.margin };
                withhold(&mut comparison, arm, reference, terms);
                comparison
            })
        })
        .collect()
}

/// Every pair of arms that can be compared, for each cold regime.
fn break_evens(case: &CaseResult, failed: &[Regime], options: &RunOptions) -> Vec<BreakEven> {
    let mut found = Vec::new();
    for cold in [Regime::ColdClean, Regime::ColdPrimed] {
        for (place, against) in case.arms.iter().enumerate() {
            for arm in &case.arms[place + 1..] {
                let refused = |regime| {
                    let terms = Terms { regime, failed, options, margin: case.margin };
                    why_not(arm, against, terms).is_some()
                };
                if !refused(cold) && !refused(Regime::Warm) {
                    found.extend(break_even(cold, arm, against));
                }
            }
        }
    }
    found
}
