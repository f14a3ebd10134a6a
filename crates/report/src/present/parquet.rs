//! Results as Parquet, for further computations: the table of [`Rows`], with its metadata as
//! key-value pairs of the file. Equal results give equal bytes.

use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};

use laxity_world::results::Results;

use super::rows::{Column, Rows, Values};

/// The file's bytes.
pub fn bytes(results: &Results) -> Result<Vec<u8>, super::PresentError> {
    encode(results).map_err(|error| super::PresentError::Parquet(error.to_string()))
}

fn encode(results: &Results) -> Result<Vec<u8>, ParquetError> {
    let Rows { columns, metadata } = Rows::of(results);
    let mut fields = Vec::new();
    for column in &columns {
        fields.push(field(column)?);
    }
    let pairs = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let schema = Arc::new(Type::group_type_builder("laxity").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by("laxity".into())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(pairs))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &columns {
        let mut into = group.next_column()?.expect("as many columns as the schema has");
        match &column.values {
            Values::Text(values) => {
                let (levels, present) = split(values, |text| ByteArray::from(text.as_bytes().to_vec()));
                into.typed::<ByteArrayType>().write_batch(&present, Some(&levels), None)?;
            }
            Values::Double(values) => {
                let (levels, present) = split(values, |value| *value);
                into.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
            }
            Values::Integer(values) => {
                let (levels, present) = split(values, |value| *value);
                into.typed::<Int64Type>().write_batch(&present, Some(&levels), None)?;
            }
        }
        into.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// Definition levels of all rows, and the values of those that have one.
fn split<T, V>(values: &[Option<T>], convert: impl Fn(&T) -> V) -> (Vec<i16>, Vec<V>) {
    let levels = values.iter().map(|v| i16::from(v.is_some())).collect();
    (levels, values.iter().flatten().map(convert).collect())
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let physical = match column.values {
        Values::Text(_) => Physical::BYTE_ARRAY,
        Values::Double(_) => Physical::DOUBLE,
        Values::Integer(_) => Physical::INT64,
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    let field = match column.values {
        Values::Text(_) => {
            field.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8)
        }
        _ => field,
    };
    Ok(Arc::new(field.build()?))
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    use super::super::sample;
    use super::*;

    /// Every row as pairs of column and value.
    fn read(bytes: Vec<u8>) -> (SerializedFileReader<bytes::Bytes>, Vec<Vec<(String, Field)>>) {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let pairs = rows.map(|row| row.unwrap().into_columns()).collect();
        (reader, pairs)
    }

    fn field<'a>(row: &'a [(String, Field)], name: &str) -> &'a Field {
        &row.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column {name}")).1
    }

    #[test]
    fn what_is_written_is_read_back() {
        let results = sample::sweep();
        let (reader, rows) = read(bytes(&results).unwrap());
        assert_eq!(rows.len(), 32);
        for (row, (run, channel)) in
            rows.iter().zip(results.runs.iter().flat_map(|run| run.channels.iter().map(move |c| (run, c))))
        {
            let load = results.axes[0].points[run.point[0]].value.unwrap();
            assert_eq!(*field(row, "load"), Field::Double(load));
            assert_eq!(*field(row, "channel"), Field::Str(channel.name.clone()));
            assert_eq!(*field(row, "throughput"), Field::Double(channel.throughput));
            assert_eq!(*field(row, "packets"), Field::Long(channel.packets as i64));
            let least = channel.laxity.as_ref().map_or(Field::Null, |s| Field::Double(s.min));
            assert_eq!(*field(row, "laxity_min"), least);
            let dropped = channel.drops.get("message_queue").copied().unwrap_or(0);
            assert_eq!(*field(row, "drops_message_queue"), Field::Long(dropped as i64));
            assert_eq!(*field(row, "utilisation_cpu"), Field::Double(run.resources[0].utilisation));
        }
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let value = |key: &str| pairs.iter().find(|p| p.key == key).and_then(|p| p.value.clone()).unwrap();
        assert_eq!(value("laxity.seed"), "1");
        assert_eq!(value("laxity.axis.load"), "offered best-effort load (KiB/s)");
    }

    /// Beyond 500 stations the per-station values are in the JSON only, and the file says so.
    #[test]
    fn of_many_stations_there_are_no_columns() {
        for (stations, are_there) in [(500, true), (501, false)] {
            let mut results = sample::sweep();
            let figures = (0..stations).map(|station| (format!("driver_interrupts@h-{station}"), 1.0));
            results.runs[0].figures.extend(figures);
            results.runs[0].figures.insert("admitted".into(), 3.0);
            let (reader, rows) = read(bytes(&results).unwrap());
            assert_eq!(*field(&rows[0], "figure_admitted"), Field::Double(3.0));
            let column = |(column, _): &(String, Field)| column == "figure_driver_interrupts@h-7";
            assert_eq!(rows[0].iter().any(column), are_there);
            let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
            assert_eq!(pairs.iter().any(|pair| pair.key == "laxity.left_out"), !are_there);
        }
    }

    #[test]
    fn equal_results_give_equal_bytes() {
        assert_eq!(bytes(&sample::grid()).unwrap(), bytes(&sample::grid()).unwrap());
    }

    #[test]
    fn runs_without_channels_and_clashing_names_are_kept() {
        let mut results = sample::gaps();
        results.axes[0].name = "channel".into();
        let (_, rows) = read(bytes(&results).unwrap());
        assert_eq!(rows.len(), 29);
        assert_eq!(*field(&rows[4], "channel"), Field::Null);
        assert_eq!(*field(&rows[4], "axis_channel"), Field::Double(1200.0));
        let empty = Results { runs: vec![], ..sample::sweep() };
        assert_eq!(read(bytes(&empty).unwrap()).1.len(), 0);
    }
}
