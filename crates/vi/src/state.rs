//! State of a virtual interface, and its faults.

/// Handling of a message that cannot be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The message is lost; each side continues.
    #[default]
    Unreliable = 0,
    /// The connection breaks, and both sides are notified.
    Reliable = 1,
}

/// State of a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Not connected.
    Idle = 0,
    /// Connected.
    Connected = 1,
    /// Connection requested.
    Pending = 2,
    /// Broken, or the peer has gone; a disconnect makes it idle.
    Error = 3,
}

impl State {
    pub(crate) fn of(word: u32) -> Self {
        match word & 0xff {
            0 => State::Idle,
            1 => State::Connected,
            2 => State::Pending,
            _ => State::Error,
        }
    }
}

/// Cause of a broken virtual interface: the VI Architecture's asynchronous errors, with their
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViFault {
    /// A posted descriptor is invalid, or names memory that it may not access.
    PostedDescriptor = 0,
    /// The peer is gone, or was broken.
    ConnectionLost = 1,
    /// A reliable message found no receive descriptor.
    ReceiveQueueEmpty = 2,
    /// More descriptors were posted than the queue holds.
    Overrun = 3,
    /// An RDMA write of the peer was not permitted.
    RdmaWriteProtection = 4,
    /// An RDMA read at the peer was not permitted.
    RdmaReadProtection = 7,
    /// The provider is lost.
    Catastrophic = 10,
}

impl ViFault {
    pub(crate) const ALL: [Self; 7] = [
        Self::PostedDescriptor,
        Self::ConnectionLost,
        Self::ReceiveQueueEmpty,
        Self::Overrun,
        Self::RdmaWriteProtection,
        Self::RdmaReadProtection,
        Self::Catastrophic,
    ];

    pub(crate) fn of(word: u32) -> Option<Self> {
        let fault = Self::ALL.into_iter().find(|fault| *fault as u32 == word >> 8);
        fault.filter(|_| State::of(word) == State::Error)
    }
}
