//! A channel's contract as the adapter knows it, and its use.
//!
//! A host that limits each sender to its contract needs no help. Otherwise, and behind a network
//! without policing, the adapter has to act, as thesis §6.4.4 concludes: with a single misbehaving
//! connection even an adapter that schedules by deadlines is not enough "unless it incorporates
//! policing". So an adapter knows each established channel, may police it in either direction, and
//! may reserve buffers for it.

use laxity_qos::traffic::TrafficSpec;
use laxity_units::Span;

/// Contract of a channel that is established through the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterContract {
    /// Maximum traffic of the channel.
    pub spec: TrafficSpec,
    /// Packets of its longest burst, at least 1.
    pub packets: u32,
}

/// Policing of channels by their contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policing {
    /// Treatment of a packet that exceeds its contract.
    pub excess: Excess,
    /// Maximum jitter of packets upstream, by which the following ones are early: with it, no
    /// packet of a conforming channel exceeds its contract (see
    /// [`TokenBucket`](laxity_qos::token_bucket::TokenBucket)).
    pub tolerance: Span,
}

/// Treatment of a packet that exceeds its contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Excess {
    /// It is lost.
    #[default]
    Drop,
    /// It continues as best effort, here and downstream, and later packets of its channel may
    /// overtake it.
    Demote,
}

/// Number of a channel's own buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// This many.
    Each(u32),
    /// The packets of the longest burst of its contract; a channel without a contract has none.
    Contract,
}
