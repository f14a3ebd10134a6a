//! What an adapter is told of a channel's contract, and what it makes of that.
//!
//! A host that lets nobody send more than was agreed needs no help. One that does not, and a network from which anything may
//! come, leave it to the adapter, as thesis §6.4.4 ends: with a single misbehaving connection even an adapter that schedules by deadlines is
//! not enough "unless it incorporates policing". So an adapter is told of each channel that is established, and may keep it
//! to its rate on either way, and may set buffers aside for it.

use laxity_qos::traffic::TrafficSpec;
use laxity_units::Span;

/// What an adapter is told of a channel that is established through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// What the channel promises to send at most.
    pub spec: TrafficSpec,
    /// Packets of its longest burst, at least 1.
    pub packets: u32,
}

/// Keeping channels to the rates of their contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policing {
    /// What becomes of a packet that exceeds its contract.
    pub excess: Excess,
    /// By how much packets may be late where they come from, for which what follows is early: none of a channel that keeps its contract
    /// exceeds it then (see [`TokenBucket`](laxity_qos::token_bucket::TokenBucket)).
    pub tolerance: Span,
}

/// What becomes of a packet that exceeds its contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Excess {
    /// It is lost.
    #[default]
    Drop,
    /// It goes on as best effort, here and behind, and later packets of its channel may pass it.
    Demote,
}

/// How many buffers each channel has to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// So many.
    Each(u32),
    /// The packets of the longest burst of its contract; a channel without a contract has none.
    Contract,
}
