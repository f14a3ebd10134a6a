//! One point of a sweep as valid types: all that a run needs, already checked.

mod asks;
mod chance;
mod channel;
mod computing;
mod contract;
mod cores;
mod laps;
mod meters;
mod multicast;
mod receiver;
mod regulators;
mod rounds;
mod signalling;
mod system;
mod topology;
mod via;

use std::borrow::Cow;
use std::net::IpAddr;

use laxity_admission::{Formula, Test};
use laxity_model::adapter::{
    AdapterBreakdown, AdapterBuffers, CommandQueue, Delay, Description, HostSide, Notification, Phase,
    QueueSelection, ResponseQueue, Stage,
};
use laxity_model::host::Applications;
use laxity_model::node::DriverConfig;
use laxity_model::reception::ReceptionCosts;
use laxity_qos::channel::{Config, LinkId};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{Group, Shaper};
use laxity_qos::reception::control;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span};

pub use asks::Asks;
pub use chance::Chance;
pub use channel::{ChannelSpec, ForEver, SourceSpec};
pub use computing::{BudgetSpec, ComputingSpec};
pub use contract::{ByContract, MOST_SLOTS, unfinished};
pub use cores::{ChannelCores, Placed, Placement};
pub use laps::Laps;
pub use laxity_signalling::division::Division;
pub use multicast::CopyOf;
pub use receiver::{InterfaceSpec, ProgramSpec, ReceiverSpec};
pub(crate) use regulators::Regulators;
pub use rounds::Exchange;
pub use signalling::{
    AskedTimes, ClockSpec, FARTHEST, Fails, LinkSpec, Outage, OwnerSpec, Routing, SignallingSpec,
    SynchroniseSpec,
};
pub use system::System;
pub use topology::{Attached, Forwarding, MediumSpec, Network, NodeSpec, Outlet, SwitchSpec};
pub use via::{Renegotiation, ViaSpec};

/// One point of the sweep, valid throughout.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Root of every random stream.
    pub seed: u64,
    /// The descriptions of hosts; equal nodes share one.
    pub hosts: Vec<HostSpec>,
    /// The descriptions of adapters, likewise.
    pub adapters: Vec<AdapterSpec>,
    /// The nodes with a host; at least one.
    pub nodes: Vec<NodeSpec>,
    /// The switches between them.
    pub switches: Vec<SwitchSpec>,
    /// The ports of all switches. Where a route or another field names a *station*, the nodes are
    /// first, then these.
    pub outlets: Vec<Outlet>,
    /// The networks between nodes; at least one.
    pub networks: Vec<Network>,
    /// Faults and their times.
    pub faults: Vec<FaultSpec>,
    /// How channels are admitted.
    pub admission: Admission,
    /// The clock of a run.
    pub clock: ClockKind,
    /// How an emulation is carried out.
    pub emulation: EmulationSpec,
    /// Where real software meets the nodes, in an emulation; one for a node at most.
    pub ports: Vec<PortSpec>,
    /// The task of the experiment.
    pub task: Task,
    /// The kind of the system, with the parts that only that kind has.
    pub system: System,
    /// Commands for adapters during the run, where the only node receives.
    pub commands: Vec<CommandSpec>,
    /// Groups of channels that have a rate together, each behind that of which it is a part.
    pub groups: Vec<GroupSpec>,
    /// The channels, copies expanded, in the order of the file; at least one.
    pub channels: Vec<ChannelSpec>,
    /// Whether distributions are kept as curves, too.
    pub curves: bool,
    /// The effect of missed deadlines, for channels that do not say it themselves.
    pub misses: MissesEffect,
}

/// A host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSpec {
    /// Name of the cost profile.
    pub profile: String,
    /// Its numbers, overrides and speed-up applied; without context switches and cache misses if
    /// resources are ideal.
    pub costs: HostCosts,
    /// `C_sf`, in `costs` and in the adapter's work already.
    pub speedup: f64,
    /// Where sending applications run.
    pub applications: Applications,
    /// The communication subsystem's policies.
    pub subsystem: Config,
    /// Classes with a credit-based shaper in its null adapters, which then have a queue for each level;
    /// empty if packets leave these in the order in which they were handed over.
    pub shapers: Vec<Shaper>,
    /// Whether resources are ideal: immediate preemption at no cost.
    pub ideal: bool,
    /// When the adapter's driver gives up waiting.
    pub driver: DriverConfig,
    /// Applications that compute beside communication; empty where the host receives at interfaces.
    pub computing: Vec<ComputingSpec>,
    /// Buses that its adapters share, in the order of their names. Their adapters' resources have
    /// the same parameters.
    pub buses: Vec<BusSpec>,
    /// Its costs for packets that arrive at interfaces.
    pub reception: ReceptionCosts,
    /// Receive buffers that its interfaces share.
    pub pool: u32,
}

/// A bus that adapters of a host share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusSpec {
    /// Name, unique at its host.
    pub name: String,
    /// Whether a more urgent packet preempts another.
    pub preemptive: bool,
    /// Whether it goes by how urgent packets are.
    pub urgent: bool,
    /// Whether the CPU takes it while it copies.
    pub cpu: bool,
}

/// Channels that have a rate together, in queues that know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSpec {
    /// Name, unique.
    pub name: String,
    /// The rate.
    pub tick: Vtick,
    /// The place of the group of which it is a part.
    pub within: Option<usize>,
}

impl From<&GroupSpec> for Group {
    fn from(spec: &GroupSpec) -> Self {
        Self { tick: spec.tick, within: spec.within }
    }
}

/// A command for an adapter, and its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandSpec {
    /// When.
    pub at: Span,
    /// The command.
    pub command: ReceptionCommand,
}

/// A command of thesis Table 7.1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReceptionCommand {
    /// `CREATE_PERIODIC`: this channel's source begins. It does not begin by itself then.
    Create(usize),
    /// `CLEAR_PERIODIC`: it ends.
    Clear(usize),
    /// How this interface may interrupt. Its policy has
    /// [modes](laxity_qos::reception::control::Modes).
    Mode(usize, control::ControlCommand),
}

/// An adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdapterSpec {
    /// A packet of `S` bytes takes `L_x(S)`, one at a time.
    Null(LinkCosts),
    /// An adapter by a description. Its delay has no known bound, so admission must be off.
    Described(Box<Description>),
}

impl AdapterSpec {
    /// How the host learns of responses.
    pub fn notification(&self) -> Notification {
        match self {
            AdapterSpec::Null(_) => Notification::Interrupt,
            AdapterSpec::Described(description) => description.interface.notification,
        }
    }

    /// The adapter in the terms of a description: a null device is a stage that takes `L_x`.
    pub fn described(&self) -> Cow<'_, Description> {
        let costs = match self {
            AdapterSpec::Described(description) => return Cow::Borrowed(description),
            AdapterSpec::Null(costs) => costs,
        };
        let delay = Delay { fixed: costs.fixed(), per_byte: costs.per_byte, ..Delay::default() };
        let phases = vec![Phase { delay, ..Phase::default() }];
        let link = Stage { name: "link".into(), phases, ..Stage::default() };
        Cow::Owned(Description {
            interface: HostSide {
                queues: vec![CommandQueue::default()],
                selection: QueueSelection::Priority,
                doorbell: Span::ZERO,
                poll: None,
                notification: Notification::Interrupt,
                responses: vec![ResponseQueue::default()],
            },
            resources: Vec::new(),
            transmit: vec![link],
            receive: Vec::new(),
            transmit_buffers: AdapterBuffers::default(),
            receive_buffers: AdapterBuffers::default(),
            transmit_policing: None,
            receive_policing: None,
            link: LinkCosts::default(),
        })
    }
}

/// The clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockKind {
    /// Time jumps to the next event.
    Virtual,
    /// Every event happens when it is due.
    Real,
}

/// How an emulation is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmulationSpec {
    /// Where the first node's host is.
    pub host: HostPlace,
    /// The time of a step of a host in a thread.
    pub pace: Pace,
    /// The part of a packet that is moved between host and adapter.
    pub transfer: Transfer,
    /// The core of the emulated adapter; `None` for the last.
    pub core: Option<usize>,
    /// The core of a host in a thread; `None` for the first.
    pub host_core: Option<usize>,
}

/// Where a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPlace {
    /// Part of the emulation.
    Model,
    /// A thread of its own.
    Thread,
    /// The kernel of this machine, with a program in a network namespace: of hosts that receive at
    /// interfaces.
    Kernel,
}

/// The time of a step of a host in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The time in the profile.
    Profile,
    /// The real time of the work; `C_sf` then slows all else down (thesis §4.4.2).
    Native,
}

/// The part of a packet that is moved between host and adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// All of it.
    Full,
    /// Its header.
    Headers,
}

/// Where real software meets a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSpec {
    /// The node.
    pub node: usize,
    /// The TAP interface's name.
    pub interface: String,
    /// The namespace it is in; `None` for that of the process.
    pub namespace: Option<String>,
    /// Its address and prefix.
    pub address: Option<(IpAddr, u8)>,
    /// Its MTU in bytes.
    pub mtu: u16,
}

/// Which of its port's frames a channel carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// All.
    All,
    /// ICMP of either version.
    Icmp,
    /// TCP, from or to this port if one is given.
    Tcp(Option<u16>),
    /// UDP, from or to this port if one is given.
    Udp(Option<u16>),
    /// Those with this differentiated services code point.
    Dscp(u8),
}

impl Carries {
    /// Whether all frames of `other` are of these.
    pub fn covers(self, other: Carries) -> bool {
        self == other
            || matches!(
                (self, other),
                (Carries::All, _)
                    | (Carries::Tcp(None), Carries::Tcp(_))
                    | (Carries::Udp(None), Carries::Udp(_))
            )
    }

    /// The smallest frame that a kernel sends of these: Ethernet's header, IPv4's without options
    /// and that of the protocol. IPv6 has a longer one.
    pub fn smallest_frame(self) -> Bytes {
        const ETHERNET: u64 = 14;
        const IP: u64 = 20;
        Bytes::new(match self {
            Carries::All => ETHERNET,
            Carries::Dscp(_) => ETHERNET + IP,
            Carries::Icmp | Carries::Udp(_) => ETHERNET + IP + 8,
            Carries::Tcp(_) => ETHERNET + IP + 20,
        })
    }
}

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultSpec {
    /// At which node.
    pub node: usize,
    /// At the adapter of which of its links.
    pub link: LinkId,
    /// The fault.
    pub fault: KindOfFault,
    /// When it begins.
    pub at: Span,
    /// How long it lasts; `None` to the end, or until the adapter is reset.
    pub length: Option<Span>,
    /// From one beginning to the next, longer than it lasts; `None` if it happens once.
    pub every: Option<Span>,
}

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KindOfFault {
    /// That share of the adapter's interrupts is lost.
    LostInterrupts(f64),
    /// A part of the adapter does not work.
    Breakdown(AdapterBreakdown),
}

/// How channels are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// The formulas; `None` admits every channel without a bound.
    pub formula: Option<Formula>,
    /// The test that decides which channels can be served together.
    pub test: Test,
    /// By what deadline EDF orders.
    pub local_deadline: LocalDeadline,
    /// How the slack of a deadline is shared out among the hops of a path.
    pub division: Division,
    /// The effect of a refused channel on the run, unless the channel sets its own.
    pub refusal: RefusalEffect,
}

/// The effect of a refused channel on the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalEffect {
    /// It fails.
    Fails,
    /// The refusal has no effect.
    Expected,
}

/// The effect of missed deadlines on the exit code of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissesEffect {
    /// The run fails.
    Fail,
    /// None.
    Expected,
}

impl Admission {
    /// The test that goes with `formula`: the papers' knows `D_order` only.
    pub fn test_with(&self, formula: Formula) -> Test {
        if formula.is_published() { Test::DOrder } else { self.test }
    }

    /// Whether EDF goes by bounds where it can.
    pub fn orders_by_bounds(&self) -> bool {
        self.test == Test::DOrder && self.local_deadline == LocalDeadline::Bound
    }

    /// Whether several messages of a channel may be under way.
    pub fn reaches_beyond_interval(&self) -> bool {
        self.formula.is_none_or(|formula| self.test_with(formula) == Test::Demand)
    }
}

/// By what deadline EDF orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalDeadline {
    /// The channel's own.
    Requested,
    /// The bound that admission gave it.
    Bound,
}

/// The task of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Messages are sent until the end.
    Simulate(RunLength),
    /// Copies of the channel of this index are admitted, after all others, until one is refused,
    /// without a simulation.
    Fill(usize),
}

/// When a run ends, and what is left out of what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLength {
    /// By packets transmitted, over all channels.
    Packets {
        /// The last; at least 1.
        total: u64,
        /// Left out at the start.
        warmup: u64,
        /// Left out at the end; with `warmup` less than `total`.
        cooldown: u64,
    },
    /// By virtual time.
    Time {
        /// The end; not zero.
        total: Span,
        /// Left out at the start.
        warmup: Span,
        /// Left out at the end; with `warmup` less than `total`.
        cooldown: Span,
    },
}

impl RunLength {
    /// `times` as long, with as much left out at the start and the end; as long as can be said, if
    /// that is more.
    #[must_use]
    pub fn longer(self, times: u32) -> Self {
        match self {
            RunLength::Packets { total, warmup, cooldown } => {
                RunLength::Packets { total: total.saturating_mul(times.into()), warmup, cooldown }
            }
            RunLength::Time { total, warmup, cooldown } => {
                let total = Span::from_ps(total.as_ps().saturating_mul(times.into()));
                RunLength::Time { total, warmup, cooldown }
            }
        }
    }
}
