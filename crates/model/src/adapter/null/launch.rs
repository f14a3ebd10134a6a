//! Packets that wait for their launch times.
//!
//! A program hands a packet over ahead of time, with the instant at which its transmission is to
//! begin (`SO_TXTIME` of Linux). The instant on the link then no longer depends on the CPU.
//!
//! *The launch time* of a packet is the logical arrival of its message plus an offset, which is the
//! same for all packets. So all packets of a message have one launch time, and messages of a channel
//! have launch times as far apart as their logical arrivals.
//!
//! *Order.* Packets leave in the order of their launch times, whatever the order in which they were
//! handed over; of equal times the first of them. That is the sorted queue of `etf`.
//!
//! *Late packets.* A packet that is handed over after its launch time is lost, as `etf` drops it
//! (`net/sched/sch_etf.c`, `is_packet_valid`: a time before now is not valid). A packet that was in
//! time, and finds the link busy at its launch time, is not lost. The adapter has it by then, and the
//! I210 sends a packet for half a second after its time (data sheet, 7.2.7.5.3).

use std::collections::BTreeMap;

use laxity_qos::channel::Slot;
use laxity_units::{Span, Time};

/// Packets in the order of their launch times.
#[derive(Debug)]
pub(super) struct Launches {
    offset: Span,
    /// By launch time, and by the number of packets before.
    waiting: BTreeMap<(Time, u64), Slot>,
    /// Packets so far.
    taken: u64,
}

impl Launches {
    /// None yet; each launches `offset` after its logical arrival.
    pub(super) fn new(offset: Span) -> Self {
        Self { offset, waiting: BTreeMap::new(), taken: 0 }
    }

    /// The host hands a packet of that logical arrival over; returns whether that is in time.
    pub(super) fn put(&mut self, now: Time, arrival: Time, packet: Slot) -> bool {
        let at = arrival.saturating_add(self.offset);
        let in_time = now <= at;
        if in_time {
            self.waiting.insert((at, self.taken), packet);
            self.taken += 1;
        }
        in_time
    }

    /// Removes the first packet, unless its launch time is later than now.
    pub(super) fn take(&mut self, now: Time) -> Option<Slot> {
        let first = self.waiting.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// The first launch time; `Time::MAX` without a packet.
    pub(super) fn next(&self) -> Time {
        self.waiting.keys().next().map_or(Time::MAX, |(at, _)| *at)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Removes all packets, in their order.
    pub(super) fn drain(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}
