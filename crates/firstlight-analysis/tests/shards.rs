//! Merged results: nodes as a level of the statistics, and outlying nodes.

#[expect(dead_code, reason = "the tally belongs to the coverage table")]
mod fake_runner;
mod noise;
#[path = "fake_runner/scenarios.rs"]
mod scenarios;

use fake_runner::{Nodes, Scenario, merged};
use firstlight_schema::finding::Finding;
use firstlight_schema::run::RunDocument;

const QUIET: Nodes =
    Nodes { count: 8, rounds: 4, more_on_the_first: 0, level: 0.005, ratio: 0.0, busy: None };

fn scenario() -> Scenario {
    scenarios::scenarios().into_iter().next().expect("there are scenarios")
}

fn outliers(document: &RunDocument) -> Vec<&str> {
    let notices = document.machine_notices.iter();
    let of_nodes = notices.filter(|notice| notice.finding == Finding::OutlierNode);
    of_nodes.map(|notice| notice.text.as_str()).collect()
}

#[test]
fn an_outlying_node_is_a_finding_with_its_state() {
    let document = merged(&scenario(), Nodes { busy: Some(5), ..QUIET }, 3);
    let found = outliers(&document);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("n5: 1.3"), "{found:?}");
    assert!(found[0].contains("load 9.00 over the last minute, on 2 cores"), "{found:?}");
    assert!(found[0].contains("and in 1 more places"), "both arms are slow: {found:?}");
}

#[test]
fn nodes_that_differ_by_chance_are_not_reported() {
    let alarms = (0..60_u64).filter(|&seed| {
        !outliers(&merged(&scenario(), Nodes { level: 0.05, ..QUIET }, seed)).is_empty()
    });
    assert!(alarms.count() <= 3, "one in a hundred is expected");
}

#[test]
fn differences_between_nodes_are_a_separate_component() {
    let apart = Nodes { count: 60, rounds: 3, level: 0.04, ratio: 0.03, ..QUIET };
    let document = merged(&scenario(), apart, 8);
    let case = &document.cases[0];
    let time = case.arms[0].regimes[0].nodes.expect("there are nodes");
    assert!((time.between - 0.04).abs() < 0.012, "{time:?}");
    assert!((time.within - 0.024).abs() < 0.006, "processes and their calls: {time:?}");
    let ratio = case.comparisons[0].nodes.expect("there are nodes");
    assert_eq!(ratio.nodes, 60);
    assert!((ratio.between - 0.03).abs() < 0.009, "{ratio:?}");
    assert_eq!(document.nodes.len(), 60);
    assert_eq!(document.segments.len(), 59);
    let interval = |document: &RunDocument| {
        let ends = document.cases[0].comparisons[0].ratio.unwrap().interval.unwrap();
        (ends.high / ends.low).ln()
    };
    let near = merged(&scenario(), Nodes { level: 0.0, ratio: 0.0, ..apart }, 8);
    assert!(interval(&document) > 2.0 * interval(&near), "nodes that differ widen the interval");
}

#[test]
fn samples_examined_on_all_cores_stay_in_order() {
    let document = merged(&scenario(), Nodes { count: 80, rounds: 3, ..QUIET }, 1);
    for arm in &document.cases[0].arms {
        let samples = &arm.regimes[0].samples;
        assert_eq!(samples.len(), 240);
        let rounds: Vec<u32> = samples.iter().filter_map(|sample| sample.round).collect();
        assert_eq!(rounds, (1..=240).collect::<Vec<u32>>());
    }
}
