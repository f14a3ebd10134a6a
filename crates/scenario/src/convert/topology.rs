//! `[node.NAME]` and `[network.NAME]`: unlike nodes, switches, and what joins them.

mod joins;
mod managed;

use laxity_model::switch::PortConfig;
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_units::{ByteTime, Bytes, Rate};
use laxity_world::experiment::{Outlet, SwitchSpec};

use super::selection::{self, Classes};
use super::way::{Graph, Place, Way};
use super::*;
use crate::choice::{Framing, NetworkKind, NodeKind};
use crate::frame::frame_of;
use crate::raw::{RawAdapter, RawAdapters, RawHost, RawNetwork, RawNetworks, RawNode};
use crate::section::strays;
use crate::written::Entries;

pub(super) use managed::of_nodes;

/// Nodes of a scenario at most.
const MOST_NODES: usize = 10_000;
/// Adapters of a node at most.
const MOST_ADAPTERS: usize = 64;

/// Hosts, adapters, and how they stand.
pub(super) struct Topology {
    pub(super) hosts: Vec<Located<HostSpec, HostSpans>>,
    pub(super) adapters: Vec<Located<AdapterSpec, AdapterSpans>>,
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) switches: Vec<SwitchSpec>,
    pub(super) outlets: Vec<Outlet>,
    pub(super) networks: Vec<Network>,
    pub(super) way: Way,
}

/// The parameters of a link.
struct Link {
    costs: LinkCosts,
    mtu: Option<Bytes>,
    place: Range<usize>,
}

/// A switch, as far as its own table has it.
struct Ports {
    order: Order,
    frame: Span,
    classes: Classes,
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
        Some(mut adapter) => {
            builder.interrupts = adapter::interrupts(cx, &mut adapter)?;
            adapter::adapter(cx, library, with_any_rate(adapter))?
        }
        None => {
            Located { value: AdapterSpec::Null(LinkCosts::default()), spans: AdapterSpans::of(owner.clone()) }
        }
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
    // Each node has the common keys, and their errors are reported there.
    builder.graph.next = vec![Vec::new(); builder.graph.places.len()];
    let unlinked = |node: &NodeSpec| node.adapters.iter().map(|_| None).collect();
    builder.links = builder.nodes.iter().map(unlinked).collect();
    for (name, part) in networks.named {
        builder.network(cx, &name, part)?;
    }
    builder.finish(cx)
}

/// A null adapter at a link: each byte of a packet takes what it takes at the slower of the two,
/// and the bytes around it what they take on the link.
fn slower_of(adapter: LinkCosts, link: LinkCosts) -> LinkCosts {
    let startup = adapter.startup + link.startup;
    match adapter.per_byte > link.per_byte {
        true => LinkCosts {
            startup: startup + link.per_byte.time(link.around),
            per_byte: adapter.per_byte,
            around: Bytes::ZERO,
            ..link
        },
        false => LinkCosts { startup, ..link },
    }
}

/// A number of nodes with virtual interfaces, each next to each; their parameters are elsewhere.
pub(super) fn of_virtual_interfaces(cx: &mut Context<'_>, nodes: usize) -> Result<Topology, Reported> {
    let network = Network {
        name: None,
        members: (0..nodes).collect(),
        medium: MediumSpec::PointToPoint,
        framed: false,
        tagged: false,
        propagation: Span::ZERO,
        impairments: Default::default(),
    };
    Ok(Topology {
        hosts: vec![host::none(cx)?],
        adapters: vec![Located {
            value: AdapterSpec::Null(LinkCosts::default()),
            spans: AdapterSpans::of(WHOLE),
        }],
        nodes: vec![NodeSpec::with_one(None, 0, 0); nodes],
        switches: Vec::new(),
        outlets: Vec::new(),
        networks: vec![network],
        way: Way::Numbered { stations: nodes, relays: 0, receives: true },
    })
}

/// A null adapter without a rate takes as long as the link.
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
    hosts: Vec<Located<HostSpec, HostSpans>>,
    adapters: Vec<Located<AdapterSpec, AdapterSpans>>,
    /// Default cores of the adapters' interrupts.
    interrupts: adapter::Interrupts,
    nodes: Vec<NodeSpec>,
    /// Where each node is named.
    named_at: Vec<Range<usize>>,
    switches: Vec<SwitchSpec>,
    ports: Vec<Ports>,
    outlets: Vec<Outlet>,
    networks: Vec<Network>,
    graph: Graph,
    /// Per node and adapter: its link, unless it is at a medium that it shares.
    links: Vec<Vec<Option<Link>>>,
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
        cx.named(name)?;
        let (_, keys) = cx.keys(part, "")?;
        let help = "remove this, or add `[signalling]`";
        cx.foreign(&keys.clock, "hosts that schedule have one common clock", help)?;
        let (kind, count) = (keys.kind.value?, keys.count.value?.get() as usize);
        if let Some((_, at)) = strays(keys.owned(), kind).next() {
            let (reason, help) = match kind {
                NodeKind::Host => ("this is a switch's", "remove this, or say `kind = \"switch\"`"),
                NodeKind::Switch => {
                    ("a switch has no host and no adapter", "remove this, or `kind = \"switch\"`")
                }
            };
            return Err(cx.fault(&at, reason, help));
        }
        let place = match kind {
            NodeKind::Host => {
                let host = match keys.host {
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
                match keys.adapter {
                    Some(adapters) => {
                        let cores = self.hosts[host].value.subsystem.cores;
                        let adapters = self.adapters_of(cx, library, adapters, cores)?;
                        NodeSpec { name: None, host, adapters }
                    }
                    None => {
                        let cores = self.hosts[host].value.subsystem.cores;
                        let mut node = NodeSpec::with_one(None, host, 0);
                        node.adapters[0].interrupts = adapter::steered(cx, &self.interrupts, cores)?;
                        node
                    }
                }
            }
            NodeKind::Switch => {
                let order = keys.order.value?;
                let mut switch = SwitchSpec::new(selection::policing(cx, &keys.policing, order)?);
                keys.fill(&mut switch)?;
                let early = EarlyPolicy {
                    horizon: keys.horizon.value?,
                    above_best_effort: keys.early_above_best_effort.value?,
                };
                let (frame, memory) = (frame_of(cx, &keys.frame, order, &name.span())?, keys.memory.value?);
                let classes = selection::classes(cx, keys, order, switch.forwarding)?;
                for copy in self.copies(cx, name, count)? {
                    self.switches.push(SwitchSpec { name: copy.clone(), ..switch.clone() });
                    let classes = classes.clone();
                    self.ports.push(Ports { order, frame, classes, early, memory });
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

    /// The adapters of a node: those that have names, or the one that has none.
    fn adapters_of(
        &mut self,
        cx: &mut Context<'_>,
        library: &mut Library<'_>,
        adapters: RawAdapters,
        cores: u8,
    ) -> Result<Vec<Attached>, Reported> {
        let RawAdapters { mut own, mut named } = adapters;
        let span = own.span.clone();
        for (name, part) in &named {
            // A value that is no table is a misspelt key.
            if part.value.is_err() {
                return Err(cx.unknown_key(&span, name, crate::written::keys::<RawAdapter>()));
            }
        }
        if named.is_empty() {
            let said = adapter::interrupts(cx, &mut own)?;
            let interrupts = adapter::steered(cx, &said, cores)?;
            let adapter = self.new_adapter(cx, library, own)?;
            return Ok(vec![Attached { interrupts, ..Attached::alone(adapter) }]);
        }
        if named.len() > MOST_ADAPTERS {
            let reason = format!("there are {} adapters", named.len());
            return Err(cx.fault(&span, reason, format!("a host has at most {MOST_ADAPTERS}")));
        }
        // Each node has the common keys, and their errors are reported there.
        named.sort_by(|(one, _), (other, _)| one.get_ref().cmp(other.get_ref()));
        let mut attached = Vec::new();
        for (name, mut part) in named {
            cx.named(&name)?;
            let said = adapter::interrupts(cx, &mut part)?;
            let interrupts = adapter::steered(cx, &said, cores)?;
            let adapter = self.new_adapter(cx, library, part)?;
            let name = Some(name.into_inner());
            attached.push(Attached { name, interrupts, ..Attached::alone(adapter) });
        }
        Ok(attached)
    }

    fn new_adapter(
        &mut self,
        cx: &mut Context<'_>,
        library: &mut Library<'_>,
        part: Part<RawAdapter>,
    ) -> Result<usize, Reported> {
        self.adapters.push(adapter::adapter(cx, library, with_any_rate(part))?);
        Ok(self.adapters.len() - 1)
    }

    /// Names of the copies of a node called `name`.
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

    /// The number of an adapter that was made from number `own`; nodes that are alike share it.
    fn adapter(&mut self, adapter: AdapterSpec, own: usize) -> usize {
        let found = self.adapters.iter().position(|other| other.value == adapter);
        found.unwrap_or_else(|| {
            let spans = self.adapters[own].spans.clone();
            self.adapters.push(Located { value: adapter, spans });
            self.adapters.len() - 1
        })
    }

    /// Gives every node the adapter that it has on its link, as fast as its host is.
    fn finish(mut self, cx: &mut Context<'_>) -> Result<Topology, Reported> {
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
            for link in 0..self.nodes[node].adapters.len() {
                self.at_its_link(cx, node, link)?;
            }
        }
        let Self { hosts, adapters, nodes, switches, outlets, networks, graph, .. } = self;
        Ok(Topology { hosts, adapters, nodes, switches, outlets, networks, way: Way::Named(graph) })
    }

    /// Gives an adapter of a node what it has on its link.
    fn at_its_link(&mut self, cx: &mut Context<'_>, node: usize, link: usize) -> Result<(), Reported> {
        let Attached { name, adapter: own, networks, interrupts: _ } =
            self.nodes[node].adapters[link].clone();
        let of_node = self.nodes[node].name.clone().unwrap_or_default();
        let host = &self.hosts[self.nodes[node].host];
        let (packet, speedup) = (host.value.subsystem.packet, host.value.speedup);
        let mut spec = self.adapters[own].value.clone();
        match (&self.links[node][link], &mut spec) {
            (None, _) if networks.is_empty() => {
                let (what, say) = match name {
                    None => (format!("node `{of_node}`"), "it".to_string()),
                    Some(name) => (format!("adapter `{name}` of `{of_node}`"), format!("`{of_node}.{name}`")),
                };
                let help = format!("name {say} in what a `[network.NAME]` joins");
                return Err(cx.fault(&self.named_at[node], format!("{what} is at no network"), help));
            }
            // It is at a medium that it shares.
            (None, _) => {}
            (Some(link), spec) => {
                if let Some(mtu) = link.mtu.filter(|mtu| *mtu < packet) {
                    let at = host.spans.packet.clone().unwrap_or_else(|| link.place.clone());
                    let reason = format!("packets of {packet} do not fit into frames that carry {mtu}");
                    let help =
                        format!("say `packet = \"{mtu}\"` under `[host.subsystem]`, or a larger `mtu`");
                    return Err(cx.fault(&at, reason, help));
                }
                match spec {
                    AdapterSpec::Described(description) => description.link = link.costs,
                    AdapterSpec::Null(costs) => {
                        let both = slower_of(*costs, link.costs);
                        let nothing = LinkCosts::default();
                        if both.transmit(packet).is_zero() && *costs == nothing && link.costs == nothing {
                            let reason = format!("nothing says how fast the adapter of `{of_node}` is");
                            let help = "add `rate` to its network, or to `[adapter]`";
                            return Err(cx.fault(&self.named_at[node], reason, help));
                        }
                        *costs = both;
                    }
                }
            }
        }
        sped_up(&mut spec, speedup);
        self.nodes[node].adapters[link].adapter = self.adapter(spec, own);
        Ok(())
    }
}
