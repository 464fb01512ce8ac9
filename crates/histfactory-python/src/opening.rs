//! Workspaces and patches from files or from dictionaries.

use std::path::PathBuf;

use histfactory::Workspace;
use histfactory::interpolation::{HistosysCode, Interpolation, NormsysCode};
use histfactory::synthetic::Twin;
use histfactory::workspace::{Patch, PatchSet, WorkspaceError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use serde_json::Value;

use crate::error::{Error, Result, unknown};

/// The JSON text of a file, or of any value that Python's `json` can write.
fn text(given: &Bound<'_, PyAny>) -> Result<Vec<u8>> {
    if let Some(path) = path(given) {
        return std::fs::read(&path).map_err(|source| WorkspaceError::Read { path, source }.into());
    }
    let json = given.py().import("json")?;
    let options = PyDict::new(given.py());
    options.set_item("default", given.py().import("histfactory._json")?.getattr("plain")?)?;
    let text: String = json.call_method("dumps", (given,), Some(&options))?.extract()?;
    Ok(text.into_bytes())
}

fn path(given: &Bound<'_, PyAny>) -> Option<PathBuf> {
    let is_path =
        given.is_instance_of::<PyString>() || given.hasattr("__fspath__").unwrap_or(false);
    if is_path { given.extract().ok() } else { None }
}

fn parsed(text: &[u8]) -> Result<Value> {
    Ok(serde_json::from_slice(text).map_err(WorkspaceError::Syntax)?)
}

/// A generated workspace.
pub(crate) fn synthetic(name: &str, seed: u64) -> Result<Workspace> {
    let twin = Twin::ALL.into_iter().find(|twin| twin.as_str() == name);
    let known = Twin::ALL.map(Twin::as_str);
    Ok(twin.ok_or_else(|| unknown("synthetic workspace", name, &known))?.workspace(seed))
}

/// A generated workspace, as a dictionary.
#[pyfunction]
#[pyo3(signature = (name="small", seed=1))]
pub(crate) fn synthetic_workspace<'py>(
    py: Python<'py>,
    name: &str,
    seed: u64,
) -> Result<Bound<'py, PyAny>> {
    let text = synthetic(name, seed)?.to_json();
    Ok(py.import("json")?.call_method1("loads", (text,))?)
}

/// A workspace with its patch.
pub(crate) fn workspace(
    given: &Bound<'_, PyAny>,
    patch: Option<&Bound<'_, PyAny>>,
) -> Result<Workspace> {
    let text = text(given)?;
    let Some(patch) = patch else { return Ok(Workspace::from_slice(&text)?) };
    let mut document = parsed(&text)?;
    apply(patch, &mut document)?;
    Ok(Workspace::from_value(&document)?)
}

/// Applies a file, a list of operations, or a patch set's file with the name of a patch.
fn apply(given: &Bound<'_, PyAny>, document: &mut Value) -> Result<()> {
    if let Ok(pair) = given.cast::<PyTuple>() {
        let (set, name): (Bound<'_, PyAny>, String) = pair.extract()?;
        let set = PatchSet::from_slice(&text(&set)?)?;
        set.verify(document)?;
        return Ok(set.get(&name)?.patch.apply(document)?);
    }
    if path(given).is_none() && !given.is_instance_of::<PyList>() {
        let message = "patch is a path, a list of operations, or a pair of a patch set and a name";
        return Err(PyTypeError::new_err(message).into());
    }
    Ok(Patch::from_slice(&text(given)?)?.apply(document)?)
}

/// `{"normsys": "code1"}`, or pyhf's `modifier_settings`; other modifiers use the default.
pub(crate) fn interpolation(given: Option<&Bound<'_, PyDict>>) -> Result<Interpolation> {
    let mut found = Interpolation::default();
    let Some(given) = given else { return Ok(found) };
    for (modifier, code) in given.iter() {
        let modifier: String = modifier.extract()?;
        let code: String = match code.cast::<PyDict>() {
            Ok(settings) => settings.as_any().get_item("interpcode")?.extract()?,
            Err(_) => code.extract()?,
        };
        match modifier.as_str() {
            "normsys" => found.normsys = normsys(&code)?,
            "histosys" => found.histosys = histosys(&code)?,
            other => return Err(unknown("interpolated modifier", other, &["normsys", "histosys"])),
        }
    }
    Ok(found)
}

fn normsys(code: &str) -> std::result::Result<NormsysCode, Error> {
    match code {
        "code1" => Ok(NormsysCode::Code1),
        "code4" => Ok(NormsysCode::Code4),
        other => Err(unknown("interpolation of normsys", other, &["code1", "code4"])),
    }
}

fn histosys(code: &str) -> std::result::Result<HistosysCode, Error> {
    match code {
        "code0" => Ok(HistosysCode::Code0),
        "code2" => Ok(HistosysCode::Code2),
        "code2_documented" => Ok(HistosysCode::Code2Documented),
        "code2_root" => Ok(HistosysCode::Code2Root),
        "code4p" => Ok(HistosysCode::Code4p),
        other => {
            let known = ["code0", "code2", "code2_documented", "code2_root", "code4p"];
            Err(unknown("interpolation of histosys", other, &known))
        }
    }
}
