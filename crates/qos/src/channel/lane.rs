//! A lane: a message queue, its packet buffers and its handler.
//!
//! A channel has one lane. A channel that carries excess as best effort has a second lane for it,
//! with its own buffers and handler, so that the excess cannot block messages within the contract.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use laxity_units::{Bytes, Span};

use super::inbox::Inbox;
use super::message::Message;
use super::policy::{ChannelConfig, PacketOverflow, Processing, Role, Way};
use super::slots::Slot;
use crate::ahead::fetch_before;
use crate::fragment::Reassembler;
use crate::names::{ChannelId, CoreId, LinkId};
use crate::short_queue::ShortQueue;
use crate::tag::Tag;

/// The part of the channel's configuration that each packet needs. It is small because each of ten
/// thousand lanes is in the cache only briefly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) way: Way,
    pub(super) min_interval: Span,
    pub(super) packet_slots: u64,
    pub(super) message_slots: u32,
    pub(super) link: LinkId,
    pub(super) core: CoreId,
    pub(super) role: Role,
    pub(super) packet_overflow: PacketOverflow,
    /// A program reads received messages.
    pub(super) is_read: bool,
}

impl Terms {
    fn of(config: &ChannelConfig) -> Self {
        Self {
            way: config.way,
            min_interval: config.spec.min_interval,
            packet_slots: config.packet_slots,
            message_slots: config.message_slots,
            link: config.link,
            core: config.core,
            role: config.role,
            packet_overflow: config.packet_overflow,
            is_read: config.reader.is_some(),
        }
    }
}

/// A received packet that waits for its handler: its slot, and the values that rank it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    pub(super) slot: Slot,
    /// The packet completes its message, if no packet was lost.
    pub(super) is_last: bool,
    pub(super) size: Bytes,
    pub(super) tag: Tag,
}

/// The order of the fields matters: making a packet reads the first three cache lines, and
/// receiving a packet reads three more.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Lane {
    pub(super) channel: ChannelId,
    /// No more messages are accepted.
    pub(super) closed: bool,
    pub(super) terms: Terms,
    /// Packets between creation (or reception) and completed transmission.
    pub(super) used_packets: u64,
    /// Maximum of `used_packets` so far.
    pub(super) most_packets: u64,
    /// The lane's handler with a process per channel; `None` with a process per message.
    pub(super) handler: Option<usize>,
    /// Messages that no handler has taken yet.
    pub(super) messages: VecDeque<Message>,
    /// Messages in processing by threads of their own, with the number of packets still to be made.
    pub(super) unfinished: BTreeMap<u64, u64>,
    /// Handlers that wait for a packet buffer, the handler of the message with the lowest number
    /// first.
    pub(super) blocked: BinaryHeap<Reverse<(u64, usize)>>,
    /// Received packets that no handler has taken yet.
    pub(super) packets: ShortQueue<Incoming>,
    /// Reassembles received messages. The excess has its own reassembler because its messages may
    /// be overtaken.
    pub(super) reassembler: Reassembler,
    pub(super) inbox: Inbox,
}

impl Lane {
    pub(super) fn new(channel: ChannelId, config: &ChannelConfig) -> Self {
        Self {
            channel,
            terms: Terms::of(config),
            messages: VecDeque::new(),
            packets: ShortQueue::new(),
            used_packets: 0,
            most_packets: 0,
            handler: None,
            blocked: BinaryHeap::new(),
            unfinished: BTreeMap::new(),
            reassembler: Reassembler::default(),
            inbox: Inbox::default(),
            closed: false,
        }
    }

    /// Prefetches the fields that sending a message reads.
    #[inline]
    pub(super) fn fetch_sender(&self) {
        fetch_before(self, &self.packets);
    }

    /// Whether received packets wait; reads no queue for a lane that only sends.
    #[inline]
    pub(super) fn has_received(&self) -> bool {
        self.terms.role != Role::Send && !self.packets.is_empty()
    }

    /// Number of free message slots.
    ///
    /// With a handler per channel, the current message has left the queue: the papers' handler
    /// dequeues, then waits until the message is current. A message with its own thread keeps its
    /// slot until it is processed; otherwise the number of threads would be unbounded.
    #[inline]
    pub(super) fn room(&self, processing: Processing) -> u64 {
        let held = match processing {
            Processing::PerChannel => self.messages.len(),
            Processing::PerMessage => self.unfinished.len(),
        };
        u64::from(self.terms.message_slots).saturating_sub(held as u64)
    }

    /// Whether the next packet of `message` has a buffer that no earlier message needs.
    ///
    /// Threads of one channel make packets at the same time, and before their release time too. If
    /// a later message took the last buffers, the link would hold its packets until they are
    /// current. The earlier message would then wait for a buffer past its own deadline.
    #[inline]
    pub(super) fn has_buffer_for(&self, message: u64) -> bool {
        if self.unfinished.is_empty() {
            return self.has_buffer();
        }
        let wanted: u64 = self.unfinished.range(..message).map(|(_, packets)| packets).sum();
        self.used_packets + wanted < self.terms.packet_slots
    }

    #[inline]
    pub(super) fn take_buffer(&mut self) {
        self.used_packets += 1;
        self.most_packets = self.most_packets.max(self.used_packets);
    }

    /// Counts a packet of `message` as made; returns whether it was the last of a message with its
    /// own thread.
    #[inline]
    pub(super) fn made(&mut self, message: u64) -> bool {
        !self.unfinished.is_empty() && self.made_by_thread(message)
    }

    #[inline(never)]
    fn made_by_thread(&mut self, message: u64) -> bool {
        let Some(packets) = self.unfinished.get_mut(&message) else { return false };
        *packets -= 1;
        let last = *packets == 0;
        if last {
            self.unfinished.remove(&message);
        }
        last
    }

    #[inline]
    pub(super) fn has_buffer(&self) -> bool {
        self.used_packets < self.terms.packet_slots
    }
}
