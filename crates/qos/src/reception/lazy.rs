//! Lazy receiver processing: the receiving program executes the protocol (Druschel and Banga 1996;
//! thesis 7.1, 7.2.3).
//!
//! Packets wait in the queue of their socket until the program requests one; then the program
//! executes the protocol in its own time, at its own priority. A packet that finds the queue full
//! is dropped before it has cost the host any time. Where the *adapter* demultiplexes, the host is
//! interrupted only if the program sleeps. Where *software* demultiplexes, each packet interrupts
//! and costs the time of demultiplexing, dropped or not. That still livelocks, at a load higher by
//! the ratio of the protocol's cost to that of demultiplexing.

use laxity_units::Time;

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Protocol processing in the program's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lazy {
    by_adapter: bool,
    asleep: bool,
}

impl Lazy {
    /// The adapter demultiplexes packets.
    pub const BY_ADAPTER: Self = Self { by_adapter: true, asleep: true };
    /// An interrupt routine demultiplexes packets.
    pub const IN_SOFTWARE: Self = Self { by_adapter: false, asleep: false };

    /// Whether the adapter demultiplexes packets.
    pub fn is_by_adapter(&self) -> bool {
        self.by_adapter
    }
}

impl Operations for Lazy {
    fn context(&self) -> Context {
        Context::Routine
    }

    fn quota(&self) -> u32 {
        if self.by_adapter { u32::MAX } else { 1 }
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        (!self.by_adapter || self.asleep).then_some(posted.oldest)
    }

    fn entered(&mut self, _now: Time) {
        self.asleep = false;
    }

    fn left(&mut self, _now: Time, _batch: &Batch, _load: &Load) -> Again {
        if self.by_adapter { Again::AfterProgram } else { Again::OnSignal }
    }

    fn idle(&mut self, _now: Time) {
        self.asleep = true;
    }

    fn defers_protocol(&self) -> bool {
        true
    }
}
