//! The contribution of nodes to a merged result: their share of the variance, and outliers.

use std::collections::BTreeMap;

use firstlight_schema::estimate::{Interval, Method};
use firstlight_schema::finding::{Finding, Reason};
use firstlight_schema::health::HealthCheck;
use firstlight_schema::run::{CaseResult, NodeRecord, RegimeResult, RunDocument};
use firstlight_schema::sample::Sample;

use crate::compare::headline;
use crate::health::checks;
use crate::judge::nodes_of_segments;
use crate::stats::limits::OUTLIER_P;
use crate::stats::{ByNode, CONFIDENCE, count, student};

/// The values of a merged result in a regime, one for each node, because processes of one node are not
/// independent of each other. `None` for any other result.
pub(crate) fn times_of_nodes(document: &RunDocument, of: &RegimeResult) -> Option<Vec<f64>> {
    Some(Places::new(document)?.times(of).geometric_means())
}

/// The same for the ratio of an arm to the reference.
pub(crate) fn ratios_of_nodes(
    document: &RunDocument,
    of: &RegimeResult,
    reference: &RegimeResult,
) -> Option<Vec<f64>> {
    Some(Places::new(document)?.ratios(of, reference).geometric_means())
}

/// The nodes on which processes were measured.
struct Places {
    segments: Vec<u32>,
    nodes: Vec<usize>,
}

impl Places {
    /// `None` for a result of one machine.
    fn new(document: &RunDocument) -> Option<Self> {
        let nodes = nodes_of_segments(&document.nodes);
        let segments = document.segments.clone();
        (document.nodes.len() > 1).then_some(Self { segments, nodes })
    }

    fn node(&self, sample: &Sample) -> usize {
        let segment = self.segments.partition_point(|&first| first <= sample.number);
        self.nodes.get(segment).copied().unwrap_or(0)
    }

    /// The logarithms of the valid times, by node.
    fn times(&self, of: &RegimeResult) -> ByNode {
        let valid = of.samples.iter().filter(|sample| sample.valid);
        ByNode::new(valid.filter_map(|sample| {
            let time = headline(sample, of.regime).filter(|time| *time > 0.0)?;
            Some((self.node(sample), time.ln()))
        }))
    }

    /// The logarithms of the ratios of an arm to the reference, round by round.
    fn ratios(&self, of: &RegimeResult, reference: &RegimeResult) -> ByNode {
        let value = |sample: &Sample| {
            let time = headline(sample, of.regime).filter(|time| sample.valid && *time > 0.0)?;
            Some((sample.round?, (self.node(sample), time.ln())))
        };
        let known: BTreeMap<u32, (usize, f64)> =
            reference.samples.iter().filter_map(value).collect();
        ByNode::new(of.samples.iter().filter_map(value).filter_map(|(round, (node, time))| {
            let &(other, against) = known.get(&round)?;
            (node == other).then_some((node, time - against))
        }))
    }
}

/// Adds the components of the variance, intervals over nodes, and a finding for every outlying node.
pub(super) fn describe(document: &mut RunDocument) {
    let Some(places) = Places::new(document) else { return };
    let mut strange: Vec<Strange> = Vec::new();
    for case in &mut document.cases {
        strange.extend(disagreeing(case, &places));
        for arm in case.arms.iter_mut().chain(&mut case.again) {
            for of in &mut arm.regimes {
                let times = places.times(of);
                of.nodes = times.components();
                widen(of, &times);
            }
        }
    }
    document.machine_notices.extend(findings(&document.nodes, &strange));
}

/// The interval of the time per call, with each node as one value. The point stays the mean over processes,
/// as in every table.
fn widen(of: &mut RegimeResult, times: &ByNode) {
    let Some(warm) = of.warm.as_mut().filter(|warm| warm.per_call.method == Method::LogMean) else {
        return;
    };
    let Some(over) = times.mean() else { return };
    let Some(reach) = student::reach(over.df).map(|t| t * over.error) else { return };
    let centre = warm.per_call.point;
    warm.per_call.interval = Some(Interval {
        low: centre * (-reach).exp(),
        high: centre * reach.exp(),
        confidence: CONFIDENCE,
    });
}

/// A node that is an outlier in one place.
struct Strange {
    node: usize,
    p: f64,
    text: String,
}

/// Nodes whose times or ratios differ from the others' by more than the margin and by more than chance.
fn disagreeing(case: &CaseResult, places: &Places) -> Vec<Strange> {
    let reference = case.arms.iter().find(|arm| arm.name == case.reference);
    let mut found = Vec::new();
    for arm in &case.arms {
        for of in &arm.regimes {
            let name = format!("{}, {}, {}", case.name, arm.name, of.regime);
            found.push((places.times(of), name));
            let against = reference.filter(|reference| reference.name != arm.name);
            let against =
                against.and_then(|arm| arm.regimes.iter().find(|r| r.regime == of.regime));
            if let Some(against) = against {
                let name = format!(
                    "ratio of {} to {} in {}, {}",
                    arm.name, case.reference, case.name, of.regime
                );
                found.push((places.ratios(of, against), name));
            }
        }
    }
    let looked = count(found.len());
    let strange = found.into_iter().filter_map(|(values, name)| {
        let outlier = values.outlier()?;
        let p = (outlier.p * looked).min(1.0);
        let ratio = outlier.away.exp();
        let matters = outlier.away.abs() > case.margin.ln_1p();
        (p < OUTLIER_P && matters).then(|| Strange {
            node: outlier.node,
            p,
            text: format!("{ratio:.3} times the other nodes ({name}; p = {p:.1e})"),
        })
    });
    strange.collect()
}

/// One finding for each node: its largest deviation, and its state.
fn findings(nodes: &[NodeRecord], strange: &[Strange]) -> Vec<Reason> {
    let mut found = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let of_node = || strange.iter().filter(|one| one.node == index);
        let Some(most) = of_node().min_by(|a, b| a.p.total_cmp(&b.p)) else { continue };
        let more = match of_node().count() - 1 {
            0 => String::new(),
            more => format!(", and in {more} more places"),
        };
        let state = state(node, nodes);
        let text = format!("{}: {}{more}; {state}", node.name, most.text);
        found.push(Reason::new(Finding::OutlierNode, text));
    }
    found
}

/// The checks in which a node's machine differs from most of the others.
fn state(node: &NodeRecord, nodes: &[NodeRecord]) -> String {
    let others: Vec<Vec<HealthCheck>> = nodes
        .iter()
        .filter(|other| other.name != node.name)
        .map(|other| checks(&other.before))
        .collect();
    let differs = |check: &&HealthCheck| {
        let same = |other: &&Vec<HealthCheck>| {
            other.iter().any(|one| one.name == check.name && one.status == check.status)
        };
        others.iter().filter(same).count() * 2 < others.len()
    };
    let own = checks(&node.before);
    let states: Vec<String> = own
        .iter()
        .filter(differs)
        .map(|check| format!("{} {}", check.name.name(), check.value))
        .collect();
    if states.is_empty() {
        return "before its first process its state was like theirs".to_owned();
    }
    format!("its state before its first process: {}", states.join("; "))
}
