//! `histfactory._native.Objective`: the function that PyTorch and JAX differentiate.

use std::borrow::Cow;
use std::sync::Arc;

use histfactory::derivative::Convention;
use histfactory::inference::InferenceError;
use histfactory::objective::{Input, Quantity};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::vector;
use crate::error::{Result, unknown};
use crate::model::{Model, dataset};
use crate::yields::{self, Part};

/// A quantity as a function of numbers of a model.
#[pyclass(frozen, module = "histfactory._native")]
pub(crate) struct Objective {
    pub(crate) core: Arc<histfactory::objective::Objective>,
    lengths: Vec<usize>,
}

#[pymethods]
impl Objective {
    #[new]
    #[pyo3(signature = (
        model, quantity, inputs, *, data="asimov", mu=None, smooth=0.0, level=0.05, templates="fixed",
    ))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn new(
        model: &Model,
        quantity: &str,
        inputs: Vec<String>,
        data: &str,
        mu: Option<f64>,
        smooth: f64,
        level: f64,
        templates: &str,
    ) -> Result<Self> {
        // An expected limit uses data without a signal by default.
        let mu = mu.unwrap_or(if quantity == "upper_limit" { 0.0 } else { 1.0 });
        let dataset = dataset(data, mu)?;
        let quantity = match quantity {
            "nll" => Quantity::Nll,
            "q0" => Quantity::Q0 { dataset },
            "significance" if smooth >= 0.0 => Quantity::Significance { dataset, smooth },
            "significance" => {
                return Err(PyValueError::new_err(format!("smooth is {smooth}")).into());
            }
            "sigma_mu" => Quantity::Width { dataset },
            "upper_limit" => Quantity::UpperLimit { dataset, level },
            other => {
                let known = ["nll", "q0", "significance", "sigma_mu", "upper_limit"];
                return Err(unknown("quantity", other, &known));
            }
        };
        let convention = match templates {
            "fixed" => Convention::TemplatesFixed,
            "ride" => Convention::TemplatesRide,
            other => return Err(unknown("convention", other, &["fixed", "ride"])),
        };
        if inputs.is_empty() {
            let problem = "name at least one input\nhint: inputs=[\"signal\"]";
            return Err(PyValueError::new_err(problem).into());
        }
        let mut places = Vec::new();
        let mut lengths = Vec::new();
        for name in &inputs {
            let (found, length) = resolve(&model.core, name)?;
            places.extend(found);
            lengths.push(length);
        }
        let core =
            histfactory::objective::Objective::new(&model.core, quantity, &places, convention)?;
        Ok(Self { core: Arc::new(core), lengths })
    }

    /// The number of inputs.
    #[getter]
    fn size(&self) -> usize {
        self.core.len()
    }

    /// The number of values of each named input.
    #[getter]
    fn lengths(&self) -> Vec<usize> {
        self.lengths.clone()
    }

    /// The present values of the inputs in the model.
    #[getter]
    fn current(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        vector(py, self.core.current())
    }

    /// The value at a point, or at each row of an array.
    fn value<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArrayDyn<'py, f64>,
    ) -> Result<Bound<'py, PyAny>> {
        let (rows, batch) = self.rows(&x)?;
        let values = py.detach(|| self.all(&rows, |x| self.core.evaluate(x, None)))?;
        shaped(py, values, batch)
    }

    /// The reason for the missing value at each row of an array, `None` for rows with a value. In a batch
    /// such rows are NaN and the others are valid.
    fn status(
        &self,
        py: Python<'_>,
        x: PyReadonlyArrayDyn<'_, f64>,
    ) -> Result<Vec<Option<String>>> {
        let (rows, _) = self.rows(&x)?;
        let why = |x: &[f64]| self.core.evaluate(x, None).err().map(|error| error.to_string());
        Ok(py.detach(|| rows.par_chunks(self.core.len().max(1)).map(why).collect()))
    }

    /// The value and the derivatives at a point, or at each row of an array.
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArrayDyn<'py, f64>,
    ) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (rows, batch) = self.rows(&x)?;
        let mut gradients = vec![0.0; rows.len()];
        let values = py.detach(|| {
            all_with(self.core.len(), &rows, &mut gradients, |x, gradient| {
                self.core.evaluate(x, Some(gradient))
            })
        })?;
        Ok((shaped(py, values, batch)?, shaped(py, gradients, x.shape().to_vec())?))
    }

    /// The value, the derivatives, and their change along directions of the inputs.
    fn value_and_gradient_along<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArrayDyn<'py, f64>,
        directions: PyReadonlyArrayDyn<'py, f64>,
    ) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (rows, batch) = self.rows(&x)?;
        if directions.shape() != x.shape() {
            let problem = format!(
                "the directions have the shape {:?}, the inputs {:?}",
                directions.shape(),
                x.shape()
            );
            return Err(PyValueError::new_err(problem).into());
        }
        let (directions, _) = self.rows(&directions)?;
        // Gradient and change of each row, concatenated.
        let inputs = self.core.len();
        let mut both = vec![0.0; 2 * rows.len()];
        let pairs: Vec<f64> = rows
            .chunks(inputs)
            .zip(directions.chunks(inputs))
            .flat_map(|(x, direction)| x.iter().chain(direction).copied())
            .collect();
        let values = py.detach(|| {
            all_with(2 * inputs, &pairs, &mut both, |pair, both| {
                let (x, direction) = pair.split_at(inputs);
                let (gradient, change) = both.split_at_mut(inputs);
                self.core.evaluate_along(x, direction, gradient, change)
            })
        })?;
        let half = |second: usize| -> Vec<f64> {
            let halves = both.chunks(inputs).skip(second).step_by(2);
            halves.flatten().copied().collect()
        };
        let shape = x.shape().to_vec();
        Ok((
            shaped(py, values, batch)?,
            shaped(py, half(0), shape.clone())?,
            shaped(py, half(1), shape)?,
        ))
    }

    fn __copy__(&self) -> Self {
        Self { core: Arc::clone(&self.core), lengths: self.lengths.clone() }
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__()
    }
}

fn shaped(py: Python<'_>, values: Vec<f64>, shape: Vec<usize>) -> Result<Bound<'_, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
}

impl Objective {
    /// All points one after the other, borrowed if they are contiguous, and the shape of the results.
    fn rows<'a>(&self, x: &'a PyReadonlyArrayDyn<'_, f64>) -> Result<(Cow<'a, [f64]>, Vec<usize>)> {
        let shape = x.shape();
        match shape.split_last() {
            Some((last, leading)) if *last == self.core.len() => {
                let rows = match x.as_slice() {
                    Ok(rows) => Cow::Borrowed(rows),
                    Err(_) => Cow::Owned(x.as_array().iter().copied().collect()),
                };
                Ok((rows, leading.to_vec()))
            }
            _ => {
                let problem = format!(
                    "the inputs have the shape {shape:?}; the last axis must have {} numbers",
                    self.core.len()
                );
                Err(PyValueError::new_err(problem).into())
            }
        }
    }

    /// Calls a function for each row; a single row does not use another thread.
    fn all(&self, rows: &[f64], call: impl Fn(&[f64]) -> Found + Sync) -> Result<Vec<f64>> {
        let inputs = self.core.len();
        if rows.len() == inputs {
            return Ok(vec![call(rows)?]);
        }
        masked(rows.par_chunks(inputs).map(&call).collect())
    }
}

/// The values of a batch, NaN for rows without one. An error if no row has a value.
fn masked(found: Vec<Found>) -> Result<Vec<f64>> {
    let none = found.iter().all(std::result::Result::is_err);
    let mask = |found: Found| match found {
        Err(error) if none => Err(error),
        found => Ok(found.unwrap_or(f64::NAN)),
    };
    Ok(found.into_iter().map(mask).collect::<std::result::Result<_, _>>()?)
}

/// Calls a function for each row and its part of the results, both of the same width.
fn all_with(
    width: usize,
    rows: &[f64],
    results: &mut [f64],
    call: impl Fn(&[f64], &mut [f64]) -> Found + Sync,
) -> Result<Vec<f64>> {
    if rows.len() == width {
        return Ok(vec![call(rows, results)?]);
    }
    let pairs = rows.par_chunks(width).zip(results.par_chunks_mut(width));
    let of_row = |(row, results): (&[f64], &mut [f64])| {
        let found = call(row, results);
        if found.is_err() {
            results.fill(f64::NAN);
        }
        found
    };
    masked(pairs.map(of_row).collect())
}

type Found = std::result::Result<f64, InferenceError>;

/// The inputs that a name refers to, and their number.
fn resolve(model: &histfactory::Model, name: &str) -> Result<(Vec<Input>, usize)> {
    if name == "parameters" {
        return Ok((vec![Input::Parameters], model.parameter_count()));
    }
    let places = yields::places(model, name)?;
    let length = places.channels.iter().map(|(_, bins)| bins).sum();
    let input = |(channel, _): (String, usize)| {
        let sample = places.sample.clone();
        match places.part.clone() {
            Part::Nominal => Input::Nominal { channel, sample },
            Part::High(modifier) => Input::High { channel, sample, modifier },
            Part::Low(modifier) => Input::Low { channel, sample, modifier },
            Part::Uncertainty(modifier) => Input::Uncertainty { channel, sample, modifier },
        }
    };
    Ok((places.channels.clone().into_iter().map(input).collect(), length))
}
