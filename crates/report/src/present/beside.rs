//! The most important rows of the report: each worst case beside its bound.

use std::collections::BTreeMap;

use laxity_world::metric::Kind;
use laxity_world::results::{Channel, DELAYS, Judged, Results, Run};
use serde::Serialize;

use super::grid::{self, Mark};
use super::merge;
use super::units::{Format, Readable, fixed, typeset};

/// A channel at its tightest point.
#[derive(Serialize)]
pub(super) struct ChannelRow {
    pub(super) channel: String,
    pub(super) class: String,
    pub(super) point: String,
    pub(super) deadline: String,
    pub(super) bound: String,
    pub(super) papers: String,
    pub(super) worst: String,
    pub(super) found: String,
    pub(super) used: String,
    pub(super) laxity: String,
    /// The share of messages by their deadline, at the point where it is least.
    pub(super) on_time: String,
    /// `kept`, `missed` or `broken`.
    pub(super) state: &'static str,
    /// Positions on the bar, per cent of its length.
    pub(super) filled: String,
    pub(super) bound_at: Option<String>,
    pub(super) deadline_at: Option<String>,
}

/// The extremes of a channel over all points of a sweep.
#[derive(Default, Clone, Copy)]
struct Anywhere {
    missed: bool,
    failed: bool,
    /// The least.
    laxity: Option<f64>,
    /// The least.
    on_time: Option<f64>,
}

/// In place of a value that is not there.
pub(super) const NONE: &str = "–";

/// The worst case that goes with the end-to-end bound.
fn worst(channel: &Channel) -> Option<f64> {
    match channel.bound.is_some() && channel.delivery_bound.is_none() {
        true => channel.worst,
        false => channel.delivery_worst.or(channel.worst),
    }
}

/// The worst that an attack found, likewise.
fn found(channel: &Channel) -> Option<f64> {
    channel.delivery_found.or(channel.worst_found.filter(|_| channel.delivery_bound.is_none()))
}

/// The place of `value` on a bar that ends at `whole`, per cent.
fn position(value: f64, whole: f64) -> String {
    fixed(if whole > 0.0 { value / whole * 100.0 } else { 0.0 }, 2)
}

/// The channels, and the one unit of their times.
pub(super) fn channels(results: &Results) -> (Vec<ChannelRow>, String) {
    let tightest = grid::tightest(results);
    let compared = |c: &Channel| [c.deadline, c.end_to_end_bound(), c.bound_papers, worst(c), found(c)];
    let limits: Vec<f64> = tightest.iter().flat_map(|(_, c)| compared(c)).flatten().collect();
    let scale = Kind::Time.scale(limits.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max));
    let limit = Format::at(Kind::Time, scale, limits.into_iter(), 3);
    // Missed anywhere in the sweep, not only at the point where the bound was closest; the least
    // laxity likewise.
    let mut anywhere: BTreeMap<_, Anywhere> = BTreeMap::new();
    for channel in results.runs.iter().flat_map(|run| &run.channels) {
        let Anywhere { missed, failed, laxity, on_time } =
            anywhere.entry(grid::promise_of(channel)).or_default();
        *missed |= grid::misses(channel);
        *failed |= channel.fails();
        *on_time = [*on_time, channel.on_time].into_iter().flatten().reduce(f64::min);
        let least = channel.laxity.as_ref().filter(|summary| summary.count > 0).map(|summary| summary.min);
        *laxity = [*laxity, least].into_iter().flatten().reduce(f64::min);
    }
    let row = |(run, channel): (&Run, &Channel)| {
        let Anywhere { missed, failed, laxity, on_time } = anywhere[&grid::promise_of(channel)];
        let time = |value: Option<f64>| match value {
            None => NONE.into(),
            value => typeset(&limit.cell(value)),
        };
        let (worst, bound) = (worst(channel), channel.end_to_end_bound());
        let limits = [bound, channel.deadline, worst];
        let whole = limits.into_iter().flatten().filter(|v| v.is_finite()).fold(0.0, f64::max);
        // A row is about one end of the path: values to the last transmission are left out of a row to
        // delivery.
        let to_last = |value: Option<f64>| value.filter(|_| channel.delivery_bound.is_none());
        let shown = Channel { worst, bound, ..channel.clone() };
        let at = |value: f64| position(value, whole);
        ChannelRow {
            channel: channel.name.clone(),
            class: merge::class_name(&channel.class),
            point: grid::point_text(results, run),
            deadline: time(channel.deadline),
            bound: time(bound),
            papers: time(to_last(channel.bound_papers)),
            worst: time(worst),
            found: time(found(channel)),
            used: match grid::used_text(&shown).as_str() {
                "-" => NONE.into(),
                used => format!("{used}\u{a0}%"),
            },
            laxity: time(laxity),
            on_time: on_time.map_or(NONE.into(), |share| typeset(&Kind::Share.quantity(share))),
            state: match grid::mark(channel) {
                Mark::Broken => "broken",
                _ if failed => "broken",
                _ if missed => "missed",
                _ => "kept",
            },
            filled: at(worst.unwrap_or(0.0)),
            bound_at: bound.map(at),
            deadline_at: channel.deadline.map(at),
        }
    };
    (tightest.into_iter().map(row).collect(), typeset(scale.unit))
}

/// A bound on another quantity, at the point where its measurement came closest to it.
#[derive(Serialize)]
pub(super) struct FurtherRow {
    of: String,
    what: &'static str,
    point: String,
    worst: String,
    bound: String,
    used: String,
    /// `kept` or `broken`.
    pub(super) state: &'static str,
    /// Positions on the bar, per cent of its length.
    filled: String,
    bound_at: String,
}

/// Exchanges and rounds, jitter, answers of nodes and budgets. The numbers of packets and frames are in
/// the tables, for the size of a buffer.
pub(super) fn further(results: &Results) -> Vec<FurtherRow> {
    let mut found: Vec<(&Run, &str, Judged)> = Vec::new();
    let mut places = BTreeMap::new();
    for run in &results.runs {
        let has_row = |judged: &Judged| judged.kind == Kind::Count || DELAYS.contains(&judged.what);
        for (of, judged) in run.judged().filter(|(_, judged)| !has_row(judged)) {
            let place = *places.entry((of, judged.what)).or_insert_with(|| {
                found.push((run, of, judged));
                found.len() - 1
            });
            if judged.share() > found[place].2.share() {
                found[place] = (run, of, judged);
            }
        }
    }
    let row = |(run, of, judged): (&Run, &str, Judged)| {
        let Judged { what, kind, measured, bound } = judged;
        let whole = measured.max(bound);
        FurtherRow {
            of: of.into(),
            what,
            point: grid::point_text(results, run),
            worst: typeset(&kind.quantity(measured)),
            bound: typeset(&kind.quantity(bound)),
            used: format!("{}\u{a0}%", grid::share_text(judged.share())),
            state: if judged.is_exceeded() { "broken" } else { "kept" },
            filled: position(measured, whole),
            bound_at: position(bound, whole),
        }
    };
    found.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// Of two points the one that is closer to its bound is shown, and a bound that was exceeded is
    /// broken.
    #[test]
    fn an_exchange_is_beside_its_bound() {
        let mut results = sample::sweep();
        assert!(further(&results).is_empty(), "delays have rows of their own");
        for (run, worst) in results.runs.iter_mut().zip([0.002, 0.003, 0.001]) {
            let channel = &mut run.channels[0];
            (channel.response_worst, channel.response_bound) = (Some(worst), Some(0.004));
            (channel.round_mean, channel.round_bound) = (Some(0.005), Some(0.004));
        }
        let rows = further(&results);
        let shown = |row: &FurtherRow| (row.what, row.used.clone(), row.state, row.filled.clone());
        assert_eq!(
            rows.iter().map(shown).collect::<Vec<_>>(),
            [
                ("time of an exchange", "75.0\u{a0}%".into(), "kept", "75.00".into()),
                ("mean time of a round", "125.0\u{a0}%".into(), "broken", "100.00".into()),
            ]
        );
        assert_eq!(rows[0].point, grid::point_text(&results, &results.runs[1]));
    }
}
