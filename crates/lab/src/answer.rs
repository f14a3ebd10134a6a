//! Admission's answer to each channel of an experiment, as plain values for tables and programs.
//!
//! Times in JSON are in seconds.

use laxity_admission::Term;
use laxity_units::Span;
use laxity_world::experiment::{ChannelSpec, Experiment};
use laxity_world::promise::{self, Hop, Promise, Promises, Refused, Uncovered};
use serde_json::{Value, json};

/// The answer to a channel that asks for a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    /// The verdict in a word or two: `admitted`, `refused`, `not analysed`.
    pub verdict: &'static str,
    /// The deadline that it asks for, from end to end.
    pub asked: Option<Span>,
    /// Its delay bound, from end to end.
    pub bound: Option<Span>,
    /// The refusing station, or the one with the bound closest to its local deadline.
    pub station: Option<String>,
}

impl AnswerRow {
    /// The answer to channel `i`; none for best effort.
    pub fn of(experiment: &Experiment, promises: &Promises, i: usize) -> Option<AnswerRow> {
        let promise = &promises.channels[i];
        let bound = promise.end_to_end_bound();
        let station = match promise {
            Promise::BestEffort => return None,
            Promise::Refused(Refused { node, .. }) => Some(experiment.place(*node)),
            Promise::Admitted(hops) => least_margin(experiment, hops),
            _ => None,
        };
        Some(AnswerRow { verdict: promise.verdict(), asked: experiment.channels[i].deadline, bound, station })
    }

    /// The margin: deadline minus bound, in seconds.
    pub fn margin(&self) -> Option<f64> {
        let (asked, bound) = (self.asked?, self.bound?);
        Some(match asked >= bound {
            true => (asked - bound).as_secs_f64(),
            false => -(bound - asked).as_secs_f64(),
        })
    }
}

/// The hop with the least difference between the deadline there and the bound there.
fn least_margin(experiment: &Experiment, hops: &[Hop]) -> Option<String> {
    let margin = |i: &usize| hops[*i].bound.deadline.saturating_sub(hops[*i].bound.bound);
    (0..hops.len()).min_by_key(margin).map(|i| place(experiment, hops, i))
}

/// The station of hop `i`, with the number of its visit if the channel has been there before.
pub fn place(experiment: &Experiment, hops: &[Hop], i: usize) -> String {
    let place = experiment.place(hops[i].node);
    match hops[..i].iter().filter(|before| before.node == hops[i].node).count() {
        0 => place,
        before => format!("{place}, time {}", before + 1),
    }
}

/// The answers to the channels of `experiment` for which `shows` holds, and why there are none if
/// no analysis covers it or admission is off.
pub fn channels(experiment: &Experiment, shows: impl Fn(&str) -> bool) -> (Vec<Value>, Option<&'static str>) {
    let Some(formula) = experiment.admission.formula else { return (Vec::new(), Some("admission is off")) };
    let promises = match promise::promises(experiment, formula) {
        Ok(promises) => promises,
        Err(uncovered) => return (Vec::new(), Some(uncovered.sentence())),
    };
    let shown = experiment.channels.iter().enumerate().filter(|(_, channel)| shows(&channel.name));
    (shown.map(|(i, channel)| self::channel(experiment, channel, &promises, i)).collect(), None)
}

fn channel(experiment: &Experiment, channel: &ChannelSpec, promises: &Promises, i: usize) -> Value {
    let Some(row) = AnswerRow::of(experiment, promises, i) else {
        return json!({ "name": channel.name, "verdict": "best effort" });
    };
    let promise = &promises.channels[i];
    let hops = promise.hops();
    let uncovered = promise.uncovered();
    json!({
        "name": channel.name,
        "verdict": row.verdict,
        "asked": row.asked.map(|span| span.as_secs_f64()),
        "bound": row.bound.map(|span| span.as_secs_f64()),
        "margin": row.margin(),
        "station": row.station,
        "reason": promise.unbounded(experiment, i),
        "code": uncovered.map(Uncovered::code),
        "key": uncovered.map(Uncovered::key),
        "hops": (0..hops.len()).map(|hop| self::hop(experiment, hops, hop)).collect::<Vec<_>>(),
    })
}

fn hop(experiment: &Experiment, hops: &[Hop], i: usize) -> Value {
    let hop = &hops[i];
    let terms = |terms: &[Term]| -> Vec<Value> {
        terms.iter().map(|term| json!({ "name": term.name, "time": term.cost.as_secs_f64() })).collect()
    };
    json!({
        "station": place(experiment, hops, i),
        "asked": hop.bound.deadline.as_secs_f64(),
        "bound": hop.bound.bound.as_secs_f64(),
        "kept": hop.kept.as_secs_f64(),
        "local_deadline": hop.local_deadline.as_secs_f64(),
        "to_next": hop.way.as_secs_f64(),
        "waiting": terms(hop.wait.terms()),
        "message": terms(hop.service.terms()),
        "others": hop.bound.higher.as_secs_f64(),
        "above_handlers": hop.bound.interference.as_secs_f64(),
        "head_start": hop.bound.head_start.as_secs_f64(),
        "backlog": hop.backlog,
        "slots_needed": hop.room.map(|room| room.slots),
        "buffers_needed": hop.room.and_then(|room| room.buffers),
    })
}
