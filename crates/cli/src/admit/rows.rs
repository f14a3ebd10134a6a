//! The table of an answer: a row for each channel that asks for a bound.

use laxity_lab::answer::AnswerRow;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::Promises;
use laxity_world::text::clean;

use super::{View, in_microseconds};
use crate::columns;

/// The rows of the channels that `view` shows, with a heading.
pub(super) fn table(experiment: &Experiment, promises: &Promises, view: &View<'_>) -> String {
    let heading = ["channel", "", "asked", "bound", "margin", "least margin at"].map(String::from);
    let mut rows = vec![heading];
    for (i, channel) in
        experiment.channels.iter().enumerate().filter(|(_, channel)| view.shows(&channel.name))
    {
        let Some(row) = AnswerRow::of(experiment, promises, i) else { continue };
        let time = |span: Option<Span>| span.map_or("-".into(), in_microseconds);
        rows.push([
            clean(&channel.name),
            row.verdict.into(),
            time(row.asked),
            time(row.bound),
            margin(row.asked, row.bound),
            clean(&row.station.unwrap_or_else(|| "-".into())),
        ]);
    }
    if rows.len() == 1 {
        return "no channel asks for a bound\n".into();
    }
    columns::lines(&rows, [false, false, true, true, true, false]).map(|line| line + "\n").collect()
}

/// The time between a bound and what is asked for, rounded down as margins are.
pub(super) fn margin(asked: Option<Span>, bound: Option<Span>) -> String {
    match asked.zip(bound) {
        Some((asked, bound)) if asked < bound => format!("-{}", in_microseconds(bound - asked)),
        Some((asked, bound)) => in_microseconds(Span::from_ps((asked - bound).as_ps() / 100_000 * 100_000)),
        None => "-".into(),
    }
}
