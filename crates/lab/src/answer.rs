//! Admission's answer to each channel of an experiment, as plain values for tables and programs.
//!
//! Times in JSON are in seconds.

use std::collections::BTreeSet;

use laxity_admission::Term;
use laxity_qos::discipline::Class;
use laxity_units::Span;
use laxity_world::experiment::{ChannelSpec, Experiment};
use laxity_world::promise::{self, ExchangeBounds, Hop, Promise, Promises, Refused, Uncovered};
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

/// All answers, each as a value.
#[derive(Debug, Default)]
pub struct Answers {
    /// Those to channels.
    pub channels: Vec<Value>,
    /// Those to the budgets of applications that compute.
    pub applications: Vec<Value>,
    /// Those to exchanges of channels that answer each other.
    pub exchanges: Vec<Value>,
    /// Why there are none if no analysis covers the experiment or admission is off.
    pub not_analysed: Option<&'static str>,
}

/// The answers to `experiment`, of its channels to those for which `shows` holds.
pub fn answers(experiment: &Experiment, shows: impl Fn(&str) -> bool) -> Answers {
    let none = |why| Answers { not_analysed: Some(why), ..Answers::default() };
    let Some(formula) = experiment.admission.formula else { return none("admission is off") };
    let promises = match promise::promises(experiment, formula) {
        Ok(promises) => promises,
        Err(uncovered) => return none(uncovered.sentence()),
    };
    let shown = experiment.channels.iter().enumerate().filter(|(_, channel)| shows(&channel.name));
    let channels = shown.map(|(i, channel)| self::channel(experiment, channel, &promises, i)).collect();
    let applications = budgets(experiment, &promises).map(|row| application(&row)).collect();
    let exchanges = exchanges(experiment, &promises).map(|row| exchange(&row)).collect();
    Answers { channels, applications, exchanges, not_analysed: None }
}

/// The answer to a budget of an application that computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRow {
    /// The application, with its host if there are several.
    pub name: String,
    /// The deadline of its budget, from the beginning of each period.
    pub asked: Span,
    /// By when the budget is done, or why there is no bound.
    pub bound: Result<Option<Span>, Uncovered>,
}

/// The answers to all budgets, host by host.
pub fn budgets<'a>(
    experiment: &'a Experiment,
    promises: &'a Promises,
) -> impl Iterator<Item = BudgetRow> + use<'a> {
    let of = move |node: usize| {
        let bounds = promises.computing.get(node);
        let each = experiment.host(node).computing.iter().enumerate();
        each.filter_map(move |(number, application)| {
            let bound = match bounds {
                Some(Ok(bounds)) => Ok(bounds.get(number).copied().flatten()),
                Some(Err(why)) => Err(*why),
                None => Ok(None),
            };
            let name = format!("{}{}", application.name, experiment.suffix(node));
            Some(BudgetRow { name, asked: application.budget?.deadline, bound })
        })
    };
    (0..experiment.nodes.len()).flat_map(of)
}

fn application(BudgetRow { name, asked, bound }: &BudgetRow) -> Value {
    json!({
        "name": name,
        "asked": asked.as_secs_f64(),
        "bound": bound.ok().flatten().map(|span| span.as_secs_f64()),
        "reason": bound.err().map(Uncovered::sentence),
    })
}

/// The answer to an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRow {
    /// The names of its channels, the first message's first.
    pub names: Vec<String>,
    /// Its bounds, or why there are none.
    pub bounds: Result<ExchangeBounds, String>,
}

/// The answers to all exchanges with a guaranteed channel, without those that are parts of a longer one.
pub fn exchanges(experiment: &Experiment, promises: &Promises) -> impl Iterator<Item = ExchangeRow> {
    let answered: BTreeSet<usize> =
        (0..experiment.channels.len()).filter_map(|i| experiment.answers(i)).collect();
    (0..experiment.channels.len()).filter_map(move |i| {
        let best_effort = |i: &usize| experiment.channels[*i].class == Class::BestEffort;
        let exchange = experiment.exchange(i).filter(|found| !found.channels.iter().all(best_effort))?;
        let bounds = promise::exchange_bounds(experiment, &promises.channels, &exchange);
        let part = !exchange.closed && (experiment.is_in_loop(i) || answered.contains(&i));
        let names = exchange.channels.iter().map(|i| experiment.channels[*i].name.clone()).collect();
        let bounds = bounds.map_err(|why| why.in_words(experiment, &exchange));
        (!part).then_some(ExchangeRow { names, bounds })
    })
}

fn exchange(ExchangeRow { names, bounds }: &ExchangeRow) -> Value {
    let bound = bounds.as_ref().ok();
    json!({
        "channels": names,
        "bound": bound.map(|bounds| bounds.response.as_secs_f64()),
        "round": bound.and_then(|bounds| bounds.round).map(|span| span.as_secs_f64()),
        "reason": bounds.as_ref().err(),
    })
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
