//! An answer as JSON. Times are in seconds.

use laxity_admission::Term;
use laxity_scenario::{PointIndex, Scenario};
use laxity_world::experiment::Experiment;
use laxity_world::promise::{self, Hop, Promise, Promises};
use serde_json::{Value, json};

use super::rows::Row;
use super::{Answer, View, place};

/// All `answers`, each with the points that share it.
pub(super) fn points(scenario: &Scenario, answers: &[(Answer, Vec<PointIndex>)], view: &View<'_>) -> String {
    let answer = |(answer, points): &(Answer, Vec<PointIndex>)| {
        let experiment = scenario.experiment(&points[0]);
        let points: Vec<String> = points.iter().map(|point| scenario.describe(point)).collect();
        let formula = experiment.admission.formula;
        let promises = formula.map(|formula| promise::promises(&experiment, formula));
        let (channels, reason) = match promises {
            Some(Ok(promises)) => (channels(&experiment, &promises, view), None),
            Some(Err(why)) => (Vec::new(), Some(why.0)),
            None => (Vec::new(), Some("admission is off")),
        };
        json!({ "points": points, "exit": answer.exit.code(), "not_analysed": reason, "channels": channels })
    };
    let all: Vec<Value> = answers.iter().map(answer).collect();
    serde_json::to_string_pretty(&json!({ "answers": all })).expect("JSON is text")
}

fn channels(experiment: &Experiment, promises: &Promises, view: &View<'_>) -> Vec<Value> {
    let shown = experiment.channels.iter().enumerate().filter(|(_, channel)| view.shows(&channel.name));
    let of = |(i, channel): (usize, &laxity_world::experiment::ChannelSpec)| {
        let Some(row) = Row::of(experiment, promises, i) else {
            return json!({ "name": channel.name, "verdict": "best effort" });
        };
        let promise = &promises.channels[i];
        let hops = promise.hops();
        let reason = match promise {
            Promise::Refused(refused) => Some(refused.in_words(experiment)),
            Promise::Unreceived(refusal) => Some(refusal.missing.to_string()),
            Promise::Unconnected(reason) => Some(reason.clone()),
            Promise::Unbounded(why, _) => Some(why.0.to_string()),
            _ => None,
        };
        json!({
            "name": channel.name,
            "verdict": row.verdict,
            "asked": row.asked.map(|span| span.as_secs_f64()),
            "bound": row.bound.map(|span| span.as_secs_f64()),
            "margin": row.margin(),
            "station": row.station,
            "reason": reason,
            "hops": (0..hops.len()).map(|hop| self::hop(experiment, hops, hop)).collect::<Vec<_>>(),
        })
    };
    shown.map(of).collect()
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
        "local_deadline": hop.local_deadline.as_secs_f64(),
        "to_next": hop.way.as_secs_f64(),
        "waiting": terms(hop.wait.terms()),
        "message": terms(hop.service.terms()),
        "others": hop.bound.higher.as_secs_f64(),
        "above_handlers": hop.bound.interference.as_secs_f64(),
        "head_start": hop.bound.head_start.as_secs_f64(),
        "backlog": hop.backlog,
    })
}
