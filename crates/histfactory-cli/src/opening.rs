//! Reads workspaces, patches and models from the given sources.

use std::io::Read;
use std::path::Path;

use histfactory::workspace::{Algorithm, Patch, PatchSet, WorkspaceError, digest};
use histfactory::{Model, Workspace};
use serde_json::Value;

use crate::error::Error;
use crate::printer::Printer;
use crate::settings::{ModelSettings, Source};
use crate::shard::ModelRecord;

fn bytes(source: &Source) -> Result<Vec<u8>, Error> {
    match source {
        Source::File(path) => Ok(std::fs::read(path)
            .map_err(|source| WorkspaceError::Read { path: path.clone(), source })?),
        Source::Input => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(Error::Input)?;
            Ok(bytes)
        }
    }
}

fn called(source: &Source) -> String {
    match source {
        Source::File(path) => path.display().to_string(),
        Source::Input => "-".to_owned(),
    }
}

pub(crate) fn workspace(source: &Source) -> Result<Workspace, Error> {
    let bytes = bytes(source)?;
    Workspace::from_slice(&bytes).map_err(|error| Error::File { path: called(source), error })
}

/// The unparsed document of a workspace, for patches and digests, which depend on its text.
pub(crate) fn document(source: &Source) -> Result<Value, Error> {
    let bytes = bytes(source)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let error = WorkspaceError::Syntax(error);
        Error::File { path: called(source), error }
    })
}

/// A JSON file as it stands.
pub(crate) fn json(path: &Path) -> Result<Value, Error> {
    document(&Source::File(path.to_owned()))
}

pub(crate) fn patch_set(path: &Path) -> Result<PatchSet, Error> {
    in_file(path, PatchSet::from_path(path))
}

fn in_file<T>(path: &Path, result: Result<T, WorkspaceError>) -> Result<T, Error> {
    result.map_err(|error| match error {
        WorkspaceError::Read { .. } => Error::Workspace(error),
        error => Error::File { path: path.display().to_string(), error },
    })
}

/// The workspace with its patches.
pub(crate) fn patched(settings: &ModelSettings) -> Result<Workspace, Error> {
    if settings.patches.is_empty() {
        return workspace(&settings.source);
    }
    let mut document = document(&settings.source)?;
    for path in &settings.patches {
        let patch = match &settings.patch_name {
            None => in_file(path, Patch::from_path(path))?,
            Some(name) => {
                let set = patch_set(path)?;
                set.verify(&document)?;
                in_file(path, set.get(name))?.patch.clone()
            }
        };
        in_file(path, patch.apply(&mut document))?;
    }
    let from = called(&settings.source);
    Workspace::from_value(&document).map_err(|error| Error::File { path: from, error })
}

/// The model of the chosen measurement.
pub(crate) fn model(settings: &ModelSettings, printer: &mut Printer) -> Result<Model, Error> {
    compiled(&patched(settings)?, settings, printer)
}

/// The model and what identifies it.
pub(crate) fn recorded(
    settings: &ModelSettings,
    printer: &mut Printer,
) -> Result<(Model, ModelRecord), Error> {
    let workspace = patched(settings)?;
    let model = compiled(&workspace, settings, printer)?;
    let record = record(&serde_json::to_value(&workspace)?, &workspace, settings)?;
    Ok((model, record))
}

/// The identity of a document's models.
pub(crate) fn record(
    document: &Value,
    workspace: &Workspace,
    settings: &ModelSettings,
) -> Result<ModelRecord, Error> {
    let options = &settings.options;
    let measurement = workspace.measurement(options.measurement.as_deref())?;
    Ok(ModelRecord {
        workspace: digest(document, Algorithm::Sha256),
        measurement: measurement.name.clone(),
        poi: options.poi.clone().unwrap_or_else(|| measurement.config.poi.clone()),
        normsys: settings.normsys.clone(),
        histosys: settings.histosys.clone(),
    })
}

fn compiled(
    workspace: &Workspace,
    settings: &ModelSettings,
    printer: &mut Printer,
) -> Result<Model, Error> {
    let chosen = settings.options.measurement.as_deref();
    let measurement = workspace.measurement(chosen)?;
    if chosen.is_none() && workspace.measurements.len() > 1 {
        let name = &measurement.name;
        printer.aside(&format!("measurement: `{name}`, the first of several"));
    }
    let model = Model::new(workspace, &settings.options)?;
    let rates = model.expected_main(model.init())?;
    for (channel, bins) in model.channels() {
        let negative = bins.clone().filter(|&bin| rates[bin] < 0.0);
        let negative: Vec<String> = negative.map(|bin| (bin - bins.start).to_string()).collect();
        if !negative.is_empty() {
            printer.warning(&format!(
                "channel `{channel}`: the expected rate at the initial parameters is negative in bin {}",
                negative.join(", ")
            ));
        }
    }
    Ok(model)
}

/// Checks that the model allows a value of the parameter of interest.
pub(crate) fn check_poi(model: &Model, value: f64) -> Result<(), Error> {
    let Some(poi) = model.poi() else { return Ok(()) };
    let [low, high] = model.bounds()[poi];
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let name = &model.parameter_names()[poi];
    Err(Error::Usage(format!(
        "--test-poi {value} lies outside of the bounds of `{name}`, {low} to {high}"
    )))
}

/// A value to test. Limits may lie above the upper bound of the parameter of interest, so that tests of such
/// values are possible too; below the lower bound nothing can be tested.
pub(crate) fn check_tested(model: &Model, value: f64, printer: &mut Printer) -> Result<(), Error> {
    let Some(poi) = model.poi() else { return Ok(()) };
    let [_, high] = model.bounds()[poi];
    if !(value > high && value.is_finite()) {
        return check_poi(model, value);
    }
    let name = &model.parameter_names()[poi];
    printer.warning(&format!(
        "--test-poi {value} is above the upper bound of `{name}`, {high}, which holds for the best fit"
    ));
    Ok(())
}
