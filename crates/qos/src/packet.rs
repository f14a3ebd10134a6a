//! Packets, which hosts, switches and disciplines all handle: descriptions, never payload.

use laxity_units::{Bytes, Span, Time};

use crate::by_channel::Label;
use crate::names::ChannelId;
use crate::tag::{Class, Tag};

/// A packet: a fragment of a message with what its way needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The channel it belongs to, as the sending host numbers it.
    pub channel: ChannelId,
    /// The message's number within its channel.
    pub message: u64,
    /// Position in the message, from 0.
    pub index: u32,
    /// Packets in the message.
    pub count: u32,
    /// Payload.
    pub size: Bytes,
    /// Size of the whole message.
    pub message_size: Bytes,
    /// How this host schedules it.
    pub tag: Tag,
    /// From when the message's deadline counts: `ℓ` at the source, or that of its last piece if the
    /// message is larger than its contract has it.
    pub due_from: Time,
    /// When the application sent the message.
    pub sent: Time,
    /// When the packet joined the link scheduler's queue at this host.
    pub created: Time,
    /// When it was handed to the adapter; until then as `created`.
    pub handed: Time,
    /// What it carries for queues further on.
    pub carried: Carried,
}

/// Two lines of memory: what is longer is copied by a call.
const _: () = assert!(size_of::<Packet>() == 128, "a packet is two lines");

/// What a packet says of its way, for disciplines that look at more than one hop.
///
/// A network would have it in a header. Ours does not ([`wire`](crate::wire)): it is in the simulated packet only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// When it is due at the end of its way; [`Time::MAX`] for best effort.
    pub due: Time,
    /// By how much it waited longer than is usual, so far, in picoseconds; less than nothing if it had luck.
    pub excess: i64,
    /// Links to its receiver, the next included.
    pub hops: u8,
    /// Whether the wait at the host that it left last is still to be added to `excess`, of which the usual one was taken.
    pub waits: bool,
    /// Where the station that it comes to next keeps its channel.
    pub label: Label,
}

impl Carried {
    /// Of a packet that says nothing.
    pub const NOTHING: Self = Self { due: Time::MAX, excess: 0, hops: 1, waits: false, label: Label::NONE };
}

impl Packet {
    /// Whether its message never had a guarantee, of which there may be some beside those that have: it is best effort, and was not
    /// demoted to that on its way, since nothing says when it is due.
    #[inline]
    pub fn is_excess(&self) -> bool {
        self.tag.class == Class::BestEffort && self.carried.due == Time::MAX
    }

    /// Whether it completes its message, if none was lost.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.index + 1 == self.count
    }

    /// What tells it from any other, wherever on its way it is looked at: channel, message, position.
    pub fn name(&self) -> (ChannelId, u64, u32) {
        (self.channel, self.message, self.index)
    }

    /// It joins a queue of a host in which `usual` is what one waits, if that is counted there.
    #[inline]
    pub(crate) fn join(&mut self, usual: Option<Span>) {
        self.carried.waits = usual.is_some();
        self.carried.excess = self.carried.excess.saturating_sub(signed(usual.unwrap_or_default()));
    }

    /// It was in a queue for `waited`, where `usual` is what one waits.
    pub fn waited(&mut self, waited: Span, usual: Span) {
        self.carried.excess = self.carried.excess.saturating_add(signed(waited) - signed(usual));
    }

    /// It comes to the next host or switch.
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
