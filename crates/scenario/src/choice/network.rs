//! The words of networks: what joins nodes, what nodes are, and what goes wrong.

use laxity_world::experiment::{Forwarding, Routing};

use crate::leaf::Choice;

/// A kind of network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkKind {
    /// See [`laxity_model::network::PointToPoint`].
    PointToPoint,
    /// See [`laxity_model::network::TokenRing`].
    TokenRing,
    /// See [`laxity_model::network::Csma`].
    Csma,
}

impl Choice for NetworkKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("point_to_point", NetworkKind::PointToPoint, "A link of its own for each station."),
        (
            "token_ring",
            NetworkKind::TokenRing,
            "A station sends while it holds the token: `holding` of every `rotation` (thesis §6.4.1).",
        ),
        ("csma", NetworkKind::Csma, "Ethernet with collisions: CSMA/CD at `rate`."),
    ];
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A host with its adapter.
    Host,
    /// See [`laxity_model::switch`].
    Switch,
}

impl Choice for NodeKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("host", NodeKind::Host, "A host with its adapter: sends, receives, and passes on."),
        ("switch", NodeKind::Switch, "A switch: a queue for each link that leaves it."),
    ];
}

impl Choice for Forwarding {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("store_and_forward", Forwarding::StoreAndForward, "When it has all of it."),
        (
            "cut_through",
            Forwarding::CutThrough,
            "As soon as it has the header, if the port where it leaves is free.",
        ),
    ];
}

/// Overhead of each packet on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// No overhead.
    None,
    /// Preamble, header, check sequence and gap: 38 B, and at least 46 B between.
    Ethernet,
    /// The same with a VLAN tag: 42 B, and at least 42 B between.
    EthernetVlan,
}

impl Choice for Framing {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("none", Framing::None, "Nothing."),
        (
            "ethernet",
            Framing::Ethernet,
            "Preamble, header, check sequence and gap of IEEE 802.3, 38 B in all; a packet is padded to at least 46 B.",
        ),
        (
            "ethernet_vlan",
            Framing::EthernetVlan,
            "The same with a VLAN tag: 42 B in all, padded to at least 42 B.",
        ),
    ];
}

impl Choice for Routing {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("fewest_hops", Routing::FewestHops, "By the fewest hops, before the run."),
        (
            "widest",
            Routing::Widest,
            "At each request by the fewest hops over what works; of several, the one whose narrowest link has \
             the most that is not reserved.",
        ),
    ];
}

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Interrupts do not arrive.
    LostInterrupts,
    /// A resource stands still.
    Stall,
    /// Command queues accept no command.
    FullQueues,
    /// The adapter stands still.
    Stop,
    /// A node with signalling fails, with all that it holds.
    Crash,
    /// The programs of a node with signalling fail.
    ProgramCrash,
    /// The links of a network lose all frames.
    Cut,
}

impl Choice for FaultKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("lost_interrupts", FaultKind::LostInterrupts, "A `share` of the adapter's interrupts is lost."),
        ("stall", FaultKind::Stall, "A `resource` of the adapter does nothing: a stalled DMA, a hung bus."),
        ("full_queues", FaultKind::FullQueues, "The adapter's command queues take nothing."),
        ("stop", FaultKind::Stop, "The adapter stands still until its driver resets it."),
        ("crash", FaultKind::Crash, "With `[signalling]`: the node fails, and restarts with nothing."),
        (
            "program_crash",
            FaultKind::ProgramCrash,
            "With `[signalling]`: the programs of the node fail, and their channels end with their leases.",
        ),
        ("cut", FaultKind::Cut, "With `[signalling]`: the links of a `network` lose all frames."),
    ];
}
