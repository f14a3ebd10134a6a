//! Calls of a subsystem that name a channel wrongly.

use std::error::Error;
use std::fmt;

use crate::names::ChannelId;

/// A call of a [`Subsystem`](super::Subsystem) that names a channel wrongly. The call has changed
/// no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misuse {
    /// No channel of this number is open here.
    Unknown(ChannelId),
    /// A channel of this number is open here already, or was closed and not yet forgotten.
    NumberTaken(ChannelId),
    /// The channel was closed, so its application sends no more.
    Closed(ChannelId),
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::Unknown(ChannelId(number)) => write!(f, "channel {number} is not open here"),
            Misuse::NumberTaken(ChannelId(number)) => write!(f, "channel {number} was opened before"),
            Misuse::Closed(ChannelId(number)) => write!(f, "channel {number} is closed"),
        }
    }
}

impl Error for Misuse {}
