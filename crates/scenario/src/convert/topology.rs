//! `[node.NAME]` and `[network.NAME]`: unlike nodes, switches, and what joins them.

use laxity_model::switch::PortConfig;
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Rate};
use laxity_world::experiment::{Forwarding, Outlet, SwitchSpec};

use super::way::{Graph, Place, Way};
use super::*;
use crate::choice::{Framing, NetworkKind, NodeKind};
use crate::raw::{RawAdapter, RawHost, RawNetwork, RawNetworks, RawNode};
use crate::written::Entries;

/// Nodes of a scenario at most.
const MOST_NODES: usize = 10_000;
/// Memory of a port where nothing is said.
const PORT_MEMORY: Bytes = Bytes::from_kib(64);

/// Hosts, adapters, and how they stand.
pub(super) struct Topology {
    pub(super) hosts: Vec<Located<Host, HostSpans>>,
    pub(super) adapters: Vec<Located<Adapter, Range<usize>>>,
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) switches: Vec<SwitchSpec>,
    pub(super) outlets: Vec<Outlet>,
    pub(super) networks: Vec<Network>,
    pub(super) way: Way,
}

/// What is at the end of a link.
struct Link {
    costs: LinkCosts,
    mtu: Option<Bytes>,
    place: Range<usize>,
}

/// A switch, as far as its own table has it.
struct Ports {
    order: Order,
    early: EarlyPolicy,
    memory: Bytes,
}

/// The nodes and networks by name. `host` and `adapter` are what they have in common, where that is said.
pub(super) fn topology(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    host: Option<Part<RawHost>>,
    adapter: Option<Part<RawAdapter>>,
    nodes: Entries<Part<RawNode>>,
    networks: Option<RawNetworks>,
) -> Result<Topology, Reported> {
    let owner = nodes.span.clone();
    let mut builder = Builder::default();
    if let Some(host) = host {
        builder.hosts.push(host::host(cx, library, host)?);
    }
    let common_host = builder.hosts.len();
    // Without one a packet takes what the link takes.
    let common = match adapter {
        Some(adapter) => adapter::adapter(cx, library, with_any_rate(adapter))?,
        None => Located { value: Adapter::Null(LinkCosts::default()), spans: owner.clone() },
    };
    builder.adapters.push(common);
    let mut outcome = Ok(());
    for (name, part) in cx.entries(Some(nodes))? {
        if let Err(reported) = builder.node(cx, library, &name, part, common_host > 0) {
            outcome = Err(reported);
        }
    }
    outcome?;
    if builder.nodes.is_empty() {
        return Err(cx.fault(&owner, "no node is a host", "add `[node.NAME]` for one that sends"));
    }
    if builder.graph.places.len() > MOST_NODES {
        let reason = format!("there are {} nodes", builder.graph.places.len());
        return Err(cx.fault(&owner, reason, format!("at most {MOST_NODES} are taken")));
    }
    let Some(networks) = networks else {
        return Err(cx.fault(&owner, "nothing joins the nodes", "add `[network.NAME]` with what it `joins`"));
    };
    if networks.named.is_empty() {
        let help = "add `[network.NAME]` with what it `joins`";
        return Err(cx.fault(&networks.span(), "no network says which nodes it joins", help));
    }
    // What they have in common is in each of them, and errors in it are reported there.
    builder.graph.next = vec![Vec::new(); builder.graph.places.len()];
    builder.links = (0..builder.nodes.len()).map(|_| None).collect();
    for (name, part) in networks.named {
        builder.network(cx, &name, part)?;
    }
    builder.finish(cx, &owner)
}

/// A null adapter that says nothing of its rate takes as long as the link.
fn with_any_rate(mut part: Part<RawAdapter>) -> Part<RawAdapter> {
    if let Ok(raw) = &mut part.value
        && raw.file.is_none()
        && raw.per_byte.is_none()
        && raw.rate.is_none()
        && raw.kind.as_ref().is_some_and(|kind| matches!(kind.value, Ok(crate::choice::AdapterKind::Null)))
    {
        let nothing = Scalar::Text("0 ns".into());
        raw.per_byte = Some(Written { span: part.span.clone(), value: Leaf::read(nothing) });
    }
    part
}

#[derive(Default)]
struct Builder {
    hosts: Vec<Located<Host, HostSpans>>,
    adapters: Vec<Located<Adapter, Range<usize>>>,
    nodes: Vec<NodeSpec>,
    /// Where each node is named.
    named_at: Vec<Range<usize>>,
    switches: Vec<SwitchSpec>,
    ports: Vec<Ports>,
    outlets: Vec<Outlet>,
    networks: Vec<Network>,
    graph: Graph,
    /// Per node: its link, or that it is at a medium that it shares.
    links: Vec<Option<Link>>,
}

impl Builder {
    fn node(
        &mut self,
        cx: &mut Context<'_>,
        library: &mut Library<'_>,
        name: &Spanned<String>,
        part: Part<RawNode>,
        has_common_host: bool,
    ) -> Result<(), Reported> {
        let good = Name::read(Scalar::Text(name.get_ref().clone()));
        if let Err(fault) = good {
            return Err(cx.fault(&name.span(), fault.reason, format!("valid is {}", fault.valid)));
        }
        let part = cx.part(part)?;
        let raw = part.into_inner();
        let RawNode {
            kind,
            count,
            host,
            adapter,
            forwarding,
            latency,
            order,
            horizon,
            early_above_best_effort,
            memory,
            shared_memory,
        } = raw;
        let kind = cx.or(kind, NodeKind::Host);
        let count =
            cx.optional(count).map(|count| count.map_or(1, |count| count.into_inner().get() as usize));
        let (kind, count) = (kind?, count?);
        let place = match kind {
            NodeKind::Host => {
                let (reason, help) = ("this is a switch's", "remove this, or say `kind = \"switch\"`");
                cx.foreign(forwarding.as_ref(), reason, help)?;
                cx.foreign(latency.as_ref(), reason, help)?;
                cx.foreign(order.as_ref(), reason, help)?;
                cx.foreign(horizon.as_ref(), reason, help)?;
                cx.foreign(early_above_best_effort.as_ref(), reason, help)?;
                cx.foreign(memory.as_ref(), reason, help)?;
                cx.foreign(shared_memory.as_ref(), reason, help)?;
                let host = match host {
                    Some(host) => {
                        self.hosts.push(host::host(cx, library, host)?);
                        self.hosts.len() - 1
                    }
                    None if has_common_host => 0,
                    None => {
                        let help = "add `[host]` with `profile = \"mc68040\"` or another, for all nodes or for this one";
                        return Err(cx.fault(
                            &name.span(),
                            format!("node `{}` has no host", name.get_ref()),
                            help,
                        ));
                    }
                };
                let adapter = match adapter {
                    Some(adapter) => {
                        let adapter = with_any_rate(adapter);
                        self.adapters.push(adapter::adapter(cx, library, adapter)?);
                        self.adapters.len() - 1
                    }
                    None => 0,
                };
                NodeSpec { name: None, host, adapter }
            }
            NodeKind::Switch => {
                if let Some(span) = host.map(|part| part.span).or(adapter.map(|part| part.span)) {
                    let help = "remove this, or `kind = \"switch\"`";
                    return Err(cx.fault(&span, "a switch has no host and no adapter", help));
                }
                let forwarding = cx.or(forwarding, Forwarding::StoreAndForward);
                let latency = cx.optional(latency);
                let order = cx.or(order, Order::MultiClassEdf);
                let horizon = cx.optional(horizon);
                let above_best_effort = cx.or(early_above_best_effort, false);
                let memory = cx.optional(memory);
                let shared = cx.optional(shared_memory);
                let early = EarlyPolicy {
                    horizon: horizon?.map_or(Span::ZERO, |horizon| horizon.into_inner().get()),
                    above_best_effort: above_best_effort?,
                };
                let memory = memory?.map_or(PORT_MEMORY, |memory| memory.into_inner().get());
                let switch = SwitchSpec {
                    name: String::new(),
                    forwarding: forwarding?,
                    latency: latency?.map_or(Span::ZERO, |latency| latency.into_inner().get()),
                    shared: shared?.map_or(Bytes::ZERO, |shared| shared.into_inner().get()),
                };
                let order = order?;
                for copy in self.copies(cx, name, count)? {
                    self.switches.push(SwitchSpec { name: copy.clone(), ..switch.clone() });
                    self.ports.push(Ports { order, early, memory });
                    self.place(name.get_ref(), copy, Place::Switch(self.switches.len() - 1));
                }
                return Ok(());
            }
        };
        for copy in self.copies(cx, name, count)? {
            self.nodes.push(NodeSpec { name: Some(copy.clone()), ..place.clone() });
            self.named_at.push(name.span());
            self.place(name.get_ref(), copy, Place::Node(self.nodes.len() - 1));
        }
        Ok(())
    }

    /// What so many nodes by `name` are called, each.
    fn copies(
        &self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        count: usize,
    ) -> Result<Vec<String>, Reported> {
        let copies: Vec<String> = match count {
            1 => vec![name.get_ref().clone()],
            _ => (1..=count).map(|copy| format!("{}-{copy}", name.get_ref())).collect(),
        };
        match copies.iter().find(|copy| self.graph.by_name.contains_key(*copy)) {
            Some(taken) => {
                let reason = format!("there are two nodes called `{taken}`");
                Err(cx.fault(&name.span(), reason, "call one of them otherwise"))
            }
            None => Ok(copies),
        }
    }

    fn place(&mut self, name: &str, copy: String, place: Place) {
        let number = self.graph.places.len();
        self.graph.places.push(place);
        self.graph.by_name.entry(name.into()).or_default().push(number);
        if copy != name {
            self.graph.by_name.insert(copy.clone(), vec![number]);
        }
        self.graph.names.push(copy);
    }

    fn network(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        part: Part<RawNetwork>,
    ) -> Result<(), Reported> {
        let good = Name::read(Scalar::Text(name.get_ref().clone()));
        if let Err(fault) = good {
            return Err(cx.fault(&name.span(), fault.reason, format!("valid is {}", fault.valid)));
        }
        let part = cx.part(part)?;
        let (owner, mut raw) = (part.span(), part.into_inner());
        if let Some(stations) = &raw.stations {
            let help = "remove this: what it `joins` is how many they are";
            return Err(cx.fault(&stations.span, "a network of named nodes does not count them", help));
        }
        let Some(joins) = raw.joins.take() else {
            let what = format!("network `{}`", name.get_ref());
            return Err(cx.missing("joins", &owner, &what, "the names of the nodes that it joins"));
        };
        let joins_at = joins.span.clone();
        let mut members: Vec<usize> = Vec::new();
        for joined in cx.items(Some(joins))? {
            let joined = cx.value(joined)?;
            let places = self.graph.places(cx, &joined.get_ref().0, &joined.span())?;
            if let Some(twice) = places.iter().find(|place| members.contains(place)) {
                let reason = format!("`{}` stands here twice", self.graph.names[*twice]);
                return Err(cx.fault(&joined.span(), reason, "remove one"));
            }
            members.extend(places);
        }
        if members.len() < 2 {
            return Err(cx.fault(&joins_at, "a network joins two nodes or more", "name another"));
        }
        let kind = cx.or(raw.kind.take(), NetworkKind::PointToPoint)?;
        match kind {
            NetworkKind::PointToPoint => self.links(cx, name, raw, &owner, &members),
            NetworkKind::TokenRing | NetworkKind::Csma => self.medium(cx, name, kind, raw, &owner, &members),
        }
    }

    /// A link from the first of `members` to each of the others.
    fn links(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        raw: RawNetwork,
        owner: &Range<usize>,
        members: &[usize],
    ) -> Result<(), Reported> {
        let RawNetwork { rate, framing, mtu, .. } = &raw;
        let rate = cx.optional(rate.clone());
        let framing = cx.optional(framing.clone());
        let mtu = cx.optional(mtu.clone());
        let (rate, framing, mtu) = (rate?, framing?, mtu?);
        if let (None, Some(framing)) = (&rate, &framing)
            && *framing.get_ref() != Framing::None
        {
            let help = "add `rate = \"1 Gbit/s\"` or another";
            return Err(cx.fault(
                &framing.span(),
                "nothing says how long a frame takes on these links",
                help,
            ));
        }
        let framing = framing.map_or(Framing::None, Spanned::into_inner);
        let mtu = mtu.map(|mtu| mtu.into_inner().get());
        let costs = rate.as_ref().map(|rate| on_wire(rate.get_ref().get(), framing));
        let mtu = mtu.or((framing != Framing::None).then_some(Bytes::new(1500)));
        let network = self.networks.len();
        let (kind, stations) = (NetworkKind::PointToPoint, members.len());
        let RawNetwork { propagation, .. } = &raw;
        let propagation =
            cx.optional(propagation.clone())?.map_or(Span::ZERO, |span| span.into_inner().get());
        let medium =
            network::medium(cx, kind, RawNetwork { rate: None, ..raw }, owner, stations, 1.0, propagation)?;
        let hub = members[0];
        for &other in &members[1..] {
            for (from, to) in [(hub, other), (other, hub)] {
                self.leads(cx, name, from, to, network, costs, mtu)?;
            }
        }
        self.networks.push(Network {
            name: Some(name.get_ref().clone()),
            members: Vec::new(),
            medium: medium.0,
            propagation,
            impairments: medium.1,
        });
        Ok(())
    }

    /// A link leads from one place to another.
    #[allow(clippy::too_many_arguments)]
    fn leads(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        from: usize,
        to: usize,
        network: usize,
        costs: Option<LinkCosts>,
        mtu: Option<Bytes>,
    ) -> Result<(), Reported> {
        if self.graph.next[from].iter().any(|(next, _)| *next == to) {
            let (from, to) = (&self.graph.names[from], &self.graph.names[to]);
            let reason = format!("`{from}` and `{to}` are joined twice");
            return Err(cx.fault(&name.span(), reason, "join each two by one network"));
        }
        self.graph.next[from].push((to, network));
        match self.graph.places[from] {
            Place::Switch(switch) => {
                let Some(link) = costs else {
                    let help = "add `rate = \"1 Gbit/s\"` or another";
                    let reason =
                        format!("nothing says how fast the links of switch `{}` are", self.graph.names[from]);
                    return Err(cx.fault(&name.span(), reason, help));
                };
                let Ports { order, early, memory } = self.ports[switch];
                self.graph.ports.insert((from, to), self.nodes.len() + self.outlets.len());
                self.outlets.push(Outlet {
                    switch,
                    to: self.graph.names[to].clone(),
                    config: PortConfig { link, order, early, memory },
                });
                Ok(())
            }
            Place::Node(node) => {
                let costs = costs.unwrap_or_default();
                match &self.links[node] {
                    Some(link) if link.costs != costs || link.mtu != mtu => {
                        let reason = format!("the links of `{}` are not alike", self.graph.names[from]);
                        let diagnostic = crate::diagnostic::Diagnostic::new(cx.place(&name.span()), reason)
                            .related(cx.place(&link.place).label("the other one"))
                            .help("a host has one adapter, and all its links have one rate and framing");
                        Err(cx.report(diagnostic))
                    }
                    _ => {
                        self.links[node] = Some(Link { costs, mtu, place: name.span() });
                        Ok(())
                    }
                }
            }
        }
    }

    /// A medium that `members` share.
    fn medium(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        kind: NetworkKind,
        raw: RawNetwork,
        owner: &Range<usize>,
        members: &[usize],
    ) -> Result<(), Reported> {
        let (reason, help) = ("this is of links, one for each two", "remove this");
        cx.foreign(raw.framing.as_ref(), reason, help)?;
        cx.foreign(raw.mtu.as_ref(), reason, help)?;
        let mut stations = Vec::new();
        for &member in members {
            let Place::Node(node) = self.graph.places[member] else {
                let reason =
                    format!("`{}` is a switch, which has links of its own", self.graph.names[member]);
                return Err(cx.fault(owner, reason, "join hosts here, or use `point_to_point`"));
            };
            let spec = &self.nodes[node];
            if !network::waits(&self.adapters[spec.adapter].value) {
                let reason =
                    format!("the adapter of `{}` never waits for a shared medium", self.graph.names[member]);
                return Err(cx.fault(
                    owner,
                    reason,
                    "describe an adapter with a phase that says `medium = true`",
                ));
            }
            if self.links[node].is_some()
                || self.networks.iter().any(|network| network.members.contains(&node))
            {
                let reason = format!("`{}` is at another network already", self.graph.names[member]);
                return Err(cx.fault(&name.span(), reason, "a host has one adapter, at one shared medium"));
            }
            stations.push(node);
        }
        let speedup = self.hosts[self.nodes[stations[0]].host].value.speedup;
        let network = self.networks.len();
        let propagation =
            cx.optional(raw.propagation.clone())?.map_or(Span::ZERO, |span| span.into_inner().get());
        let (medium, impairments) =
            network::medium(cx, kind, raw, owner, stations.len(), speedup, propagation)?;
        for &from in members {
            for &to in members.iter().filter(|to| **to != from) {
                self.graph.next[from].push((to, network));
            }
        }
        self.networks.push(Network {
            name: Some(name.get_ref().clone()),
            members: stations,
            medium,
            propagation,
            impairments,
        });
        Ok(())
    }

    /// Gives every node the adapter that it has on its link.
    fn finish(mut self, cx: &mut Context<'_>, owner: &Range<usize>) -> Result<Topology, Reported> {
        let _ = owner;
        let packet = self.hosts[self.nodes[0].host].value.subsystem.packet;
        for node in 0..self.nodes.len() {
            let name = self.nodes[node].name.clone().unwrap_or_default();
            let host = &self.hosts[self.nodes[node].host];
            if host.value.subsystem.packet != packet {
                let at = host.spans.packet.clone().unwrap_or_else(|| self.named_at[node].clone());
                let reason = format!(
                    "packets of `{name}` are of {}, and those of `{}` of {packet}",
                    host.value.subsystem.packet,
                    self.nodes[0].name.as_deref().unwrap_or_default()
                );
                return Err(cx.fault(
                    &at,
                    reason,
                    "hosts that exchange messages agree on the size of packets",
                ));
            }
            let shared = self.networks.iter().any(|network| network.members.contains(&node));
            let Some(link) = &self.links[node] else {
                if shared {
                    continue;
                }
                let reason = format!("node `{name}` is at no network");
                return Err(cx.fault(
                    &self.named_at[node],
                    reason,
                    "name it in what a `[network.NAME]` joins",
                ));
            };
            if let Some(mtu) = link.mtu.filter(|mtu| *mtu < packet) {
                let at = host.spans.packet.clone().unwrap_or_else(|| link.place.clone());
                let reason = format!("packets of {packet} do not fit into frames that carry {mtu}");
                let help = format!("say `packet = \"{mtu}\"` under `[host.subsystem]`, or a larger `mtu`");
                return Err(cx.fault(&at, reason, help));
            }
            let own = self.nodes[node].adapter;
            let Adapter::Null(costs) = self.adapters[own].value else { continue };
            let both = LinkCosts {
                startup: costs.startup + link.costs.startup,
                per_byte: costs.per_byte.max(link.costs.per_byte),
                shortest: link.costs.shortest,
            };
            if both.transmit(packet).is_zero()
                && costs == LinkCosts::default()
                && link.costs == LinkCosts::default()
            {
                let reason = format!("nothing says how fast the adapter of `{name}` is");
                let help = "add `rate` to its network, or to `[adapter]`";
                return Err(cx.fault(&self.named_at[node], reason, help));
            }
            let found = self.adapters.iter().position(|adapter| adapter.value == Adapter::Null(both));
            self.nodes[node].adapter = found.unwrap_or_else(|| {
                let spans = self.adapters[own].spans.clone();
                self.adapters.push(Located { value: Adapter::Null(both), spans });
                self.adapters.len() - 1
            });
        }
        let Self { hosts, adapters, nodes, switches, outlets, networks, graph, .. } = self;
        Ok(Topology { hosts, adapters, nodes, switches, outlets, networks, way: Way::Named(graph) })
    }
}

/// How long packets are on a link of `rate`, with what goes with each.
fn on_wire(rate: Rate, framing: Framing) -> LinkCosts {
    let per_byte = rate.time_for_ceil(Bytes::new(1));
    // Preamble 8, header 14, check sequence 4, gap 12; a frame has 64 without preamble and gap.
    let (around, shortest) = match framing {
        Framing::None => (0, 0),
        Framing::Ethernet => (38, 46),
        Framing::EthernetVlan => (42, 42),
    };
    LinkCosts { startup: per_byte * around, per_byte, shortest: Bytes::new(shortest) }
}
