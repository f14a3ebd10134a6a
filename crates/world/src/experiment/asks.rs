//! Requests of a channel beside its deadline.

use laxity_units::{Bytes, Span};

/// Requests of a channel beside its deadline; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Asks {
    /// The longest delay less the shortest, at most.
    pub jitter: Option<Span>,
    /// The share of messages that networks lose, at most.
    pub loss: Option<f64>,
    /// The share of messages that are late or dropped, at most; `None` for no message.
    pub late: Option<f64>,
    /// The mean size of messages; `None` for the largest.
    pub mean_message: Option<Bytes>,
}
