//! Which packets of a node overtake each other in its adapter, where it has several at a time.
//!
//! A queue is chosen by class, level or flow, and queues are served by priority or in turn. The
//! proofs need only which packets overtake which ([`Order`]). The levels at a node are known: those
//! that admission assigns, or that channels name; under EDF there are none. The queue of a flow
//! among several equal ones is left open: any two flows may share one, and any two may not.
//!
//! *In turn.* Let a packet have `a` packets before it in its queue, of `D` under way, and let `Q −
//! 1` other queues be served in turn with it. Between two packets of its queue each other queue is
//! served once, so `(a + 1)(Q − 1) ≤ D (Q − 1)` packets overtake it. This holds as long as no
//! packet waits for a slot behind those queues.
//!
//! *Another order than the host's.* Any order is valid within a level (`laxity_admission`). So a
//! queue may have any order among real-time packets, if all of them are one level: by rates
//! (VirtualClock, WFQ, WF2Q+, SCFQ, SFQ, H-SFQ, DRR), by values in packets (FIFO+, hop laxity), or
//! by deadlines where the host has levels. There are three conditions.
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

use laxity_model::adapter::{
    CommandQueue, Description, Overload, Phase, Queue, Selection, Stage, Takes, Tells,
};
use laxity_qos::channel::{MessageOverflow, Order};
use laxity_qos::discipline::{Class, LEVELS, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::Time;

use super::reason::Uncovered;
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

/// Which packets overtake which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Passing {
    /// Packets of a higher priority overtake those of a lower one.
    pub(super) urgent: bool,
    /// The maximum number of packets that overtake a packet, of any kind.
    pub(super) packets: u64,
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

/// The kinds of packets that `node` sends; `by_level` says whether its host goes by levels.
pub(super) fn kinds(experiment: &Experiment, node: usize, by_level: bool) -> Vec<Kind> {
    let lowest = LEVELS as u8 - 1;
    let mut kinds = Vec::new();
    for channel in experiment.channels.iter().filter(|channel| channel.senders().contains(&node)) {
        let kind = |class, from, to| Kind { class, from, to, rated: !channel.share.is_none() };
        kinds.push(match (channel.class, channel.level) {
            (class, Some(level)) => kind(class, level, level),
            (Class::BestEffort, None) => kind(Class::BestEffort, lowest, lowest),
            (Class::RealTime, None) if by_level => kind(Class::RealTime, 0, lowest - 1),
            (Class::RealTime, None) => kind(Class::RealTime, 0, 0),
        });
        if channel.message_overflow == MessageOverflow::BestEffort {
            kinds.push(Kind { rated: false, ..kind(Class::BestEffort, lowest, lowest) });
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
            packets: self.packets.saturating_add(other.packets),
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
    pub(super) fn commands(&self, description: &Description) -> Result<Passing, Uncovered> {
        let queues = &description.interface.queues;
        if self.is_one() {
            return Ok(Passing::default());
        }
        if !queues.iter().all(|queue| self.holds(queue.slots)) {
            return Err(Uncovered::CommandQueue);
        }
        let line = |queue: &CommandQueue| {
            let CommandQueue { takes, priority, slots: _, release: _, spread } = *queue;
            Line { takes, priority, spread, order: Order::Fifo }
        };
        let lines: Vec<Line> = queues.iter().map(line).collect();
        self.passing(&lines, description.interface.selection)
    }

    /// The overtaking at `stage`, and its number of slots if they are not enough.
    pub(super) fn stage(
        &self,
        stage: &Stage,
        description: &Description,
    ) -> Result<(Passing, Option<u32>), Uncovered> {
        if stage.queues.iter().any(|queue| queue.order.holds()) {
            return Err(Uncovered::HeldBack);
        }
        if self.is_one() {
            return Ok((Passing::default(), None));
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
        let passing = self.passing(&lines, stage.selection)?;
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
        Ok((passing, places))
    }

    /// Tags with a rate and no guarantee.
    fn rated(&self) -> impl Iterator<Item = Tag> {
        let rated = self.kinds.iter().filter(|kind| kind.class == Class::BestEffort && kind.rated);
        rated.flat_map(|kind| kind.tags())
    }

    fn passing(&self, lines: &[Line], selection: Selection) -> Result<Passing, Uncovered> {
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
            for other in self.tags().filter(|_| selection == Selection::Priority) {
                let line = of(&other).ok_or(Uncovered::NoQueue)?;
                if place(line) >= place(own) {
                    continue;
                }
                if other.class == Class::BestEffort {
                    return Err(Uncovered::BestEffortPasses);
                }
                if !self.by_level || other.level >= tag.level {
                    return Err(Uncovered::QueueOrder);
                }
            }
        }
        let guaranteed = self.tags().filter(|tag| tag.class == Class::RealTime).filter_map(|tag| of(&tag));
        let queues: u64 = used.iter().map(|line| u64::from(lines[*line].spread)).sum();
        let in_turn = match selection {
            Selection::RoundRobin => queues,
            // Equal queues of one rank.
            Selection::Priority => guaranteed.map(|line| u64::from(lines[line].spread)).max().unwrap_or(1),
        };
        passing.packets = u64::from(self.depth).saturating_mul(in_turn.saturating_sub(1));
        let mixed = |line: &usize| lines[*line].order != Order::Fifo;
        passing.urgent |= queues > 1 || used.iter().any(mixed);
        Ok(passing)
    }

    /// Which real time passes which in a queue of this order.
    fn ordered(&self, order: Order) -> Result<Way, Uncovered> {
        match order {
            Order::Fifo => Ok(Way::AsCome),
            // Even alone: see `stage`.
            _ if order.holds() => Err(Uncovered::HeldBack),
            _ if !self.nothing_early => Err(Uncovered::EarlyUrgent),
            Order::Edf | Order::MultiClassEdf if !self.by_level => Ok(Way::Urgent),
            Order::FixedPriority if self.by_level => Ok(Way::Urgent),
            // Levels that admission did not assign may put best effort before guaranteed packets.
            Order::FixedPriority | Order::StrictPriority => Err(Uncovered::OtherOrder),
            _ if order.serves_rates_first() => Ok(Way::ByRate),
            _ => Ok(Way::Otherwise),
        }
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
