//! The table of an answer: a row for each channel that asks for a bound.

use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{Hop, Promise, Promises, Refused};
use laxity_world::text::clean;

use super::{View, in_microseconds, place};

/// A row of the table: one channel.
pub(super) struct Row {
    /// The verdict in a word or two.
    pub(super) verdict: &'static str,
    /// The deadline that it asks for, from end to end.
    pub(super) asked: Option<Span>,
    /// Its delay bound, from end to end.
    pub(super) bound: Option<Span>,
    /// The refusing station, or the one with the bound closest to its local deadline.
    pub(super) station: Option<String>,
}

impl Row {
    /// That of channel `i`; none for best effort.
    pub(super) fn of(experiment: &Experiment, promises: &Promises, i: usize) -> Option<Row> {
        let promise = &promises.channels[i];
        let bound = promise.end_to_end_bound();
        let (verdict, station) = match promise {
            Promise::BestEffort => return None,
            Promise::Refused(Refused { node, .. }) => ("refused", Some(experiment.place(*node))),
            Promise::Unreceived(_) | Promise::Unconnected(_) => ("refused", None),
            Promise::Unbounded(..) => ("not analysed", None),
            Promise::Admitted(hops) => ("admitted", least_margin(experiment, hops)),
            Promise::Received(_) | Promise::Connected(_) => ("admitted", None),
        };
        Some(Row { verdict, asked: experiment.channels[i].deadline, bound, station })
    }

    /// The margin: deadline minus bound, in seconds.
    pub(super) fn margin(&self) -> Option<f64> {
        let (asked, bound) = (self.asked?, self.bound?);
        Some(match asked >= bound {
            true => (asked - bound).as_secs_f64(),
            false => -(bound - asked).as_secs_f64(),
        })
    }
}

/// The hop with the least difference between what was asked for there and the bound there.
fn least_margin(experiment: &Experiment, hops: &[Hop]) -> Option<String> {
    let margin = |i: &usize| hops[*i].bound.deadline.saturating_sub(hops[*i].bound.bound);
    (0..hops.len()).min_by_key(margin).map(|i| place(experiment, hops, i))
}

/// The rows of the channels that `view` shows, with a heading.
pub(super) fn table(experiment: &Experiment, promises: &Promises, view: &View<'_>) -> String {
    let heading = ["channel", "", "asked", "bound", "margin", "least margin at"].map(String::from);
    let mut rows = vec![heading];
    for (i, channel) in
        experiment.channels.iter().enumerate().filter(|(_, channel)| view.shows(&channel.name))
    {
        let Some(row) = Row::of(experiment, promises, i) else { continue };
        let time = |span: Option<Span>| span.map_or("-".into(), in_microseconds);
        let margin = match row.asked.zip(row.bound) {
            Some((asked, bound)) if asked < bound => format!("-{}", in_microseconds(bound - asked)),
            // Rounded down, as margins are.
            Some((asked, bound)) => {
                in_microseconds(Span::from_ps((asked - bound).as_ps() / 100_000 * 100_000))
            }
            None => "-".into(),
        };
        rows.push([
            clean(&channel.name),
            row.verdict.into(),
            time(row.asked),
            time(row.bound),
            margin,
            clean(&row.station.unwrap_or_else(|| "-".into())),
        ]);
    }
    if rows.len() == 1 {
        return "no channel asks for a bound\n".into();
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(width);
    let line = |[channel, verdict, asked, bound, margin, station]: &[String; 6]| {
        format!("{channel:<a$}  {verdict:<b$}  {asked:>c$}  {bound:>d$}  {margin:>e$}  {station}\n")
    };
    rows.iter().map(line).collect()
}
