//! The deadline with which a refused channel would be admitted.

use laxity_admission::reception::bound;
use laxity_admission::{Bound, Breakdown, Request, Term};
use laxity_units::Span;

use super::super::admit::{promises, request, request_where_it_comes_in};
use super::super::answer::Promise;
use super::super::room::NO_END;
use super::super::table::Reserved;
use super::super::via::Before;
use super::search::{between, least, readable};
use super::turn::{self, Tried, Turns, Which};
use super::{Beside, Shortfall, by_tables};
use crate::coverage::receiving;
use crate::experiment::{ChannelSpec, ReceiverSpec, System, ViaSpec};

/// Longer deadlines that are tried, in percent of the first. Admission has tried shorter ones.
const LONGER: [u64; 5] = [105, 125, 150, 200, 400];

fn percent(span: Span, percent: u64) -> Span {
    (span / 100).saturating_mul(percent).rounded_up(3)
}

/// Deadlines to try where the first is refused: longer ones that fit, and the interval.
fn others<'a>(
    first: Span,
    channel: &ChannelSpec,
    fits: &'a mut dyn FnMut(Span) -> bool,
) -> impl Iterator<Item = Span> + use<'a> {
    let longer = LONGER.into_iter().map(move |part| percent(first, part)).filter(|span| fits(*span));
    longer.chain([channel.spec.min_interval])
}

impl Beside<'_> {
    /// `station` is the one that refuses, if any does.
    pub(super) fn shortfall(&mut self, station: Option<usize>) -> Option<Shortfall> {
        let Self { experiment, formula, index, tables, turns } = self;
        match &experiment.system {
            System::Hosts { .. } | System::Signalled(_) => {}
            System::Receiver(receiver) => {
                return where_it_comes_in((experiment, *formula, *index), receiver, turns);
            }
            System::VirtualInterfaces(spec) => {
                return of_a_virtual_interface((experiment, *formula, *index), spec, turns);
            }
        }
        if !by_tables(experiment, *index) {
            return of_all_others((experiment, *formula, *index), turns);
        }
        let tables = tables.as_mut()?;
        let channel = &experiment.channels[*index];
        let asked = request(experiment, channel).ok()??;
        // With a deadline beyond its interval a channel has several messages under way, and the
        // file gives it room for them.
        let roomy = ChannelSpec {
            message_slots: channel.message_slots.max(NO_END as u32),
            packet_slots: channel.packet_slots.max(NO_END),
            ..channel.clone()
        };
        let mut least = |channel: &ChannelSpec| tables.least_deadline(experiment, channel, asked);
        let found = least(channel).map(|least| (least, channel));
        let found = found.or_else(|| least(&roomy).map(|least| (least, &roomy)));
        let admissible = found.and_then(|(least, with)| {
            let reserved = tables.admit(experiment, with, Request::new(channel.spec, least).ok()?).ok()?;
            Some((least, reserved.reserved, !std::ptr::eq(with, channel)))
        });
        let several = |station: usize| (channel.route.len() > 1).then_some(station);
        let ask = |more: bool, delay| {
            let changed = turn::asking(experiment, channel, delay, more);
            turns.answer((experiment, *formula, *index), &changed)
        };
        let Some((least, reserved, more)) = admissible else {
            let terms = tables.terms_where(experiment, channel, &asked, station);
            let first = asked.deadline();
            let any = &mut |_| true;
            let mut ask = |delay| ask(true, delay);
            let proposed = turn::confirmed(first, others(first, channel, any), &mut ask);
            let told = proposed.map(|delay| turn::proposal(experiment, channel, delay, true));
            let (largest, station) = match terms {
                Some((station, (wait, service))) => (largest(&wait, &service, None), several(station)),
                None => (None, None),
            };
            return Some(Shortfall { admissible: proposed, largest, station, ..told.unwrap_or_default() });
        };
        let bounds = tables.bounds();
        let refuses = reserved.iter().find(|reserved| Some(reserved.node) == station);
        let slowest = || reserved.iter().max_by_key(|reserved| bounds[reserved.node][&reserved.id].bound);
        let there = refuses.or_else(slowest).and_then(|Reserved { node, id, asked, .. }| {
            let (wait, service) = tables.terms(*node, asked, &bounds[*node][id]);
            Some((largest(&wait, &service, Some(bounds[*node][id]))?, *node))
        });
        tables.give_up(&reserved);
        let with = if more { &roomy } else { channel };
        let mut fits = |delay| {
            let request = Request::new(channel.spec, delay).ok();
            request.is_some_and(|request| tables.would_admit(experiment, with, request))
        };
        let found = told(least, channel, &mut fits, &mut |delay| ask(more, delay));
        let proposal = found.proposed.map(|delay| turn::proposal(experiment, channel, delay, more));
        let largest = there.map(|(term, _)| term);
        let station = there.and_then(|(_, station)| several(station));
        Some(Shortfall { admissible: found.admissible, largest, station, ..proposal.unwrap_or_default() })
    }
}

/// The same of a virtual interface: the least delay that all of its way could keep.
fn of_a_virtual_interface(which: Which<'_>, spec: &ViaSpec, turns: &Turns) -> Option<Shortfall> {
    let (experiment, _, index) = which;
    let channel = &experiment.channels[index];
    let before = Before::of(experiment, spec, index)?;
    let with = |deadline| channel.asking(experiment.packet(), channel.spec.min_interval, Some(deadline));
    let mut fits = |deadline| before.fits(with(deadline));
    let mut ask = |deadline| turns.answer(which, &with(deadline));
    let Some(least) = least(channel.deadline?, &mut fits) else {
        return Some(Shortfall::default());
    };
    // The reason names the server that is short.
    Some(told(least, channel, &mut fits, &mut ask))
}

/// The proposal of the least deadline that `fits`, or of another, which `ask` admits.
fn told(
    least: Span,
    channel: &ChannelSpec,
    fits: &mut dyn FnMut(Span) -> bool,
    ask: &mut dyn FnMut(Span) -> Tried,
) -> Shortfall {
    let first = readable(least, fits);
    let proposed = turn::confirmed(first, others(first, channel, fits), ask);
    let is_least = proposed == Some(first) && (least == first || ask(least) == Tried::Admitted);
    let admissible = if is_least { Some(least) } else { proposed };
    Shortfall { admissible, proposed, ..Shortfall::default() }
}

/// The least deadline with which a channel through FIFO queues, or beside receivers, is admitted beside
/// the others: its bound without one, unless the host divides deadlines.
fn of_all_others(which: Which<'_>, turns: &Turns) -> Option<Shortfall> {
    let (experiment, formula, index) = which;
    let channel = &experiment.channels[index];
    let with = |deadline| channel.asking(experiment.packet(), channel.spec.min_interval, Some(deadline));
    let mut fits = |deadline| turns.keeps(which, &with(deadline));
    let mut ask = |deadline| turns.answer(which, &with(deadline));
    // Some tests cover no deadline beyond the interval, and a long one may need more buffers than there are.
    let (asked, interval) = (channel.deadline?, channel.spec.min_interval);
    let furthest = [asked, interval].map(|span| span.saturating_mul(1 << 10));
    let fewer = [6, 4, 3, 2, 1].map(|bits| asked.saturating_mul(1 << bits));
    let mut long = furthest.into_iter().chain(fewer).chain([interval]);
    let Some(long) = long.find(|long| *long > asked && fits(*long)) else {
        let proposed = turn::confirmed(asked, [], &mut ask);
        return Some(Shortfall { admissible: proposed, proposed, ..Shortfall::default() });
    };
    let promised = promises(&experiment.with_channel(index, &with(long)), formula).ok()?.channels;
    let bounds = promised[experiment.multicast(index)].iter().map(Promise::end_to_end_bound);
    let bound = bounds.collect::<Option<Vec<Span>>>()?.into_iter().max()?;
    let least = if fits(bound) { bound } else { between(bound, long, &mut fits)? };
    Some(told(least, channel, &mut fits, &mut ask))
}

/// The same for an incoming channel: its promise beside all others without a deadline.
fn where_it_comes_in(which: Which<'_>, receiver: &ReceiverSpec, turns: &Turns) -> Option<Shortfall> {
    let (experiment, _, index) = which;
    let channel = &experiment.channels[index];
    let host = receiving(experiment, receiver).ok()?;
    let others = (0..experiment.channels.len()).filter(|i| *i != index);
    let mut requests: Vec<_> = others.filter_map(|i| request_where_it_comes_in(experiment, i)).collect();
    requests.push(request_where_it_comes_in(experiment, index)?);
    let mut answer = |deadline| {
        requests.last_mut()?.deadline = deadline;
        bound::admit(&host, &requests).pop()?.ok()
    };
    let promised = answer(Span::MAX)?;
    let with = |deadline| channel.asking(experiment.packet(), channel.spec.min_interval, Some(deadline));
    let mut ask = |deadline| turns.answer(which, &with(deadline));
    let found = told(promised.bound, channel, &mut |deadline| answer(deadline).is_some(), &mut ask);
    let largest = promised.terms.iter().copied().reduce(|a, b| if b.cost > a.cost { b } else { a });
    Some(Shortfall { largest, ..found })
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
