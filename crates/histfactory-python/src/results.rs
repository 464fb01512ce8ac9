//! The results of fits, tests and limits.

use histfactory::Model;
use histfactory::fit::Side;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::arrays::{matrix, vector};
use crate::error::Result;

/// A minimum of −log L, with the fit's diagnostics.
#[pyclass(frozen, module = "histfactory")]
pub(crate) struct Fit {
    #[pyo3(get)]
    theta: Py<PyArray1<f64>>,
    #[pyo3(get)]
    nll: f64,
    #[pyo3(get)]
    gradient: Py<PyArray1<f64>>,
    #[pyo3(get)]
    kkt: f64,
    #[pyo3(get)]
    edm: f64,
    #[pyo3(get)]
    iterations: usize,
    #[pyo3(get)]
    evaluations: usize,
    #[pyo3(get)]
    converged: bool,
    #[pyo3(get)]
    message: String,
    #[pyo3(get)]
    free: Py<PyArray1<bool>>,
    #[pyo3(get)]
    at_bound: Py<PyDict>,
    #[pyo3(get)]
    at_kink: Vec<String>,
    /// −log L of other minima found by the fit.
    #[pyo3(get)]
    other_minima: Vec<f64>,
    /// Bins without a count whose rate is zero at the minimum.
    #[pyo3(get)]
    at_border: Vec<usize>,
    /// A combination of parameters that is not determined: the distance of each, the largest being one.
    #[pyo3(get)]
    flat: Option<Py<PyDict>>,
    /// Circumstances that a reader of the fit should know.
    #[pyo3(get)]
    notes: Vec<String>,
    /// Holds the factorised Hessian; results computed from it are computed on first access.
    found: Option<histfactory::fit::Covariance>,
    covariance: PyOnceLock<Py<PyArray2<f64>>>,
    uncertainties: PyOnceLock<Py<PyArray1<f64>>>,
    #[pyo3(get)]
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
        let flat = fit.flat.as_ref().map(|flat| -> Result<Py<PyDict>> {
            let moves = PyDict::new(py);
            for (parameter, share) in &flat.parameters {
                moves.set_item(&names[*parameter], share)?;
            }
            Ok(moves.unbind())
        });
        let notes = model.notes_of_fit(&fit)?.iter().map(ToString::to_string).collect();
        Ok(Self {
            notes,
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
            other_minima: fit.other_minima,
            at_border: fit.at_border,
            flat: flat.transpose()?,
            found: fit.covariance,
            covariance: PyOnceLock::new(),
            uncertainties: PyOnceLock::new(),
            parameter_names: model.parameter_names().to_vec(),
        })
    }
}

#[pymethods]
impl Fit {
    /// The covariance matrix, computed on first access.
    #[getter]
    fn covariance(&self, py: Python<'_>) -> Result<Option<Py<PyArray2<f64>>>> {
        let Some(found) = &self.found else { return Ok(None) };
        let made = self.covariance.get_or_try_init(py, || {
            let values = py.detach(|| found.matrix().as_slice().to_vec());
            matrix(py, values, self.parameter_names.len())
        })?;
        Ok(Some(made.clone_ref(py)))
    }

    /// The standard deviations of all parameters, computed on first access.
    #[getter]
    fn uncertainties(&self, py: Python<'_>) -> Option<Py<PyArray1<f64>>> {
        let found = self.found.as_ref()?;
        let made = self.uncertainties.get_or_init(py, || {
            let count = self.parameter_names.len();
            let values = py.detach(|| (0..count).map(|index| found.sigma(index)).collect());
            vector(py, values)
        });
        Some(made.clone_ref(py))
    }

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

/// A test statistic: a `float` with notes.
pub(crate) fn statistic<'py>(
    py: Python<'py>,
    found: &histfactory::inference::TestStatistic,
) -> Result<Bound<'py, PyAny>> {
    let notes: Vec<String> = found.notes.iter().map(ToString::to_string).collect();
    let class = py.import("histfactory._statistic")?.getattr("TestStatistic")?;
    Ok(class.call1((found.value, found.mu_hat, notes))?)
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
    notes: Vec<String>,
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
            notes: found.notes.iter().map(ToString::to_string).collect(),
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
    /// Every tested value with its CLs: the value, the observed one (NaN if only the expected data were
    /// fitted), the five expected ones.
    tested: Py<PyArray2<f64>>,
    /// The reason of each limit that is not finite, by band in standard deviations or `"observed"`.
    missing: Py<PyDict>,
    /// The number of fits.
    fits: usize,
    notes: Vec<String>,
}

impl UpperLimit {
    pub(crate) fn new(py: Python<'_>, found: &histfactory::inference::UpperLimit) -> Result<Self> {
        let rows = found.tested.iter().flat_map(|tested| {
            [tested.mu, tested.cls.unwrap_or(f64::NAN)].into_iter().chain(tested.expected)
        });
        let missing = PyDict::new(py);
        for limit in &found.missing {
            let why = limit.why.to_string();
            match limit.band {
                Some(band) => missing.set_item(band, why)?,
                None => missing.set_item("observed", why)?,
            }
        }
        Ok(Self {
            observed: found.observed,
            expected: vector(py, found.expected.to_vec()),
            level: found.level,
            tested: matrix(py, rows.collect(), 7)?,
            missing: missing.unbind(),
            fits: found.fits,
            notes: found.notes.iter().map(ToString::to_string).collect(),
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
    notes: Vec<String>,
}

impl Significance {
    pub(crate) fn new(py: Python<'_>, found: histfactory::inference::Significance) -> Self {
        Self {
            q0: found.q0,
            z: found.z,
            p0: found.p0,
            mu_hat: found.mu_hat,
            kkt: found.kkt,
            notes: found.notes.iter().map(ToString::to_string).collect(),
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
