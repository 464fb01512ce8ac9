//! google-benchmark: an entry for each repetition with its iterations and the real time of one, all in one
//! process. Means and deviations (`run_type` is `aggregate`) are skipped, because they are derived.

use firstlight_schema::machine::Machine;
use firstlight_schema::suite::Regime;

use super::foreign::{Foreign, Process, Timed, add_case};
use super::place::Place;
use super::{ImportError, Source};

pub(super) fn read(root: &Place<'_>) -> Result<Foreign, ImportError> {
    let context = root.maybe("context");
    let date = context.as_ref().and_then(|context| context.maybe("date"));
    let created = date.map(|date| date.name()).transpose()?;
    let mut found: Vec<(String, Vec<Timed>)> = Vec::new();
    let mut failed = Vec::new();
    for entry in root.key("benchmarks")?.items()? {
        let kind = entry.maybe("run_type").map(|kind| kind.text()).transpose()?;
        if kind.is_some_and(|kind| kind != "iteration") {
            continue;
        }
        let name = entry.maybe("run_name").map_or_else(|| entry.key("name"), Ok)?.name()?;
        if has_failed(&entry) {
            failed.push(name);
            continue;
        }
        let iterations = entry.key("iterations")?.count()?;
        let time = entry.key("real_time")?.timed(iterations, unit(&entry)?)?;
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => times.push(time),
            None => found.push((name, vec![time])),
        }
    }
    let mut cases = Vec::new();
    for (name, values) in found {
        let process = Process { started: created.clone(), values, ..Process::default() };
        add_case(&mut cases, name, Source::GoogleBenchmark, Regime::Warm, vec![process]);
    }
    let cores = context.as_ref().and_then(|context| context.maybe("num_cpus")?.integer().ok());
    let version =
        context.as_ref().and_then(|context| context.maybe("library_version")?.name().ok());
    Ok(Foreign {
        source: Source::GoogleBenchmark,
        version,
        created,
        machine: Machine {
            cpu: None,
            cores: cores.and_then(|cores| u32::try_from(cores).ok()),
            memory_bytes: None,
            kernel: None,
        },
        python: None,
        failed,
        unknown: vec![
            "the processor's name",
            "what differs from process to process: there is one",
            "the iterations that were made before the first repetition",
            "when each repetition began",
        ],
        cases,
    })
}

/// The time of a failure is meaningless.
fn has_failed(entry: &Place<'_>) -> bool {
    ["error_occurred", "skipped"]
        .iter()
        .any(|name| entry.maybe(name).is_some_and(|at| at.is_true()))
}

/// Seconds in one of the entry's units; nanoseconds by default.
fn unit(entry: &Place<'_>) -> Result<f64, ImportError> {
    let Some(place) = entry.maybe("time_unit") else { return Ok(1e-9) };
    match place.text()? {
        "ns" => Ok(1e-9),
        "us" => Ok(1e-6),
        "ms" => Ok(1e-3),
        "s" => Ok(1.0),
        other => place.error(format!("is `{other}`, none of ns, us, ms, s")),
    }
}
