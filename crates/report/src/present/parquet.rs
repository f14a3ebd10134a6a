//! Results as Parquet, for further computations.
//!
//! Long format: one row per run and channel; a run without channels has one row, so that its
//! figures are not lost. Columns, in this order:
//!
//! * `run`, the run's number; per axis of the sweep its name, with numbers where every point has
//!   one and with text otherwise, and `<axis>_text` as written beside numbers; `simulated`,
//!   `window`;
//! * `channel`, `class` and every number of a channel ([`laxity_world::metric`]) under its own name
//!   with `_` for `.` (`laxity_min`, with `laxity_count` beside), and `drops_<cause>`;
//! * of the run, repeated in each of its rows: `utilisation_<resource>`,
//!   `longest_queue_<resource>`, `figure_<name>`; none of resources if there are more than 500, and
//!   none of a figure that more than 500 stations have.
//!
//! Units are SI: seconds, bytes, bytes per second. Absent values are null. The file's key-value
//! metadata under `laxity.…` has the provenance and each axis's label. Equal results give equal
//! bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};

use laxity_world::figures::by_node;
use laxity_world::metric::{STATISTICS, distributions, numbers};
use laxity_world::results::{Axis, Channel, Reading, Resource, Results, Run};

/// A column and the values of all its rows.
struct Column {
    name: String,
    values: Values,
}

enum Values {
    Text(Vec<Option<String>>),
    Double(Vec<Option<f64>>),
    Integer(Vec<Option<i64>>),
}

/// One row: a run and, unless the run has none, one of its channels.
type Row<'a> = (usize, &'a Run, Option<&'a Channel>);

/// The file's bytes.
pub fn bytes(results: &Results) -> Result<Vec<u8>, super::Error> {
    encode(results).map_err(|error| super::Error::Parquet(error.to_string()))
}

fn encode(results: &Results) -> Result<Vec<u8>, ParquetError> {
    let repeated = Repeated::of(results);
    let columns = columns(results, &repeated);
    let mut fields = Vec::new();
    for column in &columns {
        fields.push(column.field()?);
    }
    let schema = Arc::new(Type::group_type_builder("laxity").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by("laxity".into())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(metadata(results, repeated.left_out)))
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

impl Column {
    fn field(&self) -> Result<TypePtr, ParquetError> {
        let physical = match self.values {
            Values::Text(_) => Physical::BYTE_ARRAY,
            Values::Double(_) => Physical::DOUBLE,
            Values::Integer(_) => Physical::INT64,
        };
        let field = Type::primitive_type_builder(&self.name, physical).with_repetition(Repetition::OPTIONAL);
        let field = match self.values {
            Values::Text(_) => {
                field.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8)
            }
            _ => field,
        };
        Ok(Arc::new(field.build()?))
    }
}

fn columns(results: &Results, repeated: &Repeated<'_>) -> Vec<Column> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (i, run) in results.runs.iter().enumerate() {
        if run.channels.is_empty() {
            rows.push((i, run, None));
        }
        rows.extend(run.channels.iter().map(|channel| (i, run, Some(channel))));
    }
    let doubles = |name: String, read: &dyn Fn(&Row<'_>) -> Option<f64>| Column {
        name,
        values: Values::Double(rows.iter().map(read).collect()),
    };
    let integers = |name: String, read: &dyn Fn(&Row<'_>) -> Option<u64>| Column {
        name,
        values: Values::Integer(
            rows.iter().map(|row| read(row).and_then(|n| i64::try_from(n).ok())).collect(),
        ),
    };
    let texts = |name: String, read: &dyn Fn(&Row<'_>) -> Option<String>| Column {
        name,
        values: Values::Text(rows.iter().map(read).collect()),
    };

    let mut measured = vec![
        doubles("simulated".into(), &|row| Some(row.1.simulated)),
        doubles("window".into(), &|row| Some(row.1.window)),
        texts("channel".into(), &|row| row.2.map(|c| c.name.clone())),
        texts("class".into(), &|row| row.2.map(|c| c.class.clone())),
    ];
    for (field, number) in numbers() {
        let value = |row: &Row<'_>| row.2.and_then(|channel| field.number(channel));
        measured.push(match number.counts {
            Some(_) => integers(field.name.into(), &|row| value(row).map(|v| v as u64)),
            None => doubles(field.name.into(), &value),
        });
    }
    for (field, _) in distributions() {
        let count = |row: &Row<'_>| match row.2.map(field.read) {
            Some(Reading::Summary(summary)) => summary.map(|s| s.count),
            _ => None,
        };
        measured.push(integers(format!("{}_count", field.name), &count));
        for statistic in STATISTICS {
            let name = format!("{}_{}", field.name, statistic.name);
            // An empty summary has no numbers.
            let read =
                |row: &Row<'_>| row.2.and_then(|channel| field.summary(channel)).and_then(statistic.read);
            measured.push(doubles(name, &read));
        }
    }
    let channels = || results.runs.iter().flat_map(|run| &run.channels);
    let causes: BTreeSet<&String> = channels().flat_map(|c| c.drops.keys()).collect();
    for cause in causes {
        // A cause that a channel does not list dropped none of its packets.
        let read = |row: &Row<'_>| row.2.map(|c| c.drops.get(cause).copied().unwrap_or(0));
        measured.push(integers(format!("drops_{cause}"), &read));
    }
    let by_run: Vec<BTreeMap<&String, &Resource>> =
        results.runs.iter().map(|run| run.resources.iter().map(|r| (&r.name, r)).collect()).collect();
    for name in &repeated.resources {
        let resource = |row: &Row<'_>| by_run[row.0].get(name);
        measured.push(doubles(format!("utilisation_{name}"), &|row| resource(row).map(|r| r.utilisation)));
        let longest = |row: &Row<'_>| resource(row).and_then(|r| r.longest_queue);
        measured.push(integers(format!("longest_queue_{name}"), &longest));
    }
    for name in &repeated.figures {
        measured.push(doubles(format!("figure_{name}"), &|row| row.1.figures.get(*name).copied()));
    }

    let mut columns = vec![integers("run".into(), &|row| Some(row.0 as u64))];
    let mut taken: BTreeSet<String> = measured.iter().map(|c| c.name.clone()).collect();
    taken.insert("run".into());
    for (i, axis) in results.axes.iter().enumerate() {
        let point = |row: &Row<'_>| row.1.point.get(i).and_then(|p| axis.points.get(*p));
        let name = free_name(&mut taken, axis);
        let text = |row: &Row<'_>| point(row).map(|p| p.text.clone());
        if axis.points.iter().all(|p| p.value.is_some()) {
            columns.push(doubles(name.clone(), &|row| point(row).and_then(|p| p.value)));
            columns.push(texts(format!("{name}_text"), &text));
        } else {
            columns.push(texts(name, &text));
        }
    }
    columns.extend(measured);
    columns
}

/// The columns of a run, with equal values in each of its rows.
struct Repeated<'r> {
    resources: BTreeSet<&'r String>,
    figures: Vec<&'r str>,
    /// There are others.
    left_out: bool,
}

impl<'r> Repeated<'r> {
    /// Per-station values are left out where there are more than 500 of a kind: in a network of a
    /// thousand nodes these columns would be nearly the whole file.
    fn of(results: &'r Results) -> Self {
        const MOST: usize = 500;
        let mut resources: BTreeSet<&String> =
            results.runs.iter().flat_map(|run| run.resources.iter().map(|r| &r.name)).collect();
        let names = results.figure_names();
        let figures: Vec<&str> =
            by_node(&names).filter(|alike| alike.len() <= MOST).flatten().copied().collect();
        let left_out = resources.len() > MOST || figures.len() < names.len();
        if resources.len() > MOST {
            resources.clear();
        }
        Self { resources, figures, left_out }
    }
}

/// A column name for an axis: its own, unless a metric or another axis has that name.
fn free_name(taken: &mut BTreeSet<String>, axis: &Axis) -> String {
    let mut name = axis.name.clone();
    while taken.contains(&name) || taken.contains(&format!("{name}_text")) {
        name = format!("axis_{name}");
    }
    taken.insert(name.clone());
    taken.insert(format!("{name}_text"));
    name
}

fn metadata(results: &Results, left_out: bool) -> Vec<KeyValue> {
    let p = &results.provenance;
    let mut pairs = vec![
        ("laxity.name".to_string(), p.name.clone()),
        ("laxity.title".into(), p.title.clone()),
        ("laxity.about".into(), p.about.clone()),
        ("laxity.seed".into(), p.seed.to_string()),
        ("laxity.percentile_error".into(), p.percentile_error.to_string()),
        ("laxity.file_hash".into(), p.file_hash.clone()),
        ("laxity.version".into(), p.version.clone()),
        ("laxity.clock".into(), p.clock.clone()),
        ("laxity.units".into(), "seconds, bytes, bytes per second".into()),
    ];
    if left_out {
        pairs.push((
            "laxity.left_out".into(),
            "what each of more than 500 stations or resources has, such as utilisation: it is in the JSON"
                .into(),
        ));
    }
    pairs.extend(results.axes.iter().map(|axis| (format!("laxity.axis.{}", axis.name), axis.label.clone())));
    pairs.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect()
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
