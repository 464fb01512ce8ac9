//! Comparisons of stored results: two arms of one, or the same arms of two.

use std::collections::BTreeMap;

use firstlight_schema::comparison::{Comparison, Gate, Verdict};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::run::{ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::suite::Regime;

use crate::compare::{Names, correct, mark_unproved, paired, refuse, times, unpaired, unproved};
use crate::judge::{failed_regimes, nodes_of_segments};
use crate::shards::times_of_nodes;
use crate::withhold::{Terms, withhold};

/// Margins from the command line: one for all cases, and some for single ones.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    pub all: Option<f64>,
    pub cases: BTreeMap<String, f64>,
}

impl Margins {
    /// A case's own margin, its sweep's, the one for all, or the suite's.
    pub(crate) fn for_case(&self, case: &CaseResult) -> f64 {
        let swept = case.sweep.as_ref().and_then(|sweep| self.cases.get(&sweep.case));
        self.cases.get(&case.name).or(swept).copied().or(self.all).unwrap_or(case.margin)
    }

    /// A case with a margin that is in none of the documents.
    pub fn unknown(&self, documents: &[&RunDocument]) -> Option<&str> {
        let known = |name: &String| {
            documents.iter().flat_map(|document| &document.cases).any(|case| {
                case.name == *name || case.sweep.as_ref().is_some_and(|sweep| sweep.case == *name)
            })
        };
        self.cases.keys().find(|name| !known(name)).map(String::as_str)
    }
}

/// Whether a regime is compared; an empty list means all.
pub(crate) fn wanted(regimes: &[Regime], regime: Regime) -> bool {
    regimes.is_empty() || regimes.contains(&regime)
}

/// Pairs of arms of one result, the second against the first, in every case that has both.
pub fn compare_arms(
    document: &RunDocument,
    pairs: &[(&str, &str)],
    margins: &Margins,
    regimes: &[Regime],
) -> Vec<Comparison> {
    let failed = failed_regimes(document.control.as_ref());
    let nodes = nodes_of_segments(&document.nodes);
    let mut found = Vec::new();
    for case in &document.cases {
        let arm = |name: &str| case.arms.iter().find(|arm| arm.name == name);
        for (against, arm) in pairs.iter().filter_map(|(a, b)| arm(a).zip(arm(b))) {
            for (a, b) in common(arm, against, regimes) {
                let names = Names {
                    segments: &document.segments,
                    nodes: &nodes,
                    ..names(case, a.regime, &arm.name, &against.name)
                };
                let compare = if document.imported.is_some() { unproved } else { paired };
                let mut comparison = compare(names, a, b, margins.for_case(case));
                let options = &document.options;
                let margin = margins.for_case(case);
                let terms = Terms { regime: a.regime, failed: &failed, options, margin };
                withhold(&mut comparison, arm, against, terms);
                found.push(comparison);
            }
        }
    }
    correct(&mut found.iter_mut().collect::<Vec<_>>());
    if document.imported.is_some() {
        found.iter_mut().for_each(mark_unproved);
    }
    found
}

/// Every arm against the reference of its case.
pub fn compare_with_reference(
    document: &RunDocument,
    margins: &Margins,
    regimes: &[Regime],
) -> Vec<Comparison> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for case in &document.cases {
        for arm in case.arms.iter().filter(|arm| arm.name != case.reference) {
            let pair = (case.reference.as_str(), arm.name.as_str());
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    compare_arms(document, &pairs, margins, regimes)
}

/// Every arm of the second result against the same arm of the first. They were not interleaved, so changes
/// between the two runs are part of the difference.
pub fn compare_results(
    first: &RunDocument,
    second: &RunDocument,
    margins: &Margins,
    regimes: &[Regime],
) -> Vec<Comparison> {
    let elsewhere = (first.machine.cpu != second.machine.cpu
        || first.machine.cores != second.machine.cores)
        .then_some("the two results are of different machines");
    let mut failed = failed_regimes(first.control.as_ref());
    failed.extend(failed_regimes(second.control.as_ref()));
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
                let values = |document: &RunDocument, one: &RegimeResult| {
                    times_of_nodes(document, one).unwrap_or_else(|| times(one))
                };
                let (now, then) = (values(second, a), values(first, b));
                let mut comparison = unpaired(names, &now, &then, margins.for_case(case));
                let other_parameters = (case.parameters != before.parameters)
                    .then_some("the case has other parameters");
                let (options, margin) = (&second.options, margins.for_case(case));
                let terms = Terms { regime: a.regime, failed: &failed, options, margin };
                match elsewhere.or(other_parameters) {
                    Some(why) => refuse(&mut comparison, why.to_owned()),
                    None => withhold(&mut comparison, arm, against, terms),
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

/// Parts that only one of two results has, as text: a case, an arm, a regime, or completeness.
pub fn missing(first: &RunDocument, second: &RunDocument) -> Vec<String> {
    let places = |document: &RunDocument| {
        let mut places = Vec::new();
        for case in &document.cases {
            for arm in &case.arms {
                for result in &arm.regimes {
                    places.push(format!("{}, {}, {}", case.name, arm.name, result.regime));
                }
            }
        }
        places
    };
    let (before, after) = (places(first), places(second));
    let only = |here: &[String], there: &[String], which: &str| -> Vec<String> {
        here.iter()
            .filter(|place| !there.contains(place))
            .map(|place| format!("only in the {which}: {place}"))
            .collect()
    };
    let mut found = only(&before, &after, "first");
    found.extend(only(&after, &before, "second"));
    for (document, which) in [(first, "first"), (second, "second")] {
        if !document.complete {
            found.push(format!("the {which} is not complete"));
        }
    }
    found
}

fn names<'a>(case: &'a CaseResult, regime: Regime, arm: &'a str, against: &'a str) -> Names<'a> {
    Names { segments: &[], nodes: &[], case: &case.name, regime, arm, against }
}

fn common<'a>(
    arm: &'a ArmResult,
    against: &'a ArmResult,
    regimes: &'a [Regime],
) -> impl Iterator<Item = (&'a RegimeResult, &'a RegimeResult)> {
    arm.regimes.iter().filter(|result| wanted(regimes, result.regime)).filter_map(|result| {
        Some((result, against.regimes.iter().find(|known| known.regime == result.regime)?))
    })
}

/// The tool that measured.
fn measured_by(document: &RunDocument) -> String {
    let Some(imported) = &document.imported else { return "firstlight".to_owned() };
    let version = imported.version.as_deref().unwrap_or("of unknown version");
    format!("{} {version}", imported.from)
}

/// Differences between two results, as text.
pub fn differences(first: &RunDocument, second: &RunDocument) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, a: Option<String>, b: Option<String>| {
        if a != b {
            let described = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
            found.push(format!("{what}: {}, then {}", described(a), described(b)));
        }
    };
    let select = |document: &RunDocument| {
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
            ("measured by", Some(measured_by(document))),
        ]
    };
    for ((what, a), (_, b)) in select(first).into_iter().zip(select(second)) {
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
    let described = gpus.iter().map(|gpu| match &gpu.driver {
        Some(driver) => format!("{} (driver {driver})", gpu.name),
        None => gpu.name.clone(),
    });
    (!gpus.is_empty()).then(|| described.collect::<Vec<_>>().join(", "))
}

/// Whether nothing is slower, and everything is known not to be. Missing comparisons are unknown, and a
/// doubtful measurement neither fails a build nor passes it.
pub fn gate(comparisons: &[Comparison], missing: &[String], doubts: &[String]) -> Gate {
    let any = |wanted: &[Verdict]| comparisons.iter().any(|one| wanted.contains(&one.verdict));
    let open = [Verdict::Inconclusive, Verdict::TooFew, Verdict::NotConfirmed, Verdict::Invalid];
    if !doubts.is_empty() {
        Gate::Inconclusive
    } else if any(&[Verdict::Slower]) {
        Gate::Failed
    } else if comparisons.is_empty() || !missing.is_empty() || any(&open) {
        Gate::Inconclusive
    } else {
        Gate::Passed
    }
}

/// Reasons to doubt a result's comparisons: a machine that was busy or changed, and two copies of the
/// reference that differ. `which` names the result.
pub fn doubts(document: &RunDocument, regimes: &[Regime], which: &str) -> Vec<String> {
    let mut found = Vec::new();
    let noisy = |reason: &&Reason| reason.finding == Finding::NoisyMachine;
    for case in &document.cases {
        for arm in &case.arms {
            for regime in arm.regimes.iter().filter(|known| wanted(regimes, known.regime)) {
                found.extend(regime.notices.iter().filter(noisy).map(|notice| {
                    let place = format!("{}, {}, {}", case.name, arm.name, regime.regime);
                    format!("{which}noisy-machine in {place}: {}", notice.text)
                }));
            }
        }
    }
    let machine = document.machine_notices.iter().filter(noisy);
    found.extend(machine.map(|notice| format!("{which}noisy-machine: {}", notice.text)));
    for regime in failed_regimes(document.control.as_ref()) {
        if wanted(regimes, regime) {
            found.push(format!("{which}control-failed in {regime}: two copies of one arm differ"));
        }
    }
    found
}
