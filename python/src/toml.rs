//! Values of Python as values of a scenario.

use laxity_scenario::Change;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// `value` as it stands in a file.
pub(crate) fn value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    // A truth value is a number too, so it is asked for first.
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().to_string());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_string());
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        // TOML writes infinity and not-a-number as Rust does, without capitals.
        return Ok(format!("{:?}", number.value()).to_lowercase());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Change::quoted(text.to_str()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: PyResult<Vec<String>> = value.try_iter()?.map(|item| self::value(&item?)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut items = Vec::new();
        for (key, item) in table.iter() {
            items.push(format!("{} = {}", Change::quoted(&key.extract::<String>()?), self::value(&item)?));
        }
        return Ok(format!("{{ {} }}", items.join(", ")));
    }
    // Numbers of NumPy and such are no subclasses, and become what they stand for.
    if let Ok(number) = value.call_method0("item")
        && !number.is(value)
    {
        return self::value(&number);
    }
    let name = value.get_type().name()?;
    let valid = "valid is a number, a text, True or False, a list or a dictionary";
    Err(PyTypeError::new_err(format!("a scenario has no value of the type {name}; {valid}")))
}

/// Axes as items `[[sweep]]`: each a name and the keys of its table.
pub(crate) fn axes(axes: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::new();
    for axis in axes.try_iter()? {
        text += "[[sweep]]\n";
        for (key, item) in axis?.cast::<PyDict>()?.iter() {
            text += &format!("{} = {}\n", key.extract::<String>()?, value(&item)?);
        }
    }
    Ok(text)
}
