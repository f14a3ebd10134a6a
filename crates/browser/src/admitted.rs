//! Results of admission: the bound of each channel with its terms, or the reason for its refusal.

use laxity_admission::{Bound, Breakdown, Formula, Term};
use laxity_qos::discipline::Class;
use laxity_units::Span;
use laxity_world::experiment::{Experiment, RefusalEffect, Task};
use laxity_world::promise::{self, Advice, Hop, Promise};
use serde_json::{Value, json};

/// Results of admission for all channels of `experiment`, in its order.
///
/// `not_analysed` is the reason where no channel has a bound. With `advice` a refused channel has
/// the deadline, the interval or the buffers with which it would be admitted.
pub(crate) fn admission(experiment: &Experiment, advice: bool) -> Value {
    let none = |reason: &str| {
        let channels = experiment.channels.iter().map(|channel| {
            let verdict = if experiment.asks_for_bound(channel) { "not analysed" } else { "best effort" };
            json!({ "name": channel.name, "verdict": verdict })
        });
        json!({ "not_analysed": reason, "channels": channels.collect::<Vec<_>>() })
    };
    let Some(formula) = experiment.admission.formula else {
        return none("admission is off: every channel is accepted, without a bound");
    };
    if let Task::Fill(_) = experiment.task {
        return none("this scenario counts copies of a channel that a host admits");
    }
    let promises = match promise::promises(experiment, formula) {
        Ok(promises) => promises,
        Err(uncovered) => return none(uncovered.sentence()),
    };
    let mut advised = Advice::of(experiment, formula);
    let advised = advice.then_some(&mut advised);
    let channels = channels(experiment, &promises.channels, advised);
    json!({ "not_analysed": null, "formula": words(promises.formula), "channels": channels })
}

fn words(formula: Formula) -> String {
    format!("{formula:?}").to_lowercase()
}

fn channels(
    experiment: &Experiment,
    promises: &[Promise],
    mut advice: Option<&mut Advice<'_>>,
) -> Vec<Value> {
    let of = |(i, promise): (usize, &Promise)| {
        let channel = &experiment.channels[i];
        let verdict = match promise {
            Promise::BestEffort if channel.class != Class::BestEffort => "no deadline",
            promise => promise.verdict(),
        };
        let reason = promise.unbounded(experiment, i);
        let terms = terms(experiment, promise);
        let mut row = json!({
            "name": channel.name,
            "verdict": verdict,
            "deadline": channel.deadline.map(seconds),
            "bound": promise.end_to_end_bound().map(seconds),
            "reason": reason,
            "expected": channel.refusal == RefusalEffect::Expected,
            "terms": terms,
        });
        if let (true, Some(advice)) = (promise.is_refused(), advice.as_deref_mut()) {
            advise(&mut row, experiment, &advice.fit(i, promise));
        }
        row
    };
    promises.iter().enumerate().map(of).collect()
}

/// Puts into `row` with what the channel would be admitted, and the largest term there.
fn advise(row: &mut Value, experiment: &Experiment, fit: &promise::Fit) {
    let shortfall = &fit.shortfall;
    let station = shortfall.station.map(|station| experiment.place(station));
    row["largest"] = json!(
        shortfall
            .largest
            .map(|term| { json!({ "name": term.name, "time": seconds(term.cost), "station": station }) })
    );
    row["admissible"] = json!(shortfall.proposed.map(|span| span.to_string()));
    row["jitter"] = json!(shortfall.jitter.map(|span| span.to_string()));
    row["unanalysed"] = json!(fit.unanalysed.map(|why| why.to_string()));
    row["slots"] = json!(shortfall.slots);
    row["packet_slots"] = json!(shortfall.packet_slots);
    row["interval"] = json!(fit.interval.map(|(interval, deadline)| {
        json!({ "interval": interval.to_string(), "deadline": deadline.map(|span| span.to_string()) })
    }));
    let room = fit.room.iter();
    row["room"] = room.map(|room| json!({ "key": room.key, "has": room.has, "least": room.least })).collect();
}

/// The terms of a bound, station by station; `time` of a station is its part of the bound.
fn terms(experiment: &Experiment, promise: &Promise) -> Vec<Value> {
    if let Promise::Received(received) = promise {
        let terms: Vec<Value> = received.terms.iter().map(term).collect();
        return vec![json!({ "station": null, "time": seconds(received.bound), "terms": terms })];
    }
    let hops = promise.hops();
    let of = |hop: &Hop| {
        json!({
            "station": (hops.len() > 1).then(|| experiment.place(hop.node)),
            "time": seconds(hop.kept),
            "way": seconds(hop.way),
            "backlog": hop.backlog_bound(),
            "terms": parts(&hop.wait, &hop.service, &hop.bound),
        })
    };
    hops.iter().map(of).collect()
}

fn parts(wait: &Breakdown, service: &Breakdown, bound: &Bound) -> Vec<Value> {
    let others = [
        Term { name: "messages of channels above", cost: bound.higher },
        Term { name: "work above all handlers", cost: bound.interference },
    ];
    let all = wait.terms().iter().chain(service.terms()).chain(&others);
    all.filter(|term| !term.cost.is_zero()).map(term).collect()
}

fn term(term: &Term) -> Value {
    json!({ "name": term.name, "time": seconds(term.cost) })
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}
