//! Nodes with signalling: each has a clock, and a serial line to each neighbour.

use laxity_world::experiment::{ClockSpec, LinkSpec};

use super::*;
use crate::convert::signalling;

/// The nodes and networks by name, for frames of `frame` bytes at most.
pub(in super::super) fn of_nodes(
    cx: &mut Context<'_>,
    nodes: Entries<Part<RawNode>>,
    networks: Option<RawNetworks>,
    frame: Bytes,
) -> Result<(Topology, Vec<LinkSpec>, Vec<ClockSpec>), Reported> {
    let owner = nodes.span.clone();
    let mut builder = Builder::default();
    let mut clocks = Vec::new();
    let mut outcome = Ok(());
    for (name, part) in cx.entries(Some(nodes))? {
        match node(cx, &mut builder, &name, part) {
            Ok((copies, clock)) => clocks.extend(std::iter::repeat_n(clock, copies)),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome?;
    let Some(networks) = networks.filter(|networks| !networks.named.is_empty()) else {
        return Err(cx.fault(&owner, "nothing joins the nodes", "add `[network.NAME]` with what it `joins`"));
    };
    builder.graph.next = vec![Vec::new(); builder.graph.places.len()];
    let mut links = Vec::new();
    for (name, part) in networks.named {
        joined(cx, &mut builder, &mut links, &name, (part, frame))?;
    }
    let Builder { nodes, networks, graph, .. } = builder;
    let mut host = host::none(cx)?;
    host.value.subsystem.packet = frame;
    let adapter = Located { value: AdapterSpec::Null(LinkCosts::default()), spans: AdapterSpans::of(owner) };
    let topology = Topology {
        hosts: vec![host],
        adapters: vec![adapter],
        nodes,
        switches: Vec::new(),
        outlets: Vec::new(),
        networks,
        way: Way::Named(graph),
    };
    Ok((topology, links, clocks))
}

/// A node: how many copies of it there are, and their clock.
fn node(
    cx: &mut Context<'_>,
    builder: &mut Builder,
    name: &Spanned<String>,
    part: Part<RawNode>,
) -> Result<(usize, ClockSpec), Reported> {
    cx.named(name)?;
    let (_, keys) = cx.keys(part, "")?;
    let help = "remove this";
    cx.foreign(&keys.memory, "the `memory` of nodes is under `[signalling]`", help)?;
    if let Some(at) = keys.owned().into_iter().find_map(|owned| owned.at) {
        let reason = "nodes with signalling have no host, no adapter and no ports";
        return Err(cx.fault(&at, reason, help));
    }
    if keys.kind.value? == NodeKind::Switch {
        let help = "remove this: a node passes packets on by itself";
        let at = keys.kind.at.unwrap_or_default();
        return Err(cx.fault(&at, "nodes with signalling have links to each other", help));
    }
    let count = keys.count.value?.get() as usize;
    let clock = signalling::clock(cx, keys.clock)?;
    for copy in builder.copies(cx, name, count)? {
        builder.nodes.push(NodeSpec::with_one(Some(copy.clone()), 0, 0));
        builder.nodes.last_mut().expect("it was pushed").adapters[0].networks.clear();
        builder.place(name.get_ref(), copy, Place::Node(builder.nodes.len() - 1));
    }
    Ok((count, clock))
}

/// A link from the first of the nodes that a network joins to each of the others.
fn joined(
    cx: &mut Context<'_>,
    builder: &mut Builder,
    links: &mut Vec<LinkSpec>,
    name: &Spanned<String>,
    (part, frame): (Part<RawNetwork>, Bytes),
) -> Result<(), Reported> {
    cx.named(name)?;
    let what = format!("network `{}`", name.get_ref());
    let (owner, mut keys) = cx.keys(part, &what)?;
    if let Some(kind) = keys.kind.placed()?
        && *kind.get_ref() != NetworkKind::PointToPoint
    {
        return Err(cx.fault(&kind.span(), "nodes with signalling have links of their own", "remove this"));
    }
    let counted = "a network of named nodes does not count them";
    cx.foreign(&keys.stations, counted, "remove this: what it `joins` is how many they are")?;
    let Some(joins) = keys.joins.take() else {
        return Err(cx.missing("joins", &owner, &what, "the names of the nodes that it joins"));
    };
    let rate = keys.rate.needed(cx, &owner, &what)?.into_inner();
    let (framing, propagation) = (keys.framing.value?, keys.propagation.value?);
    let around = match framing {
        Framing::None => 0,
        Framing::Ethernet => 38,
        Framing::EthernetVlan => 42,
    };
    let place = keys.mtu.at.clone().unwrap_or_else(|| name.span());
    let carries = match (keys.mtu.value?, framing) {
        (Some(mtu), _) => Some(mtu),
        (None, Framing::None) => None,
        (None, Framing::Ethernet | Framing::EthernetVlan) => Some(Bytes::new(1500)),
    };
    if let Some(mtu) = carries.filter(|mtu| *mtu < frame) {
        let reason = format!("packets of {frame} with their headers do not fit into frames that carry {mtu}");
        return Err(cx.fault(
            &place,
            reason,
            "say a smaller `packet` under `[signalling]`, or a larger `mtu`",
        ));
    }
    let network = builder.networks.len();
    let mut members: Vec<usize> = Vec::new();
    let joins_at = joins.span.clone();
    for joined in cx.items(Some(joins))? {
        let joined = cx.value(joined)?;
        for place in builder.graph.places(cx, &joined.get_ref().node, &joined.span())?.to_vec() {
            if joined.get_ref().adapter.is_some() || members.contains(&place) {
                let reason = format!("`{}` stands here twice, or by an adapter", builder.graph.names[place]);
                return Err(cx.fault(&joined.span(), reason, "name each node once"));
            }
            members.push(place);
        }
    }
    let Some((&hub, others)) = members.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err(cx.fault(&joins_at, "a network joins two nodes or more", "name another"));
    };
    for &other in others {
        if builder.graph.next[hub].iter().any(|(next, _)| *next == other) {
            let [one, two] = [hub, other].map(|place| builder.graph.names[place].clone());
            let reason = format!("`{one}` and `{two}` are joined twice");
            return Err(cx.fault(&name.span(), reason, "join each two by one network"));
        }
        builder.graph.next[hub].push((other, network));
        builder.graph.next[other].push((hub, network));
        links.push(signalling::link(network, [hub, other], rate, around));
    }
    for member in &members {
        builder.nodes[*member].adapters[0].networks.push(network);
    }
    let (kind, count) = (NetworkKind::PointToPoint, members.len());
    let (medium, impairments) = network::medium(cx, kind, keys, &owner, count, 1.0, propagation)?;
    builder.networks.push(Network {
        name: Some(name.get_ref().clone()),
        members: Vec::new(),
        medium,
        framed: framing != Framing::None,
        tagged: framing == Framing::EthernetVlan,
        propagation,
        impairments,
    });
    Ok(())
}
