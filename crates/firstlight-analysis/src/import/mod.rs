//! Results of other tools as a document `run`. Pure: text in, document out. Facts that a file does not
//! contain stay unknown, and invalid times are rejected with their position.

mod document;
mod foreign;
mod google_benchmark;
mod hyperfine;
mod place;
mod pyperf;
mod pytest_benchmark;

use std::fmt;

use serde_json::Value;
use thiserror::Error;

pub use document::{Origin, document};
pub use foreign::Foreign;

use place::Place;

const LONGEST_PROCESS_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Pyperf,
    PytestBenchmark,
    Hyperfine,
    GoogleBenchmark,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pyperf => "pyperf",
            Self::PytestBenchmark => "pytest-benchmark",
            Self::Hyperfine => "hyperfine",
            Self::GoogleBenchmark => "google-benchmark",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why a file cannot be imported, with its position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    #[error("invalid JSON: {0}")]
    Json(String),
    #[error("not a file of pyperf, pytest-benchmark, hyperfine or google-benchmark")]
    UnknownFormat,
    #[error("`{path}` {reason}")]
    At { path: String, reason: String },
    #[error("no measured values")]
    Empty,
}

/// Reads a file's text; the format is detected from its content if none is given.
pub fn read(text: &str, source: Option<Source>) -> Result<Foreign, ImportError> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| ImportError::Json(error.to_string()))?;
    let source = source.or_else(|| guess(&value)).ok_or(ImportError::UnknownFormat)?;
    let root = Place::root(&value);
    let foreign = match source {
        Source::Pyperf => pyperf::read(&root),
        Source::PytestBenchmark => pytest_benchmark::read(&root),
        Source::Hyperfine => hyperfine::read(&root),
        Source::GoogleBenchmark => google_benchmark::read(&root),
    }?;
    if foreign.cases.is_empty() {
        return Err(ImportError::Empty);
    }
    check_length(&foreign)?;
    Ok(foreign)
}

/// Times placed end to end must not exceed the range of the clock.
fn check_length(foreign: &Foreign) -> Result<(), ImportError> {
    for case in &foreign.cases {
        for process in case.arms.iter().flat_map(|arm| &arm.processes) {
            let mut times = process.warm_ups.iter().chain(&process.values);
            let total = times.try_fold(0_u64, |sum, time| sum.checked_add(time.ns));
            if total.is_none_or(|total| total > LONGEST_PROCESS_NS) {
                let reason = "has a process whose times add up to more than ten years";
                return Err(ImportError::At { path: case.name.clone(), reason: reason.to_owned() });
            }
        }
    }
    Ok(())
}

/// Each format has a distinctive field.
fn guess(value: &Value) -> Option<Source> {
    let has = |name: &str| value.get(name).is_some();
    if has("results") && !has("benchmarks") {
        Some(Source::Hyperfine)
    } else if !has("benchmarks") {
        None
    } else if has("machine_info") {
        Some(Source::PytestBenchmark)
    } else if has("context") {
        Some(Source::GoogleBenchmark)
    } else if value["benchmarks"].get(0)?.get("runs").is_some() {
        Some(Source::Pyperf)
    } else {
        None
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
