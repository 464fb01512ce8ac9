//! `histfactory inspect`: the contents of a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use histfactory::Workspace;
use histfactory::workspace::{Measurement, ModifierType};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::exit::Exit;
use crate::opening;
use crate::output::{Schema, show};
use crate::printer::Printer;
use crate::settings::InspectSettings;
use crate::table::{Align, Table};

/// Keys and shapes are those of `pyhf inspect --output-file`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Inspection<'a> {
    schema: Schema,
    channels: Vec<(&'a str, usize)>,
    samples: BTreeSet<&'a str>,
    modifiers: BTreeMap<&'a str, &'static str>,
    parameters: Vec<(&'a str, &'static str)>,
    systematics: Vec<(&'a str, &'static str, Vec<&'static str>)>,
    measurements: Vec<(&'a str, &'a str, Vec<&'a str>)>,
    /// Problems that prevent a model for the measurement.
    problems: Vec<String>,
}

pub(crate) fn inspect(settings: &InspectSettings, printer: &mut Printer) -> Result<Exit, Error> {
    let workspace = opening::workspace(&settings.source)?;
    let measurement = workspace.measurement(settings.measurement.as_deref())?;
    let inspection = examine(&workspace, measurement);
    let text = || render(&inspection, &measurement.name);
    show(&inspection, text, &settings.destination, printer)?;
    for problem in &inspection.problems {
        printer.warning(problem);
    }
    Ok(Exit::Ok)
}

fn examine<'a>(workspace: &'a Workspace, measurement: &Measurement) -> Inspection<'a> {
    let samples = || workspace.channels.iter().flat_map(|channel| &channel.samples);
    let mut types: BTreeMap<&str, BTreeSet<ModifierType>> = BTreeMap::new();
    for modifier in samples().flat_map(|sample| &sample.modifiers) {
        types.entry(&modifier.name).or_default().insert(modifier.kind());
    }
    let mut channels: Vec<(&str, usize)> =
        workspace.channels.iter().map(|channel| (channel.name.as_str(), channel.bins())).collect();
    channels.sort_unstable();
    let systematics: Vec<_> = types
        .iter()
        .map(|(name, kinds)| {
            let all = kinds.iter().map(|kind| kind.as_str()).collect();
            (*name, constraint(kinds), all)
        })
        .collect();
    let problems = workspace.check_measurement(measurement).err();
    Inspection {
        schema: Schema::new("histfactory-inspect"),
        channels,
        samples: samples().map(|sample| sample.name.as_str()).collect(),
        modifiers: types
            .iter()
            .filter_map(|(name, kinds)| kinds.last().map(|kind| (*name, kind.as_str())))
            .collect(),
        parameters: systematics.iter().map(|(name, kind, _)| (*name, *kind)).collect(),
        systematics,
        measurements: workspace.measurements.iter().map(summary).collect(),
        problems: problems.iter().flat_map(|p| lines(&p.to_string())).collect(),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn summary(measurement: &Measurement) -> (&str, &str, Vec<&str>) {
    let config = &measurement.config;
    let parameters = config.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    (&measurement.name, &config.poi, parameters)
}

/// In pyhf's terms.
fn constraint(kinds: &BTreeSet<ModifierType>) -> &'static str {
    match kinds.first() {
        Some(ModifierType::Normfactor | ModifierType::Shapefactor) | None => "unconstrained",
        Some(ModifierType::Shapesys) => "constrained_by_poisson",
        Some(
            ModifierType::Histosys
            | ModifierType::Lumi
            | ModifierType::Normsys
            | ModifierType::Staterror,
        ) => "constrained_by_normal",
    }
}

fn render(inspection: &Inspection<'_>, chosen: &str) -> String {
    let mut text = String::new();
    for (word, count) in [
        ("channels", inspection.channels.len()),
        ("samples", inspection.samples.len()),
        ("parameters", inspection.parameters.len()),
        ("modifiers", inspection.modifiers.len()),
    ] {
        writeln!(text, "{word:>12}  {count}").expect("writing to a string");
    }
    let mut channels = Table::new(&[("channel", Align::Left), ("bins", Align::Right)]);
    for (name, bins) in &inspection.channels {
        channels.row([(*name).to_owned(), bins.to_string()]);
    }
    let mut samples = Table::new(&[("sample", Align::Left)]);
    for name in &inspection.samples {
        samples.row([(*name).to_owned()]);
    }
    let mut parameters = Table::new(&[
        ("parameter", Align::Left),
        ("constraint", Align::Left),
        ("modifiers", Align::Left),
    ]);
    for (name, constraint, kinds) in &inspection.systematics {
        parameters.row([(*name).to_owned(), (*constraint).to_owned(), kinds.join(",")]);
    }
    let mut measurements = Table::new(&[
        ("measurement", Align::Left),
        ("poi", Align::Left),
        ("parameters", Align::Left),
    ]);
    for (name, poi, set) in &inspection.measurements {
        let mark = if *name == chosen { "(*) " } else { "    " };
        let set = if set.is_empty() { "(none)".to_owned() } else { set.join(",") };
        measurements.row([format!("{mark}{name}"), (*poi).to_owned(), set]);
    }
    for table in [channels, samples, parameters, measurements] {
        write!(text, "\n{}", table.render()).expect("writing to a string");
    }
    text
}
