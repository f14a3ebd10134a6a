//! What stages of adapters did, and how well real time was kept, as rows and columns of text.

use super::grid::{Column, Grid, Mark, Row, axis_columns, point_cells};
use super::units::{Format, Kind};
use crate::results::{RealTime, Results, Run, Stage, Summary};

/// What fills a column: title, kind, rank, reading.
struct Field<T>(&'static str, Kind, u8, fn(&T) -> Option<f64>);

/// The rows of a run, each with its name if it has one.
type Rows<T> = Vec<(Option<String>, T)>;

fn of(summary: &Option<Summary>, read: fn(&Summary) -> f64) -> Option<f64> {
    summary.as_ref().filter(|summary| summary.count > 0).map(read)
}

const STAGES: &[Field<Stage>] = &[
    Field("packets", Kind::Count, 2, |s| Some(s.packets as f64)),
    Field("utilisation", Kind::Share, 0, |s| Some(s.utilisation)),
    Field("longest queue", Kind::Count, 0, |s| Some(s.longest_queue as f64)),
    Field("waited mean", Kind::Time, 0, |s| of(&s.waited, |w| w.mean)),
    Field("p99", Kind::Time, 1, |s| of(&s.waited, |w| w.p99)),
    Field("max", Kind::Time, 0, |s| of(&s.waited, |w| w.max)),
    Field("served mean", Kind::Time, 0, |s| of(&s.served, |w| w.mean)),
    Field("p99", Kind::Time, 4, |s| of(&s.served, |w| w.p99)),
    Field("max", Kind::Time, 3, |s| of(&s.served, |w| w.max)),
];

const REAL_TIME: &[Field<RealTime>] = &[
    Field("events", Kind::Count, 2, |r| Some(r.events as f64)),
    Field("inputs", Kind::Count, 2, |r| Some(r.inputs as f64)),
    Field("late median", Kind::Time, 0, |r| Some(r.late_p50)),
    Field("p99", Kind::Time, 1, |r| Some(r.late_p99)),
    Field("p99.9", Kind::Time, 0, |r| Some(r.late_p999)),
    Field("max", Kind::Time, 0, |r| Some(r.late_max)),
    Field("behind", Kind::Count, 0, |r| Some(r.behind as f64)),
    Field("stalled", Kind::Count, 0, |r| Some(r.stalled as f64)),
    Field("stalls total", Kind::Time, 0, |r| Some(r.stall_total)),
    Field("longest stall", Kind::Time, 0, |r| Some(r.stall_longest)),
];

/// The stages of described adapters, at every point.
pub(crate) fn stages(results: &Results) -> Grid {
    let rows = |run: &Run| run.stages.iter().map(|stage| (Some(stage.name.clone()), stage.clone())).collect();
    grid(results, STAGES, Some("stage"), rows)
}

/// How well the clock was kept, at every point that ran in real time.
///
/// *behind* counts events that were late because the machine is too slow for what is emulated, *stalled* those that
/// were late because the platform stood still.
pub(crate) fn real_time(results: &Results) -> Grid {
    let rows = |run: &Run| run.real_time.iter().map(|real| (None, real.clone())).collect();
    grid(results, REAL_TIME, None, rows)
}

fn grid<T>(
    results: &Results,
    fields: &[Field<T>],
    name: Option<&str>,
    rows: impl Fn(&Run) -> Rows<T>,
) -> Grid {
    let found: Vec<(&Run, Rows<T>)> = results.runs.iter().map(|run| (run, rows(run))).collect();
    let all = || found.iter().flat_map(|(_, rows)| rows).map(|(_, row)| row);
    if all().next().is_none() {
        return Grid::default();
    }
    let formats: Vec<Format> =
        fields.iter().map(|field| Format::of(field.1, all().filter_map(field.3))).collect();
    let mut columns = axis_columns(results);
    columns.extend(name.map(|name| Column { title: name.into(), unit: "", numeric: false, rank: 0 }));
    columns.extend(fields.iter().zip(&formats).map(|(field, format)| Column {
        title: field.0.into(),
        unit: format.scale.unit,
        numeric: true,
        rank: field.2,
    }));
    let mut lines = Vec::new();
    for (run, rows) in &found {
        for (i, (name, row)) in rows.iter().enumerate() {
            let mut cells = point_cells(results, run);
            cells.extend(name.clone());
            cells.extend(fields.iter().zip(&formats).map(|(field, format)| format.cell((field.3)(row))));
            lines.push(Row { cells, leads: i == 0, mark: Mark::Plain });
        }
    }
    Grid { columns, rows: lines }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn only_what_ran_in_real_time_and_had_stages_has_rows() {
        let mut results = sample::sweep();
        for run in &mut results.runs {
            (run.stages, run.real_time) = (Vec::new(), None);
        }
        assert_eq!((stages(&results), real_time(&results)), (Grid::default(), Grid::default()));
        let run = &mut results.runs[1];
        let waited = Summary { count: 3, mean: 2e-6, p99: 4e-6, max: 5e-6, ..Summary::default() };
        let wire = Stage { name: "wire".into(), packets: 3, waited: Some(waited), ..Stage::default() };
        run.stages = vec![wire, Stage { name: "dma".into(), ..Stage::default() }];
        run.real_time = Some(RealTime { events: 9, late_p50: 1.2e-8, late_max: 3e-3, ..RealTime::default() });
        let (stages, real) = (stages(&results), real_time(&results));
        assert_eq!((stages.rows.len(), real.rows.len()), (2, 1));
        assert!(stages.rows.iter().chain(&real.rows).all(|row| !row.cells.is_empty()));
        for grid in [&stages, &real] {
            assert!(grid.rows.iter().all(|row| row.cells.len() == grid.columns.len()));
        }
        assert!(stages.rows[0].cells.contains(&"wire".to_string()));
        let waited = stages.columns.iter().position(|column| column.title == "waited mean").unwrap();
        assert_eq!((stages.columns[waited].unit, stages.rows[1].cells[waited].as_str()), ("us", "-"));
    }
}
