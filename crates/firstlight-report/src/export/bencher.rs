//! Bencher Metric Format: the number of each arm and regime with its interval.
//!
//! <https://bencher.dev/docs/reference/bencher-metric-format>. `latency` is in nanoseconds and
//! `throughput` in operations per second: both are measures that every project has.

use firstlight_schema::estimate::Estimate;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::Regime;
use serde_json::{Map, Value, json};

use super::measured;

/// Bencher rejects longer names.
const LONGEST_NAME: usize = 1024;

pub fn bencher(document: &RunDocument) -> String {
    let mut benchmarks = Map::new();
    for result in measured(document) {
        let mut measures = Map::new();
        measures.insert("latency".to_owned(), metric(&result.estimate));
        let warm = result.arm.regimes.iter().find(|known| known.regime == result.regime);
        let throughput = warm
            .filter(|_| result.regime == Regime::Warm)
            .and_then(|warm| warm.warm.as_ref()?.throughput.as_ref());
        if let Some(throughput) = throughput {
            measures.insert("throughput".to_owned(), metric(&throughput.per_second));
        }
        let name = result.name.chars().take(LONGEST_NAME).collect();
        benchmarks.insert(name, Value::Object(measures));
    }
    format!("{:#}\n", Value::Object(benchmarks))
}

fn metric(estimate: &Estimate) -> Value {
    match estimate.interval {
        Some(interval) => json!({
            "value": estimate.point,
            "lower_value": interval.low,
            "upper_value": interval.high,
        }),
        None => json!({ "value": estimate.point }),
    }
}
