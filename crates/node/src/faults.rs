//! Deliberate faults of a node, which tests must notice.

use laxity_signalling::faults::Fault as Protocol;

/// One thing that the node does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeFault {
    /// Packets have the deadline of the whole path at each node.
    LocalDeadlineIgnored,
    /// Signalling is queued with best effort.
    SignallingBestEffort,
    /// The data path of a channel that ended stays at the node.
    FlowKept,
    /// The data path does not follow a change of the manager.
    ChangeUnfollowed,
    /// No timer of the data path is ever run.
    TimerUnheeded,
    /// A reservation that ended is never freed in the table.
    ReservationKept,
    /// A reservation that ended is free at once, with its link time still in use.
    ReservationFreedEarly,
    /// The memory of a reservation that ended is free with its packets still in a queue.
    MemoryFreedEarly,
    /// The memory of a reservation that ended is never free.
    MemoryKept,
    /// The remaining time is the whole local deadline.
    RemainingNotReduced,
    /// A relayed message is due from its arrival, whatever the message before.
    RegulatorMissing,
    /// A packet that is later than others of its message has their logical arrival.
    LatePacketUnregulated,
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
    /// Nodes after the source regulate by the interval of the contract, whatever their clocks.
    DriftIgnored,
    /// A frame leaves before its logical arrival when the link is idle.
    ReleasedEarly,
    /// A message of a channel within the node is delivered before its logical arrival.
    DeliveredEarly,
    /// A clock that is set back is believed.
    StepBelieved,
    /// A fault of the network manager.
    Protocol(Protocol),
}

impl NodeFault {
    /// The faults that the simulation of networks notices. Tests by hand notice the others.
    pub const ALL: &[NodeFault] = &[
        NodeFault::LocalDeadlineIgnored,
        NodeFault::SignallingBestEffort,
        NodeFault::FlowKept,
        NodeFault::ChangeUnfollowed,
        NodeFault::TimerUnheeded,
        NodeFault::ReservationKept,
        NodeFault::MemoryKept,
        NodeFault::RemainingNotReduced,
        NodeFault::LatePacketUnregulated,
        NodeFault::ContractNotPoliced,
        NodeFault::BestEffortFirst,
        NodeFault::NumbersRestart,
        NodeFault::OrderIgnored,
        NodeFault::DuplicateDelivered,
        NodeFault::LastPacketLost,
        NodeFault::ReceiveKeeps,
        NodeFault::DriftIgnored,
        NodeFault::ReleasedEarly,
        NodeFault::DeliveredEarly,
        NodeFault::StepBelieved,
        NodeFault::Protocol(Protocol::ReleaseLost),
        NodeFault::Protocol(Protocol::CommitNotPropagated),
        NodeFault::Protocol(Protocol::DivisionTooGenerous),
        NodeFault::Protocol(Protocol::BalanceNotReduced),
        NodeFault::Protocol(Protocol::LeaseNeverEnds),
        NodeFault::Protocol(Protocol::LeaseNotRenewed),
        NodeFault::Protocol(Protocol::RefreshNotSent),
        NodeFault::Protocol(Protocol::LossNotTold),
        NodeFault::Protocol(Protocol::LossToldTwice),
        NodeFault::Protocol(Protocol::EstablishedTwice),
        NodeFault::Protocol(Protocol::ChangeSwapsAtOnce),
        NodeFault::Protocol(Protocol::QuotaNotRefunded),
    ];
}
