//! The words of networks: what joins nodes, what nodes are, and what goes wrong.

use laxity_world::experiment::{Forwarding, Routing};

use laxity_scenario_keys::words;

/// A kind of network.
#[words]
pub(crate) enum NetworkKind {
    /// A link of its own for each station.
    PointToPoint,
    /// A station sends while it holds the token: `holding` of every `rotation` (thesis §6.4.1).
    TokenRing,
    /// Ethernet with collisions: CSMA/CD at `rate`.
    Csma,
}

/// Kind of a node.
#[words]
pub(crate) enum NodeKind {
    /// A host with its adapter: sends, receives, and passes on.
    Host,
    /// A switch: a queue for each link that leaves it.
    Switch,
}

#[words(of = Forwarding)]
enum ForwardingWords {
    /// When it has all of it.
    StoreAndForward,
    /// As soon as it has the header, if the port where it leaves is free.
    CutThrough,
}

/// Overhead of each packet on the link.
#[words]
pub(crate) enum Framing {
    /// No overhead.
    None,
    /// Preamble, header, check sequence and gap of IEEE 802.3, 38 B in all; a packet is padded to
    /// at least 46 B.
    Ethernet,
    /// The same with a VLAN tag: 42 B in all, padded to at least 42 B.
    EthernetVlan,
}

#[words(of = Routing)]
enum RoutingWords {
    /// By the fewest hops, before the run.
    FewestHops,
    /// At each request by the fewest hops over what works; of several, the one with the most that
    /// is not reserved on its narrowest link.
    Widest,
}

/// Kind of a fault.
#[words]
pub(crate) enum FaultKind {
    /// A `share` of the adapter's interrupts is lost.
    LostInterrupts,
    /// A `resource` of the adapter stands still: a stalled DMA, a hung bus.
    Stall,
    /// The adapter's command queues take no command.
    FullQueues,
    /// The adapter stands still until its driver resets it.
    Stop,
    /// With `[signalling]`: the node fails, and restarts without its state.
    Crash,
    /// With `[signalling]`: the programs of the node fail, and their channels end with their
    /// leases.
    ProgramCrash,
    /// With `[signalling]`: the links of a `network` lose all frames.
    Cut,
}
