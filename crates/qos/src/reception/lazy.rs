//! Lazy receiver processing: the protocol is done by who receives (Druschel and Banga 1996; thesis 7.1, 7.2.3).
//!
//! Packets go to the queue of their socket and no further until the program asks for one; then the program does the
//! protocol in its own time, at its own priority. What finds the queue full is dropped before the host has spent anything
//! on it. Where the *adapter* tells sockets apart, the host is interrupted only if the program sleeps. Where *software* has
//! to, each packet interrupts and costs as much as it takes to see whose it is, dropped or not: that still livelocks, at a
//! load that is higher by as much as demultiplexing is cheaper than the protocol.

use laxity_units::Time;

use super::{Again, Batch, Context, Load, Operations, Posted};

/// The protocol in the program's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lazy {
    by_adapter: bool,
    asleep: bool,
}

impl Lazy {
    /// The adapter knows whose a packet is.
    pub const BY_ADAPTER: Self = Self { by_adapter: true, asleep: true };
    /// An interrupt routine finds out whose a packet is.
    pub const IN_SOFTWARE: Self = Self { by_adapter: false, asleep: false };

    /// Whether the adapter knows whose a packet is.
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
