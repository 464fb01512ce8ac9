//! The machine, date and versions of a snapshot, and its missing parts.

use firstlight_report::words::format::{bytes, count};
use firstlight_report::words::machine::cpu;
use firstlight_report::words::tables::Table;
use firstlight_schema::run::RunDocument;
use firstlight_schema::suite::{EnvironmentFile, Scalar, SuiteFile};

use super::Published;

const FRAMEWORKS: [&str; 7] = ["jax", "jaxlib", "equinox", "flax", "optax", "numpy", "torch"];

pub(super) fn conditions(snapshot: &str, published: &Published) -> String {
    let document = &published.document;
    let mut table = Table {
        head: vec!["snapshot".to_owned(), format!("`snapshots/{snapshot}.tar.zst`")],
        rows: Vec::new(),
    };
    let mut row = |name: &str, value: String| table.rows.push(vec![name.to_owned(), value]);
    row("measured", document.created.clone());
    row("machine", machine(document));
    row("with", packages(document));
    row("parameters", parameters(document));
    for (whose, settings) in settings(&published.suite) {
        row(&whose, settings);
    }
    row("processes", processes(document));
    if !document.complete {
        row("ended early", ended_early(document));
    }
    row("control", control(document));
    table.markdown()
}

/// `AMD EPYC, 2 CPUs`, with its accelerators.
pub(super) fn short_machine(document: &RunDocument) -> String {
    let gpus = document.before.gpus.iter().flatten().map(|gpu| gpu.name.as_str());
    let devices: String = gpus.flat_map(|name| [", ", name]).collect();
    let machine = &document.machine;
    let cpu = cpu(machine);
    format!("{cpu}, {}{devices}", count(machine.cores.unwrap_or(0).into(), "CPU"))
}

fn machine(document: &RunDocument) -> String {
    let machine = &document.machine;
    let gpus = document.before.gpus.iter().flatten().map(|gpu| gpu.name.as_str());
    let devices: String = gpus.flat_map(|name| [", ", name]).collect();
    format!(
        "{}, {} CPUs, {}{devices}",
        cpu(machine),
        machine.cores.unwrap_or(0),
        bytes(machine.memory_bytes.unwrap_or(0)),
    )
}

fn packages(document: &RunDocument) -> String {
    let packages: Vec<String> = FRAMEWORKS
        .iter()
        .filter_map(|name| Some(format!("{name} {}", document.environment.packages.get(*name)?)))
        .collect();
    let python = document.environment.python.as_deref().unwrap_or("no Python");
    format!("{python}; {}", packages.join(", "))
}

fn parameters(document: &RunDocument) -> String {
    let shown = |(name, value): (&String, &Scalar)| match value.to_string().as_str() {
        "" => format!("{name} = none"),
        value => format!("{name} = {value}"),
    };
    let Some(case) = document.cases.first() else { return String::new() };
    case.parameters.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Environment variables that were set on purpose, for all arms and for some.
fn settings(suite: &SuiteFile) -> Vec<(String, String)> {
    let shown = |variables: &mut dyn Iterator<Item = (&String, &String)>| {
        variables.map(|(name, value)| format!("`{name}={value}`")).collect::<Vec<_>>().join(", ")
    };
    let of_all = match &suite.environment {
        EnvironmentFile::AsFound => String::new(),
        EnvironmentFile::Provisioned(environment) => shown(&mut environment.variables.iter()),
    };
    let of_arms = suite
        .arms
        .iter()
        .map(|arm| (format!("settings, {}", arm.name.get_ref()), shown(&mut arm.variables.iter())));
    [("settings".to_owned(), of_all)]
        .into_iter()
        .chain(of_arms)
        .filter(|(_, settings)| !settings.is_empty())
        .collect()
}

fn processes(document: &RunDocument) -> String {
    let options = &document.options;
    let warm = match (options.warm_processes, options.most_warm_processes) {
        (least, most) if least == most => format!("{least} warm"),
        (least, most) => format!("{least} to {most} warm"),
    };
    let regimes = document.cases.iter().flat_map(|case| &case.arms).flat_map(|arm| &arm.regimes);
    let (cold, warmed): (Vec<_>, Vec<_>) = regimes.partition(|result| result.regime.is_cold());
    let cold = (!cold.is_empty()).then(|| format!("{} per arm and cold regime", options.processes));
    let warm = (!warmed.is_empty()).then_some(warm);
    cold.into_iter().chain(warm).collect::<Vec<_>>().join(", ")
}

/// The measured part of an incomplete run.
fn ended_early(document: &RunDocument) -> String {
    let samples = || {
        let arms = document.cases.iter().flat_map(|case| &case.arms);
        arms.flat_map(|arm| &arm.regimes).flat_map(|result| &result.samples)
    };
    let counted = |n: usize, thing: &str| count(u64::try_from(n).unwrap_or(u64::MAX), thing);
    format!(
        "the run was stopped before all samples were taken: it has {}, {} of them valid",
        counted(samples().count(), "sample"),
        samples().filter(|sample| sample.valid).count(),
    )
}

fn control(document: &RunDocument) -> String {
    let control = match document.control.as_ref().map(|control| control.passed) {
        Some(Some(true)) => "passed: no difference between two copies of the reference arm",
        Some(Some(false)) => "failed: two copies of the reference arm differ, so no verdict counts",
        Some(None) => {
            "was inconclusive: too few processes to compare two copies of the reference arm"
        }
        None => "was not part of the run",
    };
    format!("the A/A control {control}")
}
