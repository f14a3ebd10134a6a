//! What a virtual interface is at, and what becomes of it when something goes wrong.

/// What happens to a message that cannot be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// It is lost; each side goes on.
    #[default]
    Unreliable = 0,
    /// The connection breaks, and both sides know.
    Reliable = 1,
}

/// What a virtual interface is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It is not connected.
    Idle = 0,
    /// It is connected.
    Connected = 1,
    /// It has asked to be.
    Pending = 2,
    /// It is broken, or the other side has gone; disconnected, it is idle again.
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

/// Why a virtual interface is broken: what the VI Architecture tells of by its asynchronous errors, with their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A descriptor was posted that is none, or names memory that it may not.
    PostedDescriptor = 0,
    /// The other side is gone, or was broken.
    ConnectionLost = 1,
    /// A message came, reliably, and found no receive descriptor.
    ReceiveQueueEmpty = 2,
    /// More descriptors were posted than there is room for.
    Overrun = 3,
    /// RDMA of the other side wrote where it may not.
    RdmaWriteProtection = 4,
    /// RDMA read at the other side what may not be read.
    RdmaReadProtection = 7,
    /// The provider is gone.
    Catastrophic = 10,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] = [
        Self::PostedDescriptor,
        Self::ConnectionLost,
        Self::ReceiveQueueEmpty,
        Self::Overrun,
        Self::RdmaWriteProtection,
        Self::RdmaReadProtection,
        Self::Catastrophic,
    ];

    /// What a word that shows a state says of it.
    pub(crate) fn of(word: u32) -> Option<Self> {
        let fault = Self::ALL.into_iter().find(|fault| *fault as u32 == word >> 8);
        fault.filter(|_| State::of(word) == State::Error)
    }
}
