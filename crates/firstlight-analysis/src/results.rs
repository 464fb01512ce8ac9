//! Comparing stored results: two arms of one, or the same arms of two.

use std::collections::BTreeMap;

use firstlight_schema::comparison::{Comparison, Gate, Verdict};
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;

use crate::agreement::compare_arms as outputs;
use crate::compare::{Names, correct, mark_unproved, paired, refuse, times, unpaired, unproved};

/// Margins that were typed: one for all cases, and some for single ones.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    pub all: Option<f64>,
    pub cases: BTreeMap<String, f64>,
}

impl Margins {
    fn of(&self, case: &CaseResult) -> f64 {
        self.cases.get(&case.name).copied().or(self.all).unwrap_or(case.margin)
    }
}

/// Which regimes are compared; none means all.
fn wanted(regimes: &[Regime], regime: Regime) -> bool {
    regimes.is_empty() || regimes.contains(&regime)
}

/// The second arm against the first, in every case that has both.
pub fn compare_arms(
    document: &RunDocument,
    first: &str,
    second: &str,
    margins: &Margins,
    regimes: &[Regime],
) -> Vec<Comparison> {
    let mut found = Vec::new();
    for case in &document.cases {
        let arm = |name: &str| case.arms.iter().find(|arm| arm.name == name);
        let Some((against, arm)) = arm(first).zip(arm(second)) else { continue };
        for (a, b) in common(arm, against, regimes) {
            let names = names(case, a.regime, &arm.name, &against.name);
            let compare = if document.imported.is_some() { unproved } else { paired };
            let mut comparison = compare(names, a, b, margins.of(case));
            refuse_differing(&mut comparison, outputs(arm, against, &document.options));
            found.push(comparison);
        }
    }
    correct(&mut found.iter_mut().collect::<Vec<_>>());
    if document.imported.is_some() {
        found.iter_mut().for_each(mark_unproved);
    }
    found
}

/// Every arm of the second result against the same arm of the first. They were not measured in
/// turn, so what changed between the two runs is part of the difference.
pub fn compare_results(
    first: &RunDocument,
    second: &RunDocument,
    margins: &Margins,
    regimes: &[Regime],
) -> Vec<Comparison> {
    let elsewhere = (first.machine.cpu != second.machine.cpu
        || first.machine.cores != second.machine.cores)
        .then_some("the two results are of different machines");
    let mut found = Vec::new();
    for case in &second.cases {
        let Some(before) = first.cases.iter().find(|known| known.name == case.name) else {
            continue;
        };
        for arm in &case.arms {
            let Some(against) = before.arms.iter().find(|known| known.name == arm.name) else {
                continue;
            };
            for (a, b) in common(arm, against, regimes) {
                let names = names(case, a.regime, &arm.name, &arm.name);
                let mut comparison = unpaired(names, &times(a), &times(b), margins.of(case));
                refuse_differing(&mut comparison, outputs(arm, against, &second.options));
                if case.parameters != before.parameters {
                    refuse(&mut comparison, "the case has other parameters".to_owned());
                }
                if let Some(why) = elsewhere {
                    refuse(&mut comparison, why.to_owned());
                }
                found.push(comparison);
            }
        }
    }
    correct(&mut found.iter_mut().collect::<Vec<_>>());
    if first.imported.is_some() || second.imported.is_some() {
        found.iter_mut().for_each(mark_unproved);
    }
    found
}

fn names<'a>(case: &'a CaseResult, regime: Regime, arm: &'a str, against: &'a str) -> Names<'a> {
    Names { case: &case.name, regime, arm, against }
}

fn common<'a>(
    arm: &'a ArmResult,
    against: &'a ArmResult,
    regimes: &'a [Regime],
) -> impl Iterator<Item = (&'a RegimeResult, &'a RegimeResult)> {
    arm.regimes.iter().filter(|of| wanted(regimes, of.regime)).filter_map(|of| {
        Some((of, against.regimes.iter().find(|known| known.regime == of.regime)?))
    })
}

fn refuse_differing(comparison: &mut Comparison, agreed: Agreed) {
    if let Agreed::Differs { how } = agreed {
        refuse(comparison, how);
    }
}

/// The tool behind the numbers.
fn measured_by(document: &RunDocument) -> String {
    let Some(imported) = &document.imported else { return "firstlight".to_owned() };
    let version = imported.version.as_deref().unwrap_or("of unknown version");
    format!("{} {version}", imported.from)
}

/// What is not the same about two results, in words.
pub fn differences(first: &RunDocument, second: &RunDocument) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, a: Option<String>, b: Option<String>| {
        if a != b {
            let told = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
            found.push(format!("{what}: {}, then {}", told(a), told(b)));
        }
    };
    let of = |document: &RunDocument| {
        let machine = &document.machine;
        [
            ("processor", machine.cpu.clone()),
            ("cores", machine.cores.map(|cores| cores.to_string())),
            ("kernel", machine.kernel.clone()),
            ("Python", document.environment.python.clone()),
            ("suite", Some(document.suite_digest.chars().take(19).collect())),
            ("firstlight", Some(document.firstlight.version.clone())),
            ("measured by", Some(measured_by(document))),
        ]
    };
    for ((what, a), (_, b)) in of(first).into_iter().zip(of(second)) {
        differ(what, a, b);
    }
    let (a, b) = (&first.environment.packages, &second.environment.packages);
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        differ(name, a.get(name).cloned(), b.get(name).cloned());
    }
    found
}

/// Whether nothing is slower, and everything is known not to be.
pub fn gate(comparisons: &[Comparison]) -> Gate {
    let any = |wanted: &[Verdict]| comparisons.iter().any(|one| wanted.contains(&one.verdict));
    if any(&[Verdict::Slower]) {
        Gate::Failed
    } else if comparisons.is_empty() || any(&[Verdict::Inconclusive, Verdict::Invalid]) {
        Gate::Inconclusive
    } else {
        Gate::Passed
    }
}
