//! The needs of a refused channel.
//!
//! *Refused* alone would leave a reader to try deadlines by hand.

mod search;
mod turn;

use laxity_admission::reception::bound;
use laxity_admission::{Bound, Breakdown, Formula, Reason, Request, Term, Test};
use laxity_model::source::{AdversaryParameters, Allowance, Sizes, SourceParameters};
use laxity_qos::discipline::Order;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Span, Time};

use self::search::{between, least, least_of_some, readable};
use self::turn::Turns;
use super::admit::{promises, request, request_where_it_comes_in};
use super::answer::{Promise, Refused, Room};
use super::proof::tests;
use super::room::{self, NO_END};
use super::table::{Reserved, Tables};
use super::via::Before;
use crate::coverage::{Uncovered, coverage, delivers_at_once, passes, receiving};
use crate::experiment::{ChannelSpec, Experiment, ReceiverSpec, SourceSpec, System, ViaSpec};
use crate::traffic::conformance::conforms;

/// How far a refused channel is from admission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// The least deadline that is admitted at every host beside all other channels; `None` if none
    /// is.
    pub admissible: Option<Span>,
    /// The deadline to propose: the least of three significant figures that admission takes there,
    /// or with more figures if it takes none of three.
    pub proposed: Option<Span>,
    /// The jitter to request with that deadline, if the requested one leaves less time.
    pub jitter: Option<Span>,
    /// Message slots that the channel needs with that deadline, if it has fewer: several messages
    /// are under way then.
    pub slots: Option<u32>,
    /// Packet slots that it then needs, if it has fewer and not as many as its deadline asks for, which
    /// is the default.
    pub packet_slots: Option<u64>,
    /// The largest term of the response time at the station that refuses: at that deadline, or if
    /// there is none without the channels above. Where no station is known to refuse, where the
    /// response time is longest, or at the first.
    pub largest: Option<Term>,
    /// The station of that term, where the channel has several.
    pub station: Option<usize>,
}

/// A change of a refused channel that admission would accept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fit {
    /// With another deadline.
    pub shortfall: Shortfall,
    /// The least interval of three significant figures, with the requested deadline, or else with that
    /// interval as its deadline, and which, beside all other channels. `None` if no interval is
    /// accepted.
    pub interval: Option<(Span, Option<Span>)>,
    /// With more room and all else as it is, beside those before it: all that there has to be more
    /// of. Empty if no room is what it lacks.
    pub room: Vec<Room>,
}

/// A change with which channel `index` would be admitted, to which admission by `formula` gave the
/// result `refused`.
pub fn fit(experiment: &Experiment, formula: Formula, index: usize, refused: &Promise) -> Fit {
    Advice::of(experiment, formula).fit(index, refused)
}

/// How far channel `index` of `experiment`, which admission by `formula` refused, is from being
/// admitted beside all the other channels.
pub fn shortfall(experiment: &Experiment, formula: Formula, index: usize) -> Shortfall {
    Advice::of(experiment, formula).shortfall(index)
}

/// Advice for channels that admission refused.
///
/// A refused channel reserves no capacity, so all refused channels are checked beside the same
/// others. The tables of the others are made once, at the first check.
pub struct Advice<'a> {
    experiment: &'a Experiment,
    formula: Formula,
    all: Option<All>,
    /// Why no channel has a bound.
    uncovered: Option<Option<Uncovered>>,
    /// Per station, the test of its table.
    tests: Option<Vec<Option<Test>>>,
    turns: Turns,
    /// The channels that were asked about last, and the answers.
    fit: Option<(usize, Fit)>,
    shortfall: Option<(usize, Shortfall)>,
}

/// The reservations of hosts and ports for all channels.
struct All {
    /// `None` where none can be had.
    tables: Option<Tables>,
    /// Which channels are in them.
    admitted: Vec<bool>,
}

impl<'a> Advice<'a> {
    /// For the channels of `experiment` that admission by `formula` refused.
    pub fn of(experiment: &'a Experiment, formula: Formula) -> Self {
        let turns = Turns::default();
        let (fit, shortfall) = (None, None);
        Self { experiment, formula, all: None, uncovered: None, tests: None, turns, fit, shortfall }
    }

    /// A change with which channel `index` would be admitted, of which the result was `refused`.
    pub fn fit(&mut self, index: usize, refused: &Promise) -> Fit {
        let (experiment, formula) = (self.experiment, self.formula);
        if refused.is_unkept() {
            return Fit::default();
        }
        if let Some(fit) = of_copy(experiment, &self.fit, index) {
            return fit;
        }
        let fit = self.beside_all_others(index, |mut beside| {
            let station = match refused {
                Promise::Refused(refused) => Some(refused.node),
                _ => None,
            };
            let interval = beside.least_interval();
            let shortfall = beside.shortfall(station).unwrap_or_default();
            let room = beside.room_in_adapter(refused);
            let room = room.unwrap_or_else(|| room::least(experiment, formula, index, refused));
            Fit { shortfall, interval, room }
        });
        self.fit = Some((index, fit.clone()));
        fit
    }

    /// How far channel `index`, which was refused, is from being admitted.
    pub fn shortfall(&mut self, index: usize) -> Shortfall {
        if let Some(shortfall) = of_copy(self.experiment, &self.shortfall, index) {
            return shortfall;
        }
        let found = self.beside_all_others(index, |mut beside| beside.shortfall(None).unwrap_or_default());
        self.shortfall = Some((index, found));
        found
    }

    /// The test that decides at `station` which channels fit together, where one of channels in an
    /// order does.
    pub fn test(&mut self, station: usize) -> Option<Test> {
        let tests = self.tests.get_or_insert_with(|| tests(self.experiment));
        tests.get(station).copied().flatten()
    }

    /// Why no channel has a promise, if so.
    pub fn uncovered(&mut self) -> Option<Uncovered> {
        let (experiment, formula) = (self.experiment, self.formula);
        *self.uncovered.get_or_insert_with(|| promises(experiment, formula).err())
    }

    fn beside_all_others<T>(&mut self, index: usize, ask: impl FnOnce(Beside<'_>) -> T) -> T {
        let (experiment, formula) = (self.experiment, self.formula);
        let turns = &self.turns;
        let beside = |tables| Beside { experiment, formula, index, tables, turns };
        if !by_tables(experiment, &experiment.channels[index]) {
            return ask(beside(None));
        }
        let all = self.all.get_or_insert_with(|| All::of(experiment, formula, None));
        if all.admitted[index] {
            // It was refused for what is not in tables.
            return ask(beside(All::of(experiment, formula, Some(index)).tables.as_mut()));
        }
        ask(beside(all.tables.as_mut()))
    }
}

/// Whether tables of stations alone decide the admission of `channel`.
fn by_tables(experiment: &Experiment, channel: &ChannelSpec) -> bool {
    let in_tables = match &experiment.system {
        System::Hosts { receivers } => receivers.is_empty(),
        System::Signalled(_) => true,
        System::Receiver(_) | System::VirtualInterfaces(_) => false,
    };
    in_tables && !passes(experiment, channel)
}

impl All {
    /// All of `experiment` but channel `without`, in their order.
    fn of(experiment: &Experiment, formula: Formula, without: Option<usize>) -> Self {
        let mut answers = Vec::new();
        let mut admit = || -> Option<Tables> {
            let mut tables = Tables::new(experiment, &coverage(experiment).ok()?, formula);
            for (i, other) in experiment.channels.iter().enumerate() {
                let request = request(experiment, other).ok()?.filter(|_| Some(i) != without);
                let answer =
                    request.map(|request| tables.admit_among(experiment, (i, request), &mut answers));
                answers.push(answer);
            }
            Some(tables)
        };
        let tables = admit();
        let mut admitted: Vec<bool> = answers.iter().map(|answer| matches!(answer, Some(Ok(_)))).collect();
        admitted.resize(experiment.channels.len(), false);
        Self { tables, admitted }
    }
}

/// Whether what lets one of two refused channels in would let the other in as well: they are copies but
/// for the phases of their sources. Copies on several cores take them in turn.
pub(super) fn are_copies(experiment: &Experiment, one: usize, other: usize) -> bool {
    let (one, other) = (&experiment.channels[one], &experiment.channels[other]);
    let kind = |channel: &ChannelSpec| std::mem::discriminant(&channel.source);
    kind(one) == kind(other)
        && one.route.iter().all(|station| experiment.cores(*station) == 1)
        && conforms(one) == conforms(other)
        && *one == ChannelSpec { name: one.name.clone(), source: one.source.clone(), ..other.clone() }
}

/// The `last` answer, if it was to a copy of channel `index`.
fn of_copy<T: Clone>(experiment: &Experiment, last: &Option<(usize, T)>, index: usize) -> Option<T> {
    let (_, answer) = last.as_ref().filter(|(last, _)| are_copies(experiment, *last, index))?;
    Some(answer.clone())
}

/// All channels except a refused one.
struct Beside<'a> {
    experiment: &'a Experiment,
    formula: Formula,
    index: usize,
    /// With the others in them; `None` where there are no tables, or none can be had.
    tables: Option<&'a mut Tables>,
    turns: &'a Turns,
}

impl Beside<'_> {
    /// The buffers in the adapter where it arrives, if they are too few: whatever a channel's
    /// number of packets elsewhere, all incoming ones count there.
    fn room_in_adapter(&self, refused: &Promise) -> Option<Vec<Room>> {
        let Promise::Refused(Refused { node, refusal, .. }) = refused else { return None };
        let channel = &self.experiment.channels[self.index];
        let lacks = refusal.reason == Reason::NoRoomInAdapter;
        // No analysis covers an adapter of stages that a channel passes twice.
        let hop = channel.passages(*node).next()?;
        let inside = self.tables.as_ref().filter(|_| lacks)?.inside(self.experiment, channel, hop)?;
        Some(inside.rooms(self.experiment, channel, hop))
    }

    /// `station` is the one that refuses, if any does.
    fn shortfall(&mut self, station: Option<usize>) -> Option<Shortfall> {
        let Self { experiment, formula, index, tables, turns } = self;
        match &experiment.system {
            System::Hosts { .. } | System::Signalled(_) => {}
            System::Receiver(receiver) => return where_it_comes_in(experiment, receiver, *index),
            System::VirtualInterfaces(spec) => return of_a_virtual_interface(experiment, spec, *index),
        }
        if !by_tables(experiment, &experiment.channels[*index]) {
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
        let Some((least, reserved, more)) = admissible else {
            let (station, (wait, service)) = tables.terms_where(experiment, channel, &asked, station)?;
            let largest = largest(&wait, &service, None);
            return Some(Shortfall { largest, station: several(station), ..Shortfall::default() });
        };
        let bounds = tables.bounds();
        let refuses = reserved.iter().find(|reserved| Some(reserved.node) == station);
        let slowest = || reserved.iter().max_by_key(|reserved| bounds[reserved.node][&reserved.id].bound);
        let there = refuses.or_else(slowest).and_then(|Reserved { node, id, asked, .. }| {
            let (wait, service) = tables.terms(*node, asked, &bounds[*node][id]);
            Some((largest(&wait, &service, Some(bounds[*node][id]))?, *node))
        });
        tables.give_up(reserved);
        let with = if more { &roomy } else { channel };
        let kept = |delay| {
            turns.keep((experiment, *formula, *index), &turn::asking(experiment, channel, delay, more))
        };
        let mut fits = |delay| {
            let request = Request::new(channel.spec, delay).ok();
            request.is_some_and(|request| tables.would_admit(experiment, with, request))
        };
        let proposed = turn::confirmed(readable(least, &mut fits), &mut fits, &kept);
        let mut told =
            proposed.map(|delay| turn::proposal(experiment, channel, delay, more)).unwrap_or_default();
        told.admissible = proposed.and(Some(least));
        told.largest = there.map(|(term, _)| term);
        told.station = there.and_then(|(_, station)| several(station));
        Some(told)
    }

    fn least_interval(&mut self) -> Option<(Span, Option<Span>)> {
        let Self { experiment, formula, index, tables, turns } = self;
        let channel = &experiment.channels[*index];
        let asked = channel.spec.min_interval;
        let virtual_interfaces =
            experiment.virtual_interfaces().map(|spec| Before::of(experiment, spec, *index));
        // If the source keeps the contract, the advice is for one that keeps the new one. Virtual
        // interfaces hold messages back.
        let silent = matches!(channel.source, SourceSpec::None);
        let keeps = virtual_interfaces.is_none() && !silent && conforms(channel);
        let with = |interval, deadline: Option<Span>| {
            let mut channel = channel.clone();
            channel.spec.min_interval = interval;
            channel.deadline = deadline;
            if keeps {
                channel.source = worst_source(&channel.spec);
            }
            channel
        };
        if tables.is_none() && by_tables(experiment, channel) {
            return None;
        }
        let mut fits = |channel: ChannelSpec| match (&mut *tables, &virtual_interfaces) {
            (Some(tables), _) => {
                let request = request(experiment, &channel).ok().flatten();
                request.is_some_and(|request| tables.would_admit(experiment, &channel, request))
            }
            (None, Some(before)) => before.as_ref().is_some_and(|before| before.fits(channel)),
            (None, None) => turns.keeps((experiment, *formula, *index), &channel),
        };
        let kept = |channel| turns.keep((experiment, *formula, *index), &channel);
        // In other orders than these a packet may wait the longer the less is reserved, so there what
        // is rarer may not fit where what is more frequent does.
        let order = |station: usize| match experiment.outlet(station) {
            Some(outlet) => outlet.config.order,
            None => experiment.host(station).subsystem.link.order,
        };
        let by_deadline_or_level =
            [Order::MultiClassEdf, Order::Edf, Order::FixedPriority, Order::StrictPriority, Order::Fifo];
        let rates = |station: &usize| {
            virtual_interfaces.is_none() && !by_deadline_or_level.contains(&order(*station))
        };
        let least = if channel.senders().iter().any(rates) { least_of_some } else { least };
        let mut in_time = |interval| fits(with(interval, channel.deadline));
        if let Some(interval) = least(asked, &mut in_time) {
            let interval = readable(interval, &mut in_time);
            let kept = |interval| kept(with(interval, channel.deadline));
            if let Some(interval) = turn::confirmed(interval, &mut in_time, &kept) {
                return Some((interval, channel.deadline));
            }
        }
        let shortest = asked.max(channel.deadline?);
        let mut as_due = |interval| fits(with(interval, Some(interval)));
        let interval = if as_due(shortest) { shortest } else { least(shortest, &mut as_due)? };
        let interval = readable(interval, &mut as_due);
        let kept = |interval| kept(with(interval, Some(interval)));
        turn::confirmed(interval, &mut as_due, &kept).map(|interval| (interval, Some(interval)))
    }
}

/// A source that sends all that `spec` allows.
fn worst_source(spec: &TrafficSpec) -> SourceSpec {
    let parameters = SourceParameters::Adversary(AdversaryParameters {
        burst: spec.burst,
        interval: spec.min_interval,
        sizes: Sizes::Fixed(spec.max_message),
        start: Time::ZERO,
        allowance: Allowance::Saving,
    });
    SourceSpec::Timed { parameters, jitter: Span::ZERO }
}

/// The same of a virtual interface: the least delay that all of its way could keep.
fn of_a_virtual_interface(experiment: &Experiment, spec: &ViaSpec, index: usize) -> Option<Shortfall> {
    let channel = &experiment.channels[index];
    let before = Before::of(experiment, spec, index)?;
    let with = |deadline| ChannelSpec { deadline: Some(deadline), ..channel.clone() };
    let mut fits = |deadline| before.fits(with(deadline));
    let admissible = least(channel.deadline?, &mut fits);
    let proposed = admissible.map(|least| readable(least, &mut fits));
    // The reason names the server that is short.
    Some(Shortfall { admissible, proposed, ..Shortfall::default() })
}

/// Per channel, why it has no bound to the host where it is received though it may have one to its
/// last transmission.
pub fn undelivered(experiment: &Experiment, formula: Formula) -> Vec<Option<Uncovered>> {
    let none = || vec![None; experiment.channels.len()];
    if !experiment.schedules() {
        return none();
    }
    let Ok(coverage) = coverage(experiment) else { return none() };
    let tables = Tables::new(experiment, &coverage, formula);
    let by_queues = |channel: &ChannelSpec| {
        let last = channel.route.last().filter(|_| passes(experiment, channel));
        last.is_some_and(|last| delivers_at_once(experiment, *last))
    };
    let why = |channel| tables.undelivered(channel).filter(|_| !by_queues(channel));
    experiment.channels.iter().map(why).collect()
}

/// The least deadline with which a channel through FIFO queues, or beside receivers, is admitted beside
/// the others: its bound without one, unless the host divides deadlines.
fn of_all_others(
    (experiment, formula, index): (&Experiment, Formula, usize),
    turns: &Turns,
) -> Option<Shortfall> {
    let channel = &experiment.channels[index];
    let with = |deadline| ChannelSpec { deadline: Some(deadline), ..channel.clone() };
    let mut fits = |deadline| turns.keeps((experiment, formula, index), &with(deadline));
    // Some tests cover no deadline beyond the interval.
    let (asked, interval) = (channel.deadline?, channel.spec.min_interval);
    let mut long = [asked.saturating_mul(1 << 10), interval.saturating_mul(1 << 10), interval].into_iter();
    let long = long.find(|long| *long > asked && fits(*long))?;
    let mut changed = experiment.clone();
    changed.channels[index] = with(long);
    let bound = promises(&changed, formula).ok()?.channels[index].end_to_end_bound()?;
    let least = if fits(bound) { bound } else { between(bound, long, &mut fits)? };
    let proposed = readable(least, &mut fits);
    Some(Shortfall { admissible: Some(least), proposed: Some(proposed), ..Shortfall::default() })
}

/// The same for an incoming channel: its promise beside all others without a deadline.
fn where_it_comes_in(experiment: &Experiment, receiver: &ReceiverSpec, index: usize) -> Option<Shortfall> {
    let host = receiving(experiment, receiver).ok()?;
    let others = (0..experiment.channels.len()).filter(|i| *i != index);
    let mut requests: Vec<_> = others.filter_map(|i| request_where_it_comes_in(experiment, i)).collect();
    requests.push(request_where_it_comes_in(experiment, index)?);
    let mut answer = |deadline| {
        requests.last_mut()?.deadline = deadline;
        bound::admit(&host, &requests).pop()?.ok()
    };
    let promised = answer(Span::MAX)?;
    let proposed = readable(promised.bound, &mut |deadline| answer(deadline).is_some());
    let largest = promised.terms.iter().copied().reduce(|a, b| if b.cost > a.cost { b } else { a });
    let admissible = Some(promised.bound);
    Some(Shortfall { admissible, proposed: Some(proposed), largest, ..Shortfall::default() })
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
