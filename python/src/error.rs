//! The exceptions of the module.

use laxity_scenario::diagnostic::Diagnostics;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(laxity, Error, PyException, "An error of Laxity.");
create_exception!(
    laxity,
    ScenarioError,
    Error,
    "A scenario that is not valid: its text has every error with its place. `file`, `line` and \
     `column` are those of the first (`None` if the file as a whole is meant), `findings` a list of \
     all as dictionaries."
);

/// The error of a file, with the places of all that is wrong.
pub(crate) fn of_scenario(py: Python<'_>, diagnostics: &Diagnostics) -> PyErr {
    let error = ScenarioError::new_err(diagnostics.to_string().trim_end().to_string());
    match annotate(py, &error, diagnostics) {
        Ok(()) => error,
        Err(other) => other,
    }
}

fn annotate(py: Python<'_>, error: &PyErr, diagnostics: &Diagnostics) -> PyResult<()> {
    let findings = diagnostics.findings();
    let value = error.value(py);
    let first = findings.first();
    let start = first.and_then(|finding| finding.start);
    value.setattr("file", first.map(|finding| finding.file.clone()))?;
    value.setattr("line", start.map(|start| start.line))?;
    value.setattr("column", start.map(|start| start.column))?;
    let text = serde_json::to_string(&findings).expect("findings are plain data");
    value.setattr("findings", py.import("json")?.call_method1("loads", (text,))?)
}

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())
}
