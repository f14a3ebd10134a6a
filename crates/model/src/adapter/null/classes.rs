//! Packets that wait in the transmit queues of their classes, of which some have a credit-based
//! shaper (IEEE 802.1Qav).
//!
//! The queues are those of a port by strict priority, with the same credits
//! ([`laxity_qos::discipline::Selection`]). Best effort has the last class.

use std::sync::Arc;

use laxity_qos::channel::{Packet, Slot};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{
    Discipline, EarlyPolicy, ItemRequest, Order, Selection, ServerParameters, Shaper,
};
use laxity_units::Time;

/// The transmit queues of a link.
#[derive(Debug)]
pub(super) struct Classes {
    server: ServerParameters,
    queues: Discipline<Slot>,
}

impl Classes {
    /// Empty queues of a link that takes `speed` per packet, with these `shapers`.
    pub(super) fn new(speed: LinkCosts, shapers: Vec<Shaper>) -> Self {
        let selection = Some(Arc::new(Selection { shapers, ..Selection::NONE }));
        let server = ServerParameters { speed, selection, ..ServerParameters::with(EarlyPolicy::HOLD) };
        Self { queues: Order::StrictPriority.discipline(&server), server }
    }

    pub(super) fn put(&mut self, now: Time, packet: &Packet, slot: Slot) {
        self.queues.enqueue(now, &ItemRequest::of(packet), slot);
    }

    /// Removes the packet that an idle link sends `now`, if a class may send.
    pub(super) fn take(&mut self, now: Time) -> Option<Slot> {
        self.queues.select(now).map(|(_, packet)| packet)
    }

    /// When the first credit is zero again; `Time::MAX` without a packet.
    pub(super) fn next(&mut self, now: Time) -> Time {
        self.queues.next_eligible(now).unwrap_or(Time::MAX)
    }

    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }

    /// Removes all packets, the most urgent first. All credits are zero again.
    pub(super) fn drain(&mut self) -> Vec<Slot> {
        let emptied = Order::StrictPriority.discipline(&self.server);
        std::mem::replace(&mut self.queues, emptied).drain()
    }
}
