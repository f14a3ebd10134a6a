//! The cost of a packet at a node with 10 and with 10 000 channels.
//!
//! A node sends, relays or receives messages of one packet on all channels in turn. For each packet
//! it does what an owner does: the input, the next timeout, what is due, the frame of the link. The
//! least of a hundred turns counts, since other programs use the machine too. A request is one channel
//! more, established and released again.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use laxity_clock::Tolerance;
use laxity_node::{Command, Node, NodeConfig, NodeLinkConfig, Response};
use laxity_qos::discipline::Class;
use laxity_signalling::codec;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::division::{Division, Needs};
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program, Version};
use laxity_signalling::message::{Ask, Body, ContractMessage};
use laxity_signalling::quota::Quotas;
use laxity_signalling::settings::Settings;
use laxity_transport::{HEADER_LEN, Timing, TransportHeader, WireChannelId as Wire};
use laxity_units::{ByteTime, Bytes, Rate, Span, Time};

const PACKETS: u64 = 2000;
const TURNS: u64 = 100;
const REQUESTS: u32 = 20;
const LENGTH: usize = 200;
const PORT: Port = Port(3);
const PROGRAM: Program = Program(1);
const LEAST: Span = Span::from_us(10);
/// The local number of signalling packets.
const SIGNALLING: u32 = u32::MAX;

/// The place of the node on the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Source,
    Relay,
    Destination,
}

fn main() {
    for role in [Role::Source, Role::Relay, Role::Destination] {
        for channels in [10, 10_000] {
            let mut bench = Bench::new(role, channels);
            let packet = (0..TURNS).map(|turn| bench.packets(turn * PACKETS)).fold(f64::MAX, f64::min);
            let request = bench.requests();
            println!("{role:?}, {channels} channels: {packet:.0} ns a packet, {request:.1} us a request");
        }
    }
}

struct Bench {
    role: Role,
    node: Node,
    now: Time,
    channels: u32,
    ids: Vec<GlobalChannelId>,
    sequence: u32,
}

impl Bench {
    fn new(role: Role, channels: u32) -> Self {
        let rate = Rate::of(Bytes::new(12_500_000_000), Span::from_secs(1));
        let [way, hosts] = [10, 10].map(Span::from_us);
        let link = NodeLinkConfig { per_byte: ByteTime::at(rate), way, hosts, around: 38 };
        let neighbours = match role {
            Role::Source => [2].as_slice(),
            Role::Relay => &[0, 2],
            Role::Destination => &[0],
        };
        let config = NodeConfig {
            node: NodeId(1),
            epoch: Epoch(1),
            links: neighbours.iter().map(|to| (NodeId(*to), link)).collect(),
            routes: BTreeMap::new(),
            packet: 1400,
            drift: Tolerance::NONE,
            signalling: Span::from_us(50),
            datagrams: 16,
            places: u64::from(channels) * 4,
            memory: Bytes::new(1 << 40),
            settings: Settings {
                lease: Span::from_secs(1_000_000),
                patience: Span::from_secs(1_000_000),
                refresh: Span::from_secs(200_000),
                program_lease: Span::from_secs(1_000_000),
                retry: Span::from_secs(100_000),
                longest_retry: Span::from_secs(100_000),
                ..Settings::default()
            },
            packet_time: Span::ZERO,
            quotas: Quotas::default(),
        };
        let node = Node::new(config, Box::new(|| 0)).expect("a node");
        let mut bench = Self { role, node, now: Time::ZERO, channels, ids: Vec::new(), sequence: 1 };
        bench.node.command(Time::ZERO, PROGRAM, Command::Listen(PORT)).expect("a free port");
        for local in 0..channels {
            bench.establish(local);
        }
        bench
    }

    fn contract(&self) -> ChannelContract {
        ChannelContract {
            max_message: Bytes::new(LENGTH as u64),
            min_message: Bytes::new(1),
            min_interval: Span::from_ms(10),
            burst: 1,
            deadline: Span::from_ms(20),
        }
    }

    fn route(&self) -> Vec<NodeId> {
        let nodes = match self.role {
            Role::Source => [1, 2].as_slice(),
            Role::Relay => &[0, 1, 2],
            Role::Destination => &[0, 1],
        };
        nodes.iter().map(|node| NodeId(*node)).collect()
    }

    /// One channel more, with the answers of the other nodes.
    fn establish(&mut self, local: u32) -> GlobalChannelId {
        let (contract, route) = (self.contract(), self.route());
        let id = match self.role {
            Role::Source => {
                let open = Command::Open { owner: Owner(1), port: PORT, contract, route: route.clone() };
                match self.node.command(self.now, PROGRAM, open) {
                    Ok(Response::Opening(id)) => id,
                    other => panic!("{other:?}"),
                }
            }
            _ => GlobalChannelId { node: NodeId(0), epoch: Epoch(1), local },
        };
        if self.role != Role::Source {
            let ask = Ask {
                contract,
                owner: Owner(1),
                port: PORT,
                division: Division::Proportional,
                current: None,
                balance: contract.deadline - LEAST,
                between: Span::ZERO,
                route,
                hops: vec![Needs { least: LEAST, latest: contract.min_interval }],
            };
            self.signal(NodeId(0), id, Body::Ask(ask));
        }
        if self.role != Role::Destination {
            let hops = if self.role == Role::Source { 2 } else { 3 };
            let deadlines = vec![Span::from_ms(5); hops];
            self.signal(NodeId(2), id, Body::Commit { deadlines, life: Epoch(1) });
        }
        self.signal(NodeId(0), id, Body::Refresh { changing: None, life: Epoch(1) });
        self.ids.push(id);
        self.drain();
        id
    }

    /// A signalling message arrives.
    fn signal(&mut self, from: NodeId, channel: GlobalChannelId, body: Body) {
        self.sequence += 1;
        let message = ContractMessage { channel, version: Version::FIRST, sequence: self.sequence, body };
        let mut payload = [0; codec::LONGEST];
        let length = codec::encode(&message, &mut payload).expect("a message");
        let bytes = frame(SIGNALLING, 0, Timing::None, &payload[..length]);
        self.node.handle_frame(self.now, from, &bytes);
    }

    /// All that leaves until the node is idle.
    fn drain(&mut self) {
        for to in [0, 2].map(NodeId) {
            while self.node.waiting(to) > 0 {
                black_box(self.node.poll_frame(self.now, to));
                self.node.transmitted(to);
                self.now = self.now.saturating_add(Span::from_us(50));
            }
        }
        while let Some(answer) = self.node.poll_answer() {
            assert!(
                !matches!(answer.event, SourceEvent::Refused { .. } | SourceEvent::Lost { .. }),
                "{answer:?}"
            );
        }
    }

    /// Nanoseconds a packet, from packet number `first` on.
    fn packets(&mut self, first: u64) -> f64 {
        let begin = instant();
        let step = Span::from_ms(11) / u64::from(self.channels);
        for number in first..first + PACKETS {
            let (round, at) = (number / u64::from(self.channels), number % u64::from(self.channels));
            self.now = self.now.saturating_add(step);
            let id = self.ids[at as usize];
            match self.role {
                Role::Source => {
                    let sent = self.node.command(self.now, PROGRAM, Command::Send(id, vec![7; LENGTH]));
                    assert!(sent.is_ok(), "{sent:?}");
                }
                _ => {
                    let message = u64::from(Version::FIRST.0) << 32 | round;
                    let bytes = frame(id.local, message, Timing::Remaining(Span::ZERO), &[7; LENGTH]);
                    self.node.handle_frame(self.now, NodeId(0), &bytes);
                }
            }
            if self.node.poll_timeout(self.now).is_some_and(|due| due <= self.now) {
                self.node.handle_timeout(self.now);
            }
            if self.role == Role::Destination {
                let received = self.node.command(self.now, PROGRAM, Command::Receive(PORT));
                assert!(matches!(received, Ok(Response::Received(_))), "{received:?}");
            } else {
                assert!(black_box(self.node.poll_frame(self.now, NodeId(2))).is_some());
                self.node.transmitted(NodeId(2));
                black_box(self.node.poll_timeout(self.now));
            }
        }
        begin.elapsed().as_secs_f64() * 1e9 / PACKETS as f64
    }

    /// Microseconds a request; the least of ten turns.
    fn requests(&mut self) -> f64 {
        (0..10).map(|turn| self.some_requests(turn * REQUESTS)).fold(f64::MAX, f64::min)
    }

    fn some_requests(&mut self, first: u32) -> f64 {
        let begin = instant();
        for local in first..first + REQUESTS {
            let id = self.establish(self.channels + local);
            match self.role {
                Role::Source => {
                    self.node.command(self.now, PROGRAM, Command::Close(id)).expect("it is established");
                }
                _ => {
                    let route = self.route();
                    self.signal(NodeId(0), id, Body::Release { route });
                }
            }
            self.node.handle_timeout(self.now);
            self.drain();
        }
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(REQUESTS)
    }
}

fn frame(local: u32, message: u64, timing: Timing, payload: &[u8]) -> Vec<u8> {
    let length = Bytes::new(payload.len() as u64);
    let header = TransportHeader {
        class: Class::RealTime,
        channel: Wire { node: 0, local },
        epoch: 1,
        message,
        fragment: 0,
        fragments: 1,
        message_length: length,
        payload_length: length,
        timing,
        tag: None,
        age: Span::ZERO,
    };
    let mut bytes = vec![0; HEADER_LEN + payload.len()];
    header.encode(&mut bytes).expect("the space is there").copy_from_slice(payload);
    bytes
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock on the wall")]
fn instant() -> Instant {
    Instant::now()
}
