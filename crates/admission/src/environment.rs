//! Inputs of admission: the host, and a request.

use std::fmt;

use laxity_units::{Bytes, Span};

use crate::station::Link;
use laxity_qos::channel::{Block, Role};
use laxity_qos::costs::HostCosts;
use laxity_qos::traffic::TrafficSpec;

/// How CPU and link are shared (resource §3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceModel {
    /// The CPU is preempted anywhere at no cost; the link is scheduled as under `O1`.
    Ideal,
    /// The link scheduler is called by handlers and by completion interrupts.
    O1,
    /// The link scheduler is a thread, which waits for preemption points.
    O2,
    /// The link scheduler is called by handlers, or run by a thread that a completion creates,
    /// which waits for a preemption point.
    O3,
    /// Packets are handed over as they are made, and the adapter schedules the link; what that
    /// costs is part of making them.
    Handed,
    /// As `O1`, with a link that goes by another order than the CPU and has an analysis of its own:
    /// what is left is the CPU ([`RatedHost`](super::RatedHost),
    /// [`LevelledHost`](super::LevelledHost)).
    Apart,
    /// As `O2`, in the same way.
    ApartByThread,
    /// As `Handed`, in the same way: the adapter's stages go by rates.
    ApartHanded,
    /// A core of several, with the calls of the link scheduler in what a packet costs: what is left
    /// is the core ([`CoresTable`](super::CoresTable)).
    Core,
}

/// Largest message, and packet, that is considered: with it no sum of costs overflows.
const LARGEST: Bytes = Bytes::new(1 << 40);

/// The source of the formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formula {
    /// Those of resource §4, read as they must be meant where they are misprinted. They know one
    /// depth (1), no interrupt cost, no thread creation and no interference, and can be broken by
    /// conforming traffic.
    Papers,
    /// The same with O2's wait for the CPU assumed for each packet, as the text of resource §4.1 has
    /// it, and not once, as its formula has it.
    PapersEach,
    /// The same, literally as printed.
    Printed,
    /// Those that hold.
    #[default]
    Corrected,
}

impl Formula {
    /// Whether they are those of the papers, in one of their readings.
    pub fn is_published(self) -> bool {
        match self {
            Formula::Papers | Formula::PapersEach | Formula::Printed => true,
            Formula::Corrected => false,
        }
    }
}

/// How the CPU time is counted that starts and completions of packets take while a message is made.
///
/// Each holds. The least of them depends on the channels, so a station may have a table for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// By time or by packets, as the less is expected.
    #[default]
    Expected,
    /// By time: completions are no closer than the shortest transmission.
    Time,
    /// By packets: the same CPU makes each packet that is started.
    Packets,
    /// By polls: the host reads completions at multiples of this interval only, which is not zero.
    Polls(Span),
}

/// How the CPU time is counted that starts and completions at the other links of the host take.
///
/// Each holds, and a station may have a table for each. By time, links may leave little of the CPU
/// to each and nothing to all together. By packets, what a link takes does not depend on how many
/// channels there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountingOthers {
    /// By time or by packets, for each link by itself, as the less is expected.
    #[default]
    Expected,
    /// By packets, wherever that has an end.
    Packets,
}

/// Traffic without a guarantee that shares the host, in any amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BestEffort {
    /// Largest message.
    pub max_message: Bytes,
    /// Smallest message, at most `max_message`.
    pub min_message: Bytes,
    /// Whether it starts, passes or ends here.
    pub role: Role,
    /// Its packets leave by another link of the host, if they leave.
    pub elsewhere: bool,
    /// Time of a program for a message of it that ends here.
    pub program: Span,
}

/// Work above all handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// A thread, such as an application that sends: the CPU switches back to the interrupted work.
    Thread,
    /// An interrupt, such as that of a packet that came in: the work beneath goes on where it was.
    Interrupt,
}

/// Work above all handlers on the same CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interference {
    /// Its kind.
    pub above: Above,
    /// CPU time of one activation, the switch to a thread included; the switch back is added here.
    pub cost: Span,
    /// For how long one keeps what goes out from a resource of the adapter, which is no time of the
    /// CPU.
    pub adapter: Span,
    /// Activations in any span `δ`: at most `burst + ⌈δ / interval⌉`, so 0 for strictly periodic
    /// work.
    pub burst: u32,
    /// Least average spacing of activations; not zero.
    pub interval: Span,
}

/// A host, as admission sees it: its CPU, and one of its links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// CPU costs.
    pub host: HostCosts,
    /// Adapter and link.
    pub link: Link,
    /// `S`: largest packet; not zero.
    pub packet: Bytes,
    /// How CPU and link are shared.
    pub model: ResourceModel,
    /// Cooperative preemption of real-time handlers (`P`).
    pub block_real_time: Block,
    /// Cooperative preemption of best-effort handlers.
    pub block_best_effort: Block,
    /// Packets handed to the adapter and not yet completed, at most; at least 1.
    pub depth: u32,
    /// A thread is created for every message, and paid for with its first packet.
    pub thread_per_message: bool,
    /// Handlers may work on messages ahead of their logical arrival.
    pub ahead: bool,
    /// Packets may leave ahead of their logical arrival, where no other packet waits.
    pub early: bool,
    /// The least that a handler takes for a packet that it makes, switches excluded; `None` if that
    /// is not known.
    pub makes: Option<Span>,
    /// Packets that there may be on their way to the adapter, by all that is sent there; `None` if that
    /// has no end, or is not known.
    pub buffers: Option<u64>,
    /// Priorities that CPU and link distinguish among guaranteed channels; `None` for EDF, which
    /// needs none.
    pub levels: Option<u32>,
    /// How the CPU time of starts and completions is counted.
    pub counting: Counting,
    /// Traffic without a guarantee.
    pub best_effort: Vec<BestEffort>,
    /// How long an application that computes what is left keeps the CPU at most before others are
    /// asked.
    pub slice: Span,
    /// Work above all handlers.
    pub interference: Vec<Interference>,
    /// The other links of the host.
    pub others: Vec<OtherLink>,
    /// How the CPU time that they take is counted.
    pub counting_others: CountingOthers,
    /// The source of the formulas.
    pub formula: Formula,
}

/// Another link of the host, which has the adapter depth of this one: its packets take the CPU to
/// be started, and to be heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherLink {
    /// How close together its packets may complete in the long run; not zero.
    pub apart: Span,
    /// Time of its longest packet; `None` if its adapter has stages.
    pub longest: Option<Span>,
    /// Interrupts of each packet: its completion, and reports of progress; at least 1.
    pub interrupts: u32,
    /// Packets on their way to its adapter, by all that is sent there; `None` if without end.
    pub buffers: Option<u64>,
}

/// Why an [`Environment`] describes no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentError {
    /// `packet` is zero.
    EmptyPacket,
    /// A block of no packets.
    EmptyBlock,
    /// `depth` is zero.
    NoDepth,
    /// An interference, or packets of another link, that recur without time in between.
    ZeroInterval,
    /// A best-effort class with a smallest message larger than its largest, or a size above 1 TiB.
    Sizes,
    /// The transmission time of a packet exceeds what a [`Span`] holds.
    Transmission,
    /// Fixed priorities, and none of them.
    NoLevel,
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyPacket => "a packet carries nothing; valid is at least 1 B",
            Self::EmptyBlock => "a block holds no packet; valid is at least 1",
            Self::NoDepth => "the adapter takes no packet; valid is a depth of at least 1",
            Self::ZeroInterval => "an interference recurs at once; valid is an interval above zero",
            Self::Sizes => {
                "a best-effort class has its smallest message above its largest, or a size exceeds 1 TiB"
            }
            Self::Transmission => "a packet is on the link for longer than 213 days",
            Self::NoLevel => "fixed priorities need at least one level",
        })
    }
}

impl std::error::Error for EnvironmentError {}

impl Environment {
    /// A host with channels of real time only, no other work, and one packet at a time: blocks of
    /// one packet, a depth of 1, EDF, and the formulas that hold. Other hosts differ by fields.
    pub fn new(host: HostCosts, link: impl Into<Link>, packet: Bytes, model: ResourceModel) -> Self {
        Self {
            host,
            link: link.into(),
            packet,
            model,
            block_real_time: Block::Packets(1),
            block_best_effort: Block::Packets(1),
            depth: 1,
            thread_per_message: false,
            ahead: false,
            early: false,
            makes: None,
            buffers: None,
            levels: None,
            counting: Counting::default(),
            best_effort: Vec::new(),
            slice: Span::ZERO,
            interference: Vec::new(),
            others: Vec::new(),
            counting_others: CountingOthers::default(),
            formula: Formula::Corrected,
        }
    }

    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        let empty = |block| block == Block::Packets(0);
        if self.packet.is_zero() {
            Err(EnvironmentError::EmptyPacket)
        } else if empty(self.block_real_time) || empty(self.block_best_effort) {
            Err(EnvironmentError::EmptyBlock)
        } else if self.depth == 0 {
            Err(EnvironmentError::NoDepth)
        } else if self.levels == Some(0) {
            Err(EnvironmentError::NoLevel)
        } else if self.interference.iter().any(|work| work.interval.is_zero())
            || self.others.iter().any(|other| other.apart.is_zero())
        {
            Err(EnvironmentError::ZeroInterval)
        } else if self.packet > LARGEST
            || self.best_effort.iter().any(|c| c.min_message > c.max_message || c.max_message > LARGEST)
        {
            Err(EnvironmentError::Sizes)
        } else if endless(&self.link, self.packet) {
            Err(EnvironmentError::Transmission)
        } else {
            Ok(())
        }
    }
}

/// Whether `L_x(size)` is no span.
fn endless(link: &Link, size: Bytes) -> bool {
    match link {
        Link::Alone(link) => {
            let bytes = u128::from(link.per_byte.ceil().as_ps()) * u128::from(link.on_link(size).get());
            u128::from(link.startup.as_ps()) + bytes > u128::from(u64::MAX)
        }
        Link::Behind(_) | Link::Open(_) => link.transmit(size) == Span::MAX,
    }
}

/// Request of a channel: its contract, a bound on its local delay, and its role here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    spec: TrafficSpec,
    deadline: Span,
    role: Role,
    elsewhere: bool,
    buffers: Option<Buffers>,
    work: Option<ApplicationWork>,
    program: Option<ReceivingProgram>,
    level: Option<u32>,
}

/// The program that takes the messages of a channel that ends here.
///
/// Its work is the last block of each message, on the same CPU and by the same order. So it is part
/// of the message's time there ([`super::trajectory`]), and a message is finished when the program
/// is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivingProgram {
    /// Its time for the largest message.
    pub work: Span,
    /// Messages that may wait for it, the one that it has included.
    pub slots: u32,
}

/// Room for a channel's messages and packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// Message queue slots.
    pub messages: u32,
    /// Packet buffers.
    pub packets: u64,
    /// A handler that finds no packet buffer waits for one.
    pub waits: bool,
}

/// CPU time that an application is to have in each period, beside channels.
///
/// To the analysis it is a channel that ends here: it has a first phase only, and is finished when
/// it is through the CPU ([`super::trajectory`]). A slice is its block: a wait for a lower block is
/// a wait for a slice, and each begins with a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationWork {
    /// How much; not zero.
    pub time: Span,
    /// How long it keeps the CPU at most before others are asked; not zero.
    pub slice: Span,
}

/// Why a request cannot even be considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// A deadline of zero: every message takes time.
    ZeroDeadline,
    /// A burst of no message.
    ZeroBurst,
    /// The smallest message is larger than the largest, or the largest above 1 TiB.
    Sizes,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroDeadline => f.write_str("a deadline of zero; valid is anything above"),
            Self::ZeroBurst => f.write_str("a burst of no message; valid is at least 1"),
            Self::Sizes => f.write_str("the smallest message is above the largest, or that above 1 TiB"),
        }
    }
}

impl std::error::Error for RequestError {}

impl Request {
    /// A request for `spec` with every message through the link within `deadline` of its logical
    /// arrival.
    pub fn new(spec: TrafficSpec, deadline: Span) -> Result<Self, RequestError> {
        if deadline.is_zero() {
            Err(RequestError::ZeroDeadline)
        } else if spec.burst == 0 {
            Err(RequestError::ZeroBurst)
        } else if spec.min_message > spec.max_message || spec.max_message > LARGEST {
            Err(RequestError::Sizes)
        } else {
            let (role, elsewhere) = (Role::Send, false);
            let (buffers, work, program, level) = (None, None, None, None);
            Ok(Self { spec, deadline, role, elsewhere, buffers, work, program, level })
        }
    }

    /// A request for `work` in each `period`, done within `deadline` of its beginning.
    pub fn computing(work: ApplicationWork, period: Span, deadline: Span) -> Result<Self, RequestError> {
        let none = Bytes::ZERO;
        let spec = TrafficSpec { max_message: none, min_message: none, burst: 1, min_interval: period };
        Ok(Self { role: Role::Receive, work: Some(work), ..Self::new(spec, deadline)? })
    }

    /// The same with the latest deadline for which one message is under way at a time.
    pub(super) fn loosest(&self) -> Self {
        self.within(self.spec.min_interval)
    }

    /// The same with another deadline, which is not zero.
    #[must_use]
    pub fn within(&self, deadline: Span) -> Self {
        Self { deadline, ..*self }
    }

    /// `q = ⌈d/I_min⌉`: how many messages may be current and unfinished at a time, at least 1.
    ///
    /// With up to `B_max − 1` more that came early, the message queue needs `B_max − 1 + q` places,
    /// and the packets of `q` messages each need a buffer.
    pub fn under_way(&self) -> u64 {
        self.deadline.div_ceil(self.spec.min_interval).max(1)
    }

    /// The same for a channel that passes this host, or ends at it.
    #[must_use]
    pub fn at(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The same for a channel that leaves by another link of the host: to this one it is what it
    /// takes of the CPU ([`super::trajectory`]). Its room is that link's business.
    #[must_use]
    pub fn by_another_link(self) -> Self {
        Self { elsewhere: true, buffers: None, ..self }
    }

    /// Whether its packets leave by the link of the analysis.
    pub(super) fn is_sent(&self) -> bool {
        self.role != Role::Receive && !self.elsewhere
    }

    /// The same with no more room than this, which may be too little. Without it the channel gets
    /// what it needs.
    #[must_use]
    pub fn with_buffers(self, buffers: Buffers) -> Self {
        Self { buffers: Some(buffers), ..self }
    }

    /// The same without a limit of its room.
    #[must_use]
    pub(super) fn with_any_room(self) -> Self {
        Self { buffers: None, ..self }
    }

    /// The same with a program that takes its messages.
    #[must_use]
    pub fn read_by(self, program: ReceivingProgram) -> Self {
        Self { program: Some(program), ..self }
    }

    /// The same on that level under fixed priorities, 0 the most urgent, in place of one that
    /// admission finds. A station without several levels takes no notice.
    #[must_use]
    pub fn on_level(self, level: u32) -> Self {
        Self { level: Some(level), ..self }
    }

    /// The level that it asks for.
    pub(super) fn level(&self) -> Option<u32> {
        self.level
    }

    /// The program that takes its messages here, if one does.
    pub fn program(&self) -> Option<ReceivingProgram> {
        self.program.filter(|_| self.role == Role::Receive)
    }

    /// The work that is computed, if it is no channel's.
    pub(super) fn work(&self) -> Option<ApplicationWork> {
        self.work
    }

    /// Role of the channel here.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The room it has to do with, if that is limited.
    pub fn buffers(&self) -> Option<Buffers> {
        self.buffers
    }

    /// The contract.
    pub fn spec(&self) -> &TrafficSpec {
        &self.spec
    }

    /// `d`: the local delay asked for.
    pub fn deadline(&self) -> Span {
        self.deadline
    }
}
