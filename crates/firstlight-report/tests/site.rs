//! A site of many snapshots: the first page stays small.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use firstlight_analysis::history::steps;
use firstlight_report::site::Site;
use firstlight_schema::estimate::{Estimate, Interval, Method};
use firstlight_schema::machine::Machine;
use firstlight_schema::site::{CaseFigures, Figure, Published};
use firstlight_schema::suite::Regime;

const LARGEST_INDEX: usize = 300_000;
const SNAPSHOTS: usize = 1_000;

/// The snapshots of ten suites on ten machines, each with five cases and four arms.
fn snapshot(number: usize) -> Published {
    let level = 1e6 * (1.0 + 0.3 * f64::from(u32::try_from(number % 7).unwrap()));
    let figure = |arm: &str, regime: Regime| Figure {
        arm: arm.to_owned(),
        regime,
        estimate: Some(Estimate {
            point: level,
            interval: Some(Interval { low: 0.9 * level, high: 1.1 * level, confidence: 0.95 }),
            n: 8,
            method: Method::LogMean,
        }),
        times: (0..8).map(|n| level * (1.0 + 0.001 * f64::from(n))).collect(),
        unfit: None,
    };
    let case = |name: usize| CaseFigures {
        name: format!("case-{name}"),
        parameters: BTreeMap::new(),
        margin: 0.05,
        headline: "jax pays off against numpy after 370 calls (95 % CI 270–535)".to_owned(),
        arrays: Vec::new(),
        figures: ["jax", "numpy", "torch", "numba"]
            .into_iter()
            .flat_map(|arm| [Regime::ColdClean, Regime::Warm].map(|regime| figure(arm, regime)))
            .collect(),
    };
    Published {
        id: format!("sha256:{number:064x}"),
        created: format!("2026-{:02}-{:02}T10:00:00.000Z", 1 + number / 84, 1 + number % 28),
        at: f64::from(u32::try_from(number).unwrap()) * 86_400.0,
        suite: format!("suite-{}", number % 10),
        name: format!("run-{number}"),
        suite_digest: "d".to_owned(),
        harness: "0.1.0".to_owned(),
        machine: Machine {
            cpu: Some("AMD EPYC 9354 32-Core Processor".to_owned()),
            cores: Some(2 + u32::try_from(number / 10 % 10).unwrap()),
            memory_bytes: None,
            kernel: Some("6.18".to_owned()),
        },
        gpu: Some("NVIDIA H200 (driver 580.159.04, CUDA 13.0.96)".to_owned()),
        complete: true,
        cases: (0..5).map(case).collect(),
    }
}

#[test]
fn the_first_page_over_a_thousand_snapshots_is_small_and_names_every_filter() {
    let snapshots: Vec<Published> = (0..SNAPSHOTS).map(snapshot).collect();
    let steps = steps(&snapshots);
    let site = Site::new(&snapshots, &steps, Vec::new(), "0.1.0");
    let index = site.index();
    println!("index: {} bytes, {} steps", index.len(), steps.len());
    assert!(index.len() < LARGEST_INDEX, "{} bytes", index.len());
    assert_eq!(index.matches("class=\"tile\"").count(), 40, "the rest is in the table");
    for filter in ["suite", "arms", "machine", "gpu", "verdict", "date", "text"] {
        assert!(index.contains(&format!("name=\"{filter}\"")), "{filter}");
    }
    assert!(site.table().contains("run-999"));
    assert!(site.compare().contains("relevant change"));
}
