//! Comparing stored results: two arms of one, or the same arms of two.

use std::collections::BTreeMap;

use firstlight_schema::comparison::{Comparison, Gate, Verdict};
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;

use crate::agreement::compare_arms as outputs;
use crate::compare::{Names, correct, paired, refuse, unpaired, values};

/// Margins that were typed: one for all cases, and some for single ones.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    pub all: Option<f64>,
    pub cases: BTreeMap<String, f64>,
}

impl Margins {
    pub(crate) fn of(&self, case: &CaseResult) -> f64 {
        self.cases.get(&case.name).copied().or(self.all).unwrap_or(case.margin)
    }
}

/// Which regimes are compared; none means all.
pub(crate) fn wanted(regimes: &[Regime], regime: Regime) -> bool {
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
            let mut comparison = paired(names, a, b, margins.of(case));
            refuse_differing(&mut comparison, outputs(arm, against, &document.options));
            found.push(comparison);
        }
    }
    correct(&mut found.iter_mut().collect::<Vec<_>>());
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

fn times(of: &RegimeResult) -> Vec<f64> {
    values(&of.samples, of.regime).into_iter().map(|(_, time)| time).collect()
}

fn refuse_differing(comparison: &mut Comparison, agreed: Agreed) {
    if let Agreed::Differs { how } = agreed {
        refuse(comparison, how);
    }
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
            ("precision", document.options.precision.clone()),
            ("schema", Some(document.schema.version.to_string())),
            ("devices", devices(document)),
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

/// The NVIDIA devices and their driver.
fn devices(document: &RunDocument) -> Option<String> {
    let gpus = document.before.gpus.as_ref()?;
    let told = gpus.iter().map(|gpu| match &gpu.driver {
        Some(driver) => format!("{} (driver {driver})", gpu.name),
        None => gpu.name.clone(),
    });
    (!gpus.is_empty()).then(|| told.collect::<Vec<_>>().join(", "))
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
