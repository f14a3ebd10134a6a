//! Packets, as hosts, switches and disciplines handle them: descriptions, never payload.

use laxity_units::{Bytes, Span, Time};

use crate::by_channel::Label;
use crate::names::ChannelId;
use crate::tag::{Class, Tag};

/// A packet: a fragment of a message with its scheduling state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Its channel, as the sending host numbers it.
    pub channel: ChannelId,
    /// The message's number within its channel.
    pub message: u64,
    /// Position in the message, from 0.
    pub index: u32,
    /// Packets in the message.
    pub count: u32,
    /// Size of the payload.
    pub size: Bytes,
    /// Size of the whole message.
    pub message_size: Bytes,
    /// Its class, times and rate at this host.
    pub tag: Tag,
    /// Start of the message's deadline: `ℓ` at the source, or that of the last piece of an oversize
    /// message.
    pub due_from: Time,
    /// When the application sent the message.
    pub sent: Time,
    /// When the packet joined the link scheduler's queue at this host.
    pub created: Time,
    /// When it was handed to the adapter; before that as `created`.
    pub handed: Time,
    /// State carried to later queues.
    pub carried: Carried,
}

/// Two cache lines: a longer packet is copied by a call.
const _: () = assert!(size_of::<Packet>() == 128, "a packet is two lines");

/// A packet's state for disciplines that consider more than one hop.
///
/// A network would have the state in a header. Our header does not ([`wire`](crate::wire)): the
/// state is in the simulated packet only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Deadline at the end of its path; [`Time::MAX`] for best effort.
    pub due: Time,
    /// Wait beyond the usual one, so far, in picoseconds; negative if shorter.
    pub excess: i64,
    /// Links to its receiver, the next included.
    pub hops: u8,
    /// Whether the wait at the last host is still to be added to `excess`, from which the usual
    /// wait was subtracted.
    pub waits: bool,
    /// Table position of its channel at the next station.
    pub label: Label,
}

impl Carried {
    /// No carried state.
    pub const NOTHING: Self = Self { due: Time::MAX, excess: 0, hops: 1, waits: false, label: Label::NONE };
}

impl Packet {
    /// Whether its message never had a guarantee, on a channel that may also have guaranteed
    /// messages. A packet that was demoted on its path has a deadline and is not excess.
    #[inline]
    pub fn is_excess(&self) -> bool {
        self.tag.class == Class::BestEffort && self.carried.due == Time::MAX
    }

    /// Whether it completes its message, if none was lost.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.index + 1 == self.count
    }

    /// Its identity anywhere on its path: channel, message, position.
    pub fn name(&self) -> (ChannelId, u64, u32) {
        (self.channel, self.message, self.index)
    }

    /// Records that the packet joins a queue of a host with a `usual` wait, if the queue measures
    /// one.
    #[inline]
    pub(crate) fn join(&mut self, usual: Option<Span>) {
        self.carried.waits = usual.is_some();
        self.carried.excess = self.carried.excess.saturating_sub(signed(usual.unwrap_or_default()));
    }

    /// Records a wait of `waited` in a queue with a usual wait of `usual`.
    pub fn waited(&mut self, waited: Span, usual: Span) {
        self.carried.excess = self.carried.excess.saturating_add(signed(waited) - signed(usual));
    }

    /// Records the arrival at the next host or switch.
    pub fn arrive(&mut self) {
        if std::mem::take(&mut self.carried.waits) {
            self.waited(self.handed.saturating_since(self.created), Span::ZERO);
        }
        self.carried.hops = self.carried.hops.saturating_sub(1).max(1);
        self.carried.label = Label::NONE;
    }

    /// Whether `other` is this packet.
    pub fn is_same(&self, other: &Packet) -> bool {
        self.name() == other.name()
    }
}

fn signed(span: Span) -> i64 {
    i64::try_from(span.as_ps()).unwrap_or(i64::MAX)
}
