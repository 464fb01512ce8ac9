//! A file that pyperf reads: a benchmark for each arm and regime, a run for each process.
//!
//! Format 1.0, after `pyperf/_bench.py`: values are seconds per call and above zero, warm-ups are `[loops,
//! seconds per call]`, metadata have no line breaks. In the warm regime the steady part gives the values;
//! earlier calls are warm-ups. Invalid processes are left out, and their number is in the metadata.

use firstlight_schema::message::{Iterations, Message, Part};
use firstlight_schema::run::{ArmResult, RegimeResult, RunDocument};
use firstlight_schema::sample::Sample;
use firstlight_schema::suite::Regime;
use serde_json::{Map, Value, json};

use super::{is_sound, name};
use crate::words::headline::headline;

pub fn pyperf(document: &RunDocument) -> String {
    let mut benchmarks = Vec::new();
    for case in &document.cases {
        for arm in case.arms.iter().filter(|arm| is_sound(arm)) {
            for result in arm.regimes.iter().filter(|result| headline(result).is_some()) {
                benchmarks.extend(benchmark(&case.name, arm, result));
            }
        }
    }
    let file = json!({"version": "1.0", "metadata": common(document), "benchmarks": benchmarks});
    format!("{file:#}\n")
}

fn benchmark(case: &str, arm: &ArmResult, regime_result: &RegimeResult) -> Option<Value> {
    let runs: Vec<Value> = regime_result
        .samples
        .iter()
        .filter_map(|sample| run(sample, regime_result.regime))
        .collect();
    if runs.is_empty() {
        return None;
    }
    let metadata = json!({
        "name": word(&name(case, &arm.name, regime_result.regime))?,
        "firstlight_case": word(case)?,
        "firstlight_arm": word(&arm.name)?,
        "firstlight_regime": regime_result.regime.name(),
        "firstlight_left_out": regime_result.samples.len() - runs.len(),
    });
    Some(json!({"metadata": metadata, "runs": runs}))
}

/// Metadata common to all benchmarks of the file; unknown facts are left out.
fn common(document: &RunDocument) -> Value {
    let machine = &document.machine;
    let python = document.environment.python.as_deref().and_then(|text| text.split_once(' '));
    let texts = [
        ("cpu_model_name", machine.cpu.as_deref().map(str::to_owned)),
        ("platform", machine.kernel.as_ref().map(|kernel| format!("Linux-{kernel}"))),
        ("python_implementation", python.map(|(name, _)| name.to_owned())),
        ("python_version", python.map(|(_, version)| version.to_owned())),
        ("firstlight_version", Some(document.firstlight.version.clone())),
        ("firstlight_suite", Some(document.suite.clone())),
        ("firstlight_suite_digest", Some(document.suite_digest.clone())),
        ("firstlight_imported_from", document.imported.as_ref().map(|one| one.from.clone())),
    ];
    let mut metadata = Map::from_iter([("unit".to_owned(), json!("second"))]);
    for (key, text) in texts {
        if let Some(text) = text.as_deref().and_then(word) {
            metadata.insert(key.to_owned(), Value::String(text));
        }
    }
    if let Some(cores) = machine.cores {
        metadata.insert("cpu_count".to_owned(), json!(cores));
    }
    Value::Object(metadata)
}

/// One process; `None` if it is invalid.
fn run(sample: &Sample, regime: Regime) -> Option<Value> {
    if !sample.valid {
        return None;
    }
    let mut run = match regime {
        Regime::ColdClean | Regime::ColdPrimed => single(sample.first_result.as_ref()?.ns.0),
        Regime::Fresh => single(sample.wall_ns.0),
        Regime::Warm => warm(sample),
    }?;
    let metadata = run["metadata"].as_object_mut()?;
    metadata.insert("firstlight_process".to_owned(), json!(sample.number));
    if let Some(date) = date(&sample.raw.started) {
        metadata.insert("date".to_owned(), json!(date));
        metadata.insert("duration".to_owned(), json!(sample.wall_ns.as_seconds()));
    }
    if sample.peak_rss_bytes > 0 {
        metadata.insert("mem_max_rss".to_owned(), json!(sample.peak_rss_bytes));
    }
    Some(run)
}

fn single(ns: u64) -> Option<Value> {
    let values = [seconds(firstlight_schema::nanos::Nanos(ns).as_f64())];
    (ns > 0).then(|| json!({"values": values, "metadata": {"loops": 1}}))
}

fn warm(sample: &Sample) -> Option<Value> {
    let from = usize::try_from(sample.window.as_ref()?.steady_from?).ok()?;
    let mut warmups = calls(sample, Part::WarmUp);
    let mut window = calls(sample, Part::Window);
    let steady = window.split_off(from.min(window.len()));
    warmups.append(&mut window);
    let (loops, _) = *steady.first()?;
    // pyperf has no loops per value, and values must be positive.
    if steady.iter().any(|&(calls, value)| calls != loops || value <= 0.0) {
        return None;
    }
    let values: Vec<f64> = steady.into_iter().map(|(_, value)| value).collect();
    let mut run = json!({"values": values, "metadata": {"loops": loops}});
    if !warmups.is_empty() {
        run["warmups"] = json!(warmups);
    }
    Some(run)
}

/// Loops and seconds per call.
fn calls(sample: &Sample, part: Part) -> Vec<(u64, f64)> {
    let blocks = sample.raw.messages.iter().filter_map(|message| match message {
        Message::Iterations(block) if block.part == part => Some(block),
        _ => None,
    });
    let timed = |block: &Iterations| -> Vec<(u64, f64)> {
        block.per_call().map(|ns| (block.calls_per_span.get(), seconds(ns))).collect()
    };
    blocks.flat_map(timed).collect()
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

/// `2026-01-01T00:00:00.000Z` in the form that every version of Python's `fromisoformat` reads.
fn date(text: &str) -> Option<String> {
    let text = text.strip_suffix('Z')?;
    text.contains('T').then(|| text.replace('T', " "))
}

/// Text in the form of pyperf's metadata: one line, not empty.
fn word(text: &str) -> Option<String> {
    let text = text.replace(char::is_control, " ").trim().to_owned();
    (!text.is_empty()).then_some(text)
}
