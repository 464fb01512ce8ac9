//! Converts NumPy arrays. Contiguous arrays of the right type are not copied.

use std::borrow::Cow;

use histfactory::{Data, EvaluationError, Model};
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyArrayMethods};
use pyo3::prelude::*;

use crate::error::Result;

/// A vector argument: an array, or a value that NumPy converts to one.
pub(crate) type Vector<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;

/// The numbers of a vector, borrowed if they are contiguous.
pub(crate) fn numbers<'a>(vector: &'a Vector<'_>) -> Cow<'a, [f64]> {
    match vector.as_slice() {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(vector.as_array().to_vec()),
    }
}

/// Counts, with or without auxiliary data; the observed ones by default.
pub(crate) fn data<'a>(model: &'a Model, given: Option<&Vector<'_>>) -> Result<Cow<'a, Data>> {
    let Some(given) = given else { return Ok(Cow::Borrowed(model.observed())) };
    let mut values = numbers(given).into_owned();
    if values.len() == model.bin_count() {
        values.extend_from_slice(model.observed().auxiliary());
    }
    Ok(Cow::Owned(Data::new(model, values)?))
}

/// A matrix from its rows, without a copy.
pub(crate) fn matrix(
    py: Python<'_>,
    values: Vec<f64>,
    columns: usize,
) -> PyResult<Py<PyArray2<f64>>> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    let flat = PyArray1::from_vec(py, values);
    Ok(flat.reshape([rows, columns])?.unbind())
}

pub(crate) fn vector(py: Python<'_>, values: Vec<f64>) -> Py<PyArray1<f64>> {
    PyArray1::from_vec(py, values).unbind()
}

/// Checks that a point of the parameter space has as many numbers as there are parameters.
pub(crate) fn expect_length(
    what: &'static str,
    got: usize,
    expected: usize,
) -> std::result::Result<(), EvaluationError> {
    if got == expected { Ok(()) } else { Err(EvaluationError::Length { what, got, expected }) }
}
