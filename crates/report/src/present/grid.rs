//! Results as rows and columns of text, without layout.
//!
//! The terminal and the report print the same grids. A column has one unit; a column without values
//! is left out. Bound and worst measured response stand side by side, and `used` is their quotient:
//! above 100 % a bound is broken, and a reader must not miss that.

use std::collections::{BTreeMap, BTreeSet};

use laxity_world::figures::{by_node, without_node};
use laxity_world::metric::{self, ColumnShown, Kind, Statistic, dropped_messages, is_above, used};
use laxity_world::results::{Channel, Results, Run};

use super::merge::{by_class, tightness};
use super::units::{Format, Readable, fixed};

/// How bad what a row says is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// As promised, or without a promise.
    Plain,
    /// A real-time channel missed deadlines or lost packets.
    Missed,
    /// Admission refused a channel unexpectedly.
    Refused,
    /// Messages within the contract were late or lost unexpectedly.
    Failed,
    /// A measurement exceeds its bound.
    Broken,
}

/// A column's head.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    /// Numbers stand to the right, names to the left.
    pub(crate) numeric: bool,
    /// The order in which columns are dropped for want of width; 0 is never dropped.
    pub(crate) rank: u8,
}

/// A row; the cells of the sweep's axes are the first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    /// Whether it is the first of its sweep point.
    pub(crate) leads: bool,
    pub(crate) mark: Mark,
}

/// Rows and columns of text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// From which on columns say the same of others, if any do: those for which there is no room
    /// may stand below.
    pub(crate) alike: Option<usize>,
}

impl Grid {
    /// The same of some columns.
    pub(crate) fn of(&self, columns: &[usize]) -> Grid {
        let row = |row: &Row| {
            let cells = columns.iter().map(|column| row.cells[*column].clone()).collect();
            Row { cells, ..*row }
        };
        Grid {
            columns: columns.iter().map(|column| self.columns[*column].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
            alike: None,
        }
    }
}

/// The detail that [`channels`] shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// One row per point and class of channels.
    Classes,
    /// One row per point and channel.
    Channels,
    /// The same with all that there is of a channel.
    Everything,
}

/// The source of a column of the channel grid.
struct Field {
    column: metric::ChannelColumn,
    kind: Kind,
    counts: Option<&'static str>,
    of: Of,
}

enum Of {
    Number(&'static metric::Field),
    Statistic(&'static metric::Field, &'static Statistic),
}

impl Field {
    fn read(&self, channel: &Channel) -> Option<f64> {
        if self.column.of_deadlines && channel.deadline.is_none() {
            return None;
        }
        match self.of {
            Of::Number(field) => field.number(channel),
            Of::Statistic(field, statistic) => field.summary(channel).and_then(statistic.read),
        }
    }

    /// Whether the column is shown at this level of detail, given the values of `all` channels.
    fn is_shown<'a>(&self, detail: Detail, mut all: impl Iterator<Item = &'a Channel>) -> bool {
        match self.column.shown {
            ColumnShown::Always => all.any(|channel| self.read(channel).is_some()),
            ColumnShown::InFull if detail != Detail::Everything => false,
            ColumnShown::InFull | ColumnShown::IfAny => {
                all.any(|channel| self.read(channel).is_some_and(|value| value != 0.0))
            }
        }
    }

    /// Whether it is a response time or its bound; those are compared digit by digit.
    fn is_response(&self) -> bool {
        matches!(&self.of, Of::Number(field) if RESPONSES.contains(&field.name))
    }
}

/// Response times and the values that they are compared with.
const RESPONSES: [&str; 4] = ["worst", "worst_found", "bound", "bound_papers"];

/// The cause of packets that were received completely and then dropped.
const PROGRAM_QUEUE: &str = "program_queue";

/// All columns of channels, from the left.
fn fields() -> Vec<Field> {
    let numbers = metric::numbers().map(|(field, number)| Field {
        column: number.column,
        kind: number.kind,
        counts: number.counts,
        of: Of::Number(field),
    });
    let statistics = metric::distributions().flat_map(|(field, distribution)| {
        distribution.columns.iter().filter_map(move |(name, column)| {
            let statistic = metric::statistic(name)?;
            Some(Field {
                column: *column,
                kind: Kind::Time,
                counts: None,
                of: Of::Statistic(field, statistic),
            })
        })
    });
    let mut fields: Vec<Field> = numbers.chain(statistics).collect();
    fields.sort_by_key(|field| field.column.seat);
    fields
}

/// How bad what a channel got is.
pub(crate) fn mark(channel: &Channel) -> Mark {
    let refused = channel.refused.as_ref().is_some_and(|refused| !refused.expected);
    match () {
        () if refused => Mark::Refused,
        () if channel.exceeds() => Mark::Broken,
        () if channel.fails() => Mark::Failed,
        () if misses(channel) => Mark::Missed,
        () => Mark::Plain,
    }
}

/// Whether a message within its contract was late or lost, or a message was late outside the
/// window.
pub(crate) fn misses(channel: &Channel) -> bool {
    let late = channel.missed_packets + channel.missed_messages + channel.late_outside;
    channel.deadline.is_some() && (late > 0 || channel.failed_messages > Some(0))
}

/// The text of `used`.
pub(crate) fn used_text(channel: &Channel) -> String {
    match used(channel) {
        None if channel.refused.is_some() => "refused".into(),
        None => "-".into(),
        Some(share) => share_text(share),
    }
}

/// A share of a bound in per cent: one above 100 % that rounds down to it is marked.
pub(crate) fn share_text(share: f64) -> String {
    match is_above(share, 1.0) && share < 1.0005 {
        true => ">100.0".into(),
        false => fixed(share * 100.0, 1),
    }
}

/// The channels at every point.
pub(crate) fn channels(results: &Results, detail: Detail) -> Grid {
    let shown: Vec<(&Run, Vec<Channel>)> = results
        .runs
        .iter()
        .map(|run| match detail {
            Detail::Classes => (run, by_class(&run.channels)),
            Detail::Channels | Detail::Everything => (run, run.channels.clone()),
        })
        .collect();
    let all = || shown.iter().flat_map(|(_, channels)| channels);
    if all().next().is_none() {
        return Grid::default();
    }
    let fields: Vec<Field> = fields().into_iter().filter(|field| field.is_shown(detail, all())).collect();
    let formats = formats(&fields, &shown);
    let fields: Vec<(Field, Format)> = fields.into_iter().zip(formats).collect();
    let with_used = all().any(|c| used(c).is_some() || c.refused.is_some());
    let with_causes = match detail {
        Detail::Everything => all().any(|c| dropped_messages(c) > 0),
        // A packet that its program's queue had no slot for was received, and is in no other
        // column.
        Detail::Channels | Detail::Classes => all().any(|c| c.drops.get(PROGRAM_QUEUE) > Some(&0)),
    };

    let mut columns = axis_columns(results);
    columns.push(Column { title: "channel".into(), unit: "", numeric: false, rank: 0 });
    columns.extend(fields.iter().map(|(field, format)| Column {
        title: field.column.title.into(),
        unit: field.counts.unwrap_or(format.scale.unit),
        numeric: true,
        rank: field.column.rank,
    }));
    if with_used {
        columns.push(Column { title: "used".into(), unit: "%", numeric: true, rank: 0 });
    }
    if with_causes {
        columns.push(Column { title: "messages dropped".into(), unit: "", numeric: false, rank: 9 });
    }

    let mut rows = Vec::new();
    for (run, channels) in &shown {
        for (i, channel) in channels.iter().enumerate() {
            let mut cells = point_cells(results, run);
            cells.push(channel.name.clone());
            cells.extend(fields.iter().map(|(field, format)| format.cell(field.read(channel))));
            if with_used {
                cells.push(used_text(channel));
            }
            if with_causes {
                cells.push(causes(channel));
            }
            rows.push(Row { cells, leads: i == 0, mark: mark(channel) });
        }
    }
    Grid { columns, rows, alike: None }
}

/// The format of each field. Columns that are compared along a row have one unit: rates share one,
/// and all times have that of the bounds, which a best-effort worst case must not set. Columns that
/// are compared digit by digit have equal decimals.
fn formats(fields: &[Field], shown: &[(&Run, Vec<Channel>)]) -> Vec<Format> {
    let all = || shown.iter().flat_map(|(_, channels)| channels);
    let promised = || all().filter(|c| c.bound.or(c.deadline).is_some());
    let largest = |values: Vec<f64>| values.into_iter().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let of_kind = |kind| fields.iter().filter(move |field| field.kind == kind);
    let rates = of_kind(Kind::Rate).flat_map(|field| all().filter_map(|c| field.read(c))).collect();
    let limits = |c: &Channel| {
        [c.deadline, c.worst, c.worst_found, c.bound, c.bound_papers].into_iter().flatten().collect()
    };
    let limits: Vec<f64> = promised().flat_map(limits as fn(&Channel) -> Vec<f64>).collect();
    let times = match limits.is_empty() {
        false => limits,
        true => {
            of_kind(Kind::Time).flat_map(|field| all().filter_map(|c| field.read(c))).map(f64::abs).collect()
        }
    };
    let (rate, time) = (Kind::Rate.scale(largest(rates)), Kind::Time.scale(largest(times)));
    let compared: Vec<f64> =
        promised().flat_map(|c| [c.worst, c.worst_found, c.bound, c.bound_papers]).flatten().collect();
    let values = |field: &Field| all().filter_map(|c| field.read(c)).collect::<Vec<_>>().into_iter();
    let format = |field: &Field| match field.kind {
        Kind::Time if field.is_response() && !compared.is_empty() => {
            Format::at(Kind::Time, time, compared.iter().copied(), 3)
        }
        Kind::Time => Format::at(Kind::Time, time, values(field), 2),
        Kind::Rate => Format::at(Kind::Rate, rate, values(field), 2),
        kind => Format::of(kind, values(field)),
    };
    fields.iter().map(format).collect()
}

/// The further figures of every point; of those that each of many stations has, the largest.
pub(crate) fn figures(results: &Results) -> Grid {
    let names = results.figure_names();
    let of = |run: usize, name: &str| results.runs[run].figures.get(name).copied();
    let mut told = Vec::new();
    for alike in by_node(&names) {
        let others = |others| format!("most {} of {others} others", without_node(alike[0]));
        told.extend(tell(results, alike, of, others));
    }
    let mut grid = named(results, &told, of, Kind::of_figure);
    for (row, run) in grid.rows.iter_mut().zip(&results.runs) {
        if run.exceeded().any(|one| run.figures.contains_key(&one.of)) {
            row.mark = Mark::Broken;
        }
    }
    grid
}

/// The utilisation of every resource at every point; of a large network that of the busiest, and of
/// the busiest of the others.
pub(crate) fn resources(results: &Results) -> Grid {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    let mut utilisations: Vec<BTreeMap<&str, f64>> = Vec::new();
    for Run { resources, .. } in &results.runs {
        names.extend(resources.iter().map(|r| r.name.as_str()).filter(|name| known.insert(*name)));
        utilisations.push(resources.iter().map(|r| (r.name.as_str(), r.utilisation)).collect());
    }
    let of = |run: usize, name: &str| utilisations[run].get(name).copied();
    let told = tell(results, &names, of, |others| format!("busiest of {others} others"));
    named(results, &told, of, |_| Kind::Share)
}

/// A column's title and the names that it shows the largest value of: one, or all that have no
/// column of their own.
type Told<'n> = (String, Vec<&'n str>);

/// Columns for `names`, which are alike: each has one, or where there are many those that are
/// largest at any point, in their order, and all `others` one.
fn tell<'n>(
    results: &Results,
    names: &[&'n str],
    read: impl Fn(usize, &str) -> Option<f64>,
    others: impl Fn(usize) -> String,
) -> Vec<Told<'n>> {
    const MOST: usize = 24;
    let mut ranked = by_largest(results, names, read).into_iter();
    let shown: BTreeSet<&str> = ranked.by_ref().take(MOST).collect();
    let rest: Vec<&str> = ranked.collect();
    let shown = names.iter().filter(|name| shown.contains(*name));
    let mut told: Vec<Told<'n>> = shown.map(|name| (name.to_string(), vec![*name])).collect();
    if !rest.is_empty() {
        told.push((others(rest.len()), rest));
    }
    told
}

/// `names` in the order of their largest value at any point, the largest first.
pub(super) fn by_largest<'n>(
    results: &Results,
    names: &[&'n str],
    read: impl Fn(usize, &str) -> Option<f64>,
) -> Vec<&'n str> {
    let largest = |name| (0..results.runs.len()).filter_map(|run| read(run, name)).fold(0.0, f64::max);
    let mut ranked: Vec<(f64, &str)> = names.iter().map(|name| (largest(name), *name)).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// One row per point, one column for each title.
fn named(
    results: &Results,
    told: &[Told<'_>],
    read: impl Fn(usize, &str) -> Option<f64>,
    kind: impl Fn(&str) -> Kind,
) -> Grid {
    if told.is_empty() {
        return Grid::default();
    }
    let read = |run, names: &[&str]| names.iter().filter_map(|name| read(run, name)).reduce(f64::max);
    let runs = || 0..results.runs.len();
    let format =
        |(_, names): &Told<'_>| Format::of(kind(names[0]), runs().filter_map(|run| read(run, names)));
    let formats: Vec<Format> = told.iter().map(format).collect();
    let mut columns = axis_columns(results);
    let alike = Some(columns.len());
    columns.extend(told.iter().zip(&formats).map(|((title, _), format)| Column {
        title: title.replace('_', " "),
        unit: format.scale.unit,
        numeric: true,
        rank: 0,
    }));
    let rows = runs().map(|run| {
        let mut cells = point_cells(results, &results.runs[run]);
        cells.extend(told.iter().zip(&formats).map(|((_, names), format)| format.cell(read(run, names))));
        Row { cells, leads: true, mark: Mark::Plain }
    });
    Grid { columns, rows: rows.collect(), alike }
}

/// Every channel at the point of the sweep where it was closest to its bound, in order of
/// appearance; only channels with a bound and a measurement.
pub(crate) fn tightest(results: &Results) -> Vec<(&Run, &Channel)> {
    let mut found: Vec<(&Run, &Channel)> = Vec::new();
    let mut places = BTreeMap::new();
    for run in &results.runs {
        for channel in run.channels.iter().filter(|c| tightness(c) > f64::NEG_INFINITY) {
            let place = *places.entry(promise_of(channel)).or_insert_with(|| {
                found.push((run, channel));
                found.len() - 1
            });
            if tightness(channel) > tightness(found[place].1) {
                found[place] = (run, channel);
            }
        }
    }
    found.sort_by_key(|(_, c)| c.bound.is_none());
    found
}

/// The identity of a channel in a sweep: its name, and whether it has a bound. Points without a
/// bound must not hide that a bound was kept at others.
pub(crate) fn promise_of(channel: &Channel) -> (&str, bool) {
    (&channel.name, channel.bound.is_some())
}

/// The point of a sweep in words, `load = 1200 KiB/s, P = 4`; empty for a single run.
pub(crate) fn point_text(results: &Results, run: &Run) -> String {
    let names = results.axes.iter().map(|axis| axis.name.as_str());
    let parts: Vec<String> =
        names.zip(point_cells(results, run)).map(|(name, text)| format!("{name} = {text}")).collect();
    parts.join(", ")
}

pub(crate) fn axis_columns(results: &Results) -> Vec<Column> {
    let axes = results.axes.iter();
    axes.map(|axis| Column {
        title: axis.name.clone(),
        unit: "",
        numeric: axis.points.iter().all(|p| p.value.is_some()),
        rank: 0,
    })
    .collect()
}

pub(crate) fn point_cells(results: &Results, run: &Run) -> Vec<String> {
    let text = |(i, axis): (usize, &laxity_world::results::Axis)| {
        let point = run.point.get(i).and_then(|p| axis.points.get(*p));
        point.map_or_else(|| "-".into(), |p| p.text.clone())
    };
    results.axes.iter().enumerate().map(text).collect()
}

fn causes(channel: &Channel) -> String {
    let named: Vec<String> = channel
        .drops
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(cause, n)| format!("{} {n}", cause.replace('_', " ")))
        .collect();
    if named.is_empty() { "-".into() } else { named.join(", ") }
}
