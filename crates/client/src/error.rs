//! Errors.

use std::{fmt, io};

use crate::protocol::Refusal;

/// Why a call failed.
#[derive(Debug)]
pub enum Error {
    /// The operating system refuses; most often no daemon runs at the socket.
    System(io::Error),
    /// The daemon ended or closed the connection.
    Disconnected,
    /// The network refuses the contract.
    Refused(Refusal),
    /// The message is beyond the contract.
    Excess,
    /// The message is longer than the contract allows, or empty.
    Length,
    /// The channel broke.
    Lost,
    /// The receiver or an administrator ended the channel.
    Ended,
    /// The connection belongs to the parent of this process, which `fork` made.
    Forked,
    /// The request cannot be carried out; the daemon's sentence.
    Failed(String),
    /// The other side does not follow the protocol.
    Garbled,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(why) => why.fmt(f),
            Self::Disconnected => f.write_str("the daemon ended the connection"),
            Self::Refused(refusal) => write!(f, "the channel is refused: {refusal}"),
            Self::Excess => f.write_str("the message is beyond the contract of its channel"),
            Self::Length => f.write_str("the length of the message is outside the contract"),
            Self::Lost => f.write_str("the channel is over: a node or a link on its route failed"),
            Self::Ended => f.write_str("the channel is over: its receiver or an administrator ended it"),
            Self::Forked => f.write_str(
                "the connection belongs to the process that opened it: connect again after a fork",
            ),
            Self::Failed(why) => f.write_str(why),
            Self::Garbled => f.write_str("the other side does not follow the protocol"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(why: io::Error) -> Self {
        Self::System(why)
    }
}

impl From<nix::errno::Errno> for Error {
    fn from(why: nix::errno::Errno) -> Self {
        Self::System(why.into())
    }
}
