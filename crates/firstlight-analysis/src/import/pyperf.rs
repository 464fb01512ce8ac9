//! pyperf: benchmarks, runs (each a process) with warm-ups and values in seconds per loop.
//!
//! After `pyperf/_bench.py` of pyperf 2.10: metadata of a run override those of its benchmark, which override
//! the file's. Runs without values are calibrations and are skipped.

use std::num::NonZeroU64;

use firstlight_schema::machine::Machine;
use firstlight_schema::suite::Regime;

use super::foreign::{Foreign, Process, add_case};
use super::place::Place;
use super::{ImportError, Source};

pub(super) fn read(root: &Place<'_>) -> Result<Foreign, ImportError> {
    let version = root.key("version")?;
    if version.text().ok() != Some("1.0") {
        return version.error("is not `1.0`, the format of pyperf 1.0 and newer");
    }
    let mut cases = Vec::new();
    for benchmark in root.key("benchmarks")?.items()? {
        let scopes = [benchmark.maybe("metadata"), root.maybe("metadata")];
        let outer: Vec<&Place<'_>> = scopes.iter().flatten().collect();
        check_unit(&outer)?;
        let name = match find(&outer, "name") {
            Some(name) => name.name()?,
            None => return benchmark.error("has no `metadata.name`"),
        };
        let regime = regime(&outer)?;
        let mut processes = Vec::new();
        for run in benchmark.key("runs")?.items()? {
            processes.extend(process(&run, &outer, regime)?);
        }
        if !processes.is_empty() {
            add_case(&mut cases, name, Source::Pyperf, regime, processes);
        }
    }
    let text = |name: &str| top(root, name).and_then(|place| place.name().ok());
    let created = cases.iter().flat_map(|case| &case.arms).flat_map(|arm| &arm.processes);
    Ok(Foreign {
        source: Source::Pyperf,
        version: text("perf_version"),
        created: created.filter_map(|process| process.started.clone()).min(),
        machine: Machine {
            cpu: text("cpu_model_name"),
            cores: top(root, "cpu_count")
                .and_then(|place| u32::try_from(place.integer().ok()?).ok()),
            memory_bytes: None,
            kernel: text("platform").and_then(|text| kernel(&text)),
        },
        python: text("python_implementation")
            .zip(text("python_version"))
            .map(|(name, version)| format!("{name} {version}")),
        failed: Vec::new(),
        unknown: vec![
            "the time zone of its dates",
            "when each call began",
            "the packages and their versions",
        ],
        cases,
    })
}

/// Common metadata are at the top, or with the only benchmark.
fn top<'a>(root: &Place<'a>, name: &str) -> Option<Place<'a>> {
    let first = || root.maybe("benchmarks")?.items().ok()?.next()?.maybe("metadata")?.maybe(name);
    root.maybe("metadata").and_then(|metadata| metadata.maybe(name)).or_else(first)
}

/// `Linux-6.1.0-x86_64` contains more than the kernel; only the kernel's release is used.
fn kernel(platform: &str) -> Option<String> {
    let release = platform.strip_prefix("Linux-")?;
    let end = ["-x86_64", "-aarch64"].iter().find_map(|machine| release.find(machine));
    Some(release[..end.unwrap_or(release.len())].to_owned())
}

fn find<'a>(scopes: &[&Place<'a>], name: &str) -> Option<Place<'a>> {
    scopes.iter().find_map(|scope| scope.maybe(name))
}

fn check_unit(scopes: &[&Place<'_>]) -> Result<(), ImportError> {
    let Some(unit) = find(scopes, "unit") else { return Ok(()) };
    match unit.text()? {
        "second" => Ok(()),
        other => unit.error(format!("is `{other}`, only `second` is a time")),
    }
}

/// `pyperf command` times whole processes, like our own exports of cold starts.
fn regime(scopes: &[&Place<'_>]) -> Result<Regime, ImportError> {
    let ours = find(scopes, "firstlight_regime").map(|place| place.text()).transpose()?;
    let cold = ours.is_some_and(|name| name != Regime::Warm.name());
    let command = ours.is_none() && find(scopes, "command").is_some();
    Ok(if cold || command { Regime::Fresh } else { Regime::Warm })
}

fn process(
    run: &Place<'_>,
    outer: &[&Place<'_>],
    regime: Regime,
) -> Result<Vec<Process>, ImportError> {
    let own = run.maybe("metadata");
    let scopes: Vec<&Place<'_>> = own.iter().chain(outer.iter().copied()).collect();
    let count = |name: &str| find(&scopes, name).map_or(Ok(NonZeroU64::MIN), |place| place.count());
    let (loops, inner) = (count("loops")?, count("inner_loops")?);
    let together = |loops: NonZeroU64| loops.checked_mul(inner).unwrap_or(NonZeroU64::MAX);
    let Some(values) = run.maybe("values") else { return Ok(Vec::new()) };
    if regime == Regime::Fresh && together(loops) != NonZeroU64::MIN {
        return values.error("are means of several processes each: use `--loops 1`");
    }
    let values: Result<Vec<_>, _> =
        values.items()?.map(|value| value.timed(together(loops), 1.0)).collect();
    let values = values?;
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let mut warm_ups = Vec::new();
    if let Some(found) = run.maybe("warmups") {
        for pair in found.items()? {
            let parts: Vec<Place<'_>> = pair.items()?.collect();
            let [loops, value] = parts.as_slice() else {
                return pair.error("is not `[loops, value]`");
            };
            warm_ups.push(value.timed(together(loops.count()?), 1.0)?);
        }
    }
    let peak =
        find(&scopes, "mem_max_rss").and_then(|place| u64::try_from(place.integer().ok()?).ok());
    let one = Process {
        started: find(&scopes, "date").and_then(|date| date.name().ok()),
        peak_rss_bytes: peak,
        warm_ups,
        values,
        ..Process::default()
    };
    Ok(match regime {
        // Each value is a separate process, without a warm-up.
        Regime::Fresh => one
            .values
            .iter()
            .map(|&value| Process { values: vec![value], warm_ups: Vec::new(), ..one.clone() })
            .collect(),
        Regime::ColdClean | Regime::ColdPrimed | Regime::Warm => vec![one],
    })
}
