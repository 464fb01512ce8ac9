//! Snapshots sorted by time: the figures of each, compared with those of the previous snapshot on the same
//! machine. They were not interleaved, so the comparison is unpaired.

use std::collections::HashMap;

use firstlight_schema::comparison::Comparison;
use firstlight_schema::machine::Machine;
use firstlight_schema::run::{Agreed, ArmResult, CaseResult, RegimeResult, RunDocument};
use firstlight_schema::site::{CaseFigures, Figure, Published, Step};
use firstlight_schema::suite::Regime;

use crate::compare::{Names, correct, refuse, unpaired, values};
use crate::judge::failed_regimes;
use crate::withhold::{Terms, why_not};

/// The part of a run's cases that a history needs.
pub fn figures(document: &RunDocument) -> Vec<CaseFigures> {
    let failed = failed_regimes(document.control.as_ref());
    let of_case = |case: &CaseResult| CaseFigures {
        name: case.name.clone(),
        parameters: case.parameters.clone(),
        margin: case.margin,
        headline: String::new(),
        arrays: Vec::new(),
        figures: all(case)
            .map(|(arm, one)| figure(document, arm, one, &failed, case.margin))
            .collect(),
    };
    document.cases.iter().map(of_case).collect()
}

fn all(case: &CaseResult) -> impl Iterator<Item = (&ArmResult, &RegimeResult)> {
    case.arms.iter().flat_map(|arm| arm.regimes.iter().map(move |result| (arm, result)))
}

fn figure(
    document: &RunDocument,
    arm: &ArmResult,
    regime_result: &RegimeResult,
    failed: &[Regime],
    margin: f64,
) -> Figure {
    let estimate = match &regime_result.warm {
        Some(warm) => Some(warm.per_call),
        None => regime_result.summary.as_ref().and_then(|summary| summary.first_result),
    };
    let terms = Terms { regime: regime_result.regime, failed, options: &document.options, margin };
    let differs = match &arm.agreement {
        Agreed::Differs { how } => Some(how.clone()),
        Agreed::Reference
        | Agreed::Equal
        | Agreed::Close { .. }
        | Agreed::Sampled { .. }
        | Agreed::NotCompared { .. } => None,
    };
    Figure {
        arm: arm.name.clone(),
        regime: regime_result.regime,
        estimate,
        times: values(&regime_result.samples, regime_result.regime)
            .into_iter()
            .map(|(_, time)| time)
            .collect(),
        unfit: differs.or_else(|| why_not(arm, arm, terms)),
    }
}

/// Every figure that has a predecessor, newer snapshots after older ones. The snapshots must be sorted by
/// time.
pub fn steps(history: &[Published]) -> Vec<Step> {
    type On<'a> = (Option<&'a str>, Option<u32>, Option<&'a str>, Option<&'a str>);
    type Place<'a> = (&'a str, &'a str, On<'a>);
    let mut last: HashMap<Place<'_>, usize> = HashMap::new();
    let mut steps = Vec::new();
    for (after, snapshot) in history.iter().enumerate() {
        let begin = steps.len();
        let Machine { cpu, cores, kernel, .. } = &snapshot.machine;
        for case in &snapshot.cases {
            let on = (cpu.as_deref(), *cores, kernel.as_deref(), snapshot.gpu.as_deref());
            let place = (&*snapshot.suite, &*case.name, on);
            let Some(before) = last.insert(place, after) else { continue };
            let known = history[before].case(&case.name).into_iter();
            let found = known.flat_map(|known| compare(known, case));
            steps.extend(found.map(|comparison| Step { before, after, comparison }));
        }
        let of_snapshot = steps[begin..].iter_mut().map(|step| &mut step.comparison);
        correct(&mut of_snapshot.collect::<Vec<_>>());
    }
    steps
}

fn compare(before: &CaseFigures, after: &CaseFigures) -> Vec<Comparison> {
    let mut found = Vec::new();
    for figure in &after.figures {
        let (arm, regime) = (&*figure.arm, figure.regime);
        let same = |known: &&Figure| known.arm == arm && known.regime == regime;
        let Some(known) = before.figures.iter().find(same) else { continue };
        let names =
            Names { segments: &[], nodes: &[], case: &after.name, regime, arm, against: arm };
        let mut comparison = unpaired(names, &figure.times, &known.times, after.margin);
        let parameters = (after.parameters != before.parameters)
            .then(|| "the case has other parameters".to_owned());
        let why = parameters.or_else(|| figure.unfit.clone()).or_else(|| known.unfit.clone());
        if let Some(why) = why {
            refuse(&mut comparison, why);
        }
        found.push(comparison);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use firstlight_schema::comparison::Verdict;
    use firstlight_schema::machine::Machine;
    use firstlight_schema::site::{CaseFigures, Figure, Published};
    use firstlight_schema::suite::Regime;

    use super::steps;

    fn snapshot(at: f64, kernel: &str, level: f64) -> Published {
        let times = (0..8).map(|n| level * (1.0 + 0.001 * f64::from(n))).collect();
        let figure =
            Figure { arm: "a".into(), regime: Regime::Warm, estimate: None, times, unfit: None };
        Published {
            id: format!("sha256:{at}"),
            created: String::new(),
            at,
            suite: "s".into(),
            name: String::new(),
            suite_digest: "d".into(),
            harness: "1".into(),
            machine: Machine {
                cpu: None,
                cores: Some(2),
                memory_bytes: None,
                kernel: Some(kernel.into()),
            },
            gpu: None,
            complete: true,
            cases: vec![CaseFigures {
                name: "c".into(),
                parameters: BTreeMap::new(),
                margin: 0.05,
                headline: String::new(),
                arrays: Vec::new(),
                figures: vec![figure],
            }],
        }
    }

    #[test]
    fn a_snapshot_is_compared_with_the_previous_one_on_its_own_machine() {
        let history = [
            snapshot(0.0, "6.1", 100.0),
            snapshot(1.0, "6.2", 900.0),
            snapshot(2.0, "6.1", 150.0),
            snapshot(3.0, "6.2", 900.0),
        ];
        let found: Vec<_> =
            steps(&history).iter().map(|s| (s.before, s.after, s.comparison.verdict)).collect();
        assert_eq!(found, [(0, 2, Verdict::Slower), (1, 3, Verdict::Equivalent)]);
    }

    #[test]
    fn an_unfit_figure_gets_no_verdict() {
        let mut history = [snapshot(0.0, "6.1", 100.0), snapshot(1.0, "6.1", 150.0)];
        history[0].cases[0].figures[0].unfit = Some("the control failed".into());
        assert_eq!(steps(&history)[0].comparison.verdict, Verdict::Invalid);
        history[0].cases[0].figures[0].unfit = None;
        history[1].cases[0].figures[0].times.clear();
        assert_eq!(steps(&history)[0].comparison.verdict, Verdict::Invalid);
    }
}
