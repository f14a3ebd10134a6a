//! The link scheduler: selects the next packet for an adapter with a free place.
//!
//! A host has one for each adapter. Packets for one link do not wait for packets of another; the
//! links share only the CPU.

use std::ops::{Index, IndexMut};

use laxity_units::{Span, Time};

use super::cores::{Lock, TakenPacket};
use super::policy::LinkConfig;
use super::slots::Slot;
use crate::discipline::{Discipline, Groups, ItemRequest};
use crate::few::Few;
use crate::names::{CoreId, LinkId};

#[derive(Debug)]
pub(super) struct Links {
    all: Few<LinkScheduler>,
    /// The link that is served first when several can be: the successor of the link served last.
    turn: usize,
    lock: Lock,
}

impl Links {
    pub(super) fn new(first: &LinkConfig) -> Self {
        Self { all: Few::one(LinkScheduler::new(first)), turn: 0, lock: Lock::default() }
    }

    pub(super) fn add(&mut self, config: &LinkConfig) -> LinkId {
        let id = LinkId(u8::try_from(self.all.len()).expect("a host has at most 256 links"));
        self.all.push(LinkScheduler::new(config));
        id
    }

    pub(super) fn group(&mut self, groups: &Groups) {
        self.all.each(|link| link.queue.group(groups));
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Takes the next packet for an adapter with a free place; `core` has to hand it over.
    #[inline]
    pub(super) fn take(&mut self, core: CoreId, now: Time) -> TakenPacket<Slot> {
        if self.lock.lets_in(core) {
            let packet = self.next(now);
            return self.entered(core, packet);
        }
        let any = self.that_can_start(now).next().is_some();
        self.refused(core, any)
    }

    /// Takes the next packet of `link`, as [`take`](Self::take) does.
    #[inline]
    pub(super) fn take_from(&mut self, core: CoreId, link: LinkId, now: Time) -> TakenPacket<Slot> {
        if self.lock.lets_in(core) {
            let packet = self[link].take(now);
            return self.entered(core, packet);
        }
        let any = self[link].can_start(now);
        self.refused(core, any)
    }

    /// `core` enters the critical section with `packet`, or leaves it if there is none.
    #[inline]
    fn entered(&mut self, core: CoreId, packet: Option<Slot>) -> TakenPacket<Slot> {
        match packet {
            Some(packet) => {
                self.lock.enter(core);
                TakenPacket::Packet(packet)
            }
            None => {
                self.lock.leave(core);
                TakenPacket::Nothing
            }
        }
    }

    fn refused(&mut self, core: CoreId, any: bool) -> TakenPacket<Slot> {
        if any {
            self.lock.wait(core);
        }
        if any { TakenPacket::Held } else { TakenPacket::Nothing }
    }

    #[inline]
    pub(super) fn leave(&mut self, core: CoreId) {
        self.lock.leave(core);
    }

    /// Whether `core` has the lock.
    #[inline]
    pub(super) fn are_held_by(&self, core: CoreId) -> bool {
        self.lock.is_held_by(core)
    }

    /// The next packet for any adapter with a free place. Links take turns, so that none starves
    /// behind a link with an adapter that is always ready.
    #[inline]
    fn next(&mut self, now: Time) -> Option<Slot> {
        if self.all.is_one() {
            return self.all.first_mut().take(now);
        }
        let links = self.all.len();
        for place in 0..links {
            let link = (self.turn + place) % links;
            if let Some(packet) = self.all[link].take(now) {
                self.turn = (link + 1) % links;
                return Some(packet);
            }
        }
        None
    }

    /// Links with a free place at the adapter and an eligible packet in the queue.
    pub(super) fn that_can_start(&mut self, now: Time) -> impl Iterator<Item = LinkId> {
        (0..).zip(self.all.iter_mut()).filter_map(move |(id, link)| link.can_start(now).then_some(LinkId(id)))
    }

    /// Whether [`next_wakeup`](Self::next_wakeup) may return a time.
    #[inline]
    pub(super) fn may_hold(&self) -> bool {
        self.all.any(LinkScheduler::may_hold)
    }

    /// Time when a held packet becomes eligible at a link whose adapter could take it.
    pub(super) fn next_wakeup(&mut self, now: Time) -> Option<Time> {
        if self.all.is_one() {
            return self.all.first_mut().next_wakeup(now);
        }
        self.all.iter_mut().fold(None, |first, link| Time::earlier(first, link.next_wakeup(now)))
    }

    pub(super) fn len(&self) -> usize {
        self.all.iter().map(|link| link.queue.len()).sum()
    }

    /// Maximum number of packets that ever waited at one link.
    pub(super) fn longest(&self) -> usize {
        self.all.iter().map(|link| link.longest).max().unwrap_or(0)
    }
}

impl Index<LinkId> for Links {
    type Output = LinkScheduler;

    #[inline]
    fn index(&self, id: LinkId) -> &LinkScheduler {
        &self.all[usize::from(id.0)]
    }
}

impl IndexMut<LinkId> for Links {
    #[inline]
    fn index_mut(&mut self, id: LinkId) -> &mut LinkScheduler {
        &mut self.all[usize::from(id.0)]
    }
}

#[derive(Debug)]
pub(super) struct LinkScheduler {
    queue: Discipline<Slot>,
    depth: u32,
    in_flight: u32,
    longest: usize,
}

impl LinkScheduler {
    fn new(config: &LinkConfig) -> Self {
        assert!(config.depth > 0, "an adapter takes at least one packet");
        Self {
            queue: config.order.discipline(&config.server()),
            depth: config.depth,
            in_flight: 0,
            longest: 0,
        }
    }

    #[inline]
    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, packet: Slot) {
        self.queue.enqueue(now, request, packet);
        self.longest = self.longest.max(self.queue.len());
    }

    /// Whether [`take`](Self::take) would return a packet.
    #[inline]
    pub(super) fn can_start(&mut self, now: Time) -> bool {
        self.in_flight < self.depth && self.queue.best(now).is_some()
    }

    /// Selects the next packet, if the adapter has a free place and a packet is eligible.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<Slot> {
        if self.in_flight == self.depth {
            return None;
        }
        let (_, slot) = self.queue.select(now)?;
        self.in_flight += 1;
        Some(slot)
    }

    #[inline]
    pub(super) fn complete(&mut self) {
        self.in_flight = self.in_flight.checked_sub(1).expect("a completed packet was in flight");
        if self.in_flight == 0 && self.queue.is_empty() {
            self.queue.idle();
        }
    }

    #[inline]
    fn may_hold(&self) -> bool {
        self.in_flight < self.depth && self.queue.may_hold()
    }

    /// Time when a held packet becomes eligible, if the adapter could take it.
    fn next_wakeup(&mut self, now: Time) -> Option<Time> {
        if self.in_flight == self.depth { None } else { self.queue.next_eligible(now) }
    }

    /// Usual wait of real-time packets here, if the discipline measures it.
    #[inline]
    pub(super) fn usual_wait(&self) -> Option<Span> {
        self.queue.usual_wait()
    }
}
