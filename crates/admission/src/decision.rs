//! Answers of admission.

use std::fmt;

use laxity_units::Span;

/// An admitted channel, for as long as it is admitted; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdmissionId(pub(super) u64);

impl AdmissionId {
    /// The name of channel `number` of a station that keeps several tables.
    pub fn of_number(number: u64) -> Self {
        Self(number)
    }
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The channel is in the table.
    Admitted {
        /// Names the reservation.
        id: AdmissionId,
        /// Its place in the order, 0 the highest.
        priority: usize,
        /// The bound from now on, which is also the local deadline to schedule by: by `D_order` its
        /// worst response time, by the demand test the deadline that it asked for.
        bound: Span,
    },
    /// The table is as it was.
    Refused(AdmissionRefusal),
}

/// Why a channel is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionRefusal {
    /// The resource that is too small.
    pub resource: Scarce,
    /// How much too little.
    pub deficit: Deficit,
    /// The channel that would fail.
    pub claimant: Claimant,
    /// In words.
    pub reason: Reason,
    /// The lowest admitted channel that cannot do with the newcomer above it, and so decides how
    /// low the newcomer would have to stand.
    pub blocked_by: Option<AdmissionId>,
}

impl AdmissionRefusal {
    /// One without a lower channel that decides it.
    pub fn new(resource: Scarce, deficit: Deficit, reason: Reason, claimant: Claimant) -> Self {
        Self { resource, deficit, claimant, reason, blocked_by: None }
    }

    /// The channel of `claimant` would be late by that time.
    pub fn late(late: Span, claimant: Claimant) -> Self {
        Self::new(Scarce::Deadline, Deficit::Time(late), Reason::Late, claimant)
    }

    /// The link would never be done with what the channels reserve beside that of `claimant`.
    pub fn endless(claimant: Claimant) -> Self {
        Self::new(Scarce::Link, Deficit::Unbounded, Reason::Overload, claimant)
    }

    /// The same with other names for the channels that it is about.
    #[must_use]
    pub fn named(self, name: impl Fn(AdmissionId) -> AdmissionId) -> Self {
        let claimant = match self.claimant {
            Claimant::Channel(id) => Claimant::Channel(name(id)),
            Claimant::Newcomer => Claimant::Newcomer,
        };
        Self { claimant, blocked_by: self.blocked_by.map(name), ..self }
    }
}

/// Resources that can be too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scarce {
    /// CPU time.
    Cpu,
    /// Time on the link.
    Link,
    /// Neither, but together they answer too late.
    Deadline,
    /// Places in the message queue.
    Messages,
    /// Places in the queue of the program that takes the messages.
    ReaderSlots,
    /// Packet buffers.
    Packets,
    /// Priorities.
    Levels,
    /// Buffers of an adapter for incoming frames.
    ReceiveBuffers,
    /// Slots before a stage of an adapter for incoming frames.
    ReceiveQueue,
    /// Slots in which an adapter reports incoming frames to the host.
    ResponseQueue,
}

/// How much is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deficit {
    /// The response time exceeds the deadline by at least this much.
    Time(Span),
    /// Demand exceeds all there is by this much, in millionths of all there is, rounded up.
    Share(u64),
    /// This number of further slots is needed. With those another resource may be too small.
    Places(u64),
    /// No amount would do.
    Unbounded,
}

impl Deficit {
    /// The share of the `whole` by which `asked` exceeds it, in millionths.
    pub(super) fn share_beyond(asked: u128, whole: u128) -> Self {
        let excess = asked.saturating_sub(whole).saturating_mul(1_000_000).div_ceil(whole);
        Self::Share(u64::try_from(excess).unwrap_or(u64::MAX))
    }
}

/// The channel that would miss a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimant {
    /// The channel that asks.
    Newcomer,
    /// One that is admitted.
    Channel(AdmissionId),
}

impl Claimant {
    /// Channel `id`, where `newcomer` is the one that asks.
    pub(super) fn of(id: AdmissionId, newcomer: AdmissionId) -> Self {
        if id == newcomer { Self::Newcomer } else { Self::Channel(id) }
    }
}

/// Why it cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A response time exceeds its deadline, or the least deadline that could be promised the one
    /// asked for.
    Late,
    /// Neither is known, as it would take too long to find out, and what takes no time to say does
    /// not say so.
    Untold,
    /// The channels together reserve more than there is.
    Overload,
    /// The conditions of a class of a port (IEEE 802.1Qav, Qbv, Qch) leave less than its channels reserve.
    Withheld,
    /// Best-effort handlers drain their queues without a preemption point: they may never yield.
    BestEffortNeverYields,
    /// Packets may be so short that scheduling their successors takes all of the CPU.
    InterruptsTakeAll,
    /// Work above all handlers takes all of the CPU.
    InterferenceTakesAll,
    /// The sum of the least promises of all stations on its path exceeds its request.
    LateTogether,
    /// The deadline is beyond `I_min`, so that several messages of the channel may be under way,
    /// which the test in use does not cover.
    BeyondInterval,
    /// A conforming burst would find no room.
    NoRoom,
    /// Incoming frames within all contracts may find no room in the adapter, which loses them.
    NoRoomInAdapter,
    /// Its frames, or the levels up to its own, are never done with possible arrivals in them; or
    /// more is reserved in its group than that has.
    NoRoomInFrames,
    /// More channels than priorities, and those that would have to share one wait too long for each
    /// other.
    SharedLevels,
    /// The CPU may hand a packet over after its launch time, and the adapter loses the packet.
    LaunchedLate,
    /// The shapers of the adapter leave a class of the host less than its channels reserve.
    Shaped,
}

impl fmt::Display for AdmissionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::Late => "the response time exceeds the deadline",
            Reason::LateTogether => {
                "the least deadline that the stations on its route can promise exceeds the one it asks for"
            }
            Reason::Untold => "it would take too long to find out whether it is kept",
            Reason::Overload => "the channels together reserve more than there is",
            Reason::Withheld => {
                "shapers, gates or cycles of the port leave a class less than its channels reserve"
            }
            Reason::BestEffortNeverYields => "best-effort handlers never yield the CPU",
            Reason::InterruptsTakeAll => "completions of the smallest packets take all of the CPU",
            Reason::InterferenceTakesAll => "work above the handlers takes all of the CPU",
            Reason::BeyondInterval => {
                "it lets several messages be under way, which this test does not cover: it exceeds I_min"
            }
            Reason::NoRoom => "a burst within the contract finds no room",
            Reason::NoRoomInAdapter => "frames that come in may find none free, and be lost",
            Reason::NoRoomInFrames => "what comes with it, or before it, may never be done",
            Reason::SharedLevels => {
                "there are more channels than priorities, and those that would share one are late for each other"
            }
            Reason::LaunchedLate => {
                "a packet may be handed over after its launch time (`host.subsystem.link.launch`)"
            }
            Reason::Shaped => {
                "shapers of the host (`host.subsystem.link.shapers`) leave a class less than its channels reserve"
            }
        };
        let resource = match self.resource {
            Scarce::Cpu => "CPU",
            Scarce::Link => "link",
            Scarce::Deadline => "deadline",
            Scarce::Messages => "message slots",
            Scarce::ReaderSlots => "slots of its program (`reader.slots`)",
            Scarce::Packets => "packet slots",
            Scarce::Levels => "priorities",
            Scarce::ReceiveBuffers => "receive buffers of the adapter",
            Scarce::ReceiveQueue => "places before a receive stage of the adapter",
            Scarce::ResponseQueue => "places in a response queue of the adapter",
        };
        write!(f, "{resource}: {reason}")?;
        match self.deficit {
            // To be read, not to be added up: rounded up to a tenth of a microsecond.
            Deficit::Time(span) => {
                write!(f, " by {}", Span::from_ps(span.as_ps().div_ceil(100_000).saturating_mul(100_000)))
            }
            Deficit::Share(excess) => {
                let tenths = excess.saturating_add(1_000_000).div_ceil(1000);
                write!(f, ", {}.{} % of its time", tenths / 10, tenths % 10)
            }
            // With those something else may be too little.
            Deficit::Places(1) => f.write_str("; one more is needed"),
            Deficit::Places(places) => write!(f, "; {places} more are needed"),
            Deficit::Unbounded => Ok(()),
        }
    }
}

/// The bound of an admitted channel and what it is made of: `wait`, `service`, `higher` and
/// `interference`, less the `head_start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The channel.
    pub id: AdmissionId,
    /// Its place in the order, 0 the highest.
    pub priority: usize,
    /// Its fixed priority, 0 the highest, if the host has such.
    pub level: Option<u32>,
    /// `d`: what was asked for.
    pub deadline: Span,
    /// `r`: worst response time beside all channels admitted now, at most `deadline`.
    pub bound: Span,
    /// `W`: what is waited for below.
    pub wait: Span,
    /// `S`: demand of the message itself.
    pub service: Span,
    /// Messages of channels above; by the demand test, all other messages that may go before.
    pub higher: Span,
    /// Work above all handlers.
    pub interference: Span,
    /// How long others had been at it when the message came. Zero by `D_order`, where in the worst
    /// case all of them arrive at once.
    pub head_start: Span,
}

impl Bound {
    /// The bound of a message that this one makes and that then waits at a link: for `lower` below
    /// it, for its own `service`, and until it is `through` beside all others.
    pub(super) fn and_then(self, lower: Span, service: Span, through: Span) -> Self {
        let (bound, wait) = (self.bound.saturating_add(through), self.bound.saturating_add(lower));
        Self {
            bound,
            wait,
            service,
            higher: bound.saturating_sub(wait).saturating_sub(service),
            interference: Span::ZERO,
            head_start: Span::ZERO,
            ..self
        }
    }
}

/// Why there is no bound.
pub(super) type Impossible = (Scarce, Deficit, Reason);

/// The refusal of a newcomer for a reason that concerns no other channel.
pub(super) fn refused((resource, deficit, reason): Impossible) -> AdmissionRefusal {
    AdmissionRefusal::new(resource, deficit, reason, Claimant::Newcomer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lateness_is_said_in_tenths_of_a_microsecond_and_never_less_than_it_is() {
        let refusal = AdmissionRefusal {
            resource: Scarce::Deadline,
            deficit: Deficit::Time(Span::from_ps(1_735_895_426)),
            claimant: Claimant::Newcomer,
            reason: Reason::Late,
            blocked_by: None,
        };
        assert_eq!(refusal.to_string(), "deadline: the response time exceeds the deadline by 1735.9 us");
    }
}
