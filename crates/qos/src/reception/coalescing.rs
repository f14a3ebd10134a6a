//! Interrupt coalescing: the adapter interrupts when so many commands wait, or the first has waited so long.
//!
//! What `ethtool -C` calls rx-frames and rx-usecs. It divides the cost of interrupts by the frames of each, and adds up to
//! its time to the latency of a lone packet. The routine takes all there is: under overload the CPU is still the network's,
//! only later, so coalescing moves livelock and does not end it.

use laxity_units::{Span, Time};

use super::{Context, Operations, Posted};

/// An interrupt for several commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// So many commands interrupt at once; at least 1.
    pub frames: u32,
    /// The first command to wait interrupts after so long.
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
