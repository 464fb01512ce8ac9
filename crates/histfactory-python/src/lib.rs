//! `histfactory._native`: the Python side of the crate `histfactory`. Wrappers only; no arithmetic.

#![expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]

mod arrays;
mod device;
mod error;
mod many;
mod model;
mod objective;
mod opening;
mod results;
mod xla;
mod yields;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<results::Fit>()?;
    module.add_class::<results::Hypotest>()?;
    module.add_class::<results::UpperLimit>()?;
    module.add_class::<results::Significance>()?;
    module.add_class::<objective::Objective>()?;
    module.add_function(wrap_pyfunction!(opening::synthetic_workspace, module)?)?;
    device::add(module)?;
    xla::add(module)?;
    error::add(module)
}
