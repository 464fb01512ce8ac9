//! Many rows at once, on all cores: a list with the result of each row, or the exception that explains its absence.

use std::borrow::Cow;

use histfactory::Data;
use histfactory::model::YieldChange;
use numpy::{AllowTypeChange, PyArrayLike2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyClass, PyClassInitializer};

use crate::error::{Error, Result};
use crate::yields;

/// A matrix argument: an array, or nested lists that NumPy converts to one.
pub(crate) type Matrix<'py> = PyArrayLike2<'py, f64, AllowTypeChange>;

/// The rows of a matrix as data, with or without auxiliary data; without them they are the observed ones.
pub(crate) fn data(model: &histfactory::Model, given: &Matrix<'_>) -> Result<Vec<Data>> {
    let values = given
        .as_slice()
        .map_or_else(|_| Cow::Owned(given.as_array().iter().copied().collect()), Cow::Borrowed);
    let row = |row: &[f64]| {
        let mut values = row.to_vec();
        if row.len() == model.bin_count() {
            values.extend_from_slice(model.observed().auxiliary());
        }
        Ok(Data::new(model, values)?)
    };
    values.chunks(given.shape()[1].max(1)).map(row).collect()
}

/// The changes of each row: a dictionary of names and matrices with equally many rows.
pub(crate) fn changes(
    model: &histfactory::Model,
    given: &Bound<'_, PyDict>,
) -> Result<Vec<Vec<YieldChange>>> {
    let mut named: Vec<(Bound<'_, PyAny>, Matrix<'_>)> = Vec::new();
    for (name, values) in given.iter() {
        named.push((name, values.extract()?));
    }
    let mut counts = named.iter().map(|(_, matrix)| matrix.shape()[0]);
    let rows = counts.next().unwrap_or(0);
    if let Some(other) = counts.find(|count| *count != rows) {
        let problem = format!("the yields have {rows} and {other} rows");
        return Err(PyValueError::new_err(problem).into());
    }
    let row = |row: usize| {
        let changed = PyDict::new(given.py());
        for (name, matrix) in &named {
            changed.set_item(name, matrix.as_array().row(row).to_vec())?;
        }
        yields::changes(model, &changed)
    };
    (0..rows).map(row).collect()
}

/// A list of results, in which a row without one has its exception.
pub(crate) fn list<T, R, E>(
    py: Python<'_>,
    found: Vec<std::result::Result<T, E>>,
    result: impl Fn(T) -> Result<R>,
) -> Result<Bound<'_, PyList>>
where
    R: PyClass + Into<PyClassInitializer<R>>,
    E: Into<Error>,
{
    let list = PyList::empty(py);
    for row in found {
        match row.map_err(Into::into).and_then(&result) {
            Ok(value) => list.append(Py::new(py, value)?)?,
            Err(error) => list.append(PyErr::from(error).into_value(py))?,
        }
    }
    Ok(list)
}
