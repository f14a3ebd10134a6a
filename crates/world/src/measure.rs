//! What is counted during a run, and how it becomes results.
//!
//! Rates, counts and distributions are of a window in the middle of the run, so that filling and draining queues
//! do not blur them: an event counts if it happens in the window, whenever its message was sent. Worst response times
//! are of the whole run: a bound admits no exception, and the first message of a run is as good a counterexample as any.

mod drops;
mod gaps;
mod punctuality;
mod samples;
mod stages;
mod tally;

use std::collections::BTreeSet;

use laxity_qos::channel::{Delivery, Packet};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span, Time};

use crate::results::Summary;

pub use drops::Drops;
pub(crate) use gaps::Gaps;
pub(crate) use punctuality::Punctuality;
pub use punctuality::Said;
pub(crate) use samples::{Rows, Samples};
pub(crate) use stages::{ComputingMeter, StageMeter, of_computing};
pub use tally::Tally;

/// Difference of two instants in seconds, negative if `to` is before `from`.
#[inline]
pub(crate) fn seconds(from: Time, to: Time) -> f64 {
    if to >= from { to.since(from).as_secs_f64() } else { -from.since(to).as_secs_f64() }
}

/// How long before it was due something was done; nothing if it never was.
#[inline]
fn laxity(due: Option<Time>, now: Time) -> f64 {
    due.map_or(0.0, |due| seconds(now, due))
}

/// What is counted of one channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// Requested deadline over all hops; `None` for best effort.
    pub(crate) deadline: Option<Span>,
    /// The same with the host that receives, which has a deadline of its own to hand a message up.
    pub(crate) deadline_at_receiver: Option<Span>,
    /// Whether the deadline runs from the actual arrival, too: what a real program waits, it waits.
    pub(crate) from_arrival: bool,
    /// Whether its application always has a message, so that what was answered was offered.
    pub(crate) endless: bool,
    /// Since the run began.
    pub(crate) tally: Tally,
    pub(crate) worst: Option<Span>,
    /// Of each message its latency, its laxity and its sojourn; a laxity without a deadline is nothing, and is not told.
    pub(crate) timely: Rows<3>,
    /// Of each packet the time from its making, and from when the adapter had it.
    pub(crate) waits: Rows<2>,
    /// Messages of which the adapter lost a packet, and whose last has not left.
    pub(crate) broken: BTreeSet<u64>,
    pub(crate) delivery_worst: Option<Span>,
    pub(crate) delivery: Samples,
    /// How much of what was sent came in time; `None` without a deadline.
    pub(crate) punctuality: Option<Punctuality>,
}

impl Meter {
    /// That of one of so many channels, of which nothing is known.
    pub(crate) fn among(channels: usize) -> Self {
        Self {
            timely: Rows::among(channels),
            waits: Rows::among(channels),
            delivery: Rows::among(channels),
            ..Self::default()
        }
    }

    /// A message is to come, and the meter is there: asks for what is behind it.
    #[inline]
    pub(crate) fn fetch(&self) {
        self.timely.fetch();
        self.waits.fetch();
        self.delivery.fetch();
        self.punctuality.iter().for_each(Punctuality::fetch);
    }

    /// A message was offered.
    pub(crate) fn offer(&mut self, size: Bytes) {
        self.tally.messages += 1;
        self.tally.offered += size;
    }

    /// An adapter lost a packet that it was to transmit.
    pub(crate) fn fail(&mut self, packet: &Packet) {
        self.tally.lost_packets += 1;
        // Nobody asks about a message whose last packet is past, and a long run would keep them all.
        match packet.is_last() {
            true => self.broken.remove(&packet.message),
            false => self.broken.insert(packet.message),
        };
    }

    /// A message reached its receiver whole.
    pub(crate) fn deliver(&mut self, now: Time, delivery: &Delivery, counted: bool) {
        self.tally.delivered += 1;
        self.tally.delivered_bytes += delivery.size;
        let from = if self.from_arrival { delivery.sent } else { delivery.due_from };
        let due = self.deadline_at_receiver.map(|deadline| from.saturating_add(deadline));
        self.tally.delivered_late += u64::from(due.is_some_and(|due| now > due));
        if delivery.class == Class::RealTime {
            self.delivery_worst = self.delivery_worst.max(Some(now.saturating_since(delivery.due_from)));
        }
        if counted {
            self.delivery.push([seconds(delivery.due_from, now)]);
        }
    }

    /// A packet left the last adapter of the path at `now`; `counted` if within the window. Answers whether its
    /// message is thereby transmitted whole.
    pub(crate) fn depart(&mut self, now: Time, packet: &Packet, counted: bool) -> bool {
        self.tally.packets += 1;
        self.tally.transmitted += packet.size;
        let due = self.deadline.map(|deadline| packet.due_from.saturating_add(deadline));
        let late = |from: Time| self.deadline.is_some_and(|deadline| now > from.saturating_add(deadline));
        // It arrives before or when its deadline begins to count, so this is the stricter of the two.
        let missed = late(if self.from_arrival { packet.sent } else { packet.due_from });
        self.tally.missed_packets += u64::from(missed);
        if counted {
            self.waits.push([seconds(packet.created, now), seconds(packet.handed, now)]);
        }
        if !packet.is_last() || self.broken.remove(&packet.message) {
            return false;
        }
        self.tally.completed += 1;
        self.tally.completed_bytes += packet.message_size;
        self.tally.missed_messages += u64::from(missed);
        // What exceeded its contract was carried without a guarantee.
        if packet.tag.class == Class::RealTime {
            self.worst = self.worst.max(Some(now.saturating_since(packet.due_from)));
        }
        if counted {
            let sojourn = seconds(packet.sent, now);
            self.timely.push([seconds(packet.due_from, now), laxity(due, now), sojourn]);
        }
        true
    }

    /// A packet that was whole at an interface at `from` is with its program, a message of its own.
    #[inline]
    pub(crate) fn receive(&mut self, now: Time, from: Time, class: Class, size: Bytes, counted: bool) {
        self.tally.packets += 1;
        self.tally.completed += 1;
        self.tally.completed_bytes += size;
        self.tally.transmitted += size;
        let due = self.deadline.map(|deadline| from.saturating_add(deadline));
        let missed = u64::from(due.is_some_and(|due| now > due));
        self.tally.missed_packets += missed;
        self.tally.missed_messages += missed;
        if class == Class::RealTime {
            self.worst = self.worst.max(Some(now.saturating_since(from)));
        }
        if counted {
            let latency = seconds(from, now);
            self.timely.push([latency, laxity(due, now), latency]);
        }
    }

    /// The distributions of latency, laxity and sojourn; of laxity none without a deadline.
    pub(crate) fn timeliness(&mut self, curves: bool) -> [Option<Summary>; 3] {
        let [latency, laxity, sojourn] = std::mem::take(&mut self.timely).summaries(curves);
        [latency, laxity.filter(|_| self.deadline.is_some()), sojourn]
    }
}
