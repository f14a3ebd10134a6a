//! The link scheduler: which packet is next, and whether the adapter takes one.

use laxity_units::{Span, Time};

use super::policy::LinkConfig;
use super::slots::Slot;
use crate::discipline::{Discipline, Groups, Request};

#[derive(Debug)]
pub(super) struct LinkScheduler {
    queue: Discipline<Slot>,
    depth: u32,
    in_flight: u32,
    longest: usize,
}

impl LinkScheduler {
    pub(super) fn new(config: &LinkConfig) -> Self {
        assert!(config.depth > 0, "an adapter takes at least one packet");
        Self {
            queue: config.order.discipline(&config.server()),
            depth: config.depth,
            in_flight: 0,
            longest: 0,
        }
    }

    pub(super) fn group(&mut self, groups: &Groups) {
        self.queue.group(groups);
    }

    pub(super) fn enqueue(&mut self, now: Time, request: &Request, packet: Slot) {
        self.queue.enqueue(now, request, packet);
        self.longest = self.longest.max(self.queue.len());
    }

    /// Whether [`take`](Self::take) would find a packet.
    pub(super) fn can_start(&mut self, now: Time) -> bool {
        self.in_flight < self.depth && self.queue.best(now).is_some()
    }

    /// Selects the next packet, if the adapter has a place and a packet is eligible.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<Slot> {
        if self.in_flight == self.depth {
            return None;
        }
        let (_, slot) = self.queue.select(now)?;
        self.in_flight += 1;
        Some(slot)
    }

    pub(super) fn complete(&mut self) {
        self.in_flight = self.in_flight.checked_sub(1).expect("a completed packet was in flight");
        if self.in_flight == 0 && self.queue.is_empty() {
            self.queue.idle();
        }
    }

    /// When a held packet becomes eligible, if the adapter could take it.
    #[inline]
    pub(super) fn next_wakeup(&mut self, now: Time) -> Option<Time> {
        if self.in_flight == self.depth { None } else { self.queue.next_eligible(now) }
    }

    /// What real time waits here, if that is counted.
    pub(super) fn usual_wait(&self) -> Option<Span> {
        self.queue.usual_wait()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}
