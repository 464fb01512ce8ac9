//! The JSON of github-action-benchmark's tool `customSmallerIsBetter`.
//!
//! <https://github.com/benchmark-action/github-action-benchmark>. `range` and `extra` are shown as
//! they are; the alert threshold looks at the value alone.

use firstlight_schema::estimate::{Estimate, Method};
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Regime;
use serde_json::{Value, json};

use super::{Measured, measured};

pub fn github_action_benchmark(document: &RunDocument) -> String {
    let entries: Vec<Value> = measured(document).iter().map(|one| entry(one, document)).collect();
    format!("{:#}\n", Value::Array(entries))
}

fn entry(measured: &Measured<'_>, document: &RunDocument) -> Value {
    let mut entry = json!({
        "name": measured.name,
        "unit": unit(measured.regime),
        "value": measured.estimate.point,
        "extra": extra(&measured.estimate, document),
    });
    if let Some(interval) = measured.estimate.interval {
        entry["range"] = json!(format!("{:.0} to {:.0}", interval.low, interval.high));
    }
    entry
}

fn unit(regime: Regime) -> &'static str {
    match regime {
        Regime::ColdClean | Regime::ColdPrimed => "ns to first result",
        Regime::Warm => "ns per call",
        Regime::Fresh => "ns per process",
    }
}

fn extra(estimate: &Estimate, document: &RunDocument) -> String {
    let behind = match estimate.method {
        Method::BlockBootstrap => format!("{} calls of one process", estimate.n),
        _ => format!("{} processes", estimate.n),
    };
    let confidence = estimate.interval.map_or_else(
        || "too few for an interval".to_owned(),
        |interval| format!("{:.1} % confidence", interval.confidence * 100.0),
    );
    let proved = match &document.imported {
        Some(imported) => format!("\nimported from {}, not proved", imported.from),
        None => String::new(),
    };
    format!("{behind}\n{confidence}{proved}")
}
