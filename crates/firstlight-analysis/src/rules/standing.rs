//! The basis of a run's numbers: enough samples, correct results, a passed control.

use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RunDocument};
use firstlight_schema::suite::Regime;
use firstlight_schema::validation::{Rule, RuleOutcome, RuleResult};

use crate::stats::limits::{FEWEST_FOR_INTERVAL, FEWEST_FOR_VERDICT};

const SHOWN: usize = 5;

fn arms(document: &RunDocument) -> impl Iterator<Item = (&CaseResult, &ArmResult)> {
    document.cases.iter().flat_map(|case| case.arms.iter().map(move |arm| (case, arm)))
}

/// Warns with the first few problems, or passes.
fn judged(rule: Rule, complaints: &[String], evidence: String) -> RuleResult {
    if complaints.is_empty() {
        return RuleResult::pass(rule, evidence);
    }
    let shown = complaints.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    let more = complaints.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    RuleResult::new(rule, RuleOutcome::Warn, format!("{shown}{more}"))
}

pub fn complete(document: &RunDocument) -> RuleResult {
    let stopped: Vec<String> = arms(document)
        .filter_map(|(case, arm)| {
            arm.stopped.as_ref().map(|why| format!("{}/{}: {why}", case.name, arm.name))
        })
        .collect();
    if !document.complete {
        let evidence = "the run ended before all samples were taken";
        return RuleResult::new(Rule::Complete, RuleOutcome::Warn, evidence);
    }
    let evidence = format!("{} cases with all their samples", document.cases.len());
    judged(Rule::Complete, &stopped, evidence)
}

pub fn minimum_samples(document: &RunDocument) -> RuleResult {
    let mut few = Vec::new();
    let mut sets = 0;
    for (case, arm) in arms(document) {
        for result in &arm.regimes {
            sets += 1;
            let (n, needed) = match result.regime {
                Regime::Warm => {
                    (result.warm.as_ref().map_or(0, |warm| warm.per_call.n), FEWEST_FOR_VERDICT)
                }
                Regime::ColdClean | Regime::ColdPrimed | Regime::Fresh => (
                    result.summary.as_ref().map_or(0, |summary| summary.valid),
                    FEWEST_FOR_INTERVAL,
                ),
            };
            if usize::try_from(n).is_ok_and(|n| n < needed) {
                few.push(format!(
                    "{}/{} {}: {n} valid samples, {needed} are needed",
                    case.name, arm.name, result.regime
                ));
            }
        }
    }
    judged(
        Rule::MinimumSamples,
        &few,
        format!("{sets} sets of samples, each with enough processes"),
    )
}

pub fn correctness(document: &RunDocument) -> RuleResult {
    let mut compared = 0;
    let mut differing = Vec::new();
    for (case, arm) in arms(document) {
        match &arm.agreement {
            Agreed::Reference => {}
            Agreed::Equal | Agreed::Close { .. } | Agreed::Sampled { .. } => compared += 1,
            Agreed::Differs { how } => differing.push(format!("{}/{}: {how}", case.name, arm.name)),
            Agreed::NotCompared { why } => {
                differing.push(format!("{}/{} not compared: {why}", case.name, arm.name));
            }
        }
    }
    if compared == 0 && differing.is_empty() {
        let evidence = "there are no two arms to compare";
        return RuleResult::new(Rule::Correctness, RuleOutcome::NotChecked, evidence);
    }
    let evidence = format!("the results of {compared} arms agree with their reference's");
    judged(Rule::Correctness, &differing, evidence)
}

pub fn control(document: &RunDocument) -> RuleResult {
    let Some(control) = &document.control else {
        let evidence = "the run has no control";
        return RuleResult::new(Rule::Control, RuleOutcome::NotChecked, evidence);
    };
    let failed = match control.passed {
        None => {
            let evidence = format!(
                "the two copies of {}/{} were not compared well enough to pass",
                control.case, control.arm
            );
            return RuleResult::new(Rule::Control, RuleOutcome::Warn, evidence);
        }
        Some(true) => Vec::new(),
        Some(false) => {
            vec![format!("two copies of {}/{} differ", control.case, control.arm)]
        }
    };
    let evidence = format!("no difference between two copies of {}/{}", control.case, control.arm);
    judged(Rule::Control, &failed, evidence)
}
