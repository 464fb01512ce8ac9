//! `histfactory._native.DeviceObjective`: an objective on a GPU, with memory of whoever calls it.

#![expect(unsafe_code, reason = "PyTorch hands over addresses of the GPU's memory")]

use histfactory_cuda::{CudaError, Device, DeviceLoss, LossRows, Scratch, Status, Stream};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::objective::Objective;

/// Whether this machine has a CUDA driver.
#[pyfunction]
fn cuda_is_present() -> bool {
    histfactory_cuda::is_present()
}

/// The reason for a row's missing value, `None` if it has one.
#[pyfunction]
fn device_status(code: i32) -> Option<&'static str> {
    Status::new(code).complaint()
}

/// An objective whose model lies on a GPU. Rows are evaluated on a stream, and nothing waits for them.
#[pyclass(frozen, module = "histfactory._native")]
pub(crate) struct DeviceObjective {
    loss: DeviceLoss,
}

#[pymethods]
impl DeviceObjective {
    /// Raises `NotImplementedError` if the kernels do not support the model or the quantity.
    #[new]
    fn new(py: Python<'_>, objective: &Objective, ordinal: usize) -> Result<Self> {
        let core = &objective.core;
        let loss = py.detach(|| DeviceLoss::new(&Device::shared(ordinal)?, core))?;
        Ok(Self { loss })
    }

    /// Whether the driver compiled the kernels, because this package has none for the GPU's architecture.
    #[getter]
    fn was_compiled(&self) -> bool {
        self.loss.device().was_compiled
    }

    /// The most rows of so many that run at the same time.
    fn blocks(&self, rows: usize) -> usize {
        self.loss.model().blocks(rows)
    }

    /// The memory in bytes that so many rows need while they run.
    fn scratch_bytes(&self, blocks: usize) -> usize {
        self.loss.model().scratch_bytes(blocks)
    }

    /// Starts the evaluation of rows on a stream. All arguments but the counts are addresses on the GPU: of the
    /// inputs, of float64 values and slopes, of int32 codes for `device_status`, and of scratch memory.
    #[pyo3(signature = (inputs, value, slopes, status, scratch, *, rows, blocks, stream))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn start(
        &self,
        inputs: u64,
        value: u64,
        slopes: u64,
        status: u64,
        scratch: u64,
        rows: usize,
        blocks: usize,
        stream: u64,
    ) -> Result<()> {
        let scratch = Scratch { address: scratch, blocks };
        let rows = LossRows { inputs, value, slopes, status, rows, scratch };
        // SAFETY: `histfactory.torch` alone calls this. It allocates these tensors with the sizes above on this GPU;
        // PyTorch reuses their memory only for later work of the same stream.
        Ok(unsafe { self.loss.start(rows, Stream::at(stream)) }?)
    }
}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Self {
        let text = error.to_string();
        match error {
            CudaError::Unsupported(_) => PyNotImplementedError::new_err(text).into(),
            CudaError::Inference(error) => error.into(),
            _ => PyRuntimeError::new_err(text).into(),
        }
    }
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DeviceObjective>()?;
    module.add_function(wrap_pyfunction!(cuda_is_present, module)?)?;
    module.add_function(wrap_pyfunction!(device_status, module)?)
}
