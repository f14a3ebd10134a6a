//! What a refused channel would have needed.
//!
//! *Refused* alone sends a reader to try deadlines by hand.

use laxity_qos::admission::{Bound, Breakdown, Formula, Request, Term};
use laxity_qos::reception::bound;
use laxity_units::Span;

use super::table::Tables;
use crate::coverage::{coverage, receiving};
use crate::experiment::Experiment;

/// How far a refused channel is from admission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// The least deadline that is admitted at every host beside all other channels; `None` if none is.
    pub admissible: Option<Span>,
    /// What the response time consists of most: at that deadline, where it is longest; if there is none, at the first
    /// host without the channels above.
    pub largest: Option<Term>,
}

/// How far channel `index` of `experiment`, which admission by `formula` refused, is from being admitted beside all the
/// other channels.
pub fn shortfall(experiment: &Experiment, formula: Formula, index: usize) -> Shortfall {
    found(experiment, formula, index).unwrap_or_default()
}

fn found(experiment: &Experiment, formula: Formula, index: usize) -> Option<Shortfall> {
    if !experiment.interfaces.is_empty() {
        return where_it_comes_in(experiment, index);
    }
    if experiment.via.is_some() {
        // The reason names the server that is short.
        return None;
    }
    let mut tables = Tables::new(experiment, &coverage(experiment).ok()?, formula);
    for (_, other) in experiment.channels.iter().enumerate().filter(|(i, _)| *i != index) {
        if let Some(request) = super::request(other).ok()? {
            let _ = tables.admit(experiment, other, request);
        }
    }
    let channel = &experiment.channels[index];
    let asked = super::request(channel).ok()??;
    let admissible = tables.least_deadline(experiment, channel, asked).and_then(|least| {
        let reserved = tables.admit(experiment, channel, Request::new(channel.spec, least).ok()?).ok()?;
        Some((least, reserved.reserved))
    });
    let Some((least, reserved)) = admissible else {
        let (wait, service) = tables.terms_of_sender(experiment, channel, &asked)?;
        return Some(Shortfall { admissible: None, largest: largest(&wait, &service, None) });
    };
    let bounds = tables.bounds();
    let slowest = reserved.into_iter().max_by_key(|(node, _, id, _)| bounds[*node][id].bound);
    let largest = slowest.and_then(|(node, _, id, asked)| {
        let (wait, service) = tables.terms(node, &asked, &bounds[node][&id]);
        largest(&wait, &service, Some(bounds[node][&id]))
    });
    Some(Shortfall { admissible: Some(least), largest })
}

/// The same of a channel that comes in: what it would be promised beside all others if it had any time.
fn where_it_comes_in(experiment: &Experiment, index: usize) -> Option<Shortfall> {
    let host = receiving(experiment).ok()?;
    let others = (0..experiment.channels.len()).filter(|i| *i != index);
    let mut requests: Vec<_> =
        others.filter_map(|i| super::request_where_it_comes_in(experiment, i)).collect();
    requests
        .push(bound::Request { deadline: Span::MAX, ..super::request_where_it_comes_in(experiment, index)? });
    let promised = bound::admit(&host, &requests).pop()?.ok()?;
    let largest = promised.terms.iter().copied().reduce(|a, b| if b.cost > a.cost { b } else { a });
    Some(Shortfall { admissible: Some(promised.bound), largest })
}

/// The largest of a bound's terms; of two alike the first.
fn largest(wait: &Breakdown, service: &Breakdown, bound: Option<Bound>) -> Option<Term> {
    let others = bound.into_iter().flat_map(|bound| {
        [
            Term { name: "messages of channels above", cost: bound.higher },
            Term { name: "work above all handlers", cost: bound.interference },
        ]
    });
    let terms = wait.terms().iter().chain(service.terms()).copied().chain(others);
    terms.reduce(|most, term| if term.cost > most.cost { term } else { most })
}
