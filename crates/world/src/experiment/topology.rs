//! Where things are, and how a packet gets from one to the next.

use std::collections::BTreeSet;

use laxity_model::adapter::Stage;
use laxity_model::network::{CsmaParameters, ImpairmentParameters, Probability, TokenRingParameters};
use laxity_model::switch::PortConfig;
use laxity_qos::channel::{Config, CoreId, LinkId, Order, Role};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Shaper};
use laxity_units::{Bytes, Span};

use super::{AdapterSpec, ChannelSpec, Experiment, HostSpec};

impl Experiment {
    /// The host at `node`.
    pub fn host(&self, node: usize) -> &HostSpec {
        &self.hosts[self.nodes[node].host]
    }

    /// How many cores `station` has; a port counts as having one.
    pub fn cores(&self, station: usize) -> u8 {
        self.nodes.get(station).map_or(1, |node| self.hosts[node.host].subsystem.cores)
    }

    /// The adapter at `node`; the first of several.
    pub fn adapter(&self, node: usize) -> &AdapterSpec {
        self.adapter_of(node, LinkId::FIRST)
    }

    /// The adapter of that link of `node`.
    pub fn adapter_of(&self, node: usize, link: LinkId) -> &AdapterSpec {
        &self.adapters[self.nodes[node].adapters[usize::from(link.0)].adapter]
    }

    /// The links of `node`, one for each of its adapters.
    pub fn links_of(&self, node: usize) -> impl Iterator<Item = LinkId> + use<> {
        // The number of adapters in a scenario fits in a `u8`.
        (0..self.nodes[node].adapters.len() as u8).map(LinkId)
    }

    /// The link of `station` that leads to `network`; a port has one, which does.
    pub fn link_to(&self, station: usize, network: usize) -> LinkId {
        let adapters = self.nodes.get(station).map_or(&[][..], |node| &node.adapters);
        match adapters {
            [] | [_] => LinkId::FIRST,
            several => {
                let place = several.iter().position(|adapter| adapter.networks.contains(&network));
                LinkId(place.expect("a way leads over networks that its stations are at") as u8)
            }
        }
    }

    /// The link by which `channel` leaves the station of `hop`: of one that is its last, the first.
    pub fn link_out(&self, channel: &ChannelSpec, hop: usize) -> LinkId {
        channel.ways.get(hop).map_or(LinkId::FIRST, |way| self.link_to(channel.route[hop], *way))
    }

    /// The link by which `channel` comes to the station of `hop`; `None` at its first.
    pub fn link_in(&self, channel: &ChannelSpec, hop: usize) -> Option<LinkId> {
        let way = channel.ways.get(hop.checked_sub(1)?);
        Some(way.map_or(LinkId::FIRST, |way| self.link_to(channel.route[hop], *way)))
    }

    /// The networks to which that link of a node leads, each with its number.
    pub fn networks_at(&self, (node, link): (usize, LinkId)) -> impl Iterator<Item = (usize, &Network)> {
        let leads = move |(number, network): &(usize, &Network)| {
            network.members.contains(&node) && self.link_to(node, *number) == link
        };
        self.networks.iter().enumerate().filter(leads)
    }

    /// The largest packet: hosts that exchange messages agree on it.
    pub fn packet(&self) -> Bytes {
        self.host(0).subsystem.packet
    }

    /// The nodes and the ports of switches.
    pub fn stations(&self) -> usize {
        self.nodes.len() + self.outlets.len()
    }

    /// The port of a switch that `station` is, unless it is a node.
    pub fn outlet(&self, station: usize) -> Option<&Outlet> {
        self.outlets.get(station.checked_sub(self.nodes.len())?)
    }

    /// The links of the node at that hop of `channel` by which it arrives or leaves; the first if
    /// it does neither.
    pub fn links_at(&self, channel: &ChannelSpec, hop: usize) -> BTreeSet<LinkId> {
        let node = channel.route[hop];
        let ways = channel.ways.iter().take(hop + 1).skip(hop.saturating_sub(1));
        let links: BTreeSet<LinkId> = ways.map(|way| self.link_to(node, *way)).collect();
        if links.is_empty() { BTreeSet::from([LinkId::FIRST]) } else { links }
    }

    /// The suffix of a name at `station`, which distinguishes it from the same name elsewhere;
    /// empty at the first of nodes without names.
    pub fn suffix(&self, station: usize) -> String {
        match self.nodes.get(station) {
            Some(NodeSpec { name: None, .. }) if station == 0 => String::new(),
            _ => format!("@{}", self.name(station)),
        }
    }

    /// The same for something of an adapter of `node`.
    pub fn suffix_of(&self, node: usize, link: LinkId) -> String {
        match &self.nodes[node].adapters[usize::from(link.0)].name {
            Some(name) => format!("@{}.{name}", self.name(node)),
            None => self.suffix(node),
        }
    }

    /// The name of `station`: a port by its switch and its destination.
    pub fn name(&self, station: usize) -> String {
        match self.outlet(station) {
            Some(outlet) => format!("{}.{}", self.switches[outlet.switch].name, outlet.to),
            None => self.nodes[station].name.clone().unwrap_or_else(|| station.to_string()),
        }
    }

    /// In which order `station` sends.
    pub fn order(&self, station: usize) -> Order {
        match self.outlet(station) {
            Some(outlet) => outlet.config.order,
            None => self.host(station).subsystem.order,
        }
    }

    /// In which order packets leave `station`: at a host that of its links, and not that of its CPU.
    pub fn link_order(&self, station: usize) -> Order {
        match self.outlet(station) {
            Some(outlet) => outlet.config.order,
            None => self.host(station).subsystem.link.order,
        }
    }

    /// The launch times of real-time packets that leave `station`, from their logical arrivals there;
    /// `None` where they have none.
    pub fn launch(&self, station: usize) -> Option<Span> {
        self.nodes.get(station).and_then(|_| self.host(station).subsystem.link.launch)
    }

    /// The classes with a credit-based shaper in the adapters of `station`, if it is a host.
    pub fn shapers(&self, station: usize) -> &[Shaper] {
        self.nodes.get(station).map_or(&[], |_| &self.host(station).shapers)
    }

    /// How far ahead of their time packets may leave `station`, if it holds them.
    ///
    /// A link of which the host works ahead holds packets if its order does; otherwise they leave
    /// as they are made.
    pub fn horizon(&self, station: usize) -> Span {
        if self.launch(station).is_some() {
            return Span::ZERO;
        }
        let Some(outlet) = self.outlet(station) else {
            let Config { early, link, .. } = &self.host(station).subsystem;
            return if waits_for_arrivals(link.order) { link.early.horizon } else { early.horizon };
        };
        outlet.config.early.horizon
    }

    /// Whether packets that arrive at `station` before their logical arrival there are held until
    /// then, except within the horizon.
    pub fn holds(&self, station: usize) -> bool {
        self.launch(station).is_some()
            || waits_for_arrivals(self.order(station))
            || waits_for_arrivals(self.link_order(station))
    }

    /// `station` in words: by its name, or as the host of that number.
    pub fn place(&self, station: usize) -> String {
        match self.nodes.get(station) {
            Some(NodeSpec { name: None, .. }) => format!("host {station}"),
            _ => self.name(station),
        }
    }

    /// The configuration of the host of `node`, with the rate of its first link.
    pub fn subsystem(&self, node: usize) -> Config {
        let mut config = self.host(node).subsystem;
        config.link.speed = self.speed(node, LinkId::FIRST);
        config
    }

    /// How fast a link of `node` is: as its adapter, or of a described one what holds a packet for
    /// longest.
    pub fn speed(&self, node: usize, link: LinkId) -> LinkCosts {
        match self.adapter_of(node, link) {
            AdapterSpec::Null(link) => *link,
            AdapterSpec::Described(description) => {
                let stages = description.transmit.iter().map(Stage::speed);
                stages.max_by_key(|speed| speed.transmit(self.packet())).unwrap_or_default()
            }
        }
    }

    /// The link behind `station`, of several the one by that number, as far as packets of it take a
    /// time that can be said.
    pub fn link(&self, station: usize, link: LinkId) -> Option<LinkCosts> {
        match self.outlet(station) {
            Some(outlet) => Some(outlet.config.link),
            None => match self.adapter_of(station, link) {
                AdapterSpec::Null(link) => Some(*link),
                AdapterSpec::Described(_) => None,
            },
        }
    }

    /// Whether the first link of `channel` frames its packets, so that a frame from elsewhere
    /// leaves its own header behind there.
    pub fn is_framed(&self, channel: &ChannelSpec) -> bool {
        channel.ways.first().is_some_and(|way| self.networks[*way].framed)
    }

    /// How long a packet may be on its way from hop `hop` of `channel` to the next, none lost, from
    /// when the link is free again.
    pub fn longest_way(&self, channel: &ChannelSpec, hop: usize) -> Span {
        let network = &self.networks[channel.ways[hop]];
        let way = network.longest_way().saturating_add(self.latency_into(channel.route[hop + 1]));
        way.saturating_sub(self.gap_behind(channel, hop))
    }

    /// The time between the last byte of a frame and the end of the link's busy time behind hop
    /// `hop` of `channel`: the interframe gap, which delays the next frame and not this one.
    ///
    /// Zero where no cable is modelled (`propagation` is zero): the link is an abstract server
    /// there, and a frame arrives when its transmission time is over. Zero too before a port that
    /// cuts through, where [`head_start`](Self::head_start) counts from the beginning of a frame. A
    /// station that does not know the end of a transmission ahead hands the frame over when the
    /// link is free; the gap then counts at most the delay to the next station.
    pub fn gap_behind(&self, channel: &ChannelSpec, hop: usize) -> Span {
        let Some(&next) = channel.route.get(hop + 1) else { return Span::ZERO };
        let propagation = self.networks[channel.ways[hop]].propagation;
        if propagation.is_zero() || self.cuts_through(next) {
            return Span::ZERO;
        }
        let (station, link) = (channel.route[hop], self.link_out(channel, hop));
        let (gap, foretold) = match self.outlet(station) {
            Some(outlet) => (outlet.config.link.gap, true),
            None => match self.adapter_of(station, link) {
                AdapterSpec::Null(costs) => (costs.gap, self.host(station).driver.reset_after.is_none()),
                AdapterSpec::Described(description) => (description.link.gap, false),
            },
        };
        if foretold { gap } else { gap.min(propagation.saturating_add(self.latency_into(next))) }
    }

    /// The time of a frame from hop `hop` of `channel` to the next, counted from when the link is
    /// free again; and if the frame is there before that, by how much.
    pub fn shortest_way(&self, channel: &ChannelSpec, hop: usize) -> (Span, Span) {
        let Some(&next) = channel.route.get(hop + 1) else { return (Span::ZERO, Span::ZERO) };
        let propagation = self.networks[channel.ways[hop]].propagation;
        let (way, gap) = (propagation.saturating_add(self.latency_into(next)), self.gap_behind(channel, hop));
        (way.saturating_sub(gap), gap.saturating_sub(way))
    }

    /// How long before the last bit of a packet has left hop `hop` of `channel` the next may begin
    /// to send it: a cut-through switch does as soon as it has the header, and so late that it
    /// never has to wait for the rest.
    pub fn head_start(&self, channel: &ChannelSpec, hop: usize, packet: Bytes) -> Span {
        let next = channel.route[hop + 1];
        let links = self.outlet(next).zip(self.link(channel.route[hop], self.link_out(channel, hop)));
        let Some((outlet, link)) = links.filter(|_| self.cuts_through(next)) else { return Span::ZERO };
        let behind_header = link.transmit(packet).saturating_sub(link.per_byte.time(HEADER));
        let out = &outlet.config.link;
        // The last byte leaves a gap before its link is free, here as there.
        behind_header.min(out.transmit(packet).saturating_sub(out.gap) + link.gap)
    }

    /// Whether `station` is a port of a switch that does not wait for the whole of a frame.
    pub fn cuts_through(&self, station: usize) -> bool {
        let switch = self.outlet(station).map(|outlet| &self.switches[outlet.switch]);
        switch.is_some_and(|switch| switch.forwarding == Forwarding::CutThrough)
    }

    /// The nodes of which the packets are at the next station before their links are free again,
    /// and these links.
    pub fn feeders_ahead(&self) -> BTreeSet<(usize, LinkId)> {
        self.feeders(|channel, hop| !self.shortest_way(channel, hop).1.is_zero())
    }

    /// The nodes from which packets go to a port that cuts through, and by which of their links.
    pub fn feeders_of_cut_through(&self) -> BTreeSet<(usize, LinkId)> {
        self.feeders(|channel, hop| self.cuts_through(channel.route[hop + 1]))
    }

    /// The nodes at the hops of channels that `of` selects, and by which of their links the
    /// channels leave.
    fn feeders(&self, of: impl Fn(&ChannelSpec, usize) -> bool) -> BTreeSet<(usize, LinkId)> {
        let hops = |channel: &ChannelSpec| channel.ways.len();
        let each = self.channels.iter().flat_map(|channel| (0..hops(channel)).map(move |hop| (channel, hop)));
        let selected =
            each.filter(|(channel, hop)| channel.route[*hop] < self.nodes.len() && of(channel, *hop));
        selected.map(|(channel, hop)| (channel.route[hop], self.link_out(channel, hop))).collect()
    }

    /// The time from the arrival of a frame until it is in a queue of `station`.
    pub fn latency_into(&self, station: usize) -> Span {
        self.outlet(station).map_or(Span::ZERO, |outlet| self.switches[outlet.switch].latency)
    }

    /// The local deadline of `channel` at each hop where admission divides no deadline: an equal
    /// part of its deadline, without the propagation between the hops.
    pub fn equal_part(&self, channel: &ChannelSpec) -> Option<Span> {
        let hops = self.hops(channel).count();
        let ways = (0..hops - 1).map(|hop| self.longest_way(channel, hop));
        let between = ways.fold(Span::ZERO, Span::saturating_add);
        Some(channel.deadline?.saturating_sub(between) / hops as u64)
    }

    /// Packets of the longest burst that `channel` may send, if it has a contract.
    pub fn burst(&self, channel: &ChannelSpec) -> Option<u32> {
        let each = channel.spec.fragmentation(self.packet()).packets();
        let packets = each.saturating_mul(u64::from(channel.spec.burst));
        let packets = u32::try_from(packets.max(1)).unwrap_or(u32::MAX);
        (channel.class == Class::RealTime).then_some(packets)
    }

    /// The stations that a channel passes, and what it does at each.
    pub fn hops<'a>(&self, channel: &'a ChannelSpec) -> impl Iterator<Item = (usize, Role)> + use<'a> {
        let last = channel.route.len() - 1;
        channel.route.iter().enumerate().map(move |(hop, &node)| match hop {
            0 => (node, Role::Send),
            _ if hop == last && channel.received => (node, Role::Receive),
            _ => (node, Role::Relay),
        })
    }
}

/// Bytes of a frame after which a cut-through switch knows where it goes: preamble and header of
/// Ethernet.
const HEADER: Bytes = Bytes::new(22);

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Its name, unique among switches and nodes.
    pub name: String,
    /// When it passes a frame on.
    pub forwarding: Forwarding,
    /// From then until the frame is in the queue of the port where it leaves.
    pub latency: Span,
    /// Memory that its ports share, beside what each has to itself.
    pub shared: Bytes,
    /// How late frames of a channel may be against each other where flow meters drop the frames beyond
    /// the contract of the channel; `None` without meters.
    pub policing: Option<Span>,
}

impl SwitchSpec {
    /// A switch with those flow meters and else the least that a switch does.
    pub fn new(policing: Option<Span>) -> Self {
        Self {
            name: String::new(),
            forwarding: Forwarding::StoreAndForward,
            latency: Span::ZERO,
            shared: Bytes::ZERO,
            policing,
        }
    }
}

/// When a switch passes a frame on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// When it has all of it.
    StoreAndForward,
    /// As soon as it knows where it goes.
    CutThrough,
}

/// A port of a switch, on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlet {
    /// Which of the switches.
    pub switch: usize,
    /// The name of the other end of its link.
    pub to: String,
    /// Its queue, memory and link.
    pub config: PortConfig,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name, unique; `None` where nodes go by their numbers.
    pub name: Option<String>,
    /// Which of the hosts it has.
    pub host: usize,
    /// Its adapters, by its links; at least one.
    pub adapters: Vec<Attached>,
}

impl NodeSpec {
    /// A node with that adapter only.
    pub fn with_one(name: Option<String>, host: usize, adapter: usize) -> Self {
        Self { name, host, adapters: vec![Attached::alone(adapter)] }
    }
}

/// An adapter of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Its name, unique at the node; `None` for the only one of a node that gives it none.
    pub name: Option<String>,
    /// Which of the adapters it is.
    pub adapter: usize,
    /// Its networks, where the node has several.
    pub networks: Vec<usize>,
    /// The cores that its response queues interrupt, in turn; at least one.
    pub interrupts: Vec<CoreId>,
}

impl Attached {
    /// The only one of a node, which interrupts its first core.
    pub fn alone(adapter: usize) -> Self {
        Self { name: None, adapter, networks: Vec::new(), interrupts: vec![CoreId::FIRST] }
    }
}

/// A network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Its name, unique; `None` for the only one.
    pub name: Option<String>,
    /// The nodes at it, by their places in [`Experiment::nodes`]; the medium numbers them in this
    /// order.
    pub members: Vec<usize>,
    /// The medium access.
    pub medium: MediumSpec,
    /// Whether its packets are framed as Ethernet's.
    pub framed: bool,
    /// Whether its frames have a VLAN's tag.
    pub tagged: bool,
    /// Propagation delay of each link.
    pub propagation: Span,
    /// Impairments of frames on their path.
    pub impairments: ImpairmentParameters,
}

impl Network {
    /// Bytes of the frame that carries a packet of `size`, from the destination address to the last
    /// byte of data: of a packet that is not framed its own, which are all that take time.
    pub fn frame(&self, size: Bytes) -> Bytes {
        match (self.framed, self.tagged) {
            (false, _) => size,
            (true, false) => size.max(Bytes::new(46)) + Bytes::new(14),
            (true, true) => size.max(Bytes::new(42)) + Bytes::new(18),
        }
    }

    /// How long a packet may be on its way from one host to the next, none lost.
    pub fn longest_way(&self) -> Span {
        let ImpairmentParameters { delay, jitter, reordering, .. } = self.impairments;
        let overtaken = if reordering.probability > Probability::NEVER { reordering.by } else { Span::ZERO };
        [delay, jitter, overtaken].into_iter().fold(self.propagation, Span::saturating_add)
    }
}

/// Whether a queue in `order` holds real-time packets until their logical arrival, except within a
/// horizon.
fn waits_for_arrivals(order: Order) -> bool {
    matches!(order, Order::MultiClassEdf | Order::FixedPriority)
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
