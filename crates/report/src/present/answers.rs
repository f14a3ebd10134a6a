//! The answers of nodes to programs: what was promised when, and what failed.

use laxity_world::metric::Kind;
use laxity_world::results::{NodeAnswer, Results, Run};

use super::grid::{Column, Grid, Mark, Row, axis_columns, point_cells};
use super::units::Format;

/// The answers of every point, in the order of time; the first `most` of each.
pub(crate) fn answers(results: &Results, most: usize) -> Grid {
    let all = || results.runs.iter().flat_map(|run| run.answers.iter().take(most));
    if all().next().is_none() {
        return Grid::default();
    }
    let at = Format::of(Kind::Time, all().map(|answer| answer.at));
    let took = Format::of(Kind::Time, all().filter_map(|answer| answer.took));
    let text = |title: &str, rank| Column { title: title.into(), unit: "", numeric: false, rank };
    let time = |title: &str, format: &Format, rank| Column {
        title: title.into(),
        unit: format.scale.unit,
        numeric: true,
        rank,
    };
    let mut columns = axis_columns(results);
    columns.extend([time("at", &at, 0), text("channel", 0), text("answer", 0), text("detail", 2)]);
    columns.push(time("took", &took, 1));
    let row = |run: &Run, number: usize, answer: &NodeAnswer| {
        let mut cells = point_cells(results, run);
        let NodeAnswer { at: when, channel, answer, detail, took: since } = answer;
        cells.extend([
            at.cell(Some(*when)),
            channel.clone(),
            answer.clone(),
            detail.clone(),
            took.cell(*since),
        ]);
        Row { cells, leads: number == 0, mark: Mark::Plain }
    };
    let of_run = |run: &Run| {
        let first = run.answers.iter().take(most).enumerate();
        first.map(|(number, answer)| row(run, number, answer)).collect::<Vec<_>>()
    };
    Grid { columns, rows: results.runs.iter().flat_map(of_run).collect(), alike: None }
}
