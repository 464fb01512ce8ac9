//! `histfactory._native`: the Python side of the crate `histfactory`. Wrappers only; no arithmetic.

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
