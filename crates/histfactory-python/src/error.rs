//! Errors of the core as Python exceptions, with their messages and hints.

use histfactory::inference::InferenceError;
use histfactory::workspace::WorkspaceError as CoreWorkspaceError;
use histfactory::{EvaluationError as CoreEvaluationError, FitError as CoreFitError, ModelError};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    histfactory,
    HistfactoryError,
    PyException,
    "Whatever histfactory refuses."
);
pyo3::create_exception!(
    histfactory,
    WorkspaceError,
    HistfactoryError,
    "A workspace or a patch is unreadable or invalid."
);
pyo3::create_exception!(
    histfactory,
    EvaluationError,
    HistfactoryError,
    "Parameters, data or yields that do not fit the model, or at which it has no value."
);
pyo3::create_exception!(histfactory, FitError, HistfactoryError, "A fit that did not converge.");

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("HistfactoryError", py.get_type::<HistfactoryError>())?;
    module.add("WorkspaceError", py.get_type::<WorkspaceError>())?;
    module.add("EvaluationError", py.get_type::<EvaluationError>())?;
    module.add("FitError", py.get_type::<FitError>())
}

/// A Python exception.
#[derive(Debug)]
pub(crate) struct Error(PyErr);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        error.0
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<CoreWorkspaceError> for Error {
    fn from(error: CoreWorkspaceError) -> Self {
        let source = match &error {
            CoreWorkspaceError::Read { source, .. } => format!(": {source}"),
            _ => String::new(),
        };
        let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        Self(WorkspaceError::new_err(format!("{error}{source}{hint}")))
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Workspace(error) => error.into(),
            error => Self(WorkspaceError::new_err(error.to_string())),
        }
    }
}

impl From<CoreEvaluationError> for Error {
    fn from(error: CoreEvaluationError) -> Self {
        let hint = match &error {
            CoreEvaluationError::NoPoi => {
                "\nhint: name a parameter of interest: Model.from_workspace(..., poi=\"mu\")"
            }
            CoreEvaluationError::NoSuchParameter { .. } => "\nhint: see Model.parameter_names",
            CoreEvaluationError::NoSuchPlace { what: "channel" | "sample", .. } => {
                "\nhint: see Model.channels and Model.samples"
            }
            _ => "",
        };
        Self(EvaluationError::new_err(format!("{error}{hint}")))
    }
}

impl From<CoreFitError> for Error {
    fn from(error: CoreFitError) -> Self {
        match error {
            CoreFitError::Evaluation(error) => error.into(),
            error => Self(FitError::new_err(error.to_string())),
        }
    }
}

impl From<InferenceError> for Error {
    fn from(error: InferenceError) -> Self {
        match error {
            InferenceError::Evaluation(error) => error.into(),
            InferenceError::Fit(error) => error.into(),
            error => Self(HistfactoryError::new_err(error.to_string())),
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error for an unknown value, with the known ones.
pub(crate) fn unknown(what: &str, given: &str, known: &[&str]) -> Error {
    let known: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
    let known = known.join(", ");
    Error(PyValueError::new_err(format!(
        "there is no {what} \"{given}\"\nhint: take one of {known}"
    )))
}
