//! One point of a sweep as valid types: all that a run needs, and nothing that it could find wrong.

use std::net::IpAddr;

use laxity_engine::Stream;
use laxity_model::adapter::{Breakdown, Description, Notification};
use laxity_model::host::{Applications, Endless};
use laxity_model::network::{CsmaParameters, ImpairmentParameters, Probability, TokenRingParameters};
use laxity_model::node::DriverConfig;
use laxity_model::reception::{InterfaceConfig, ProgramConfig, ReceptionCosts};
use laxity_model::source::{Sizes, Source, SourceParameters};
use laxity_qos::admission::{Formula, Test};
use laxity_qos::channel::{Config, MessageOverflow, PacketOverflow, Role};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::Class;
use laxity_qos::reception::control;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span, Time};

/// One point of the sweep, valid throughout.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Root of every random stream.
    pub seed: u64,
    /// What hosts are like; nodes that are alike share one.
    pub hosts: Vec<Host>,
    /// What adapters are like, likewise.
    pub adapters: Vec<Adapter>,
    /// The nodes; at least one, and the first a host.
    pub nodes: Vec<NodeSpec>,
    /// What joins them; at least one.
    pub networks: Vec<Network>,
    /// What goes wrong, and when.
    pub faults: Vec<FaultSpec>,
    /// How channels are admitted.
    pub admission: Admission,
    /// The clock of a run.
    pub clock: ClockKind,
    /// How an emulation is carried out.
    pub emulation: Emulation,
    /// Where real software meets the nodes, in an emulation; one for a node at most.
    pub ports: Vec<PortSpec>,
    /// What is done with it all.
    pub task: Task,
    /// Where channels come in that this host receives; empty if it sends.
    pub interfaces: Vec<InterfaceSpec>,
    /// Who takes what comes in; at least one where there are interfaces.
    pub programs: Vec<ProgramSpec>,
    /// What adapters are told during the run.
    pub commands: Vec<CommandSpec>,
    /// The channels, copies expanded, in the order of the file; at least one.
    pub channels: Vec<ChannelSpec>,
}

impl Experiment {
    /// The host at `node`.
    pub fn host(&self, node: usize) -> &Host {
        &self.hosts[self.nodes[node].host]
    }

    /// The adapter at `node`.
    pub fn adapter(&self, node: usize) -> &Adapter {
        &self.adapters[self.nodes[node].adapter]
    }

    /// The largest packet: hosts that exchange messages agree on it.
    pub fn packet(&self) -> Bytes {
        self.host(0).subsystem.packet
    }

    /// What follows the name of something at `node`, to tell it from its like elsewhere; nothing at the first of nodes that
    /// have no names.
    pub fn suffix(&self, node: usize) -> String {
        match &self.nodes[node].name {
            Some(name) => format!("@{name}"),
            None if node == 0 => String::new(),
            None => format!("@{node}"),
        }
    }

    /// What `node` is called.
    pub fn name(&self, node: usize) -> String {
        self.nodes[node].name.clone().unwrap_or_else(|| node.to_string())
    }

    /// The deadline of `channel` over its first `hops` nodes, from the logical arrival at its sender: its own for each, and the
    /// longest way between each two.
    pub fn deadline_through(&self, channel: &ChannelSpec, hops: usize) -> Option<Span> {
        let ways = channel.ways.iter().take(hops - 1).map(|network| self.networks[*network].longest_way());
        let nodes = channel.deadline?.saturating_mul(hops as u64);
        Some(ways.fold(nodes, Span::saturating_add))
    }

    /// The nodes that a channel passes, and what it does at each.
    pub fn hops<'a>(&self, channel: &'a ChannelSpec) -> impl Iterator<Item = (usize, Role)> + use<'a> {
        let last = channel.route.len() - 1;
        channel.route.iter().enumerate().map(move |(hop, &node)| match hop {
            0 => (node, Role::Send),
            _ if hop == last && channel.received => (node, Role::Receive),
            _ => (node, Role::Relay),
        })
    }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name, unique; `None` where nodes go by their numbers.
    pub name: Option<String>,
    /// Which of the hosts it has.
    pub host: usize,
    /// Which of the adapters.
    pub adapter: usize,
}

/// A host.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Name of the cost profile.
    pub profile: String,
    /// Its numbers, overrides and speed-up applied; without context switches and cache misses if resources are ideal.
    pub costs: HostCosts,
    /// `C_sf`, in `costs` and in the adapter's work already.
    pub speedup: f64,
    /// Where sending applications run.
    pub applications: Applications,
    /// The communication subsystem's policies.
    pub subsystem: Config,
    /// Whether resources are ideal: immediate preemption at no cost.
    pub ideal: bool,
    /// When the adapter's driver gives up waiting.
    pub driver: DriverConfig,
    /// What it pays for what comes in at interfaces.
    pub reception: ReceptionCosts,
    /// Receive buffers that its interfaces share.
    pub pool: u32,
}

/// Where channels come in.
#[derive(Debug, Clone)]
pub struct InterfaceSpec {
    /// Name, unique.
    pub name: String,
    /// The adapter's receiving side, and when the host takes what has come.
    pub config: InterfaceConfig,
}

/// A program that takes what comes in.
#[derive(Debug, Clone)]
pub struct ProgramSpec {
    /// Name, unique.
    pub name: String,
    /// What it does, and what is reserved for it.
    pub config: ProgramConfig,
}

/// What an adapter is told, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandSpec {
    /// When.
    pub at: Span,
    /// What.
    pub command: Command,
}

/// A command of thesis Table 7.1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command {
    /// `CREATE_PERIODIC`: what this channel's source says begins to come in. It does not by itself then.
    Create(usize),
    /// `CLEAR_PERIODIC`: it ends.
    Clear(usize),
    /// How this interface may interrupt. Its policy has [modes](laxity_qos::reception::control::Modes).
    Mode(usize, control::Command),
}

/// An adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adapter {
    /// A packet of `S` bytes takes `L_x(S)`, one at a time.
    Null(LinkCosts),
    /// What a description says. Nothing is known that bounds its delay, so admission must be off.
    Described(Box<Description>),
}

impl Adapter {
    /// How the host learns of responses.
    pub fn notification(&self) -> Notification {
        match self {
            Adapter::Null(_) => Notification::Interrupt,
            Adapter::Described(description) => description.interface.notification,
        }
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
pub struct Emulation {
    /// Where the first node's host is.
    pub host: HostPlace,
    /// What a step of a host in a thread takes.
    pub pace: Pace,
    /// What of a packet is moved between host and adapter.
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
}

/// What a step of a host in a thread takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// What the profile says.
    Profile,
    /// What the work takes; `C_sf` then slows all else down (thesis §4.4.2).
    Native,
}

/// What of a packet is moved between host and adapter.
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
    /// The smallest frame that a kernel sends of these: Ethernet's header, IPv4's without options and that of the
    /// protocol. IPv6 has a longer one.
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

/// A network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Its name, unique; `None` for the only one.
    pub name: Option<String>,
    /// The nodes at it, by their places in [`Experiment::nodes`]; the medium numbers them in this order.
    pub members: Vec<usize>,
    /// Who may send when.
    pub medium: MediumSpec,
    /// Propagation delay of each link.
    pub propagation: Span,
    /// What happens to frames on their way.
    pub impairments: ImpairmentParameters,
}

impl Network {
    /// How long a packet may be on its way from one host to the next, none lost.
    pub fn longest_way(&self) -> Span {
        let ImpairmentParameters { delay, jitter, reordering, .. } = self.impairments;
        let overtaken = if reordering.probability > Probability::NEVER { reordering.by } else { Span::ZERO };
        [delay, jitter, overtaken].into_iter().fold(self.propagation, Span::saturating_add)
    }
}

/// A medium, by its parameters, which are valid.
#[derive(Debug, Clone, PartialEq)]
pub enum MediumSpec {
    /// A link of its own for each station.
    PointToPoint,
    /// A token ring.
    TokenRing(TokenRingParameters),
    /// CSMA/CD.
    Csma(CsmaParameters),
}

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultSpec {
    /// At which node.
    pub node: usize,
    /// What.
    pub fault: Fault,
    /// When it begins.
    pub at: Span,
    /// How long it lasts; `None` to the end, or until the adapter is reset.
    pub length: Option<Span>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// That share of the adapter's interrupts is lost.
    LostInterrupts(f64),
    /// A part of the adapter does not work.
    Breakdown(Breakdown),
}

/// How channels are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Whose formulas; `None` takes every channel without a bound.
    pub formula: Option<Formula>,
    /// How it is decided who can be served together.
    pub test: Test,
    /// By what deadline EDF orders.
    pub local_deadline: LocalDeadline,
    /// What a refused channel says of the run, unless it says so itself.
    pub refusal: Refusal,
}

/// What a refused channel says of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It fails.
    Fails,
    /// Nothing.
    Expected,
}

impl Admission {
    /// The test that goes with `formula`: the papers' knows `D_order` only.
    pub fn test_with(&self, formula: Formula) -> Test {
        match formula {
            Formula::Papers | Formula::Printed => Test::DOrder,
            Formula::Corrected => self.test,
        }
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

/// What is done with an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Messages are sent until the end.
    Simulate(RunLength),
    /// Copies of the channel of this index are admitted, after all others, until one is refused; nothing is
    /// simulated.
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

/// One channel.
#[derive(Debug, Clone)]
pub struct ChannelSpec {
    /// Name, unique; copies are called `name-1`, `name-2` …
    pub name: String,
    /// The nodes it passes, each once, the sender first.
    pub route: Vec<usize>,
    /// The networks over which it goes from each of them to the next.
    pub ways: Vec<usize>,
    /// Whether the last of them receives its messages; else one ends with its last transmission.
    pub received: bool,
    /// Class of service.
    pub class: Class,
    /// Its contract. For best effort the interval says nothing, and the sizes are what its source sends.
    pub spec: TrafficSpec,
    /// Deadline from the logical arrival; `None` for best effort. At most `I_min` where `D_order` admits.
    pub deadline: Option<Span>,
    /// What it says of the run if admission refuses it.
    pub refusal: Refusal,
    /// Level under fixed priority, 0 the most urgent; `None` leaves it to admission.
    pub level: Option<u8>,
    /// Message queue slots; at least 1.
    pub message_slots: u32,
    /// Packet buffers; at least 1.
    pub packet_slots: u64,
    /// When the message queue is full.
    pub message_overflow: MessageOverflow,
    /// When the packet buffers are full.
    pub packet_overflow: PacketOverflow,
    /// What it carries of its sender's port in an emulation, in place of what is sent.
    pub carries: Option<Carries>,
    /// The interface at which it comes in, what is sent being what arrives there; `None` for a channel that this host sends.
    pub interface: Option<usize>,
    /// The program that takes what comes in; 0 for a channel that this host sends.
    pub program: usize,
    /// What is sent.
    pub source: SourceSpec,
}

impl ChannelSpec {
    /// The nodes that send what it carries: all of its route but one that receives.
    pub fn senders(&self) -> &[usize] {
        &self.route[..self.route.len() - usize::from(self.received)]
    }

    /// Its hops with the network by which it leaves each; `None` from the last.
    pub fn ways(&self) -> impl Iterator<Item = (usize, Option<usize>)> {
        self.route.iter().enumerate().map(|(hop, node)| (*node, self.ways.get(hop).copied()))
    }
}

/// What a channel's application sends.
#[derive(Debug, Clone)]
pub enum SourceSpec {
    /// Nothing.
    None,
    /// Keeps the message queue full: whenever a slot is free, a message of such a size.
    Continuous(Sizes),
    /// Has so many messages of such a size under way: whenever one is transmitted, or lost, the next is sent.
    Closed {
        /// Their sizes.
        sizes: Sizes,
        /// How many; at least 1, at most the message queue's slots.
        outstanding: u32,
    },
    /// Messages at times of the source's own.
    Timed {
        /// The source.
        parameters: SourceParameters,
        /// It starts later than the parameters say by less than this, as it is drawn; zero draws nothing.
        jitter: Span,
    },
}

impl SourceSpec {
    /// Whether there is always another message, sent when the host has room or has done with one before.
    pub fn is_endless(&self) -> bool {
        matches!(self, SourceSpec::Continuous(_) | SourceSpec::Closed { .. })
    }

    /// The messages without end, of sizes drawn from `random`; `None` for sources with times of their own, or nothing to
    /// send.
    pub fn endless(&self, random: Stream) -> Option<Endless> {
        match *self {
            SourceSpec::Continuous(sizes) => Some(Endless::new(sizes, random, None)),
            SourceSpec::Closed { sizes, outstanding } => Some(Endless::new(sizes, random, Some(outstanding))),
            SourceSpec::None | SourceSpec::Timed { .. } => None,
        }
    }

    /// The source at its start, which draws what is left to chance from `random`; `None` for those without
    /// times of their own.
    pub fn source(&self, random: Stream) -> Option<Source> {
        self.source_from(Span::ZERO, random)
    }

    /// The same, all of it later by `at`.
    pub fn source_from(&self, at: Span, mut random: Stream) -> Option<Source> {
        let SourceSpec::Timed { parameters, jitter } = self else { return None };
        let mut parameters = parameters.clone();
        if !at.is_zero() {
            let start = start(&mut parameters);
            *start = start.saturating_add(at);
        }
        if !jitter.is_zero() {
            let late = Span::from_ps(random.below(jitter.as_ps()));
            let start = start(&mut parameters);
            *start = start.saturating_add(late);
        }
        Some(Source::new(parameters, random).expect("a scenario's sources are checked when it is read"))
    }
}

/// When the source starts.
fn start(parameters: &mut SourceParameters) -> &mut Time {
    match parameters {
        SourceParameters::Periodic(p) => &mut p.start,
        SourceParameters::Bursty(p) => &mut p.start,
        SourceParameters::Poisson(p) => &mut p.start,
        SourceParameters::Adversary(p) => &mut p.start,
        SourceParameters::Recorded(p) => &mut p.start,
        SourceParameters::Script(p) => &mut p.start,
    }
}
