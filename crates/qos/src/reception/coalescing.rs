//! Interrupt coalescing: the adapter interrupts when a number of commands wait, or the first has
//! waited for a given time.
//!
//! `ethtool -C` calls the parameters rx-frames and rx-usecs. Coalescing divides the cost of
//! interrupts by the frames of each, and adds up to its delay to the latency of a lone packet. The
//! routine takes all waiting commands. Under overload the network still takes the whole CPU, so
//! coalescing shifts livelock to a higher load and does not prevent it.

use laxity_units::{Span, Time};

use super::{Context, Operations, Posted};

/// An interrupt for several commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// Number of waiting commands that interrupt at once; at least 1.
    pub frames: u32,
    /// Maximum wait of the first command before an interrupt.
    pub delay: Span,
    /// When the latest command was posted.
    latest: Time,
}

impl Coalescing {
    /// An interrupt when `frames` commands wait, or the first of them has waited for `delay`.
    pub fn new(frames: u32, delay: Span) -> Self {
        Self { frames, delay, latest: Time::ZERO }
    }
}

impl Operations for Coalescing {
    fn context(&self) -> Context {
        Context::Routine
    }

    fn posted(&mut self, now: Time) {
        self.latest = now;
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        let timed = posted.oldest.saturating_add(self.delay);
        Some(if posted.waiting >= self.frames { timed.min(self.latest) } else { timed })
    }
}
