//! The information for a discipline: about an item, and about the server.

use std::sync::Arc;

use laxity_units::{Bytes, Span, Time};

use super::{EarlyPolicy, Selection};
use crate::costs::LinkCosts;
use crate::names::ChannelId;
use crate::packet::{Carried, Packet};
use crate::tag::Tag;

/// An item's parameters for a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemRequest {
    /// The item's flow.
    pub flow: ChannelId,
    /// Its size.
    pub size: Bytes,
    /// Its class, times and rate at this hop.
    pub tag: Tag,
    /// Its state carried from hop to hop.
    pub carried: Carried,
}

impl ItemRequest {
    /// A packet's request to a link.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self { flow: packet.channel, size: packet.size, tag: packet.tag, carried: packet.carried }
    }
}

/// Parameters of the server of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerParameters {
    /// Treatment of early items.
    pub early: EarlyPolicy,
    /// Maximum service time of an item by size.
    pub speed: LinkCosts,
    /// The shortest frame, for framing disciplines.
    pub frame: Span,
    /// Shapers, gates and regulators, for strict priority.
    pub selection: Option<Arc<Selection>>,
}

impl ServerParameters {
    /// A server with default parameters but for the policy for early items.
    pub fn with(early: EarlyPolicy) -> Self {
        Self { early, speed: LinkCosts::default(), frame: Span::ZERO, selection: None }
    }
}

/// Rank of an item; the smaller is served first. Comparable within one discipline at one `now`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub(crate) u8, pub(crate) Time);

impl Rank {
    /// The level of the item, for orders by level.
    pub fn level(self) -> u8 {
        self.0
    }
}
