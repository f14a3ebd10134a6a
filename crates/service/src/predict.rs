//! A network of node files in virtual time: the nodes are those of daemons, without hosts.
//!
//! A frame of a link that shares its line with other traffic arrives later by what bounds count for
//! one packet of others, or less: a pseudorandom part of it. Hosts take no time, where `host.delay` is
//! part of each bound, and nothing is lost.

use std::collections::BTreeMap;

use laxity_client::Refusal;
use laxity_node::{Command, Node, NodeLinkConfig, Response};
use laxity_signalling::Jitter;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_units::{ByteTime, Bytes, Span, Time};

use crate::daemon::jitter;
use crate::network::{NetworkChannel, NodeNetwork};
use crate::programs::shown;

/// The program of a node that has all of its channels.
const PROGRAM: Program = Program(1);
/// The port of floods.
const FLOODED: Port = Port(0);

/// The outcome of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicted {
    /// The names of the nodes on the route.
    pub route: Vec<String>,
    /// Why it was refused.
    pub refused: Option<Refusal>,
    /// Messages that the source accepted, and refused as beyond the contract.
    pub sent: (u64, u64),
    /// Messages that were delivered, and later than the bound.
    pub delivered: (u64, u64),
    /// The longest delay from the logical arrival to the delivery, as the nodes count it.
    pub worst: Span,
}

enum Item {
    Wake(NodeId),
    Arrive { to: NodeId, from: NodeId, frame: Vec<u8> },
    Transmitted { at: NodeId, to: NodeId },
    Open(usize),
    Send(GlobalChannelId),
    Flood(usize),
}

/// A direction of a link.
struct Way {
    config: NodeLinkConfig,
    /// The longest time that a packet of others takes.
    others: Span,
    busy: bool,
    /// Frames do not overtake each other.
    last: Time,
}

struct Run<'a> {
    network: &'a NodeNetwork,
    nodes: BTreeMap<NodeId, Node>,
    ways: BTreeMap<(NodeId, NodeId), Way>,
    calendar: BTreeMap<(Time, u64), Item>,
    number: u64,
    /// When each node is woken next.
    wakes: BTreeMap<NodeId, Time>,
    dice: Jitter,
    channels: BTreeMap<GlobalChannelId, usize>,
    outcomes: Vec<Predicted>,
    end: Time,
    /// Until when nodes are woken: messages that were accepted at the end are delivered by then.
    limit: Time,
}

/// Runs the network: the outcome of each channel, in the order of the file.
///
/// # Errors
/// A sentence: a file describes no node.
pub fn predict(network: &NodeNetwork) -> Result<Vec<Predicted>, String> {
    let mut run = Run::new(network)?;
    while let Some(((now, _), item)) = run.calendar.pop_first() {
        run.take(now, item);
    }
    Ok(run.outcomes)
}

impl<'a> Run<'a> {
    fn new(network: &'a NodeNetwork) -> Result<Self, String> {
        let (mut nodes, mut ways) = (BTreeMap::new(), BTreeMap::new());
        for file in &network.nodes {
            let (id, config) = (NodeId(file.id), file.node(Epoch(1)));
            for (to, link) in &config.links {
                // The stated delay of the hosts has that of other traffic in it.
                let others = link.hosts.saturating_sub(file.host.delay);
                ways.insert((id, *to), Way { config: *link, others, busy: false, last: Time::ZERO });
            }
            let of = |why: laxity_node::NotANode| format!("{}: {why}", file.name);
            let mut node = Node::new(config, jitter(Epoch(1), file.id)).map_err(of)?;
            let others = network.nodes.iter().filter(|other| other.id != file.id);
            let next = |other: &crate::NodeFile| {
                Some((NodeId(other.id), *network.topology.route(id, NodeId(other.id))?.get(1)?))
            };
            node.set_routes(others.filter_map(next).collect());
            nodes.insert(id, node);
        }
        let outcome = |channel: &NetworkChannel| {
            let route = network.route(&channel.from, &channel.to).unwrap_or_default();
            Predicted {
                route: route.into_iter().map(|node| network.name(node).to_owned()).collect(),
                refused: None,
                sent: (0, 0),
                delivered: (0, 0),
                worst: Span::ZERO,
            }
        };
        let outcomes = network.channels.iter().map(outcome).collect();
        let mut run = Self {
            network,
            nodes,
            ways,
            calendar: BTreeMap::new(),
            number: 0,
            wakes: BTreeMap::new(),
            dice: jitter(Epoch(1), 0),
            channels: BTreeMap::new(),
            outcomes,
            end: Time::ZERO.saturating_add(network.time),
            limit: limit(network),
        };
        for (number, channel) in network.channels.iter().enumerate() {
            run.command(Time::ZERO, run.id(&channel.to), Command::Listen(port(number)));
            run.at(Time::ZERO.saturating_add(channel.start), Item::Open(number));
        }
        for (number, flood) in network.floods.iter().enumerate() {
            run.command(Time::ZERO, run.id(&flood.to), Command::Listen(FLOODED));
            run.at(Time::ZERO, Item::Flood(number));
        }
        Ok(run)
    }

    fn id(&self, name: &str) -> NodeId {
        NodeId(self.network.node(name).expect("a checked name").id)
    }

    fn at(&mut self, at: Time, item: Item) {
        self.number += 1;
        self.calendar.insert((at, self.number), item);
    }

    fn take(&mut self, now: Time, item: Item) {
        match item {
            Item::Wake(node) => {
                if self.wakes.get(&node) == Some(&now) {
                    self.wakes.remove(&node);
                    if let Some(of) = self.nodes.get_mut(&node) {
                        of.command(now, PROGRAM, Command::Renew).expect("a program may always renew");
                        of.handle_timeout(now);
                    }
                    self.settle(now, node);
                }
            }
            Item::Arrive { to, from, frame } => {
                if let Some(node) = self.nodes.get_mut(&to) {
                    node.handle_frame(now, from, &frame);
                }
                self.settle(now, to);
            }
            Item::Transmitted { at, to } => {
                if let (Some(way), Some(node)) = (self.ways.get_mut(&(at, to)), self.nodes.get_mut(&at)) {
                    way.busy = false;
                    node.transmitted(to);
                }
                self.settle(now, at);
            }
            Item::Open(number) => self.open(now, number),
            Item::Send(id) => self.send(now, id),
            Item::Flood(number) => self.flood(now, number),
        }
    }

    fn open(&mut self, now: Time, number: usize) {
        let channel = &self.network.channels[number];
        let route = self.network.route(&channel.from, &channel.to).unwrap_or_default();
        let (owner, port, contract) = (Owner(0), port(number), channel.contract());
        let (node, asked) = (self.id(&channel.from), Command::Open { owner, port, contract, route });
        let opened = self.nodes.get_mut(&node).and_then(|of| of.command(now, PROGRAM, asked).ok());
        // The node may refuse at once, so the channel is known before its events are heard.
        if let Some(Response::Opening(id)) = opened {
            self.channels.insert(id, number);
        }
        self.settle(now, node);
    }

    /// A program that runs until the end of the time; its channel stays open, so that no message is
    /// lost.
    fn send(&mut self, now: Time, id: GlobalChannelId) {
        let Some(number) = self.channels.get(&id).copied() else { return };
        let channel = &self.network.channels[number];
        let node = self.id(&channel.from);
        let payload = vec![0; channel.size as usize];
        let accepted = self.command(now, node, Command::Send(id, payload)).is_some();
        let sent = &mut self.outcomes[number].sent;
        if accepted {
            sent.0 += 1;
        } else {
            sent.1 += 1;
        }
        let next = now.saturating_add(channel.every.unwrap_or(channel.interval));
        if next < self.end {
            self.at(next, Item::Send(id));
        }
    }

    fn flood(&mut self, now: Time, number: usize) {
        let flood = &self.network.floods[number];
        let (from, to) = (self.id(&flood.from), self.id(&flood.to));
        let payload = vec![0; flood.size as usize];
        self.command(now, from, Command::Datagram { to, port: FLOODED, payload });
        let spacing = ByteTime::at(flood.rate).time(Bytes::new(flood.size.into()));
        let next = now.saturating_add(spacing);
        if next < self.end {
            self.at(next, Item::Flood(number));
        }
    }

    /// `None` if the node refuses the command.
    fn command(&mut self, now: Time, node: NodeId, command: Command) -> Option<Response> {
        let response = self.nodes.get_mut(&node)?.command(now, PROGRAM, command).ok();
        self.settle(now, node);
        response
    }

    /// After an input of a node: its frames leave, and programs get their messages.
    fn settle(&mut self, now: Time, at: NodeId) {
        let Some(node) = self.nodes.get_mut(&at) else { return };
        let mut later = Vec::new();
        for ((_, to), way) in self.ways.range_mut((at, NodeId(0))..=(at, NodeId(u32::MAX))) {
            if way.busy {
                continue;
            }
            let Some(frame) = node.poll_frame(now, *to) else { continue };
            way.busy = true;
            let sent = now.saturating_add(way.config.transmission(frame.len()));
            let others = way.others.scale_floor((self.dice)() >> 40, 1 << 24);
            let arrives = sent.saturating_add(way.config.way).saturating_add(others).max(way.last);
            way.last = arrives;
            later.push((sent, Item::Transmitted { at, to: *to }));
            later.push((arrives, Item::Arrive { to: *to, from: at, frame }));
        }
        while node.poll_departure().is_some() {}
        let mut events = Vec::new();
        while let Some(answer) = node.poll_answer() {
            events.push(answer.event);
        }
        let ready: Vec<Port> = node.ready().map(|(port, _)| port).collect();
        for port in ready {
            while let Ok(Response::Received(message)) = node.command(now, PROGRAM, Command::Receive(port)) {
                let Some(number) = message.channel.and_then(|id| self.channels.get(&id)) else { continue };
                let outcome = &mut self.outcomes[*number];
                outcome.worst = outcome.worst.max(message.delay);
                outcome.delivered.0 += 1;
                outcome.delivered.1 += u64::from(message.delay > self.network.channels[*number].deadline);
            }
        }
        if let Some(wake) = node.poll_timeout(now).filter(|wake| *wake < self.limit)
            && self.wakes.get(&at) != Some(&wake)
        {
            self.wakes.insert(at, wake);
            later.push((wake, Item::Wake(at)));
        }
        for (time, item) in later {
            self.at(time, item);
        }
        for event in events {
            self.hear(now, &event);
        }
    }

    fn hear(&mut self, now: Time, event: &SourceEvent) {
        match event {
            SourceEvent::Established { channel, .. } => {
                self.at(now, Item::Send(*channel));
            }
            SourceEvent::Refused { channel, refused } => {
                if let Some(number) = self.channels.remove(channel) {
                    let node = self.network.name(refused.node).to_owned();
                    self.outcomes[number].refused = Some(shown(refused, node));
                }
            }
            _ => {}
        }
    }
}

/// See [`Run::limit`].
fn limit(network: &NodeNetwork) -> Time {
    let longest = network.channels.iter().map(|channel| {
        channel.deadline.saturating_add(channel.interval.saturating_mul(u64::from(channel.burst) + 1))
    });
    Time::ZERO.saturating_add(network.time).saturating_add(longest.max().unwrap_or_default())
}

fn port(number: usize) -> Port {
    Port(u32::try_from(number).unwrap_or(u32::MAX - 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::tests::row;

    const TWO: &str = "time = \"2 s\"\n[[channel]]\nfrom = \"n1\"\nto = \"n3\"\nname = \"film\"\nsize = 1000\n\
        interval = \"10 ms\"\ndeadline = \"40 ms\"\n[[channel]]\nfrom = \"n1\"\nto = \"n3\"\nname = \"greedy\"\n\
        size = 1000\ninterval = \"10 ms\"\ndeadline = \"40 ms\"\nevery = \"1 ms\"\n\
        [[flood]]\nfrom = \"n1\"\nto = \"n3\"\nrate = \"120 Mbit/s\"\n";

    /// The excess of the second channel is refused, and no message of either is late beside a flood.
    #[test]
    fn a_violator_and_a_flood_make_no_message_late() {
        let network = row(TWO).unwrap();
        let [film, greedy] = &predict(&network).unwrap()[..] else { panic!("two channels") };
        assert_eq!(film.route, ["n1", "n2", "n3"]);
        assert_eq!((film.sent.1, film.delivered.1, film.delivered.0), (0, 0, film.sent.0));
        assert!((199..=200).contains(&film.sent.0), "{film:?}");
        // A relay holds a message until its logical arrival there.
        assert!(film.worst > Span::from_ms(5) && film.worst <= Span::from_ms(40), "{film:?}");
        assert_eq!((greedy.delivered.1, greedy.delivered.0), (0, greedy.sent.0));
        assert!(greedy.sent.1 > 8 * greedy.sent.0, "{greedy:?}");
        assert_eq!(predict(&network).unwrap()[..], [film.clone(), greedy.clone()], "the same again");
    }

    /// Within a node the bound is the 500 us of the host, as the fastest clock counts them.
    #[test]
    fn a_channel_within_a_node_takes_no_time() {
        let network = row(&TWO.replace("n3\"\nname", "n1\"\nname").replace("40 ms", "501 us")).unwrap();
        let [film, greedy] = &predict(&network).unwrap()[..] else { panic!("two channels") };
        assert_eq!((film.route.len(), film.refused.is_none(), film.worst), (1, true, Span::ZERO));
        assert_eq!((film.delivered, greedy.delivered.0), ((film.sent.0, 0), greedy.sent.0));
        assert!(film.sent.0 >= 199 && greedy.sent.1 > 8 * greedy.sent.0, "{film:?} {greedy:?}");
        let refused = row(&TWO.replace("n3\"\nname", "n1\"\nname").replace("40 ms", "500 us")).unwrap();
        assert!(predict(&refused).unwrap().iter().all(|outcome| outcome.refused.is_some()));
    }

    /// 1000 B within 1 ms do not pass two links of 40 Mbit/s whose hosts take 500 us each.
    #[test]
    fn a_refusal_names_its_node() {
        let network = row(&TWO.replace("40 ms", "1 ms")).unwrap();
        let outcomes = predict(&network).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.refused.is_some() && outcome.sent == (0, 0)));
        assert_eq!(outcomes[0].refused.as_ref().unwrap().node, "n1");
    }
}
