//! The needs of a refused channel.
//!
//! *Refused* alone would leave a reader to try deadlines by hand.

mod deadline;
mod interval;
mod search;
mod turn;

use laxity_admission::{Formula, Reason, Term, Test};
use laxity_units::Span;

use self::turn::Turns;
use super::admit::{promises, request};
use super::answer::{Promise, Refused, Room};
use super::proof::tests;
use super::room;
use super::table::Tables;
use crate::coverage::{Uncovered, coverage, delivers_at_once, passes};
use crate::experiment::{ChannelSpec, Experiment, System};
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
    /// Whether changes were left untried, as many channels had been admitted to try others.
    pub untried: bool,
    /// Why no other deadline or interval helps: no station refuses some of those that were tried, and
    /// there no analysis covers the path. `None` where one helps.
    pub unanalysed: Option<Uncovered>,
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
        let index = experiment.multicast(index).start;
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
            Fit { shortfall, interval, room, ..Fit::default() }
        });
        let helps = fit.interval.is_some() || fit.shortfall.proposed.is_some();
        let unanalysed = self.turns.unanalysed().filter(|_| !helps);
        let fit = Fit { untried: self.turns.has_stopped(), unanalysed, ..fit };
        self.fit = Some((index, fit.clone()));
        fit
    }

    /// How far channel `index`, which was refused, is from being admitted.
    pub fn shortfall(&mut self, index: usize) -> Shortfall {
        let index = self.experiment.multicast(index).start;
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
        if !by_tables(experiment, index) {
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

/// Whether tables of stations alone decide the admission of channel `index`. Those of a multicast are
/// admitted together.
fn by_tables(experiment: &Experiment, index: usize) -> bool {
    let in_tables = match &experiment.system {
        System::Hosts { receivers } => receivers.is_empty(),
        System::Signalled(_) => true,
        System::Receiver(_) | System::VirtualInterfaces(_) => false,
    };
    in_tables && experiment.multicast(index).len() == 1 && !passes(experiment, &experiment.channels[index])
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
