//! The module `_laxity`: scenarios, their results and the service's client as classes of Python.
//!
//! The classes here hold values and do work; how they look to a user is the matter of the Python
//! files beside the module. Work that takes time runs on a thread of its own ([`work`]), without
//! the interpreter, and stops at Ctrl-C.

mod arrow;
mod error;
mod results;
mod scenario;
mod service;
mod shared;
mod toml;
mod work;

use pyo3::prelude::*;

#[pymodule]
fn _laxity(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<arrow::Table>()?;
    error::add(module)?;
    service::add(module)
}
