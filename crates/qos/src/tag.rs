//! The class, the times and the rate by which a queue orders an item.

use laxity_units::{Span, Time};

use crate::virtual_clock::Vtick;

/// Number of priority levels.
pub const LEVELS: usize = 32;

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
