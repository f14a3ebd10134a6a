//! Which packets of a node overtake each other in its adapter, where it has several at a time.
//!
//! A queue is chosen by class, level or flow, and queues are served by priority or in turn. The
//! proofs need only which packets overtake which ([`Order`]). The levels at a node are known: those
//! that admission assigns, or that channels name; under EDF there are none. The queue of a flow
//! among several equal ones is left open: any two flows may share one, and any two may not.
//!
//! *In turn.* `laxity_admission::station::overtaking` has the number of packets that overtake one
//! at queues that are served in turn. Each queue there has to be in order of arrival: a packet that
//! overtakes within its queue gives a turn to all other queues. Commands are fetched in turn like
//! packets, in no time. A node with few channels uses few of its queues. All this holds as long as
//! no packet waits for a slot behind those queues. If all of real time is one level, packets of real
//! time that overtake are counted with it, and `V` counts queues with best effort alone. That is so
//! where no channel sends more packets at once than another queue has turns.
//!
//! *Another order than the host's.* Any order is valid within a level (`laxity_admission`). So a
//! queue may have any order among real-time packets, if all of them are one level: by rates
//! (VirtualClock, WFQ, WF2Q+, SCFQ, SFQ, H-SFQ, DRR), by values in packets (FIFO+, hop laxity), or
//! by deadlines where the host has levels, or by levels where it has deadlines. Queues of
//! levels may be served by priority. There are three conditions.
//!
//! * *The queue serves packets of the level before others*, and at once. Best effort without a
//!   `share` has no rate; packets without a rate are served when no other packet waits, like
//!   packets that exceed a contract. Best effort with a rate in the same queue is served in between
//!   ([`Passing::shared`]): it takes no more than its rate, but the time of its service is not
//!   bounded, and in a window it has a slot again after each service. A remedy is a slow host
//!   ([`super::at_once`]), or separate queues.
//! * *The queue is work-conserving.* Stop-and-go, HRR and RCSP leave a server idle that could
//!   serve, and a busy period is then interrupted.
//! * *No packet is early there.* A rate-based queue serves an early packet like any other, and the
//!   packet would be of no level.
//!
//! The result is as for a rate-based link: the time when all packets with a rate are through
//! together (`rates/together.rs` of crate admission), with or without a window. Packets that
//! overtake the last one of a message are handed over before it has left, and are of messages that
//! have arrived by then. They are therefore counted among those of the level, in any order: `x` of
//! (1) in `laxity_admission::station::window` holds to the end.

use laxity_admission::station::overtaking::in_turn;
use laxity_model::adapter::{
    CommandQueue, Description, Overload, Phase, Queue, QueueSelection, Stage, Takes, Tells,
};
use laxity_qos::channel::{LinkId, MessageOverflow, Order};
use laxity_qos::discipline::{Class, LOWEST, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::Time;

use super::reason::Uncovered;
use super::sources::leaves_by;
use crate::experiment::Experiment;

/// The packets that a node may have under way, and how its host orders them.
#[derive(Debug, Clone)]
pub(super) struct Window {
    /// How many; `u32::MAX` for as many as there are.
    pub(super) depth: u32,
    /// The host goes by levels, else by deadlines.
    pub(super) by_level: bool,
    /// The host hands over no early packet, which a queue in the adapter would take for urgent.
    pub(super) nothing_early: bool,
    /// The kinds of packets sent there.
    pub(super) kinds: Vec<Kind>,
    /// Channels that send there, at most.
    pub(super) flows: u64,
    /// Those of them that send best effort.
    pub(super) floods: u64,
}

/// Packets of a class and of the levels from the one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    class: Class,
    from: u8,
    to: u8,
    /// It has a rate where rates are shared.
    rated: bool,
}

/// Queues that take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    /// Queues in turn beside a packet's own.
    others: u64,
    /// Those of them that can have best effort.
    floods: u64,
    /// The queues, by what they take, priority and spread.
    queues: Vec<(Takes, u8, u32)>,
    selection: QueueSelection,
    /// Packets leave each queue in order of arrival.
    first_come: bool,
}

/// The most packets that overtake one at all of `turns`, with `depth` packets under way: of any kind,
/// or of best effort alone.
pub(super) fn overtaking(turns: &[Turn], depth: u32, floods: bool) -> u64 {
    let several = || turns.iter().filter(|turn| turn.others > 0);
    let Some(first) = several().next() else { return 0 };
    let others = |turn: &Turn| if floods { turn.floods } else { turn.others };
    let alike = |turn: &Turn| turn.queues == first.queues && turn.selection == first.selection;
    match several().all(alike) && turns.iter().all(|turn| turn.first_come) {
        true => in_turn(depth, others(first), several().count() as u64),
        false => several().fold(0, |all, turn| all.saturating_add(in_turn(depth, others(turn), 1))),
    }
}

/// Which packets overtake which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Passing {
    /// Packets of a higher priority overtake those of a lower one.
    pub(super) urgent: bool,
    /// Packets of any kind overtake for being of another queue that has its turn.
    pub(super) in_turn: bool,
    /// Real time passes real time in another order than the host's: to a bound all of it is one
    /// level.
    pub(super) alike: bool,
    /// Best effort passes real time for having a rate.
    pub(super) shared: bool,
}

/// A queue, as far as it matters here.
struct Line {
    takes: Takes,
    priority: u8,
    spread: u32,
    order: Order,
}

/// The kinds of packets that a node sends by a link; `by_level` says whether its host goes by levels.
pub(super) fn kinds(experiment: &Experiment, at: (usize, LinkId), by_level: bool) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for channel in experiment.channels.iter().filter(|channel| leaves_by(experiment, channel, at)) {
        let kind = |class, from, to| Kind { class, from, to, rated: !channel.share.is_none() };
        kinds.push(match (channel.class, channel.level) {
            (Class::BestEffort, _) => kind(Class::BestEffort, LOWEST, LOWEST),
            (Class::RealTime, Some(level)) => kind(Class::RealTime, level, level),
            (Class::RealTime, None) if by_level => kind(Class::RealTime, 0, LOWEST - 1),
            (Class::RealTime, None) => kind(Class::RealTime, 0, 0),
        });
        if channel.message_overflow == MessageOverflow::BestEffort {
            kinds.push(Kind { rated: false, ..kind(Class::BestEffort, LOWEST, LOWEST) });
        }
    }
    kinds.sort_unstable_by_key(|kind| (kind.class == Class::BestEffort, kind.from, kind.to, kind.rated));
    kinds.dedup();
    kinds
}

impl Kind {
    fn tags(self) -> impl Iterator<Item = Tag> {
        (self.from..=self.to).map(move |level| Tag {
            class: self.class,
            logical_arrival: Time::ZERO,
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level,
        })
    }
}

impl Passing {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            urgent: self.urgent | other.urgent,
            in_turn: self.in_turn | other.in_turn,
            alike: self.alike | other.alike,
            shared: self.shared | other.shared,
        }
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Window {
    /// One packet is in the adapter at a time, with all buffers to itself.
    pub(super) fn is_one(&self) -> bool {
        self.depth == 1
    }

    pub(super) fn holds(&self, room: Option<u32>) -> bool {
        room.is_none_or(|room| room >= self.depth)
    }

    fn tags(&self) -> impl Iterator<Item = Tag> {
        self.kinds.iter().flat_map(|kind| kind.tags())
    }

    /// The overtaking before the adapter has fetched a packet.
    pub(super) fn commands(&self, description: &Description) -> Result<(Passing, Option<Turn>), Uncovered> {
        let queues = &description.interface.queues;
        if self.is_one() {
            return Ok((Passing::default(), None));
        }
        if !queues.iter().all(|queue| self.holds(queue.slots)) {
            return Err(Uncovered::CommandQueue);
        }
        let line = |queue: &CommandQueue| {
            let CommandQueue { takes, priority, slots: _, release: _, spread } = *queue;
            Line { takes, priority, spread, order: Order::Fifo }
        };
        let lines: Vec<Line> = queues.iter().map(line).collect();
        let (passing, turn) = self.passing(&lines, description.interface.selection)?;
        Ok((passing, Some(turn)))
    }

    /// The overtaking at `stage`, and its number of slots if they are not enough.
    pub(super) fn stage(
        &self,
        stage: &Stage,
        description: &Description,
    ) -> Result<(Passing, Option<Turn>, Option<u32>), Uncovered> {
        if stage.queues.iter().any(|queue| queue.order.holds()) {
            return Err(Uncovered::HeldBack);
        }
        if self.is_one() {
            return Ok((Passing::default(), None, None));
        }
        if stage.servers > 1 && !keeps_order(stage, description) {
            return Err(Uncovered::SideBySide);
        }
        let line = |queue: &Queue| {
            // Packets dropped for lateness have no bound: see `policing.rs`.
            let Queue { takes, order, frame: _, priority, slots: _, overload: _, late: _, margin: _, spread } =
                *queue;
            Line { takes, priority, spread, order }
        };
        // A packet joins the first by rank that takes it.
        let mut queues: Vec<&Queue> = stage.queues.iter().collect();
        queues.sort_by_key(|queue| queue.priority);
        let lines: Vec<Line> = queues.iter().copied().map(line).collect();
        let (passing, turn) = self.passing(&lines, stage.selection)?;
        let mut places: Option<u32> = None;
        for tag in self.tags() {
            let queue = queues.iter().find(|queue| queue.takes.admits(&tag));
            let Some(queue) = queue.filter(|queue| !self.holds(queue.slots)) else { continue };
            if queue.overload != Overload::Block {
                return Err(Uncovered::LosesPlaces);
            }
            places = places.min(queue.slots).or(queue.slots);
        }
        if self.kinds.is_empty() {
            // The node sends no packet, so any number of slots is enough.
            let blocks = queues.iter().filter(|queue| queue.overload == Overload::Block);
            places = blocks.filter(|queue| !self.holds(queue.slots)).filter_map(|queue| queue.slots).min();
        }
        Ok((passing, Some(turn), places))
    }

    /// Tags with a rate and no guarantee.
    fn rated(&self) -> impl Iterator<Item = Tag> {
        let rated = self.kinds.iter().filter(|kind| kind.class == Class::BestEffort && kind.rated);
        rated.flat_map(|kind| kind.tags())
    }

    fn passing(&self, lines: &[Line], selection: QueueSelection) -> Result<(Passing, Turn), Uncovered> {
        let of = |tag: &Tag| lines.iter().position(|line| line.takes.admits(tag));
        let place = |line: usize| (lines[line].priority, line);
        let mut passing = Passing::default();
        let mut used: Vec<usize> = self.tags().filter_map(|tag| of(&tag)).collect();
        used.sort_unstable();
        used.dedup();
        for tag in self.tags() {
            let own = of(&tag).ok_or(Uncovered::NoQueue)?;
            if tag.class == Class::BestEffort {
                continue;
            }
            let way = self.ordered(lines[own].order)?;
            passing.urgent |= way != Way::AsCome;
            passing.alike |= matches!(way, Way::ByRate | Way::Otherwise);
            passing.shared |= way == Way::ByRate && self.rated().any(|tag| of(&tag) == Some(own));
            for other in self.tags().filter(|_| selection == QueueSelection::Priority) {
                let line = of(&other).ok_or(Uncovered::NoQueue)?;
                if place(line) >= place(own) {
                    continue;
                }
                if other.class == Class::BestEffort {
                    return Err(Uncovered::BestEffortPasses);
                }
                // The order of the host, or one level for all.
                if !self.by_level || other.level >= tag.level {
                    self.in_time()?;
                    passing.alike = true;
                }
            }
        }
        let guaranteed = || self.tags().filter(|tag| tag.class == Class::RealTime).filter_map(|tag| of(&tag));
        let spread = |line: usize| u64::from(lines[line].spread).min(self.flows);
        let queues: u64 = used.iter().map(|line| spread(*line)).sum();
        let in_turn = match selection {
            QueueSelection::RoundRobin => queues,
            // Equal queues of one rank.
            QueueSelection::Priority => guaranteed().map(spread).max().unwrap_or(1),
        };
        let mixed = |line: usize| lines[line].order != Order::Fifo;
        let others = in_turn.saturating_sub(1);
        if others > 0 && guaranteed().any(mixed) {
            return Err(Uncovered::TurnOrder);
        }
        let first_come = !used.iter().any(|line| mixed(*line));
        passing.in_turn = others > 0;
        passing.urgent |= queues > 1 || !first_come;
        let queues = lines.iter().map(|line| (line.takes, line.priority, line.spread)).collect();
        Ok((passing, Turn { others, floods: others.min(self.floods), queues, selection, first_come }))
    }

    /// Which real time passes which in a queue of this order.
    fn ordered(&self, order: Order) -> Result<Way, Uncovered> {
        match order {
            Order::Fifo => Ok(Way::AsCome),
            // Even alone: see `stage`.
            _ if order.holds() => Err(Uncovered::HeldBack),
            Order::FixedPriority if self.by_level => self.in_time().map(|()| Way::Urgent),
            Order::Edf | Order::MultiClassEdf if !self.by_level => self.in_time().map(|()| Way::Urgent),
            Order::FixedPriority | Order::StrictPriority if self.best_effort_is_higher() => {
                Err(Uncovered::BestEffortLevel)
            }
            _ if order.serves_rates_first() => self.in_time().map(|()| Way::ByRate),
            _ => self.in_time().map(|()| Way::Otherwise),
        }
    }

    /// Refuses early packets, which the adapter does not hold.
    pub(super) fn in_time(&self) -> Result<(), Uncovered> {
        match self.nothing_early {
            true => Ok(()),
            false => Err(Uncovered::EarlyUrgent),
        }
    }

    /// Whether a level of best effort is as high as one of real time.
    fn best_effort_is_higher(&self) -> bool {
        let of = |class| self.kinds.iter().filter(move |kind| kind.class == class);
        let lowest = of(Class::RealTime).map(|kind| kind.to).max();
        let highest = of(Class::BestEffort).map(|kind| kind.from).min();
        lowest.zip(highest).is_some_and(|(lowest, highest)| highest <= lowest)
    }
}

/// Which real time passes which in a queue; best effort without a rate passes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// None.
    AsCome,
    /// Packets of a higher priority at the host.
    Urgent,
    /// Any, and what else has a rate is between.
    ByRate,
    /// Any.
    Otherwise,
}

/// Whether the servers of `stage` finish in the order in which they began.
///
/// The first part takes the same time for packets of any size and number. The rest, if any, is one
/// phase in which they wait for the same resources, of which one has a single server: among the
/// servers of a stage it serves the oldest.
fn keeps_order(stage: &Stage, description: &Description) -> bool {
    let alike = |phase: &Phase| {
        let delay = &phase.delay;
        let grows = [delay.per_byte, delay.per_byte_past].iter().any(|part| !part.is_zero())
            || !delay.per_segment.is_zero()
            || stage.batch > 1 && !delay.per_packet.is_zero();
        !grows
            && phase.is_for_all()
            && phase.holds.is_empty()
            && !phase.medium
            && phase.tells == Tells::Nothing
    };
    let in_order = |phase: &Phase| {
        let single = |r: &usize| description.resources[*r].servers == 1;
        phase.holds.iter().any(single)
            && !phase.medium
            && phase.tells == Tells::Nothing
            && !phase.since_service
    };
    match stage.phases.split_last() {
        Some((last, before)) => before.iter().all(alike) && (alike(last) || in_order(last)),
        None => true,
    }
}
