//! Nodes in a line with perfect clocks and links, for timelines by hand.
//!
//! A byte takes 1 us on each link and 100 us to the next node. Signalling messages are 2 ms apart.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;

use laxity_clock::Tolerance;
use laxity_node::faults::NodeFault;
use laxity_node::{Command, Departure, Node, NodeConfig, NodeLinkConfig, ProgramMessage, Response};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_signalling::quota::Quotas;
use laxity_signalling::settings::Settings;
use laxity_units::{ByteTime, Bytes, Rate, Span, Time};

pub(crate) const PORT: Port = Port(9);
pub(crate) const PROGRAM: Program = Program(1);
pub(crate) const WAY: Span = Span::from_us(100);
pub(crate) const SIGNALLING: Span = Span::from_ms(2);

pub(crate) fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Messages of one packet, 572 bytes with its header.
pub(crate) fn contract() -> ChannelContract {
    ChannelContract {
        max_message: Bytes::new(500),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(50),
        burst: 1,
        deadline: Span::from_us(30_300),
    }
}

/// The description of node `at` of `count`.
pub(crate) fn config(at: u32, count: u32) -> NodeConfig {
    let rate = Rate::of(Bytes::new(1_000_000), Span::from_secs(1));
    let link = NodeLinkConfig { per_byte: ByteTime::at(rate), way: WAY, hosts: Span::ZERO, around: 0 };
    let neighbours = [at.checked_sub(1), Some(at + 1).filter(|next| *next < count)];
    let next = |to: u32| NodeId(if to < at { at - 1 } else { at + 1 });
    NodeConfig {
        node: NodeId(at),
        epoch: Epoch(1),
        links: neighbours.into_iter().flatten().map(|to| (NodeId(to), link)).collect(),
        routes: (0..count).filter(|to| *to != at).map(|to| (NodeId(to), next(to))).collect(),
        packet: 1000,
        drift: Tolerance::NONE,
        signalling: SIGNALLING,
        datagrams: 24,
        places: 64,
        memory: Bytes::from_kib(256),
        settings: Settings::default(),
        packet_time: Span::ZERO,
        quotas: Quotas::default(),
    }
}

enum Item {
    Arrive { from: usize, bytes: Vec<u8>, at: Time },
    Free(usize),
    Wake,
}

/// An event of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// A program is notified.
    Event(SourceEvent),
    /// A promised packet begins to leave; in the time of the node.
    Left(Departure),
    /// A message is delivered.
    Message(ProgramMessage),
}

pub(crate) struct Line {
    pub(crate) nodes: Vec<Node>,
    pub(crate) now: Time,
    calendar: BTreeMap<(Time, u64), (usize, Item)>,
    number: u64,
    /// When each node is woken next.
    wakes: Vec<Time>,
    /// Each link always has datagrams to send.
    pub(crate) flood: bool,
    pub(crate) seen: Vec<(Time, usize, Seen)>,
    /// A packet is given to the next node this much later.
    pub(crate) delay: Span,
    /// Packets that leave node 0 are lost.
    pub(crate) cut: bool,
    /// A node that stops, from when and until when.
    pub(crate) stop: Option<(usize, Time, Time)>,
}

impl Line {
    pub(crate) fn new(count: u32, fault: Option<NodeFault>) -> Self {
        let node = |at| Node::with_fault(config(at, count), Box::new(|| 0), fault).unwrap();
        let nodes = (0..count).map(node).collect();
        let mut line = Self {
            nodes,
            now: Time::ZERO,
            calendar: BTreeMap::new(),
            number: 0,
            wakes: vec![Time::MAX; count as usize],
            flood: false,
            seen: Vec::new(),
            delay: Span::ZERO,
            cut: false,
            stop: None,
        };
        for node in 0..line.nodes.len() {
            line.command(node, Command::Listen(PORT));
        }
        line
    }

    pub(crate) fn command(&mut self, node: usize, command: Command) -> Response {
        let response = self.nodes[node].command(self.now, PROGRAM, command).unwrap();
        self.pump(node);
        response
    }

    pub(crate) fn open(&mut self, contract: ChannelContract, route: &[u32]) -> GlobalChannelId {
        let nodes = route.iter().map(|node| NodeId(*node)).collect();
        let open = Command::Open { owner: Owner(1), port: PORT, contract, route: nodes };
        match self.command(route[0] as usize, open) {
            Response::Opening(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn send(&mut self, channel: GlobalChannelId, length: usize) -> Time {
        let node = channel.node.0 as usize;
        match self.command(node, Command::Send(channel, vec![7; length])) {
            Response::Accepted { due } => due,
            other => panic!("{other:?}"),
        }
    }

    /// Goes on until `end`.
    pub(crate) fn until(&mut self, end: Time) {
        while let Some(entry) = self.calendar.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((at, _), (node, item)) = entry.remove_entry();
            self.now = at;
            if let Some((_, _, end)) = self.stop.filter(|stop| stop.0 == node && stop.1 <= at && at < stop.2)
            {
                if let Item::Wake = item {
                    self.wakes[node] = end;
                }
                self.at(end, node, item);
                continue;
            }
            match item {
                Item::Arrive { from, bytes, at: arrived } => {
                    let waited = at.saturating_since(arrived);
                    self.nodes[node].handle_waiting_frame(at, waited, NodeId(from as u32), &bytes);
                }
                Item::Free(to) => self.nodes[node].transmitted(NodeId(to as u32)),
                // Another wake-up took its place.
                Item::Wake if self.wakes[node] != at => continue,
                Item::Wake => {
                    self.wakes[node] = Time::MAX;
                    self.nodes[node].handle_timeout(at);
                }
            }
            self.pump(node);
        }
        self.now = end;
    }

    fn at(&mut self, at: Time, node: usize, item: Item) {
        self.number += 1;
        self.calendar.insert((at, self.number), (node, item));
    }

    fn pump(&mut self, at: usize) {
        let now = self.now;
        let neighbours = [at.checked_sub(1), Some(at + 1).filter(|next| *next < self.nodes.len())];
        for to in neighbours.into_iter().flatten() {
            let id = NodeId(to as u32);
            while self.flood && self.nodes[at].waiting(id) < 10 {
                let payload = vec![0; 992];
                let datagram = Command::Datagram { to: id, port: PORT, payload };
                self.nodes[at].command(now, PROGRAM, datagram).unwrap();
            }
            let Some(bytes) = self.nodes[at].poll_frame(now, id) else { continue };
            let departure = self.nodes[at].poll_departure();
            self.seen.extend(departure.map(|departure| (now, at, Seen::Left(departure))));
            let end = now + Span::from_us(bytes.len() as u64);
            self.at(end, at, Item::Free(to));
            let arrival = end + WAY + self.delay;
            if self.cut && at == 0 {
                continue;
            }
            self.at(arrival, to, Item::Arrive { from: at, bytes, at: arrival });
        }
        while let Some(answer) = self.nodes[at].poll_answer() {
            self.seen.push((now, at, Seen::Event(answer.event)));
        }
        while let Ok(Response::Received(message)) =
            self.nodes[at].command(now, PROGRAM, Command::Receive(PORT))
        {
            if message.channel.is_some() {
                self.seen.push((now, at, Seen::Message(message)));
            }
        }
        if let Some(due) = self.nodes[at].poll_timeout(now) {
            let due = due.max(now + Span::from_ps(1));
            if due != self.wakes[at] {
                self.wakes[at] = due;
                self.at(due, at, Item::Wake);
            }
        }
    }

    /// When the program of `channel` was notified of its establishment.
    pub(crate) fn established(&self, channel: GlobalChannelId) -> Option<Time> {
        self.seen.iter().find_map(|(at, _, seen)| match seen {
            Seen::Event(SourceEvent::Established { channel: other, .. }) if *other == channel => Some(*at),
            _ => None,
        })
    }

    /// Packets that left: when, from which node, logical arrival, local deadline, end. Signalling if
    /// `channel` is none.
    pub(crate) fn left(&self, channel: Option<GlobalChannelId>) -> Vec<(Time, usize, [Time; 3])> {
        let of = |(at, node, seen): &(Time, usize, Seen)| match seen {
            Seen::Left(left) if left.channel == channel => {
                Some((*at, *node, [left.logical_arrival, left.deadline, left.end]))
            }
            _ => None,
        };
        self.seen.iter().filter_map(of).collect()
    }
}
