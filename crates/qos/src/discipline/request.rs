//! What a discipline may know: of an item, and of who serves it.

use laxity_units::{Bytes, Span, Time};

use super::{EarlyPolicy, LEVELS};
use crate::channel::{Carried, ChannelId, Packet};
use crate::costs::LinkCosts;
use crate::virtual_clock::Vtick;

/// Whether an item has a guarantee.
// Two bytes and not one: a queue tells that it has no item by a value that this never has, and what lies around a byte of its own is moved in pieces that
// overlap, of which each waits for the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Class {
    /// Admitted with a bound.
    RealTime,
    /// Served with what is left.
    BestEffort,
}

/// What a contract makes of an item where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Class of service.
    pub class: Class,
    /// `ℓ`: when the item is current; the arrival time for best effort.
    pub logical_arrival: Time,
    /// Absolute deadline; [`Time::MAX`] for best effort.
    pub deadline: Time,
    /// `Vtick`: the rate of its flow, as the largest message of the contract in each of its intervals; [`Vtick::NONE`] for what
    /// has none.
    pub tick: Vtick,
    /// Fixed priority, 0 the most urgent, below [`LEVELS`].
    pub level: u8,
}

impl Tag {
    /// What has a guarantee, of a flow with such a `tick`, and counts as come at `at`; its deadline is `within` of that.
    pub fn real_time(at: Time, within: Span, tick: Vtick, level: u8) -> Self {
        let deadline = at.saturating_add(within);
        Self { class: Class::RealTime, logical_arrival: at, deadline, tick, level }
    }

    /// What it is in a VLAN's tag: the priority code point of IEEE 802.1Q, 7 the most urgent. Four levels share one, and best effort has 0.
    pub fn priority(&self) -> u8 {
        7 - self.level.min(31) / 4
    }

    /// What has none, and came `now`.
    pub fn best_effort(now: Time) -> Self {
        Self::sharing(now, Vtick::NONE)
    }

    /// What has no guarantee and came `now`, of a flow that is to have a rate where rates are shared.
    pub fn sharing(now: Time, tick: Vtick) -> Self {
        let level = LEVELS as u8 - 1;
        Self { class: Class::BestEffort, logical_arrival: now, deadline: Time::MAX, tick, level }
    }
}

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
