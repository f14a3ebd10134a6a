//! The counts of a run, and how they become results.
//!
//! Rates, counts and distributions cover a window in the middle of the run, so that filling and
//! draining queues do not blur them: an event counts if it happens in the window, whenever its
//! message was sent. Worst response times cover the whole run: a bound admits no exception, and the
//! first message of a run is as good a counterexample as any.

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
use crate::sketch::picoseconds;

pub use drops::Drops;
pub(crate) use gaps::Gaps;
pub use punctuality::Said;
pub(crate) use punctuality::{Kept, Punctuality};
pub(crate) use samples::{Rows, Samples};
pub(crate) use stages::{ComputingMeter, StageMeter, of_computing};
pub use tally::Tally;

/// The counts of one channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// End-to-end deadline, from the logical arrival; `None` for best effort.
    pub(crate) deadline: Option<Span>,
    /// Whether a host receives, so that the deadline is one of delivery and not of the last
    /// transmission.
    pub(crate) received: bool,
    /// Whether its application always has a message, so that what was answered was offered.
    pub(crate) endless: bool,
    /// Since the run began.
    pub(crate) tally: Tally,
    pub(crate) worst: Option<Span>,
    /// Latency and sojourn of each message.
    pub(crate) timely: Rows<2>,
    /// Laxity of each message with a deadline.
    pub(crate) laxity: Samples,
    /// Of each packet the time from its making, and from when the adapter had it.
    pub(crate) waits: Rows<2>,
    /// Messages of which the adapter lost a packet, and of which the last has not left.
    pub(crate) broken: BTreeSet<u64>,
    pub(crate) delivery_worst: Option<Span>,
    pub(crate) delivery: Samples,
    /// When a message was lost first, if one was.
    pub(crate) lost: Option<Time>,
    /// From the beginning of an exchange to each answer of this channel.
    pub(crate) response: Samples,
    pub(crate) response_worst: Option<Span>,
    /// How much of what was sent came in time; `None` without a deadline.
    pub(crate) punctuality: Option<Punctuality>,
}

impl Meter {
    /// Prefetches the data behind the meter for a message.
    #[inline]
    pub(crate) fn fetch(&self) {
        self.timely.fetch();
        self.laxity.fetch();
        self.waits.fetch();
        self.delivery.fetch();
        self.punctuality.iter().for_each(Punctuality::fetch);
    }

    /// A message was offered.
    pub(crate) fn offer(&mut self, size: Bytes) {
        self.tally.messages += 1;
        self.tally.offered += size;
    }

    /// A packet was lost on the way, and not by impairments of the file.
    pub(crate) fn lose(&mut self, now: Time, message: u64) {
        self.tally.lost_packets += 1;
        self.spoil(now, message);
    }

    /// The impairments of a network, which the file declares, took a packet.
    pub(crate) fn impair(&mut self, now: Time, message: u64) {
        self.tally.impair();
        self.lost.get_or_insert(now);
        if let Some(punctuality) = &mut self.punctuality {
            punctuality.impair(now, message);
        }
    }

    /// A packet of a message was lost or dropped, as another count says.
    #[cold]
    pub(crate) fn spoil(&mut self, now: Time, message: u64) {
        self.lost.get_or_insert(now);
        if let Some(punctuality) = &mut self.punctuality {
            punctuality.lose(now, message);
        }
    }

    /// An adapter lost a packet that it was to transmit.
    pub(crate) fn fail(&mut self, now: Time, packet: &Packet) {
        self.lose(now, packet.message);
        // After its last packet a message is not looked up again, and a long run would keep them
        // all.
        match packet.is_last() {
            true => self.broken.remove(&packet.message),
            false => self.broken.insert(packet.message),
        };
    }

    /// A message reached its receiver whole.
    pub(crate) fn deliver(&mut self, now: Time, delivery: &Delivery, counted: bool) {
        self.tally.delivered += 1;
        self.tally.delivered_bytes += delivery.size;
        let due = self.deadline.map(|deadline| delivery.due_from.saturating_add(deadline));
        self.tally.delivered_late += u64::from(due.is_some_and(|due| now > due));
        if delivery.class == Class::RealTime {
            self.delivery_worst = self.delivery_worst.max(Some(now.saturating_since(delivery.due_from)));
        }
        if counted {
            self.delivery.push([picoseconds(delivery.due_from, now)]);
            if let Some(due) = due {
                self.laxity.push([picoseconds(now, due)]);
            }
        }
    }

    /// An answer is whole at its receiver, that long after its exchange began.
    pub(crate) fn respond(&mut self, after: Span, counted: bool) {
        self.response_worst = self.response_worst.max(Some(after));
        if counted {
            self.response.push([picoseconds(Time::ZERO, Time::ZERO + after)]);
        }
    }

    /// A packet left the last adapter of the path at `now`; `counted` if within the window. Answers
    /// whether its message is thereby transmitted whole.
    pub(crate) fn depart(&mut self, now: Time, packet: &Packet, counted: bool) -> bool {
        self.tally.packets += 1;
        self.tally.transmitted += packet.size;
        let due = self.deadline.map(|deadline| packet.due_from.saturating_add(deadline));
        let missed = due.is_some_and(|due| now > due);
        self.tally.missed_packets += u64::from(missed);
        if counted {
            self.waits.push([picoseconds(packet.created, now), picoseconds(packet.handed, now)]);
        }
        if !packet.is_last() || self.broken.remove(&packet.message) {
            return false;
        }
        self.tally.completed += 1;
        self.tally.completed_bytes += packet.message_size;
        self.tally.missed_messages += u64::from(missed);
        // Packets that exceeded the contract were carried without a guarantee.
        if packet.tag.class == Class::RealTime {
            self.worst = self.worst.max(Some(now.saturating_since(packet.due_from)));
        }
        if counted {
            self.timely.push([picoseconds(packet.due_from, now), picoseconds(packet.sent, now)]);
            if let Some(due) = due.filter(|_| !self.received) {
                self.laxity.push([picoseconds(now, due)]);
            }
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
            let latency = picoseconds(from, now);
            self.timely.push([latency, latency]);
            if let Some(due) = due {
                self.laxity.push([picoseconds(now, due)]);
            }
        }
    }

    /// The distributions of latency, laxity and sojourn; of laxity none without a deadline.
    pub(crate) fn timeliness(&mut self, curves: bool) -> [Option<Summary>; 3] {
        let [latency, sojourn] = std::mem::take(&mut self.timely).summaries(curves);
        let laxity = std::mem::take(&mut self.laxity).summary(curves);
        [latency, laxity, sojourn]
    }
}
