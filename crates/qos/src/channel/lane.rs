//! A message queue, its packet buffers and who empties it.
//!
//! A channel has one lane; a channel whose excess is carried as best effort has a second one for that,
//! with buffers and a handler of its own, so that the excess cannot hold up what is within the contract.

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

/// What a packet's way through a lane asks of its channel's configuration: of ten thousand lanes each is looked at for an instant, and brings no more along than that.
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
    /// A program reads what comes.
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

/// A received packet that waits for its handler: where it lies, and what its turn depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    pub(super) slot: Slot,
    /// It completes its message, if none was lost.
    pub(super) is_last: bool,
    pub(super) size: Bytes,
    pub(super) tag: Tag,
}

/// In this order, so that a packet that is made looks at the first three lines of memory, and one that comes at three more.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Lane {
    pub(super) channel: ChannelId,
    /// Nothing more is accepted.
    pub(super) closed: bool,
    pub(super) terms: Terms,
    /// Packets between creation (or reception) and completed transmission.
    pub(super) used_packets: u64,
    /// The most of them that there ever were.
    pub(super) most_packets: u64,
    /// The lane's handler with a process per channel; `None` with a process per message.
    pub(super) handler: Option<usize>,
    /// Messages not yet taken by a handler.
    pub(super) messages: VecDeque<Message>,
    /// Messages that threads of their own are processing, and how many packets each has still to make.
    pub(super) unfinished: BTreeMap<u64, u64>,
    /// Handlers waiting for a packet buffer, that of the message with the least number first.
    pub(super) blocked: BinaryHeap<Reverse<(u64, usize)>>,
    /// Received packets not yet taken by a handler.
    pub(super) packets: ShortQueue<Incoming>,
    /// Puts received messages together; the excess has one of its own, for it may be overtaken.
    pub(super) reassembler: Reassembler,
    /// Messages that wait for the channel's program.
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

    /// A message comes for it, to be sent: asks for what will be looked at.
    #[inline]
    pub(super) fn fetch_sender(&self) {
        fetch_before(self, &self.packets);
    }

    /// Whether packets wait that were received: who only sends is not asked.
    #[inline]
    pub(super) fn has_received(&self) -> bool {
        self.terms.role != Role::Send && !self.packets.is_empty()
    }

    /// How many further messages have a place.
    ///
    /// A handler's message has left the queue: the papers' handler dequeues, then waits until the
    /// message is current. A message with a thread of its own keeps its place until it is processed,
    /// for otherwise nothing would bound the number of threads.
    #[inline]
    pub(super) fn room(&self, processing: Processing) -> u64 {
        let held = match processing {
            Processing::PerChannel => self.messages.len(),
            Processing::PerMessage => self.unfinished.len(),
        };
        u64::from(self.terms.message_slots).saturating_sub(held as u64)
    }

    /// Whether the next packet of `message` has a buffer that no earlier message will want.
    ///
    /// Threads of one channel make packets at the same time, and ahead of time too. Were the last buffers taken by a
    /// later message, whose packets the link holds until they are current, the earlier one would wait for
    /// them past its own deadline.
    #[inline]
    pub(super) fn has_buffer_for(&self, message: u64) -> bool {
        if self.unfinished.is_empty() {
            return self.has_buffer();
        }
        let wanted: u64 = self.unfinished.range(..message).map(|(_, packets)| packets).sum();
        self.used_packets + wanted < self.terms.packet_slots
    }

    /// A packet takes a buffer.
    #[inline]
    pub(super) fn take_buffer(&mut self) {
        self.used_packets += 1;
        self.most_packets = self.most_packets.max(self.used_packets);
    }

    /// A packet of `message` was made; answers whether that was the last of one that has a thread of its own.
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

    /// Whether a further packet has a buffer.
    #[inline]
    pub(super) fn has_buffer(&self) -> bool {
        self.used_packets < self.terms.packet_slots
    }
}
