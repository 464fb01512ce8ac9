//! The usual minimum: mean ± standard deviation, range, n, hardware, versions, configuration.

use firstlight_schema::run::{CaseResult, Imported, RunDocument};
use firstlight_schema::suite::Regime;
use firstlight_schema::warm::Spread;

use super::page::{BOLD, Page};
use super::rows::title;
use crate::words::arrays::arrays;
use crate::words::format::{bytes, duration, interval};
use crate::words::machine::gpus;

/// Packages whose versions affect the speed of compiled code.
const TELLING: [&str; 12] = [
    "jax", "jaxlib", "numpy", "torch", "triton", "numba", "llvmlite", "equinox", "flax", "optax",
    "scipy", "pyhf",
];

pub(super) fn minimum(page: &mut Page, document: &RunDocument) {
    page.sentence(&format!(
        "{BOLD}{}{BOLD:#}, {}, firstlight {}",
        document.suite, document.created, document.firstlight.version
    ));
    for case in &document.cases {
        title(page, case);
        for arm in &case.arms {
            for regime in &arm.regimes {
                let what = match regime.regime {
                    Regime::ColdClean | Regime::ColdPrimed => "to first result",
                    Regime::Warm => "per call",
                    Regime::Fresh => "whole process",
                };
                let sizes =
                    regime.spread.as_ref().map_or_else(|| "no valid process".to_owned(), spread);
                page.sentence(&format!("  {}, {}, {what}: {sizes}", arm.name, regime.regime));
            }
        }
    }
    page.gap();
    facts(page, document);
}

fn spread(value: &Spread) -> String {
    let sd = value.sd_ns.map_or_else(String::new, |sd| format!(" ± {}", duration(sd)));
    let range = interval(value.min_ns, value.max_ns);
    format!("{}{sd} (range {range}), n = {}", duration(value.mean_ns), value.n)
}

/// Hardware, versions and configuration.
pub(super) fn facts(page: &mut Page, document: &RunDocument) {
    let machine = &document.machine;
    let unknown = || "unknown".to_owned();
    let hardware = [
        machine.cpu.clone().unwrap_or_else(unknown),
        machine.cores.map_or_else(unknown, |cores| format!("{cores} cores")),
        machine.memory_bytes.map_or_else(unknown, bytes),
        machine.kernel.as_ref().map_or_else(unknown, |kernel| format!("Linux {kernel}")),
    ];
    let hardware: Vec<String> = hardware.into_iter().chain(gpus(document)).collect();
    let packages = &document.environment.packages;
    let versions: Vec<String> = document
        .environment
        .python
        .iter()
        .cloned()
        .chain(TELLING.iter().filter_map(|name| Some(format!("{name} {}", packages.get(*name)?))))
        .collect();
    let mut rows = vec![("hardware", hardware.join(", "))];
    if !versions.is_empty() {
        rows.push(("versions", versions.join(", ")));
    }
    let sizes = sizes(document);
    if !sizes.is_empty() {
        rows.push(("arrays", sizes));
    }
    match &document.imported {
        Some(imported) => rows.extend(origin(imported)),
        None => rows.extend(configuration(document)),
    }
    page.facts(&rows);
}

/// Sizes and element types of every case.
fn sizes(document: &RunDocument) -> String {
    let of_case = |case: &CaseResult| {
        let lines = arrays(case).into_iter().map(|(arms, words)| format!("{arms}: {words}"));
        let lines = lines.collect::<Vec<_>>().join("; ");
        (!lines.is_empty()).then(|| format!("{}, {lines}", case.name))
    };
    document.cases.iter().filter_map(of_case).collect::<Vec<_>>().join(". ")
}

/// The origin of another tool's file.
fn origin(imported: &Imported) -> [(&'static str, String); 2] {
    let version = imported.version.as_deref().unwrap_or("of unknown version");
    let (file, digest) = (&imported.file, short(&imported.digest));
    [
        ("imported", format!("from {file} ({digest}), written by {} {version}", imported.from)),
        ("unknown", imported.unknown.join("; ")),
    ]
}

fn configuration(document: &RunDocument) -> [(&'static str, String); 2] {
    let options = &document.options;
    let configuration = format!(
        "{} fresh processes per cold regime; warm: {} to {} processes, {} calls of warm-up, then at \
         most {} calls or {}; private caches; seed {}",
        options.processes,
        options.warm_processes,
        options.most_warm_processes,
        options.warm_up_calls,
        options.calls,
        duration(options.within_ns.as_f64()),
        document.seed,
    );
    let suite = format!("{} ({})", document.suite, short(&document.suite_digest));
    [("configuration", configuration), ("suite", suite)]
}

fn short(digest: &str) -> String {
    digest.chars().take(19).collect()
}
