//! pytest-benchmark: benchmarks with `stats.data`, seconds per iteration of each round, all in one
//! process.

use std::num::NonZeroU64;

use firstlight_schema::machine::Machine;
use firstlight_schema::suite::Regime;

use super::foreign::{Foreign, Process, add_case};
use super::place::Place;
use super::{ImportError, Source};

pub(super) fn read(root: &Place<'_>) -> Result<Foreign, ImportError> {
    let mut cases = Vec::new();
    let created = root.maybe("datetime").map(|date| date.name()).transpose()?;
    for benchmark in root.key("benchmarks")?.items()? {
        let name = benchmark.maybe("fullname").map_or_else(|| benchmark.key("name"), Ok)?.name()?;
        let stats = benchmark.key("stats")?;
        let Some(data) = stats.maybe("data") else {
            return stats
                .error("has no `data`: write the file with --benchmark-json, or save it with --benchmark-save-data");
        };
        let iterations =
            stats.maybe("iterations").map_or(Ok(NonZeroU64::MIN), |place| place.count())?;
        let values: Result<Vec<_>, _> =
            data.items()?.map(|value| value.timed(iterations, 1.0)).collect();
        let process = Process { started: created.clone(), values: values?, ..Process::default() };
        if !process.values.is_empty() {
            add_case(&mut cases, name, Source::PytestBenchmark, Regime::Warm, vec![process]);
        }
    }
    let machine = root.maybe("machine_info");
    let cpu = machine.as_ref().and_then(|machine| machine.maybe("cpu"));
    let text = |place: &Option<Place<'_>>, name: &str| place.as_ref()?.maybe(name)?.name().ok();
    Ok(Foreign {
        source: Source::PytestBenchmark,
        version: root.maybe("version").and_then(|version| version.name().ok()),
        created,
        machine: Machine {
            cpu: text(&cpu, "brand_raw").or_else(|| text(&cpu, "brand")),
            cores: cpu
                .as_ref()
                .and_then(|cpu| u32::try_from(cpu.maybe("count")?.integer().ok()?).ok()),
            memory_bytes: None,
            kernel: text(&machine, "release")
                .filter(|_| text(&machine, "system").is_none_or(|system| system == "Linux")),
        },
        python: text(&machine, "python_implementation")
            .zip(text(&machine, "python_version"))
            .map(|(name, version)| format!("{} {version}", name.to_lowercase())),
        failed: Vec::new(),
        unknown: vec![
            "what differs from process to process: there is one",
            "the calls that were made before the first round",
            "when each call began",
            "the packages and their versions",
        ],
        cases,
    })
}
