//! `histfactory.Model`.

use std::ffi::CString;
use std::sync::Arc;

use histfactory::fit::Search;
use histfactory::inference::{Dataset, LimitOptions, TestKind, TestOptions};
use histfactory::toys::ToyOptions;
use histfactory::{Data, FitOptions, ModelOptions};
use histfactory_cuda::{CudaError, Device, DeviceModel};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyList};

use crate::arrays::{Vector, data, matrix, numbers, vector};
use crate::error::{Result, unknown};
use crate::many::{self, Matrix};
use crate::opening;
use crate::results::{Fit, Hypotest, Significance, UpperLimit, statistic};
use crate::yields;

/// A statistical model: parameters, the rates as functions of them, and the observed data.
#[pyclass(frozen, module = "histfactory", name = "Model")]
pub(crate) struct Model {
    pub(crate) core: Arc<histfactory::Model>,
}

impl Model {
    pub(crate) fn new(core: histfactory::Model) -> Self {
        Self { core: Arc::new(core) }
    }

    fn index(&self, name: &str) -> Result<usize> {
        Ok(self.core.index_of(name)?)
    }

    fn fit_options(
        &self,
        fixed: Option<&Bound<'_, PyDict>>,
        start: Option<&Vector<'_>>,
        bounds: Option<&Bound<'_, PyDict>>,
    ) -> Result<FitOptions> {
        let mut options = FitOptions::default();
        for (name, value) in fixed.into_iter().flat_map(PyDictMethods::iter) {
            let index = self.index(&name.extract::<String>()?)?;
            options = options.fixing(index, value.extract()?);
        }
        for (name, ends) in bounds.into_iter().flat_map(PyDictMethods::iter) {
            let index = self.index(&name.extract::<String>()?)?;
            let (low, high): (f64, f64) = ends.extract()?;
            options = options.bounding(index, [low, high]);
        }
        options.start = start.map(|start| numbers(start).into_owned());
        Ok(options)
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (workspace, measurement=None, patch=None, interpolation=None, *, poi=None))]
    fn from_workspace(
        workspace: &Bound<'_, PyAny>,
        measurement: Option<String>,
        patch: Option<&Bound<'_, PyAny>>,
        interpolation: Option<&Bound<'_, PyDict>>,
        poi: Option<String>,
    ) -> Result<Self> {
        let py = workspace.py();
        let workspace = opening::workspace(workspace, patch)?;
        let interpolation = opening::interpolation(interpolation)?;
        let options = ModelOptions { measurement, poi, interpolation };
        let core = py.detach(|| histfactory::Model::new(&workspace, &options))?;
        Ok(Self::new(core))
    }

    /// A generated model with the structure of a published one.
    #[staticmethod]
    #[pyo3(signature = (name="small", seed=1))]
    fn synthetic(py: Python<'_>, name: &str, seed: u64) -> Result<Self> {
        let workspace = opening::synthetic(name, seed)?;
        let core = py.detach(|| histfactory::Model::new(&workspace, &ModelOptions::default()))?;
        Ok(Self::new(core))
    }

    #[getter]
    fn parameter_names(&self) -> Vec<String> {
        self.core.parameter_names().to_vec()
    }

    /// The names of the parameter sets with the indices of their parameters.
    #[getter]
    fn parameter_sets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sets = PyDict::new(py);
        for (name, places) in self.core.parameter_sets() {
            sets.set_item(name, (places.start, places.end))?;
        }
        Ok(sets)
    }

    #[getter]
    fn init(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        vector(py, self.core.init().to_vec())
    }

    #[getter]
    fn bounds(&self, py: Python<'_>) -> PyResult<Py<PyArray2<f64>>> {
        matrix(py, self.core.bounds().concat(), 2)
    }

    #[getter]
    fn fixed(&self, py: Python<'_>) -> Py<PyArray1<bool>> {
        PyArray1::from_slice(py, self.core.fixed()).unbind()
    }

    /// The name of the parameter of interest.
    #[getter]
    fn poi(&self) -> Option<&str> {
        self.core.poi().map(|index| self.core.parameter_names()[index].as_str())
    }

    #[getter]
    fn poi_index(&self) -> Option<usize> {
        self.core.poi()
    }

    /// Channels in the order of the data, each with its number of bins.
    #[getter]
    fn channels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let channels = PyDict::new(py);
        for (name, bins) in self.core.channels() {
            channels.set_item(name, bins.len())?;
        }
        Ok(channels)
    }

    #[getter]
    fn samples(&self) -> Vec<String> {
        self.core.samples().to_vec()
    }

    /// Observed counts, then auxiliary data.
    #[getter]
    fn observed(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        vector(py, self.core.observed().as_slice().to_vec())
    }

    #[getter]
    fn bin_count(&self) -> usize {
        self.core.bin_count()
    }

    #[pyo3(signature = (theta, data=None))]
    fn nll(&self, py: Python<'_>, theta: Vector<'_>, data: Option<Vector<'_>>) -> Result<f64> {
        let (theta, data) = (numbers(&theta), self::data(&self.core, data.as_ref())?);
        Ok(py.detach(|| self.core.nll(&theta, &data))?)
    }

    #[pyo3(signature = (theta, data=None))]
    fn nll_and_grad(
        &self,
        py: Python<'_>,
        theta: Vector<'_>,
        data: Option<Vector<'_>>,
    ) -> Result<(f64, Py<PyArray1<f64>>)> {
        let (theta, data) = (numbers(&theta), self::data(&self.core, data.as_ref())?);
        let (nll, gradient) = py.detach(|| self.core.nll_and_gradient(&theta, &data))?;
        Ok((nll, vector(py, gradient)))
    }

    #[pyo3(signature = (theta, data=None))]
    fn hessian(
        &self,
        py: Python<'_>,
        theta: Vector<'_>,
        data: Option<Vector<'_>>,
    ) -> Result<Py<PyArray2<f64>>> {
        let (theta, data) = (numbers(&theta), self::data(&self.core, data.as_ref())?);
        let hessian = py.detach(|| self.core.hessian(&theta, &data))?;
        Ok(matrix(py, hessian.as_slice().to_vec(), hessian.len())?)
    }

    #[pyo3(signature = (theta, *, auxiliary=true))]
    fn expected_data(
        &self,
        py: Python<'_>,
        theta: Vector<'_>,
        auxiliary: bool,
    ) -> Result<Py<PyArray1<f64>>> {
        let theta = numbers(&theta);
        let values = if auxiliary {
            self.core.expected_data(&theta)?
        } else {
            self.core.expected_main(&theta)?
        };
        Ok(vector(py, values))
    }

    #[pyo3(signature = (
        fixed=None, data=None, *, start=None, bounds=None, tolerance=1e-9, max_iterations=200,
        covariance=true, search="mirrored",
    ))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn fit(
        &self,
        py: Python<'_>,
        fixed: Option<&Bound<'_, PyDict>>,
        data: Option<Vector<'_>>,
        start: Option<Vector<'_>>,
        bounds: Option<&Bound<'_, PyDict>>,
        tolerance: f64,
        max_iterations: usize,
        covariance: bool,
        search: &str,
    ) -> Result<Fit> {
        let options = self.fit_options(fixed, start.as_ref(), bounds)?;
        let search = self::search(search)?;
        let options = FitOptions { tolerance, max_iterations, covariance, search, ..options };
        let data = self::data(&self.core, data.as_ref())?;
        let fit = py.detach(|| self.core.fit(&data, &options))?;
        Fit::new(py, &self.core, fit)
    }

    #[pyo3(signature = (data=None, *, search="mirrored", extend_bound=false))]
    fn q0<'py>(
        &self,
        py: Python<'py>,
        data: Option<Vector<'_>>,
        search: &str,
        extend_bound: bool,
    ) -> Result<Bound<'py, PyAny>> {
        self.test_statistic(py, 0.0, data, "q0", search, extend_bound)
    }

    #[pyo3(signature = (mu, data=None, test="qtilde", *, search="mirrored", extend_bound=false))]
    fn test_statistic<'py>(
        &self,
        py: Python<'py>,
        mu: f64,
        data: Option<Vector<'_>>,
        test: &str,
        search: &str,
        extend_bound: bool,
    ) -> Result<Bound<'py, PyAny>> {
        let kind = kind(test)?;
        let options = TestOptions { search: self::search(search)?, extend_bound };
        let data = self::data(&self.core, data.as_ref())?;
        let found = py.detach(|| self.core.test_statistic_with(&data, kind, mu, &options))?;
        statistic(py, &found)
    }

    #[pyo3(signature = (mu, data=None, test="qtilde", *, search="mirrored", extend_bound=false))]
    fn hypotest(
        &self,
        py: Python<'_>,
        mu: f64,
        data: Option<Vector<'_>>,
        test: &str,
        search: &str,
        extend_bound: bool,
    ) -> Result<Hypotest> {
        let kind = kind(test)?;
        let options = TestOptions { search: self::search(search)?, extend_bound };
        let data = self::data(&self.core, data.as_ref())?;
        let found = py.detach(|| self.core.hypotest_with(&data, mu, kind, &options))?;
        Ok(Hypotest::new(py, &found))
    }

    #[pyo3(signature = (
        data=None, level=0.05, test="qtilde", *, tolerance=1e-8, search="mirrored",
        extend_bound=false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn upper_limit(
        &self,
        py: Python<'_>,
        data: Option<Vector<'_>>,
        level: f64,
        test: &str,
        tolerance: f64,
        search: &str,
        extend_bound: bool,
    ) -> Result<UpperLimit> {
        let (kind, search) = (kind(test)?, self::search(search)?);
        let options =
            LimitOptions { kind, level, tolerance, search, extend_bound, ..Default::default() };
        let data = self::data(&self.core, data.as_ref())?;
        let found = py.detach(|| self.core.upper_limit(&data, &options))?;
        UpperLimit::new(py, &found)
    }

    #[pyo3(signature = (data="asimov", *, mu=1.0, search="mirrored", extend_bound=false))]
    fn significance(
        &self,
        py: Python<'_>,
        data: &str,
        mu: f64,
        search: &str,
        extend_bound: bool,
    ) -> Result<Significance> {
        let dataset = dataset(data, mu)?;
        let options = TestOptions { search: self::search(search)?, extend_bound };
        let found = py.detach(|| self.core.significance_with(dataset, &options))?;
        Ok(Significance::new(py, found))
    }

    #[pyo3(signature = (theta, count, seed=0))]
    fn toys(
        &self,
        py: Python<'_>,
        theta: Vector<'_>,
        count: u64,
        seed: u64,
    ) -> Result<Py<PyArray2<f64>>> {
        let theta = numbers(&theta);
        let toys = py.detach(|| self.core.toys(&theta, count, seed))?;
        let columns = self.core.observed().as_slice().len();
        let values: Vec<f64> = toys.iter().flat_map(Data::as_slice).copied().collect();
        Ok(matrix(py, values, columns)?)
    }

    /// The test statistic of each toy. A toy without one is NaN, and a warning reports their number. On a GPU, the
    /// CPU computes the toys again that do not converge there.
    #[pyo3(signature = (
        theta, mu, count, seed=0, test="qtilde", *, search="mirrored", device="cpu",
    ))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn toy_statistics(
        &self,
        py: Python<'_>,
        theta: Vector<'_>,
        mu: f64,
        count: u64,
        seed: u64,
        test: &str,
        search: &str,
        device: &str,
    ) -> Result<Py<PyArray1<f64>>> {
        let (theta, kind, toys) = (numbers(&theta), kind(test)?, ToyOptions::new(count, seed));
        let search = self::search(search)?;
        let found = match device {
            "cpu" => py.detach(|| {
                self.core.toy_statistics_with(&theta, mu, kind, &toys, search, &|_| {})
            })?,
            "cuda" if search == Search::default() => py.detach(|| {
                let on_gpu = DeviceModel::new(&Device::shared(0)?, &self.core)?;
                let found = on_gpu.toy_statistics(&self.core, &theta, mu, kind, &toys)?;
                Ok::<_, CudaError>(found.statistics)
            })?,
            "cuda" => {
                let problem = "the GPU has one search for minima\nhint: leave `search` out";
                return Err(PyNotImplementedError::new_err(problem).into());
            }
            other => return Err(unknown("device", other, &["cpu", "cuda"])),
        };
        let failed = found.iter().filter(|value| value.is_none()).count();
        if failed > 0 {
            let warning = format!("{failed} of {count} toys have no statistic and are NaN");
            let warning = CString::new(warning).map_err(PyErr::from)?;
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &warning, 1)?;
        }
        let values = found.into_iter().map(|value| value.unwrap_or(f64::NAN));
        Ok(vector(py, values.collect()))
    }

    /// Fits each row of data.
    #[pyo3(signature = (data, fixed=None, *, bounds=None, covariance=false, search="mirrored"))]
    fn fit_many<'py>(
        &self,
        py: Python<'py>,
        data: Matrix<'_>,
        fixed: Option<&Bound<'_, PyDict>>,
        bounds: Option<&Bound<'_, PyDict>>,
        covariance: bool,
        search: &str,
    ) -> Result<Bound<'py, PyList>> {
        let options = self.fit_options(fixed, None, bounds)?;
        let options = FitOptions { covariance, search: self::search(search)?, ..options };
        let data = many::data(&self.core, &data)?;
        let found = py.detach(|| self.core.fit_many(&data, &options));
        many::list(py, found, |fit| Fit::new(py, &self.core, fit))
    }

    /// Tests one value of the parameter of interest on each row of data.
    #[pyo3(signature = (mu, data, test="qtilde", *, search="mirrored", extend_bound=false))]
    fn hypotest_many<'py>(
        &self,
        py: Python<'py>,
        mu: f64,
        data: Matrix<'_>,
        test: &str,
        search: &str,
        extend_bound: bool,
    ) -> Result<Bound<'py, PyList>> {
        let kind = kind(test)?;
        let options = TestOptions { search: self::search(search)?, extend_bound };
        let data = many::data(&self.core, &data)?;
        let found = py.detach(|| self.core.hypotest_many(&data, mu, kind, &options));
        many::list(py, found, |test| Ok(Hypotest::new(py, &test)))
    }

    /// The significance of the model with each row of yields.
    #[pyo3(signature = (yields, data="asimov", *, mu=1.0, search="mirrored", extend_bound=false))]
    fn significance_many<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyDict>,
        data: &str,
        mu: f64,
        search: &str,
        extend_bound: bool,
    ) -> Result<Bound<'py, PyList>> {
        let dataset = dataset(data, mu)?;
        let options = TestOptions { search: self::search(search)?, extend_bound };
        let rows = many::changes(&self.core, yields)?;
        let found = py.detach(|| self.core.significance_many(&rows, dataset, &options));
        many::list(py, found, |significance| Ok(Significance::new(py, significance)))
    }

    /// The same model with other yields, templates or uncertainties.
    fn with_yields(&self, changes: &Bound<'_, PyDict>) -> Result<Self> {
        let changes = yields::changes(&self.core, changes)?;
        Ok(Self::new(self.core.with_yields(&changes)?))
    }

    /// The same model with other observed counts, with or without auxiliary data.
    fn with_data(&self, data: Vector<'_>) -> Result<Self> {
        let data = self::data(&self.core, Some(&data))?.into_owned();
        Ok(Self::new(self.core.with_observed(data)))
    }

    fn __copy__(&self) -> Self {
        Self { core: Arc::clone(&self.core) }
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__()
    }

    fn __repr__(&self) -> String {
        let core = &self.core;
        let poi = core.poi().map_or("none", |index| core.parameter_names()[index].as_str());
        format!(
            "<histfactory.Model: {} parameters, {} bins in {} channels, poi {poi}>",
            core.parameter_count(),
            core.bin_count(),
            core.channels().len(),
        )
    }
}

pub(crate) fn kind(name: &str) -> Result<TestKind> {
    match name {
        "q" => Ok(TestKind::Q),
        "qtilde" => Ok(TestKind::QTilde),
        "t" => Ok(TestKind::T),
        "q0" => Ok(TestKind::Q0),
        other => Err(unknown("test statistic", other, &["q", "qtilde", "t", "q0"])),
    }
}

fn search(name: &str) -> Result<Search> {
    match name {
        "descent" => Ok(Search::Descent),
        "mirrored" => Ok(Search::Mirrored),
        "global" => Ok(Search::GLOBAL),
        other => Err(unknown("search", other, &["descent", "mirrored", "global"])),
    }
}

pub(crate) fn dataset(name: &str, mu: f64) -> Result<Dataset> {
    if !mu.is_finite() {
        return Err(PyValueError::new_err(format!("mu is {mu}")).into());
    }
    match name {
        "observed" => Ok(Dataset::Observed),
        "asimov" => Ok(Dataset::Asimov { mu }),
        "profiled-asimov" => Ok(Dataset::ProfiledAsimov { mu }),
        other => Err(unknown("data set", other, &["asimov", "observed", "profiled-asimov"])),
    }
}
