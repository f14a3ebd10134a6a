//! Deliberate faults of the data path. The simulation must notice each of them.

/// One thing that the node does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Packets have the deadline of the whole path at each node.
    LocalDeadlineIgnored,
    /// Signalling is queued with best effort.
    SignallingBestEffort,
    /// The data path of a channel that ended stays at the node.
    FlowKept,
    /// A reservation that ended is never freed in the table.
    ReservationKept,
    /// The remaining time is the whole local deadline.
    RemainingNotReduced,
    /// The source sends excess messages at once, with a deadline from their arrival.
    ContractNotPoliced,
    /// Best effort goes before signalling and channels.
    BestEffortFirst,
    /// A new contract starts its message numbers again.
    NumbersRestart,
    /// A receiver does not put messages in order.
    OrderIgnored,
    /// Duplicates of packets are delivered.
    DuplicateDelivered,
    /// The last packet of a message of several is not sent.
    LastPacketLost,
    /// Receiving a message leaves it in the queue.
    ReceiveKeeps,
}

impl Fault {
    /// Every fault.
    pub const ALL: &[Fault] = &[
        Fault::LocalDeadlineIgnored,
        Fault::SignallingBestEffort,
        Fault::FlowKept,
        Fault::ReservationKept,
        Fault::RemainingNotReduced,
        Fault::ContractNotPoliced,
        Fault::BestEffortFirst,
        Fault::NumbersRestart,
        Fault::OrderIgnored,
        Fault::DuplicateDelivered,
        Fault::LastPacketLost,
        Fault::ReceiveKeeps,
    ];
}
