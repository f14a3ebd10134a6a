//! What a discipline may know: of an item, and of who serves it.

use laxity_units::{Bytes, Span, Time};

use super::EarlyPolicy;
use crate::costs::LinkCosts;
use crate::names::ChannelId;
use crate::packet::{Carried, Packet};
use crate::tag::Tag;

/// What an item asks of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Whose it is.
    pub flow: ChannelId,
    /// How much there is of it.
    pub size: Bytes,
    /// What its contract makes of it here.
    pub tag: Tag,
    /// What it says of its way.
    pub carried: Carried,
}

impl Request {
    /// What a packet asks of a link.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self { flow: packet.channel, size: packet.size, tag: packet.tag, carried: packet.carried }
    }
}

/// What a discipline may know of who serves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// What early items may do.
    pub early: EarlyPolicy,
    /// How long an item of a size takes at most.
    pub speed: LinkCosts,
    /// The shortest frame of disciplines that have frames.
    pub frame: Span,
}

impl Server {
    /// One of which no more is known than what early items may do.
    pub fn with(early: EarlyPolicy) -> Self {
        Self { early, speed: LinkCosts::default(), frame: Span::ZERO }
    }
}

/// How urgent an item is; the smaller is served first. Comparable within one discipline at one `now`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub(crate) u8, pub(crate) Time);
