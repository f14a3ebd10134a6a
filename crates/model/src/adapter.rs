//! Adapters: what happens to a packet after the host has handed it over.
//!
//! All adapters keep one contract, which mirrors hardware: packets come in with a command, timers expire,
//! and out come completions. An adapter never looks at the clock and never calls the host; the world in
//! which both stand passes things between them.

mod null;
mod staged;

pub use null::Null;
pub use staged::{Delay, Phase, Stage, Staged};

use laxity_qos::channel::Packet;
use laxity_units::{Span, Time};

/// What an adapter puts out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdapterOutput {
    /// The packet is on the wire, whole; the host is told by an interrupt.
    Transmitted(Packet),
}

/// An adapter of one of the families.
#[derive(Debug)]
pub enum Adapter {
    /// See [`Null`].
    Null(Null),
    /// See [`Staged`].
    Staged(Staged),
}

impl Adapter {
    /// The host hands over a packet.
    pub fn transmit(&mut self, now: Time, packet: Packet) {
        match self {
            Adapter::Null(adapter) => adapter.transmit(now, packet),
            Adapter::Staged(adapter) => adapter.transmit(now, packet),
        }
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time) {
        match self {
            Adapter::Null(adapter) => adapter.timer(now),
            Adapter::Staged(adapter) => adapter.timer(now),
        }
    }

    /// When the adapter next wants [`timer`](Self::timer) to be called.
    pub fn next_deadline(&self) -> Option<Time> {
        match self {
            Adapter::Null(adapter) => adapter.next_deadline(),
            Adapter::Staged(adapter) => adapter.next_deadline(),
        }
    }

    /// What the adapter did, oldest first.
    pub fn poll_output(&mut self) -> Option<AdapterOutput> {
        match self {
            Adapter::Null(adapter) => adapter.poll_output(),
            Adapter::Staged(adapter) => adapter.poll_output(),
        }
    }

    /// Busy time of each resource since the start, by name.
    pub fn busy(&self) -> Vec<(&str, Span)> {
        match self {
            Adapter::Null(adapter) => vec![("link", adapter.busy())],
            Adapter::Staged(adapter) => adapter.busy(),
        }
    }
}
