//! `[network.NAME]`: links from one place to others, and media that nodes share.

use super::*;
use crate::leaf::EndName;
use crate::raw::NetworkKeys;

/// An end of a network: a place, and of a node which of its adapters.
#[derive(Clone, Copy)]
struct End {
    place: usize,
    link: usize,
}

/// Parameters of the links of one network.
#[derive(Clone, Copy)]
struct Wire {
    /// Which of the networks.
    network: usize,
    /// How long packets are on it, where that is said.
    costs: Option<LinkCosts>,
    /// The largest packet, where there is one.
    mtu: Option<Bytes>,
}

impl Builder {
    pub(super) fn network(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        part: Part<RawNetwork>,
    ) -> Result<(), Reported> {
        cx.named(name)?;
        let what = format!("network `{}`", name.get_ref());
        let (owner, mut keys) = cx.keys(part, &what)?;
        let counted = "a network of named nodes does not count them";
        cx.foreign(&keys.stations, counted, "remove this: what it `joins` is how many they are")?;
        let Some(joins) = keys.joins.take() else {
            return Err(cx.missing("joins", &owner, &what, "the names of the nodes that it joins"));
        };
        let joins_at = joins.span.clone();
        let mut members: Vec<End> = Vec::new();
        for joined in cx.items(Some(joins))? {
            let joined = cx.value(joined)?;
            let EndName { node, adapter } = joined.get_ref();
            for place in self.graph.places(cx, node, &joined.span())?.to_vec() {
                if members.iter().any(|end| end.place == place) {
                    let reason = format!("`{}` stands here twice", self.graph.names[place]);
                    return Err(cx.fault(&joined.span(), reason, "remove one"));
                }
                members.push(self.end(cx, place, adapter.as_deref(), &joined.span())?);
            }
        }
        if members.len() < 2 {
            return Err(cx.fault(&joins_at, "a network joins two nodes or more", "name another"));
        }
        match keys.kind.value?.unwrap_or(NetworkKind::PointToPoint) {
            NetworkKind::PointToPoint => self.links(cx, name, keys, &owner, &members),
            kind => self.medium(cx, name, kind, keys, &owner, &members),
        }
    }

    /// An end of a network: which adapter it is, if the place has several.
    fn end(
        &self,
        cx: &mut Context<'_>,
        place: usize,
        adapter: Option<&str>,
        span: &Range<usize>,
    ) -> Result<End, Reported> {
        let adapters = match self.graph.places[place] {
            Place::Node(node) => &self.nodes[node].adapters[..],
            Place::Switch(_) => &[],
        };
        let name = &self.graph.names[place];
        let called: Vec<&str> = adapters.iter().filter_map(|attached| attached.name.as_deref()).collect();
        let link = match adapter {
            None if called.len() > 1 => {
                let reason = format!("`{name}` has several adapters");
                let help = format!("say which, as `{name}.{}`", called[0]);
                return Err(cx.fault(span, reason, help));
            }
            None => 0,
            Some(wanted) => called.iter().position(|adapter| *adapter == wanted).ok_or_else(|| {
                let help = match called[..] {
                    [] => format!("say `{name}`, or describe `[node.{name}.adapter.{wanted}]`"),
                    _ => format!("it has {}", list(&called)),
                };
                cx.fault(span, format!("`{name}` has no adapter `{wanted}`"), help)
            })?,
        };
        Ok(End { place, link })
    }

    /// A link from the first of `members` to each of the others.
    fn links(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        keys: NetworkKeys,
        owner: &Range<usize>,
        members: &[End],
    ) -> Result<(), Reported> {
        let (rate, framing) = (keys.rate.value?, keys.framing.value?);
        if let (None, true) = (rate, framing != Framing::None) {
            let help = "add `rate = \"1 Gbit/s\"` or another";
            let at = keys.framing.at.unwrap_or_default();
            return Err(cx.fault(&at, "nothing says how long a frame takes on these links", help));
        }
        let costs = rate.map(|rate| on_wire(rate, framing));
        let mtu = keys.mtu.value?.or((framing != Framing::None).then_some(Bytes::new(1500)));
        let network = self.networks.len();
        let (kind, stations) = (NetworkKind::PointToPoint, members.len());
        let propagation = keys.propagation.value?;
        let medium = network::medium(cx, kind, keys, owner, stations, 1.0, propagation)?;
        let wire = Wire { network, costs, mtu };
        let hub = members[0];
        for &other in &members[1..] {
            for (from, to) in [(hub, other), (other, hub)] {
                self.leads(cx, name, (from, to), wire)?;
            }
        }
        self.networks.push(Network {
            name: Some(name.get_ref().clone()),
            members: Vec::new(),
            medium: medium.0,
            framed: framing != Framing::None,
            tagged: framing == Framing::EthernetVlan,
            propagation,
            impairments: medium.1,
        });
        Ok(())
    }

    /// A link leads from one place to another.
    fn leads(
        &mut self,
        cx: &mut Context<'_>,
        name: &Spanned<String>,
        (End { place: from, link }, End { place: to, .. }): (End, End),
        wire: Wire,
    ) -> Result<(), Reported> {
        let Wire { network, costs, mtu } = wire;
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
                let Ports { order, frame, early, memory, ref classes } = self.ports[switch];
                let Classes { selection, preemptable_from } = classes.clone();
                if preemptable_from.is_some() && link.around.is_zero() {
                    let reason =
                        format!("switch `{}` interrupts frames, which Ethernet can", self.graph.names[from]);
                    return Err(cx.fault(&name.span(), reason, "add `framing = \"ethernet\"`"));
                }
                self.graph.ports.insert((from, to), self.nodes.len() + self.outlets.len());
                self.outlets.push(Outlet {
                    switch,
                    to: self.graph.names[to].clone(),
                    config: PortConfig { link, order, early, frame, selection, preemptable_from, memory },
                });
                Ok(())
            }
            Place::Node(node) => {
                let costs = costs.unwrap_or_default();
                match &self.links[node][link] {
                    Some(link) if link.costs != costs || link.mtu != mtu => {
                        let from = &self.graph.names[from];
                        let reason = format!("the links of `{from}` are not alike");
                        let help = format!(
                            "all links of an adapter have one rate and framing; give the host several, as `[node.{from}.adapter.left]`"
                        );
                        let diagnostic = crate::diagnostic::Diagnostic::new(cx.place(&name.span()), reason)
                            .related(cx.place(&link.place).label("the other one"))
                            .help(help);
                        Err(cx.report(diagnostic))
                    }
                    _ => {
                        self.links[node][link] = Some(Link { costs, mtu, place: name.span() });
                        let networks = &mut self.nodes[node].adapters[link].networks;
                        if !networks.contains(&network) {
                            networks.push(network);
                        }
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
        keys: NetworkKeys,
        owner: &Range<usize>,
        members: &[End],
    ) -> Result<(), Reported> {
        let (reason, help) = ("this is of links, one for each two", "remove this");
        cx.foreign(&keys.framing, reason, help)?;
        cx.foreign(&keys.mtu, reason, help)?;
        network::without_rate(cx, kind, &keys.rate)?;
        let mut stations = Vec::new();
        for &End { place, link } in members {
            let Place::Node(node) = self.graph.places[place] else {
                let reason = format!("`{}` is a switch, which has links of its own", self.graph.names[place]);
                return Err(cx.fault(owner, reason, "join hosts here, or use `point_to_point`"));
            };
            let spec = &self.nodes[node].adapters[link];
            if !network::waits(&self.adapters[spec.adapter].value) {
                let reason =
                    format!("the adapter of `{}` never waits for a shared medium", self.graph.names[place]);
                return Err(cx.fault(
                    owner,
                    reason,
                    "describe an adapter with a phase that says `medium = true`",
                ));
            }
            if !spec.networks.is_empty() {
                let from = &self.graph.names[place];
                let reason = format!("`{from}` is at another network already");
                let help = format!(
                    "an adapter is at one shared medium; give the host several, as `[node.{from}.adapter.left]`"
                );
                return Err(cx.fault(&name.span(), reason, help));
            }
            stations.push(node);
        }
        let speedup = self.hosts[self.nodes[stations[0]].host].value.speedup;
        let network = self.networks.len();
        let propagation = keys.propagation.value?;
        let (medium, impairments) =
            network::medium(cx, kind, keys, owner, stations.len(), speedup, propagation)?;
        for from in members {
            for to in members.iter().filter(|to| to.place != from.place) {
                self.graph.next[from.place].push((to.place, network));
            }
        }
        for (node, End { link, .. }) in stations.iter().zip(members) {
            self.nodes[*node].adapters[*link].networks.push(network);
        }
        self.networks.push(Network {
            name: Some(name.get_ref().clone()),
            members: stations,
            medium,
            framed: false,
            tagged: false,
            propagation,
            impairments,
        });
        Ok(())
    }
}

/// How long packets are on a link of `rate`, with what goes with each.
fn on_wire(rate: Rate, framing: Framing) -> LinkCosts {
    // Preamble 8, header 14, check sequence 4, gap 12; a frame has 64 without preamble and gap.
    let (around, shortest, gap) = match framing {
        Framing::None => (0, 0, 0),
        Framing::Ethernet => (38, 46, 12),
        Framing::EthernetVlan => (42, 42, 12),
    };
    let per_byte = ByteTime::at(rate);
    LinkCosts {
        startup: Span::ZERO,
        per_byte,
        shortest: Bytes::new(shortest),
        around: Bytes::new(around),
        gap: per_byte.time(Bytes::new(gap)),
    }
}
