//! Messages as the subsystem handles them: descriptions, never payload.

use laxity_units::{Bytes, Span, Time};

use super::policy::Way;
use crate::fragment::Cut;
use crate::names::ChannelId;
use crate::packet::{Carried, Packet};
use crate::tag::{Class, Tag};

/// A message between its sender and its last packet.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: u64,
    pub(super) size: Bytes,
    pub(super) sent: Time,
    /// Start of the deadline's interval: `ℓ`, or the logical arrival of the last piece.
    pub(super) due_from: Time,
    pub(super) tag: Tag,
    pub(super) made: u64,
    pub(super) cut: Cut,
}

impl Message {
    #[inline]
    pub(super) fn packets(&self) -> u64 {
        self.cut.packets()
    }

    #[inline]
    pub(super) fn done(&self) -> bool {
        self.made == self.packets()
    }

    /// Whether the next packet is the first of the message or of a piece. A piece is carried and
    /// charged as a message of the contract, as bounds count it.
    #[inline]
    pub(super) fn begins_piece(&self) -> bool {
        self.made == 0 || self.cut.begins_piece(self.made)
    }

    /// Starts the next piece if all packets of the current one are made: the piece counts as
    /// arrived `interval` later. Returns whether it did.
    #[inline]
    pub(super) fn turn_to_next_piece(&mut self, interval: Span) -> bool {
        let turns = self.cut.begins_piece(self.made);
        if turns {
            self.tag.logical_arrival = self.tag.logical_arrival.saturating_add(interval);
            self.tag.deadline = self.tag.deadline.saturating_add(interval);
        }
        turns
    }

    /// The size of the next packet; zero if all are made.
    #[inline]
    pub(super) fn next_size(&self) -> Bytes {
        if self.done() { Bytes::ZERO } else { self.cut.size(self.made) }
    }

    #[inline]
    pub(super) fn next_packet(&mut self, channel: ChannelId, way: Way, now: Time) -> Packet {
        let index = self.made;
        self.made += 1;
        Packet {
            channel,
            message: self.id,
            index: index as u32,
            count: self.packets() as u32,
            size: self.cut.size(index),
            message_size: self.size,
            tag: self.tag,
            due_from: self.due_from,
            sent: self.sent,
            created: now,
            handed: now,
            carried: Carried {
                due: match self.tag.class {
                    Class::RealTime => self.due_from.saturating_add(way.deadline),
                    Class::BestEffort => Time::MAX,
                },
                hops: way.links,
                ..Carried::NOTHING
            },
        }
    }

    pub(super) fn postpone(&mut self, by: Span) {
        self.tag.deadline = self.tag.deadline.saturating_add(by);
    }
}

/// A message handed to the receiving application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Channel at the receiving host.
    pub channel: ChannelId,
    /// The message's number within its channel.
    pub message: u64,
    /// Its class of service.
    pub class: Class,
    /// Its size.
    pub size: Bytes,
    /// When it was sent.
    pub sent: Time,
    /// Start of its deadline's interval at the source.
    pub due_from: Time,
}
