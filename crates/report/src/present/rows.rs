//! Results as rows: the table that Parquet, CSV and Arrow hold alike.
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
//! Units are SI: seconds, bytes, bytes per second. Absent values are null. The
//! metadata under `laxity.…` has the provenance and each axis's label.

use std::collections::{BTreeMap, BTreeSet};

use laxity_world::figures::by_node;
use laxity_world::metric::{STATISTICS, distributions, numbers};
use laxity_world::results::{Axis, Channel, FieldReading, ResourceResults, Results, Run};

/// A table of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The columns, all of one length.
    pub columns: Vec<Column>,
    /// Provenance of the results and labels of the axes, by key.
    pub metadata: Vec<(String, String)>,
}

/// A column and the values of all its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name; no two columns of a table have the same.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The values of a column, of one type; `None` is null.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Doubles in SI units.
    Double(Vec<Option<f64>>),
    /// Counts.
    Integer(Vec<Option<i64>>),
}

/// One row: a run and, unless the run has none, one of its channels.
type Row<'a> = (usize, &'a Run, Option<&'a Channel>);

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Double(values) => values.len(),
            Values::Integer(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Rows {
    /// The rows of `results`.
    pub fn of(results: &Results) -> Rows {
        let repeated = Repeated::of(results);
        Rows { columns: columns(results, &repeated), metadata: metadata(results, repeated.left_out) }
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
            Some(FieldReading::Summary(summary)) => summary.map(|s| s.count),
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
    let by_run: Vec<BTreeMap<&String, &ResourceResults>> =
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

fn metadata(results: &Results, left_out: bool) -> Vec<(String, String)> {
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
    pairs
}
