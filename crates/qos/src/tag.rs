//! The class, the times and the rate by which a queue orders an item.

use laxity_units::{Span, Time};

use crate::virtual_clock::Vtick;

/// Number of priority levels.
pub const LEVELS: usize = 32;

/// The least urgent level, that of best effort.
pub const LOWEST: u8 = LEVELS as u8 - 1;

/// Whether an item has a guarantee.
// Two bytes and not one. A queue marks "no item" by a value that this never has, and fields around
// a single byte are moved in overlapping pieces, each of which waits for the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Class {
    /// Admitted, with a bound.
    RealTime,
    /// Served with the residual capacity.
    BestEffort,
}

/// The parameters that a contract gives an item at a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Class of service.
    pub class: Class,
    /// `ℓ`: the logical arrival time; the arrival time for best effort.
    pub logical_arrival: Time,
    /// Absolute deadline; [`Time::MAX`] for best effort.
    pub deadline: Time,
    /// `Vtick`: the rate of the item's flow, as the largest message of the contract in each of its
    /// intervals; [`Vtick::NONE`] for a flow without a rate.
    pub tick: Vtick,
    /// Fixed priority, below [`LEVELS`]; 0 is the highest.
    pub level: u8,
}

impl Tag {
    /// An item with a guarantee, of a flow with rate `tick` and logical arrival `at`; its deadline
    /// is `at + within`.
    pub fn real_time(at: Time, within: Span, tick: Vtick, level: u8) -> Self {
        let deadline = at.saturating_add(within);
        Self { class: Class::RealTime, logical_arrival: at, deadline, tick, level }
    }

    /// The priority code point of a VLAN tag (IEEE 802.1Q); 7 is the highest. Four levels share one
    /// code point, and best effort has 0.
    pub fn priority(&self) -> u8 {
        7 - self.level.min(31) / 4
    }

    /// An item without a guarantee that arrived `now`.
    pub fn best_effort(now: Time) -> Self {
        Self::sharing(now, Vtick::NONE)
    }

    /// An item without a guarantee that arrived `now`, of a flow with a rate where rates are
    /// shared.
    pub fn sharing(now: Time, tick: Vtick) -> Self {
        let level = LEVELS as u8 - 1;
        Self { class: Class::BestEffort, logical_arrival: now, deadline: Time::MAX, tick, level }
    }
}
