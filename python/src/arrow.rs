//! Tables as Arrow streams, by the PyCapsule interface: pandas, Polars and PyArrow take the columns
//! over as they are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{DataType, Field, Schema};
use laxity_report::present::rows::{Column, Rows, Values};
use laxity_world::results::Results;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Error;

/// A table of columns.
#[pyclass(frozen, module = "laxity._laxity")]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// The rows of `results`, with their metadata.
    pub(crate) fn of_results(results: &Results) -> PyResult<Table> {
        let Rows { columns, metadata } = Rows::of(results);
        Table::new(columns, metadata.into_iter().collect())
    }

    /// A table of `columns`, all of one length.
    pub(crate) fn new(columns: Vec<Column>, metadata: HashMap<String, String>) -> PyResult<Table> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().map(array).unzip();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let batch = RecordBatch::try_new(schema, arrays);
        batch.map(Table).map_err(|error| Error::new_err(error.to_string()))
    }
}

fn array(column: Column) -> (Field, ArrayRef) {
    let (kind, array): (DataType, ArrayRef) = match column.values {
        Values::Text(values) => (DataType::Utf8, Arc::new(StringArray::from(values))),
        Values::Double(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
        Values::Integer(values) => (DataType::Int64, Arc::new(Int64Array::from(values))),
    };
    (Field::new(column.name, kind, true), array)
}

#[pymethods]
impl Table {
    /// A table of columns of texts and of doubles, in the order of their names in `order`.
    #[new]
    fn made(
        order: Vec<String>,
        texts: Vec<(String, Vec<Option<String>>)>,
        doubles: Vec<(String, Vec<Option<f64>>)>,
    ) -> PyResult<Self> {
        let texts = texts.into_iter().map(|(name, values)| Column { name, values: Values::Text(values) });
        let doubles =
            doubles.into_iter().map(|(name, values)| Column { name, values: Values::Double(values) });
        let mut columns: Vec<Column> = texts.chain(doubles).collect();
        columns.sort_by_key(|column| order.iter().position(|name| *name == column.name));
        Table::new(columns, HashMap::new())
    }

    /// The columns as a capsule `arrow_array_stream`. A schema that is asked for may be declined,
    /// as the interface allows, so it is not looked at.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}
