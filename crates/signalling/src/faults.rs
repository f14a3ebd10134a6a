//! Deliberate faults of the protocol.
//!
//! The simulation must notice each of them. Without the feature `faults` no manager can have one,
//! and the compiler removes the questions.

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $fault:ident,)+) => {
        /// One thing that the protocol does wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $($(#[doc = $doc])+ $fault,)+
        }

        impl Fault {
            /// Every fault.
            pub const ALL: &[Fault] = &[$(Fault::$fault),+];
        }
    };
}

faults! {
    /// A version that ends here is not taken out of the node's resources.
    ReleaseLost,
    /// A refusal that passes leaves the reservation in place.
    RefusalKeepsReservation,
    /// A refusal is not passed on.
    RefusalNotPropagated,
    /// A refusal names a shortage of zero.
    RefusalMissingNothing,
    /// A version is committed although nothing is reserved.
    CommitWithoutReservation,
    /// A commitment is noted and not made.
    CommitNotMade,
    /// A commitment is not passed on.
    CommitNotPropagated,
    /// The destination shares out more than the deadline.
    DivisionTooGenerous,
    /// The destination gives each hop its least, and keeps the slack.
    SlackKept,
    /// The balance that is passed on is the whole deadline.
    BalanceNotReduced,
    /// A retransmitted request reserves again.
    DuplicateReserves,
    /// Requests older than the last one are acted upon.
    SequenceIgnored,
    /// A release is answered and not passed on.
    ReleaseNotForwarded,
    /// A lease never ends.
    LeaseNeverEnds,
    /// A refresh does not renew the lease.
    LeaseNotRenewed,
    /// The source sends no refresh.
    RefreshNotSent,
    /// The source does not heed answers to refreshes.
    RefreshUnheeded,
    /// A late copy of an answer puts the next refresh off.
    LateAnswerHeeded,
    /// The lease of a program never ends.
    ProgramNeverDies,
    /// A restarted node gives out the identities of its former self.
    EpochIgnored,
    /// Channels of a former life of a source stay when a new one is heard of.
    FormerLifeKept,
    /// A destination that lost its memory takes a late duplicate and a refresh for a channel.
    DestinationRebornUnnoticed,
    /// The program is not notified of a loss.
    LossNotTold,
    /// The program is notified of a loss twice.
    LossToldTwice,
    /// The program is notified of establishment by each commitment.
    EstablishedTwice,
    /// The receiver is notified of the channel by each refresh.
    ReceiverToldTwice,
    /// The receiver is not notified of the end.
    ReceiverEndNotTold,
    /// Retransmissions are equally far apart.
    BackoffMissing,
    /// Requests are not retransmitted.
    NoRetransmission,
    /// Requests are never given up.
    PatienceMissing,
    /// A change takes the old contract away first.
    ChangeDropsOld,
    /// The old contract is taken away as soon as the new one is committed.
    ChangeSwapsAtOnce,
    /// The old contract stays after the swap.
    ChangeKeepsOld,
    /// A refused change leaves the new contract reserved at the source.
    ChangeRefusalKeepsNew,
    /// A quota is charged and not paid back.
    QuotaNotRefunded,
    /// Quotas are not checked.
    QuotaUnchecked,
    /// Routes with loops are accepted.
    LoopAccepted,
    /// Each ended channel is remembered for ever.
    MemoryUnbounded,
    /// A clock that is set back stretches the leases.
    ClockStepHeeded,
}
