//! The contract of a channel.

use laxity_units::{Bytes, Span};

/// A linear bounded arrival process (resource management, section 2.1) and its end-to-end delay
/// bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelContract {
    /// `M_max`: the largest message.
    pub max_message: Bytes,
    /// The smallest message, at most `max_message`.
    pub min_message: Bytes,
    /// `I_min`: the least average spacing of messages; not zero.
    pub min_interval: Span,
    /// `B_max`: the longest burst in messages; at least 1.
    pub burst: u32,
    /// `D`: each message is delivered so long after its logical arrival; not zero.
    pub deadline: Span,
}

impl ChannelContract {
    /// Whether each field is within its range.
    pub fn is_valid(&self) -> bool {
        !self.max_message.is_zero()
            && self.min_message <= self.max_message
            && !self.min_interval.is_zero()
            && self.burst > 0
            && !self.deadline.is_zero()
    }

    /// `B I + D`: so long after the last message that the contract admits the message is delivered at
    /// the latest. The burst may be ahead of its time.
    pub fn drain(&self) -> Span {
        self.min_interval.saturating_mul(self.burst.into()).saturating_add(self.deadline)
    }

    /// `M_max / I_min` in bytes per second, rounded up; `u64::MAX` where that cannot be named.
    pub fn bandwidth(&self) -> u64 {
        const SECOND: u128 = 1_000_000_000_000;
        let interval = u128::from(self.min_interval.as_ps().max(1));
        let bandwidth = (u128::from(self.max_message.get()) * SECOND).div_ceil(interval);
        u64::try_from(bandwidth).unwrap_or(u64::MAX)
    }
}

/// The part of the quota of its owner that a reservation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaClaim {
    /// Link bandwidth in bytes per second.
    pub bandwidth: u64,
    /// Packet and message buffers, and receive places.
    pub buffers: u64,
    /// CPU time in millionths of the CPU.
    pub cpu: u64,
}

impl QuotaClaim {
    /// The sum, or the largest number that can be named.
    #[must_use]
    pub fn plus(self, other: QuotaClaim) -> QuotaClaim {
        QuotaClaim {
            bandwidth: self.bandwidth.saturating_add(other.bandwidth),
            buffers: self.buffers.saturating_add(other.buffers),
            cpu: self.cpu.saturating_add(other.cpu),
        }
    }

    /// The difference, or zero.
    #[must_use]
    pub fn minus(self, other: QuotaClaim) -> QuotaClaim {
        QuotaClaim {
            bandwidth: self.bandwidth.saturating_sub(other.bandwidth),
            buffers: self.buffers.saturating_sub(other.buffers),
            cpu: self.cpu.saturating_sub(other.cpu),
        }
    }
}
