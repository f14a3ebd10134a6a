//! What a refused channel would have needed.
//!
//! *Refused* alone sends a reader to try deadlines by hand.

use laxity_qos::admission::{Bound, Breakdown, Formula, Request, Term};
use laxity_qos::reception::bound;
use laxity_units::Span;

use super::table::Tables;
use crate::coverage::{Uncovered, coverage, receiving};
use crate::experiment::{ChannelSpec, Experiment};

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
        return of_a_virtual_interface(experiment, formula, index);
    }
    let mut tables = beside_all_others(experiment, formula, index)?;
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

/// The least interval, within a thousandth, at which channel `index`, which admission by `formula` refused, would be admitted: with the deadline that it asks for, or else with that interval as its deadline, and
/// which. `None` if it would at none.
///
/// At a host or port that is beside all the other channels; of virtual interfaces, and where channels come in, beside those before it.
pub fn least_interval(
    experiment: &Experiment,
    formula: Formula,
    index: usize,
) -> Option<(Span, Option<Span>)> {
    let channel = &experiment.channels[index];
    let asked = channel.spec.min_interval;
    let with = |interval, deadline: Option<Span>| {
        let mut channel = channel.clone();
        channel.spec.min_interval = interval;
        channel.deadline = deadline;
        channel
    };
    let mut tables = None;
    if experiment.via.is_none() && experiment.interfaces.is_empty() {
        tables = Some(beside_all_others(experiment, formula, index)?);
    }
    let mut fits = |channel: ChannelSpec| match &mut tables {
        Some(tables) => {
            let request = super::request(&channel).ok().flatten();
            request.is_some_and(|request| tables.would_admit(experiment, &channel, request))
        }
        None => {
            let mut changed = experiment.clone();
            changed.channels[index] = channel;
            self::fits(&changed, formula, index)
        }
    };
    if let Some(interval) = least(asked, |interval| fits(with(interval, channel.deadline))) {
        return Some((interval, channel.deadline));
    }
    let shortest = asked.max(channel.deadline?);
    let mut as_due = |interval| fits(with(interval, Some(interval)));
    let interval = if as_due(shortest) { shortest } else { least(shortest, as_due)? };
    Some((interval, Some(interval)))
}

/// The least beyond `asked` that fits, within a thousandth, as long as what is longer fits, too; `None` if what is 32 768 times as long does not, which is asked first, for
/// mostly either little is missing or nothing helps.
fn least(asked: Span, mut fits: impl FnMut(Span) -> bool) -> Option<Span> {
    let (mut short, mut long) = (asked, asked.saturating_mul(1 << 15));
    if !fits(long) {
        return None;
    }
    while short.saturating_mul(2) < long {
        let twice = short.saturating_mul(2);
        if fits(twice) {
            long = twice;
            break;
        }
        short = twice;
    }
    while long.saturating_sub(short) > short / 1000 {
        let middle = short + long.saturating_sub(short) / 2;
        if fits(middle) { long = middle } else { short = middle }
    }
    Some(long)
}

/// Whether channel `index` is admitted in its turn.
fn fits(experiment: &Experiment, formula: Formula, index: usize) -> bool {
    let promises = super::promises(experiment, formula);
    promises.is_ok_and(|promises| !promises.channels[index].is_refused())
}

/// The tables with all channels but `index` in them.
fn beside_all_others(experiment: &Experiment, formula: Formula, index: usize) -> Option<Tables> {
    let mut tables = Tables::new(experiment, &coverage(experiment).ok()?, formula);
    for (_, other) in experiment.channels.iter().enumerate().filter(|(i, _)| *i != index) {
        if let Some(request) = super::request(other).ok()? {
            let _ = tables.admit(experiment, other, request);
        }
    }
    Some(tables)
}

/// The same of a virtual interface: the least delay that all of its way could keep.
fn of_a_virtual_interface(experiment: &Experiment, formula: Formula, index: usize) -> Option<Shortfall> {
    let asked = experiment.channels[index].deadline?;
    let admissible = least(asked, |deadline| {
        let mut changed = experiment.clone();
        changed.channels[index].deadline = Some(deadline);
        fits(&changed, formula, index)
    });
    // The reason names the server that is short.
    Some(Shortfall { admissible, largest: None })
}

/// Why channel `index` has no bound to the host where it is received, though it has one to its last transmission.
pub fn undelivered(experiment: &Experiment, formula: Formula, index: usize) -> Option<Uncovered> {
    if experiment.via.is_some() || !experiment.interfaces.is_empty() {
        return None;
    }
    let tables = Tables::new(experiment, &coverage(experiment).ok()?, formula);
    tables.undelivered(&experiment.channels[index])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_found_with_few_questions_and_nothing_with_one() {
        let ms = Span::from_ms;
        for edge in [ms(1) + Span::from_ps(1), Span::from_us(1300), ms(2), ms(7), ms(32_768)] {
            let mut asked = 0;
            let found = least(ms(1), |span| {
                asked += 1;
                span >= edge
            });
            let found = found.expect("it fits at last");
            assert!(found >= edge && found <= edge + edge / 1000 + Span::from_us(1), "{found} of {edge}");
            assert!(asked < 30, "{asked} questions for {edge}");
        }
        let mut asked = 0;
        let none = least(ms(1), |_| {
            asked += 1;
            false
        });
        assert_eq!((none, asked), (None, 1));
    }
}
