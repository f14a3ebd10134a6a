//! Activities of a core, their costs, and accounting.

use laxity_qos::channel::{ChannelId, CoreId, LinkParadigm, Thread, Work};
use laxity_qos::costs::HostCosts;
use laxity_units::{Bytes, Span, Time};

/// Use of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Making packets of messages, or messages of packets.
    Protocol,
    /// Choosing packets and starting their transmission.
    LinkScheduling,
    /// Switching threads, with the cache misses that follow.
    Switch,
    /// Entering and leaving interrupts.
    Interrupt,
    /// Applications' sends.
    Application,
    /// Applications that compute.
    Computation,
    /// Programs that take messages.
    Program,
    /// Waiting for another core to leave the link scheduler.
    Spin,
}

impl Use {
    /// All of them.
    pub const ALL: [Use; 8] = [
        Use::Protocol,
        Use::LinkScheduling,
        Use::Switch,
        Use::Interrupt,
        Use::Application,
        Use::Computation,
        Use::Program,
        Use::Spin,
    ];

    /// Name in results and traces.
    pub fn name(self) -> &'static str {
        match self {
            Use::Protocol => "protocol",
            Use::LinkScheduling => "link_scheduling",
            Use::Switch => "switch",
            Use::Interrupt => "interrupt",
            Use::Application => "application",
            Use::Computation => "computation",
            Use::Program => "program",
            Use::Spin => "spin",
        }
    }
}

/// CPU time by use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uses([Span; Use::ALL.len()]);

impl Uses {
    /// Counts `span` for a use.
    #[inline]
    pub fn add(&mut self, used: Use, span: Span) {
        self.0[used as usize] += span;
    }

    /// Time spent on one use.
    pub fn of(&self, used: Use) -> Span {
        self.0[used as usize]
    }

    /// Time spent in all.
    pub fn total(&self) -> Span {
        self.0.iter().copied().sum()
    }
}

/// A stretch of CPU time, for a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy {
    /// Which core.
    pub core: CoreId,
    /// The thread; `None` for an interrupt, or one that is about to be created.
    pub thread: Option<Thread>,
    /// The channel it was for, where one can be named.
    pub channel: Option<ChannelId>,
    /// Its use.
    pub used: Use,
    /// From when.
    pub began: Time,
    /// Until when.
    pub ended: Time,
}

/// The activity, with its channel where one can be named.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Process(ChannelId),
    Transmit(ChannelId),
    Send(ChannelId),
    Compute(u32),
    Read(ChannelId),
    /// An interrupt that announces a packet of that channel.
    Interrupt(ChannelId),
    /// An interrupt without a packet, such as a timer's.
    Alert,
    /// Spins for the link scheduler.
    Spin,
}

#[derive(Debug)]
pub(super) struct Activity {
    pub(super) kind: Kind,
    /// The thread; `None` for an interrupt.
    pub(super) thread: Option<Thread>,
    pub(super) used: Use,
    /// Since when without interruption.
    pub(super) began: Time,
    pub(super) ends: Time,
    /// Remaining time of the switch to the thread, which goes first.
    pub(super) switch: Span,
}

impl Activity {
    /// An interrupt's activity from `now` on, of duration `cost`.
    #[inline]
    pub(super) fn above(now: Time, cost: Span, used: Use, kind: Kind) -> Self {
        Self { kind, thread: None, used, began: now, ends: now + cost, switch: Span::ZERO }
    }

    /// Activity of `thread`, after a switch of duration `switch`.
    #[inline]
    pub(super) fn of(thread: Thread, switch: Span, (now, cost): (Time, Span), used: Use, kind: Kind) -> Self {
        Self { kind, thread: Some(thread), used, began: now, ends: now + cost + switch, switch }
    }

    /// Spins for the link scheduler from `now` on, without a known end.
    pub(super) fn spinning(now: Time) -> Self {
        let (kind, used) = (Kind::Spin, Use::Spin);
        Self { kind, thread: None, used, began: now, ends: Time::MAX, switch: Span::ZERO }
    }

    /// Whether it waits for another core.
    #[inline]
    pub(super) fn spins(&self) -> bool {
        matches!(self.kind, Kind::Spin)
    }

    /// Whether interrupts are masked. The interrupt shares the link scheduler's queues, so the
    /// scheduler masks it; a core that spins masks it too, since the interrupt would otherwise wait
    /// for the core that it preempted.
    #[inline]
    pub(super) fn masks_interrupts(&self) -> bool {
        matches!(self.kind, Kind::Transmit(_) | Kind::Spin)
    }

    /// Stops at `now`, finished or not; returns when the switch to its thread was over, which is
    /// then not repeated.
    #[inline]
    pub(super) fn switched(&mut self, now: Time) -> Time {
        let switched = now.min(self.began + self.switch);
        self.switch -= switched.since(self.began);
        switched
    }

    /// Time used until `now` since it began or resumed: the switch to its thread, and the work.
    pub(super) fn spent(&self, now: Time) -> (Span, Span) {
        let now = now.min(self.ends);
        let switched = now.min(self.began + self.switch);
        (switched.saturating_since(self.began), now.saturating_since(switched))
    }

    /// A stretch of it, for a trace.
    pub(super) fn busy(&self, core: CoreId, used: Use, began: Time, ended: Time) -> Busy {
        let channel = match self.kind {
            Kind::Process(channel)
            | Kind::Transmit(channel)
            | Kind::Send(channel)
            | Kind::Read(channel)
            | Kind::Interrupt(channel) => Some(channel),
            Kind::Compute(_) | Kind::Alert | Kind::Spin => None,
        };
        Busy { core, thread: self.thread, channel, used, began, ended }
    }
}

/// Cost of a piece of work on a packet of `bytes`, of a real-time channel or of best effort.
#[inline]
pub fn cost_of(costs: &HostCosts, work: Work, bytes: Bytes, real_time: bool) -> Span {
    let (sent, received) = (costs.send_byte * bytes.get(), costs.receive_byte * bytes.get());
    let further = if real_time { costs.real_time_packet } else { Span::ZERO };
    let of_kind = match work {
        Work::FirstPacket { new_thread, single } => {
            let created = if new_thread { costs.thread_creation } else { Span::ZERO };
            created + if single { costs.single_packet } else { costs.first_packet } + sent
        }
        Work::Packet => costs.packet + sent,
        Work::Receive { completes: true } => costs.receive_packet + costs.receive_message + received,
        Work::Receive { completes: false } | Work::Relay => costs.receive_packet + received,
        Work::Signal => return Span::ZERO,
    };
    of_kind + further
}

/// The part of that cost that is copying.
#[inline]
pub(super) fn copied_in(costs: &HostCosts, work: Work, bytes: Bytes) -> Span {
    match work {
        Work::FirstPacket { .. } | Work::Packet => costs.send_byte * bytes.get(),
        Work::Receive { .. } | Work::Relay => costs.receive_byte * bytes.get(),
        Work::Signal => Span::ZERO,
    }
}

/// Cost of starting a transmission of `bytes`.
#[inline]
pub fn cost_of_transmit(costs: &HostCosts, paradigm: LinkParadigm, bytes: Bytes) -> Span {
    costs.transmit(paradigm) + costs.transfer_byte * bytes.get()
}

/// Account of a piece of work.
#[inline]
pub fn use_of(work: Work) -> Use {
    match work {
        Work::Signal => Use::Switch,
        _ => Use::Protocol,
    }
}
