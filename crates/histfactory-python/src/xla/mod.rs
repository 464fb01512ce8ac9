//! Objectives as functions that XLA calls: a compiled program runs without Python.
//!
//! A program refers to its function by a number. After compilation it owns the function (`instantiate`), and
//! each run evaluates it (`execute`).

#![expect(unsafe_code, reason = "JAX takes the handlers as pointers")]

mod abi;
mod frame;
mod handlers;
mod registry;

use std::ffi::c_void;
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::objective::Objective;

/// An objective and the number by which compiled programs refer to it.
#[pyclass(frozen, module = "histfactory._native")]
pub(crate) struct XlaFunction {
    entry: registry::Entry,
}

#[pymethods]
impl XlaFunction {
    #[new]
    fn new(objective: &Objective) -> Self {
        Self { entry: registry::Entry::new(objective.core.clone()) }
    }

    #[getter]
    fn number(&self) -> i64 {
        self.entry.number
    }
}

/// The handlers, by the stage in which XLA calls them, for the CPU or for GPUs.
#[pyfunction]
#[pyo3(signature = (*, on_gpu=false))]
fn xla_handlers(py: Python<'_>, on_gpu: bool) -> PyResult<Bound<'_, PyDict>> {
    let [instantiate, execute]: [Handler; 2] = if on_gpu {
        [handlers::instantiate::<true>, handlers::execute_on_gpu]
    } else {
        [handlers::instantiate::<false>, handlers::execute]
    };
    let handlers = PyDict::new(py);
    handlers.set_item("instantiate", capsule(py, instantiate as *mut c_void)?)?;
    handlers.set_item("execute", capsule(py, execute as *mut c_void)?)?;
    Ok(handlers)
}

type Handler = unsafe extern "C" fn(*mut abi::CallFrame) -> *mut abi::Error;

/// The type of the state that a compiled program owns.
#[pyfunction]
#[pyo3(signature = (*, on_gpu=false))]
fn xla_state_type(py: Python<'_>, on_gpu: bool) -> PyResult<Bound<'_, PyDict>> {
    let of_type = PyDict::new(py);
    of_type.set_item("type_id", capsule(py, handlers::state_type(on_gpu).cast())?)?;
    let info = (&raw const handlers::STATE_INFO).cast_mut().cast();
    of_type.set_item("type_info", capsule(py, info)?)?;
    Ok(of_type)
}

/// A pointer to a function or a static, which outlives every capsule.
fn capsule(py: Python<'_>, pointer: *mut c_void) -> PyResult<Bound<'_, PyCapsule>> {
    let pointer = NonNull::new(pointer).expect("neither a function nor a static lies at zero");
    // SAFETY: what is pointed to lives as long as the process.
    unsafe { PyCapsule::new_with_pointer(py, pointer, c"xla._CUSTOM_CALL_TARGET") }
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<XlaFunction>()?;
    module.add_function(wrap_pyfunction!(xla_handlers, module)?)?;
    module.add_function(wrap_pyfunction!(xla_state_type, module)?)
}
