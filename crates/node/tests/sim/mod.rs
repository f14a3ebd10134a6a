//! A deterministic simulation of a network of nodes.

mod clocks;
mod end;
mod programs;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use laxity_clock::{Drift, NodeClock, Quality, Shift, Tolerance};
use laxity_engine::{Seed, Stream};
use laxity_node::faults::NodeFault;
use laxity_node::{Command, Departure, Node, NodeConfig, NodeLinkConfig, ProgramMessage, Response};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_signalling::quota::Quotas;
use laxity_signalling::routes::Topology;
use laxity_signalling::settings::Settings;
use laxity_transport::TransportHeader;
use laxity_units::{ByteTime, Bytes, Rate, Span, Time};

use clocks::clocks;
use programs::contract;
pub(crate) use rules::{Broken, Rule};

const PORT: Port = Port(9);
/// Events of a run at most; a correct one has far fewer.
const MOST_EVENTS: u64 = 1_000_000;
const PROGRAM: Program = Program(1);
/// Messages that a fault made early or late leave the network within this time.
const UNSETTLED: Span = Span::from_ms(150);

fn settings() -> Settings {
    Settings {
        lease: Span::from_ms(300),
        patience: Span::from_ms(150),
        refresh: Span::from_ms(60),
        program_lease: Span::from_ms(400),
        retry: Span::from_ms(40),
        longest_retry: Span::from_ms(80),
        remembered: 16,
        entries: 64,
        peers: 32,
        waiting: 64,
        ..Settings::default()
    }
}

enum Item {
    Arrive { to: usize, from: usize, bytes: Vec<u8> },
    Transmitted { node: usize, to: usize, life: u32 },
    Wake(usize),
    Open(u32),
    Change(u32),
    Close(u32),
    Send(u32),
    Crash(usize),
    Restart(usize),
    Step(usize, Shift),
    Cut(usize, usize),
    Mend(usize, usize),
    Renew,
}

struct Channel {
    route: Vec<usize>,
    contract: ChannelContract,
    wanted: Option<ChannelContract>,
    id: Option<GlobalChannelId>,
    greedy: bool,
    /// Notifications: established or refused, closed or lost.
    outcomes: [u32; 2],
    established: bool,
    crashed: bool,
    /// A fault touched the path. Messages count again if the channel has a new contract then.
    excused: Option<Time>,
    /// A fault touched the path, or the signalling on it.
    touched: bool,
    /// The least logical arrival of the next message by the contract, and by what order added to the
    /// one before.
    next: [Time; 2],
    /// By when the messages of contracts before are delivered, as the slowest clocks count.
    before: Time,
    /// The same of the contract in use, and what clocks may differ in a change of it.
    last: Time,
    /// The clock of the source was set: it is not known how the node counts.
    stepped: bool,
    sent: Vec<Sent>,
    delivered: Option<u32>,
    asked: Time,
}

struct Sent {
    /// The logical arrival.
    begin: Time,
    due: Time,
    bytes: Vec<u8>,
    /// The message may be late.
    excused: bool,
    /// The message is not lost.
    must: bool,
    arrived: bool,
}

struct Network {
    nodes: Vec<Option<Node>>,
    lives: Vec<u32>,
    /// When each node is woken next.
    wakes: Vec<Time>,
    clocks: Vec<NodeClock>,
    drifts: Vec<Drift>,
    quality: Quality,
    /// Until when the step of a clock shows in the departures of its node.
    unsettled: Vec<Time>,
    links: BTreeMap<(usize, usize), NodeLinkConfig>,
    cut: BTreeSet<(usize, usize)>,
    topology: Topology,
    now: Time,
    calendar: BTreeMap<(Time, u64), Item>,
    number: u64,
    dice: Stream,
    fates: [u64; 3],
    calm: bool,
    flood: bool,
    channels: BTreeMap<u32, Channel>,
    ids: BTreeMap<GlobalChannelId, u32>,
    fault: Option<NodeFault>,
    seed: u64,
    counts: [u64; 5],
    broken: Option<Broken>,
}

/// Runs the network of `seed`; the counts, or the rule that is broken.
pub(crate) fn run(seed: u64, fault: Option<NodeFault>) -> Result<[u64; 5], Broken> {
    let mut network = Network::new(seed, fault);
    network.phases()?;
    Ok(network.counts)
}

fn below(dice: &mut Stream, n: usize) -> usize {
    usize::try_from(dice.below(n as u64)).unwrap()
}

impl Network {
    fn new(seed: u64, fault: Option<NodeFault>) -> Self {
        let mut dice = Seed::new(seed).stream("network");
        let count = 2 + below(&mut dice, 7);
        let mut links = BTreeMap::new();
        let mut join = |dice: &mut Stream, a: usize, b: usize| {
            let rate = Rate::of(Bytes::new(1_250_000 << dice.below(3)), Span::from_secs(1));
            let way = Span::from_us(5 + dice.below(500));
            let link = NodeLinkConfig { per_byte: ByteTime::at(rate), way, hosts: Span::ZERO, around: 0 };
            links.insert((a, b), link);
            links.insert((b, a), link);
        };
        for node in 1..count {
            let to = if dice.chance(0.6) { node - 1 } else { below(&mut dice, node) };
            join(&mut dice, to, node);
        }
        let severity = dice.below(3);
        let mut fate = |on: bool| if on && dice.chance(0.6) { dice.below(80) } else { 0 };
        let fates = [fate(severity > 0), fate(severity > 0), fate(severity > 0)];
        let topology = Topology::of(links.keys().map(|(a, b)| (NodeId(*a as u32), NodeId(*b as u32))));
        let mut of_clocks = Seed::new(seed).stream("clocks");
        let (clocks, drifts, quality) = clocks(&mut of_clocks, count);
        let mut network = Self {
            clocks,
            drifts,
            quality,
            unsettled: vec![Time::ZERO; count],
            nodes: (0..count).map(|_| None).collect(),
            lives: vec![0; count],
            wakes: vec![Time::MAX; count],
            links,
            cut: BTreeSet::new(),
            topology,
            now: Time::ZERO,
            calendar: BTreeMap::new(),
            number: 0,
            dice,
            fates,
            calm: false,
            flood: true,
            channels: BTreeMap::new(),
            ids: BTreeMap::new(),
            fault,
            seed,
            counts: [0; 5],
            broken: None,
        };
        for node in 0..count {
            network.restart(node);
        }
        network.timeline(severity);
        network.steps(&mut of_clocks);
        network
    }

    fn timeline(&mut self, severity: u64) {
        let count = self.nodes.len();
        for key in 0..4 + u32::try_from(self.dice.below(8)).unwrap() {
            let (from, to) = (below(&mut self.dice, count), below(&mut self.dice, count));
            let Some(route) = self.topology.route(NodeId(from as u32), NodeId(to as u32)) else { continue };
            let contract = contract(&mut self.dice);
            let at = Time::ZERO + Span::from_us(self.dice.below(250_000));
            self.channels.insert(
                key,
                Channel {
                    route: route.iter().map(|node| node.0 as usize).collect(),
                    contract,
                    wanted: None,
                    id: None,
                    greedy: self.dice.chance(0.3),
                    outcomes: [0; 2],
                    established: false,
                    crashed: false,
                    excused: None,
                    touched: false,
                    next: [Time::ZERO; 2],
                    before: Time::ZERO,
                    last: Time::ZERO,
                    stepped: false,
                    sent: Vec::new(),
                    delivered: None,
                    asked: at,
                },
            );
            self.at(at, Item::Open(key));
            if self.dice.chance(0.5) {
                let later = at + Span::from_us(30_000 + self.dice.below(200_000));
                self.at(later, Item::Change(key));
            }
            if self.dice.chance(0.5) {
                let later = at + Span::from_us(20_000 + self.dice.below(250_000));
                self.at(later, Item::Close(key));
            }
        }
        if severity > 1 {
            for _ in 0..1 + self.dice.below(2) {
                let node = below(&mut self.dice, count);
                let at = Time::ZERO + Span::from_us(self.dice.below(400_000));
                self.at(at, Item::Crash(node));
                let later = at + Span::from_us(self.dice.below(200_000));
                self.at(later, Item::Restart(node));
            }
            let pairs: Vec<_> = self.links.keys().copied().collect();
            let (a, b) = pairs[below(&mut self.dice, pairs.len())];
            let at = Time::ZERO + Span::from_us(self.dice.below(400_000));
            self.at(at, Item::Cut(a, b));
            let later = at + Span::from_us(self.dice.below(400_000));
            self.at(later, Item::Mend(a, b));
        }
        self.at(Time::ZERO, Item::Renew);
    }

    fn at(&mut self, at: Time, item: Item) {
        self.number += 1;
        self.calendar.insert((at, self.number), item);
    }

    fn fresh(&self, node: usize, life: u32) -> Node {
        let id = NodeId(node as u32);
        let of = |((a, b), link): (&(usize, usize), &NodeLinkConfig)| {
            (*a == node).then_some((NodeId(*b as u32), *link))
        };
        let route = |to: usize| {
            let to = NodeId(to as u32);
            Some((to, *self.topology.route(id, to)?.get(1)?))
        };
        let config = NodeConfig {
            node: id,
            epoch: Epoch(life),
            links: self.links.iter().filter_map(of).collect(),
            routes: (0..self.nodes.len()).filter_map(route).collect(),
            packet: 1000,
            drift: self.quality.drift,
            signalling: Span::from_ms(2),
            datagrams: 24,
            places: 64,
            memory: Bytes::from_kib(256),
            settings: settings(),
            packet_time: Span::from_us(40),
            quotas: Quotas::default(),
        };
        let mut stream = Seed::new(self.seed).stream(&format!("jitter of {node} in life {life}"));
        Node::with_fault(config, Box::new(move || stream.next_u64()), self.fault).unwrap()
    }

    fn restart(&mut self, node: usize) {
        self.lives[node] += 1;
        let mut fresh = self.fresh(node, self.lives[node]);
        let now = self.clock(node, self.now);
        fresh.command(now, PROGRAM, Command::Listen(PORT)).unwrap();
        self.nodes[node] = Some(fresh);
        self.wakes[node] = Time::MAX;
        self.wake(node, self.now);
    }

    fn wake(&mut self, node: usize, at: Time) {
        if at != self.wakes[node] {
            self.wakes[node] = at;
            self.at(at, Item::Wake(node));
        }
    }

    fn clock(&self, node: usize, at: Time) -> Time {
        self.clocks[node].shown(at)
    }

    fn phases(&mut self) -> Result<(), Broken> {
        self.until(Time::ZERO + Span::from_ms(600))?;
        self.calm = true;
        self.cut.clear();
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_none() {
                self.restart(node);
            }
        }
        self.until(self.now + Span::from_ms(250))?;
        self.flood = false;
        for key in self.channels.keys().copied().collect::<Vec<_>>() {
            self.close(key);
        }
        let free = settings().all_free(Span::from_ms(200));
        self.until(self.now + self.quality.drift.longest_true(free))?;
        self.end()
    }

    fn until(&mut self, end: Time) -> Result<(), Broken> {
        while let Some(entry) = self.calendar.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((at, _), item) = entry.remove_entry();
            self.now = at;
            self.step(item);
            if self.number > MOST_EVENTS {
                self.fail(Rule::Ends, "too many events".to_owned());
            }
            if let Some(broken) = self.broken.take() {
                return Err(broken);
            }
        }
        self.now = end;
        Ok(())
    }

    fn step(&mut self, item: Item) {
        match item {
            Item::Arrive { to, from, bytes } => {
                let now = self.clock(to, self.now);
                if let Some(node) = &mut self.nodes[to] {
                    node.handle_frame(now, NodeId(from as u32), &bytes);
                    self.pump(to);
                } else {
                    self.spoil(&bytes, false);
                }
            }
            Item::Transmitted { node, to, life } => {
                if self.lives[node] == life
                    && let Some(sender) = &mut self.nodes[node]
                {
                    sender.transmitted(NodeId(to as u32));
                    self.pump(node);
                }
            }
            // Another wake-up took its place.
            Item::Wake(node) if self.wakes[node] != self.now => {}
            Item::Wake(node) => {
                self.wakes[node] = Time::MAX;
                let now = self.clock(node, self.now);
                if let Some(awake) = &mut self.nodes[node] {
                    awake.handle_timeout(now);
                    self.pump(node);
                }
            }
            Item::Open(key) => self.open(key),
            Item::Change(key) => self.change(key),
            Item::Close(key) => self.close(key),
            Item::Send(key) => self.send(key),
            Item::Crash(node) => {
                self.nodes[node] = None;
                for channel in self.channels.values_mut().filter(|channel| channel.route.contains(&node)) {
                    channel.excuse(Time::MAX);
                    channel.crashed |= channel.route[0] == node && channel.id.is_some();
                }
            }
            Item::Restart(node) => {
                if self.nodes[node].is_none() {
                    self.restart(node);
                }
            }
            Item::Step(node, shift) => self.set_clock(node, shift),
            Item::Cut(a, b) => {
                self.cut.extend([(a, b), (b, a)]);
                for channel in self.channels.values_mut() {
                    let crosses = |pair: &[usize]| pair == [a, b] || pair == [b, a];
                    if channel.route.windows(2).any(crosses) {
                        channel.excuse(Time::MAX);
                    }
                }
            }
            Item::Mend(a, b) => {
                self.cut.remove(&(a, b));
                self.cut.remove(&(b, a));
            }
            Item::Renew => {
                for node in 0..self.nodes.len() {
                    let now = self.clock(node, self.now);
                    if let Some(node) = &mut self.nodes[node] {
                        node.command(now, PROGRAM, Command::Renew).unwrap();
                    }
                }
                self.at(self.now + Span::from_ms(100), Item::Renew);
            }
        }
    }

    /// After an input of a node: frames leave, answers and messages are taken.
    fn pump(&mut self, at: usize) {
        let now = self.clock(at, self.now);
        let neighbours: Vec<_> =
            self.links.range((at, 0)..(at + 1, 0)).map(|((_, to), link)| (*to, *link)).collect();
        for (to, link) in neighbours {
            let Some(node) = &mut self.nodes[at] else { return };
            let id = NodeId(to as u32);
            while self.flood && node.waiting(id) < 20 {
                let datagram = Command::Datagram { to: id, port: Port(1), payload: vec![7; 992] };
                if node.command(now, PROGRAM, datagram).is_err() {
                    break;
                }
            }
            if let Some(bytes) = node.poll_frame(now, id) {
                let departure = node.poll_departure();
                let end = self.now + link.transmission(bytes.len());
                let life = self.lives[at];
                if let Some(departure) = departure {
                    self.departed(at, now, &departure);
                }
                self.at(end, Item::Transmitted { node: at, to, life });
                self.travel(at, to, end + link.way, bytes);
            }
        }
        if self.nodes[at].as_ref().is_some_and(|node| !node.follows()) {
            self.fail(Rule::Follows, format!("node {at}"));
        }
        while let Some(answer) = self.nodes[at].as_mut().and_then(Node::poll_answer) {
            self.answer(answer.event);
        }
        while let Some(node) = &mut self.nodes[at] {
            match node.command(now, PROGRAM, Command::Receive(PORT)) {
                Ok(Response::Received(ProgramMessage { channel: Some(id), payload, .. })) => {
                    self.received(id, &payload);
                }
                _ => break,
            }
            if self.broken.is_some() {
                return;
            }
        }
        let due = self.nodes[at].as_mut().and_then(|node| node.poll_timeout(now));
        if let Some(due) = due {
            let next = self.now + Span::from_ps(1);
            self.wake(at, self.clocks[at].first_at(due, next).unwrap_or(Time::MAX));
        }
    }

    fn travel(&mut self, from: usize, to: usize, at: Time, bytes: Vec<u8>) {
        let draw = [(); 3].map(|()| self.dice.below(1000));
        let happens = |n: usize| !self.calm && draw[n] < self.fates[n];
        let (lost, doubled, delayed) = (happens(0), happens(1), happens(2));
        if lost || self.cut.contains(&(from, to)) {
            return self.spoil(&bytes, false);
        }
        if doubled {
            let later = at + Span::from_us(self.dice.below(3000));
            self.at(later, Item::Arrive { to, from, bytes: bytes.clone() });
        }
        let late = if delayed { Span::from_us(self.dice.below(5000)) } else { Span::ZERO };
        if delayed {
            self.spoil(&bytes, true);
        }
        self.at(at + late, Item::Arrive { to, from, bytes });
    }

    /// A fault touched a frame: its message does not count, or its channel from now on.
    fn spoil(&mut self, bytes: &[u8], all: bool) {
        let Ok((header, _)) = TransportHeader::decode(bytes) else { return };
        let channel = header.channel;
        let id =
            GlobalChannelId { node: NodeId(channel.node), epoch: Epoch(header.epoch), local: channel.local };
        let Some(channel) = self.ids.get(&id).and_then(|key| self.channels.get_mut(key)) else { return };
        let number = (header.message & u64::from(u32::MAX)) as usize;
        match channel.sent.get_mut(number) {
            _ if all => channel.excuse(self.now + UNSETTLED),
            Some(sent) => sent.excuse(),
            None => {}
        }
    }
}
