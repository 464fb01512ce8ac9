//! What fits, tests and limits give.

use histfactory::Model;
use histfactory::fit::Side;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{matrix, vector};
use crate::error::Result;

/// A minimum of −log L, with what speaks for its being one.
#[pyclass(frozen, get_all, module = "histfactory")]
pub(crate) struct Fit {
    theta: Py<PyArray1<f64>>,
    nll: f64,
    gradient: Py<PyArray1<f64>>,
    kkt: f64,
    edm: f64,
    iterations: usize,
    evaluations: usize,
    converged: bool,
    message: String,
    free: Py<PyArray1<bool>>,
    at_bound: Py<PyDict>,
    at_kink: Vec<String>,
    covariance: Option<Py<PyArray2<f64>>>,
    uncertainties: Option<Py<PyArray1<f64>>>,
    parameter_names: Vec<String>,
}

impl Fit {
    pub(crate) fn new(py: Python<'_>, model: &Model, fit: histfactory::Fit) -> Result<Self> {
        let at_bound = PyDict::new(py);
        for (parameter, side) in &fit.at_bound {
            let side = match side {
                Side::Lower => "lower",
                Side::Upper => "upper",
            };
            at_bound.set_item(&model.parameter_names()[*parameter], side)?;
        }
        let names = model.parameter_names();
        let at_kink = fit.at_kink.iter().map(|parameter| names[*parameter].clone()).collect();
        let count = model.parameter_count();
        let covariance = fit.covariance.as_ref();
        let uncertainties =
            covariance.map(|matrix| (0..count).map(|index| matrix.sigma(index)).collect());
        let covariance = covariance
            .map(|covariance| matrix(py, covariance.matrix().as_slice().to_vec(), count))
            .transpose()?;
        Ok(Self {
            nll: fit.nll,
            kkt: fit.kkt,
            edm: fit.edm,
            iterations: fit.iterations,
            evaluations: fit.evaluations,
            converged: fit.converged(),
            message: fit.outcome.complaint().unwrap_or_else(|| "converged".to_owned()),
            theta: vector(py, fit.theta),
            gradient: vector(py, fit.gradient),
            free: PyArray1::from_vec(py, fit.free).unbind(),
            at_bound: at_bound.unbind(),
            at_kink,
            covariance,
            uncertainties: uncertainties.map(|values| vector(py, values)),
            parameter_names: model.parameter_names().to_vec(),
        })
    }
}

#[pymethods]
impl Fit {
    /// The fitted value of a parameter, by its name.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> Result<f64> {
        let at = self.parameter_names.iter().position(|known| known == name);
        let missing = || histfactory::EvaluationError::NoSuchParameter { name: name.to_owned() };
        let at = at.ok_or_else(missing)?;
        let theta = self.theta.bind(py).readonly();
        Ok(theta.as_array()[at])
    }

    fn __repr__(&self) -> String {
        let Self { nll, kkt, edm, iterations, message, .. } = self;
        format!(
            "<histfactory.Fit: {message}, nll {nll}, kkt {kkt:.1e}, edm {edm:.1e}, \
             {iterations} iterations>"
        )
    }
}

/// A hypothesis test.
#[pyclass(frozen, get_all, module = "histfactory")]
pub(crate) struct Hypotest {
    cls: f64,
    clsb: f64,
    clb: f64,
    /// CLs at T = 2, 1, 0, −1, −2, as pyhf orders them.
    expected: Py<PyArray1<f64>>,
    q: f64,
    q_asimov: f64,
    mu: f64,
    mu_hat: f64,
}

impl Hypotest {
    pub(crate) fn new(py: Python<'_>, found: &histfactory::inference::Hypotest) -> Self {
        Self {
            cls: found.observed.cls,
            clsb: found.observed.clsb,
            clb: found.observed.clb,
            expected: vector(py, found.expected.map(|values| values.cls).to_vec()),
            q: found.statistic.value,
            q_asimov: found.asimov,
            mu: found.statistic.mu,
            mu_hat: found.statistic.mu_hat,
        }
    }
}

#[pymethods]
impl Hypotest {
    fn __repr__(&self) -> String {
        format!("<histfactory.Hypotest: mu {}, CLs {}, q {}>", self.mu, self.cls, self.q)
    }
}

/// An upper limit on the parameter of interest.
#[pyclass(frozen, get_all, module = "histfactory")]
pub(crate) struct UpperLimit {
    observed: f64,
    /// At −2, −1, 0, 1 and 2 standard deviations.
    expected: Py<PyArray1<f64>>,
    level: f64,
    /// Every tested value with its CLs: the value, the observed one, the five expected ones.
    tested: Py<PyArray2<f64>>,
}

impl UpperLimit {
    pub(crate) fn new(py: Python<'_>, found: &histfactory::inference::UpperLimit) -> Result<Self> {
        let rows = found
            .tested
            .iter()
            .flat_map(|tested| [tested.mu, tested.cls].into_iter().chain(tested.expected));
        Ok(Self {
            observed: found.observed,
            expected: vector(py, found.expected.to_vec()),
            level: found.level,
            tested: matrix(py, rows.collect(), 7)?,
        })
    }
}

#[pymethods]
impl UpperLimit {
    fn __repr__(&self) -> String {
        format!("<histfactory.UpperLimit: observed {} at CLs {}>", self.observed, self.level)
    }
}

/// The significance of an excess.
#[pyclass(frozen, get_all, module = "histfactory")]
pub(crate) struct Significance {
    q0: f64,
    z: f64,
    p0: f64,
    mu_hat: f64,
    theta_free: Py<PyArray1<f64>>,
    theta_background: Py<PyArray1<f64>>,
    kkt: f64,
}

impl Significance {
    pub(crate) fn new(py: Python<'_>, found: histfactory::inference::Significance) -> Self {
        Self {
            q0: found.q0,
            z: found.z,
            p0: found.p0,
            mu_hat: found.mu_hat,
            kkt: found.kkt,
            theta_free: vector(py, found.theta_free),
            theta_background: vector(py, found.theta_background),
        }
    }
}

#[pymethods]
impl Significance {
    fn __repr__(&self) -> String {
        format!("<histfactory.Significance: z {}, q0 {}, p0 {:.3e}>", self.z, self.q0, self.p0)
    }
}
