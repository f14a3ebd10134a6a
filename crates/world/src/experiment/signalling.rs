//! A network of nodes that establish, change and close channels while traffic runs: when channels
//! are asked for, how clocks differ, and what fails.

use laxity_clock::{Drift, NodeClock, Quality, Shift, Tolerance};
use laxity_node::{NodeLinkConfig, NotANode};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::Owner;
use laxity_signalling::quota::{Quota, Quotas};
use laxity_signalling::settings::Settings;
use laxity_units::{ByteTime, Bytes, Span, Time};

use super::{ChannelSpec, Experiment};

/// A network of nodes with signalling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignallingSpec {
    /// `S`: the largest payload of a packet.
    pub packet: u32,
    /// The spacing of signalling messages on a link.
    pub spacing: Span,
    /// How long a node keeps a channel without a message of its source; the other times of the
    /// protocol are parts of it.
    pub lease: Span,
    /// Memory of a node for the channels from one neighbour, or of its own programs.
    pub memory: Bytes,
    /// How channels find their routes that a file gives none.
    pub routes: Routing,
    /// Owners with a quota at each node.
    pub owners: Vec<OwnerSpec>,
    /// The links, each in both directions.
    pub links: Vec<LinkSpec>,
    /// How nodes synchronise their clocks; `None` if they do not.
    pub synchronise: Option<SynchroniseSpec>,
    /// The clock of each node.
    pub clocks: Vec<ClockSpec>,
    /// Outages.
    pub outages: Vec<Outage>,
}

/// How a channel finds its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Routing {
    /// Of fewest hops, found before the run.
    #[default]
    FewestHops,
    /// At each request the widest of the routes of fewest hops: one of which the narrowest link has
    /// the most that is not reserved, over links and nodes that work
    /// ([`laxity_signalling::routes`]). Programs see the reservations of all nodes at that instant.
    Widest,
}

/// An owner of channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerSpec {
    /// Its name.
    pub name: String,
    /// The most that it may have reserved at each node.
    pub quota: Quota,
}

/// A link between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// The network of which it is a part.
    pub network: usize,
    /// The nodes.
    pub ends: [usize; 2],
    /// Time of a byte.
    pub per_byte: ByteTime,
    /// Bytes around each frame.
    pub around: u32,
}

/// Cristian's synchronisation with the clock of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynchroniseSpec {
    /// The node with the clock that the others follow.
    pub reference: usize,
    /// The largest error of a round trip that is adopted.
    pub accept: Span,
    /// From a success to the next request.
    pub period: Span,
    /// From a request to the next where it has no answer, or one of a larger error.
    pub retry: Span,
}

/// The clock of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockSpec {
    /// Its difference from true time at the start.
    pub offset: Shift,
    /// Its rate error.
    pub drift: Drift,
    /// The grain of its readings; zero for a picosecond.
    pub grain: Span,
    /// Changes of the time that it shows, in the order of their times.
    pub steps: Vec<(Span, Shift)>,
}

/// Something that fails, from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// The failing part.
    pub what: Fails,
    /// When.
    pub at: Span,
    /// How long; `None` to the end of the run.
    pub length: Option<Span>,
}

/// The part that an outage is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fails {
    /// A node, with all that it holds. It restarts with a new epoch.
    Node(usize),
    /// The programs at a node, for good: they send, receive and renew no more.
    Programs(usize),
    /// The links of a network, which lose all frames.
    Network(usize),
}

/// When a channel is asked for, changed and closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedTimes {
    /// Once.
    Once {
        /// When.
        at: Span,
        /// When it is closed; `None` if never.
        until: Option<Span>,
        /// Other contracts, in the order of their times.
        changes: Vec<(Span, ChannelContract)>,
    },
    /// Again and again.
    Calls {
        /// The mean time between requests, which are a Poisson process.
        every: Span,
        /// The mean time from establishment to closing, which is exponential.
        hold: Span,
    },
}

impl AskedTimes {
    /// From the start to the end of the run.
    pub const ALWAYS: AskedTimes = AskedTimes::Once { at: Span::ZERO, until: None, changes: Vec::new() };
}

/// Clocks show this at true time zero, so that none is before zero.
const START: Span = Span::from_secs(2 * 3600);
/// The largest offset or step of a clock.
pub const FARTHEST: Span = Span::from_secs(3600);

impl ClockSpec {
    /// The clock over the whole run; `None` if it would show a time before zero.
    pub fn clock(&self) -> Option<NodeClock> {
        let start = self.offset.applied_to(Time::ZERO + START);
        let mut clock = NodeClock::new(start, self.drift).with_grain(self.grain.max(Span::from_ps(1)));
        for (at, step) in &self.steps {
            clock.change(Time::ZERO + *at, *step, self.drift).ok()?;
        }
        Some(clock)
    }
}

impl SignallingSpec {
    /// The greatest drift and the coarsest grain of the clocks.
    pub fn quality(&self) -> Quality {
        let drift = self.clocks.iter().map(|clock| Tolerance::of(clock.drift)).max().unwrap_or_default();
        let grain = self.clocks.iter().map(|clock| clock.grain).max().unwrap_or_default();
        Quality { drift, grain: grain.max(Span::from_ps(1)) }
    }

    /// The settings of the managers: all times are in the proportions of [`Settings::default`].
    pub fn settings(&self, experiment: &Experiment) -> Settings {
        let drift = self.quality().drift.ppb().div_ceil(1000);
        let part = |of: Span| {
            self.lease.scale_ceil(of.as_ps(), Settings::default().lease.as_ps()).max(Span::from_ps(1))
        };
        let default = Settings::default();
        Settings {
            lease: self.lease,
            patience: part(default.patience),
            refresh: part(default.refresh),
            program_lease: part(default.program_lease),
            retry: part(default.retry),
            longest_retry: part(default.longest_retry),
            division: experiment.admission.division,
            drift,
            ..default
        }
    }

    /// The quotas of owners: the first numbers are those of `owners`, the others have no limit.
    pub fn quotas(&self) -> Quotas {
        let mut quotas = Quotas::default();
        for (number, owner) in (0..).zip(&self.owners) {
            quotas.set(Owner(number), owner.quota);
        }
        quotas
    }

    /// One direction of a link of `experiment`.
    pub fn link(&self, experiment: &Experiment, link: &LinkSpec) -> NodeLinkConfig {
        let way = experiment.networks[link.network].longest_way();
        NodeLinkConfig { per_byte: link.per_byte, way, hosts: Span::ZERO, around: link.around }
    }

    /// The link between two nodes.
    pub fn between(&self, from: usize, to: usize) -> Option<&LinkSpec> {
        self.links.iter().find(|link| link.ends == [from, to] || link.ends == [to, from])
    }

    /// The contract that a program asks for over a route of `nodes` where a file says `contract`: the
    /// deadline is shorter by the terms of the clocks, so that it holds in true time. `None` if the
    /// terms leave no time.
    pub fn in_local_time(&self, nodes: usize, contract: ChannelContract) -> Option<ChannelContract> {
        let Quality { drift, grain } = self.quality();
        let grains = grain.saturating_mul(nodes as u64);
        let deadline = drift.shortest_shown(contract.deadline).saturating_sub(grains);
        Some(ChannelContract { deadline, ..contract }).filter(ChannelContract::is_valid)
    }

    /// `(D' + n g) / (1 − ρ)`: the bound in true time of a channel that asked for `contract` over a
    /// route of `nodes`.
    pub fn bound(&self, nodes: usize, contract: &ChannelContract) -> Span {
        let Quality { drift, grain } = self.quality();
        let grains = grain.saturating_mul(nodes as u64);
        drift.longest_true(contract.deadline.saturating_add(grains))
    }
}

impl Experiment {
    /// The first node with signalling that cannot be, and why.
    pub fn impossible_node(&self) -> Option<(usize, NotANode)> {
        crate::assembly::managed::impossible(self)
    }
}

impl ChannelSpec {
    /// Its contract, where nodes with signalling admit it; `None` for best effort.
    pub fn contract(&self) -> Option<ChannelContract> {
        Some(ChannelContract {
            max_message: self.spec.max_message,
            min_message: self.spec.min_message,
            min_interval: self.spec.min_interval,
            burst: self.spec.burst,
            deadline: self.deadline?,
        })
    }
}
