//! A node between hostile neighbours and programs: bytes choose what they do.
//!
//! The test `hostile` and a fuzz target share this file.

use laxity_clock::Tolerance;
use laxity_node::faults::NodeFault;
use laxity_node::{Command, Node, NodeConfig, NodeLinkConfig, Response};
use laxity_qos::discipline::Class;
use laxity_signalling::codec;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::division::{Division, Needs};
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program, Version};
use laxity_signalling::message::{Ask, Body, ContractMessage};
use laxity_signalling::quota::Quotas;
use laxity_signalling::refusal::{Denial, NodeResource, Shortage};
use laxity_signalling::settings::Settings;
use laxity_transport::{HEADER_LEN, Timing, TransportHeader, WireChannelId as Wire};
use laxity_units::{ByteTime, Bytes, Rate, Span, Time};

/// Memory for each neighbour.
const MEMORY: u64 = 64 * 1024;
/// Messages in the queue of a program.
const PLACES: u64 = 8;
const DATAGRAMS: usize = 8;
const ENTRIES: usize = 16;
const REMEMBERED: usize = 8;
const PEERS: usize = 4;
const WAITING: usize = 32;
/// Signalling messages that may wait for a link.
const SIGNALS: usize = 64;
const PACKET: u32 = 1000;
/// The local numbers of signalling packets and of datagrams.
const SIGNALLING: u32 = u32::MAX;
const DATAGRAM: u32 = u32::MAX - 1;

/// Bytes that are choices; 0 at their end.
struct Dice<'a>(&'a [u8]);

impl<'a> Dice<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, n: u32) -> u32 {
        u32::from(self.byte()) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    fn bytes(&mut self, most: usize) -> &'a [u8] {
        let length = usize::from(self.byte()).min(most).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }

    fn span(&mut self) -> Span {
        let spans = [0, 1, 1_000_000, 50_000_000, 1_000_000_000, 20_000_000_000, 1_000_000_000_000, u64::MAX];
        Span::from_ps(self.of(&spans))
    }
}

pub(crate) fn config() -> NodeConfig {
    let rate = Rate::of(Bytes::new(10_000_000), Span::from_secs(1));
    let [way, hosts] = [100, 10].map(Span::from_us);
    let link = NodeLinkConfig { per_byte: ByteTime::at(rate), way, hosts, around: 38 };
    NodeConfig {
        node: NodeId(1),
        epoch: Epoch(2),
        links: [0, 2].map(|to| (NodeId(to), link)).into(),
        routes: [(0, 0), (2, 2), (3, 2)].map(|(to, next)| (NodeId(to), NodeId(next))).into(),
        packet: PACKET,
        drift: Tolerance::NONE,
        signalling: Span::from_ms(1),
        datagrams: DATAGRAMS,
        places: PLACES,
        memory: Bytes::new(MEMORY),
        settings: Settings {
            lease: Span::from_secs(2),
            patience: Span::from_secs(1),
            refresh: Span::from_ms(400),
            program_lease: Span::from_secs(3),
            remembered: REMEMBERED,
            entries: ENTRIES,
            peers: PEERS,
            waiting: WAITING,
            ..Settings::default()
        },
        packet_time: Span::from_us(5),
        quotas: Quotas::default(),
    }
}

fn contract(dice: &mut Dice<'_>) -> ChannelContract {
    if dice.below(2) == 0 {
        return ChannelContract {
            max_message: Bytes::new(1 + 300 * u64::from(dice.below(16))),
            min_message: Bytes::new(1),
            min_interval: Span::from_ms(5 + u64::from(dice.below(40))),
            burst: 1 + dice.below(3),
            deadline: Span::from_ms(10 + u64::from(dice.below(200))),
        };
    }
    ChannelContract {
        max_message: Bytes::new(dice.of(&[
            0,
            1,
            999,
            5000,
            60_000,
            1 << 20,
            (1 << 32) - 1,
            1 << 32,
            u64::MAX,
        ])),
        min_message: Bytes::new(dice.of(&[0, 1, 2000, u64::MAX])),
        min_interval: dice.span(),
        burst: dice.of(&[0, 1, 2, 1000, u32::MAX]),
        deadline: dice.span(),
    }
}

fn channel(dice: &mut Dice<'_>) -> GlobalChannelId {
    GlobalChannelId {
        node: NodeId(dice.below(4)),
        epoch: Epoch(1 + dice.below(2)),
        local: dice.of(&[0, 1, 2, 3, 4, 5, 100, SIGNALLING, DATAGRAM]),
    }
}

fn route(dice: &mut Dice<'_>) -> Vec<NodeId> {
    let usual: [&[u32]; 6] = [&[0, 1, 2], &[0, 1], &[2, 1, 0], &[2, 1], &[1, 2], &[1, 2, 3]];
    match dice.below(8) {
        0 => dice.bytes(8).iter().map(|node| NodeId(u32::from(*node % 5))).collect(),
        // Within the node.
        7 => vec![NodeId(1)],
        other => usual[other as usize % 6].iter().map(|node| NodeId(*node)).collect(),
    }
}

fn body(dice: &mut Dice<'_>) -> Body {
    match dice.below(10) {
        0..=3 => Body::Ask(Ask {
            contract: contract(dice),
            owner: Owner(dice.below(2)),
            port: Port(dice.below(3)),
            division: dice.of(&[Division::Proportional, Division::Equal, Division::Alike]),
            current: Some(Version(dice.below(3))).filter(|version| version.0 > 0),
            balance: dice.span(),
            between: dice.span(),
            route: route(dice),
            hops: (0..dice.below(3)).map(|_| Needs { least: dice.span(), latest: dice.span() }).collect(),
        }),
        4 => Body::Commit {
            deadlines: (0..1 + dice.below(4)).map(|_| dice.span()).collect(),
            life: Epoch(1 + dice.below(2)),
        },
        5 => {
            let changing = Some(Version(dice.below(3))).filter(|version| version.0 > 0);
            Body::Refresh { changing, life: Epoch(1 + dice.below(2)) }
        }
        6 => Body::Release { route: route(dice) },
        7 => Body::Refuse {
            refused: Denial { node: NodeId(2), shortage: Shortage::of(NodeResource::Link, 1) },
            beyond: dice.below(2) == 0,
        },
        8 => Body::Unknown,
        _ if dice.below(2) == 0 => Body::Refreshed,
        _ => Body::Released { route: route(dice) },
    }
}

fn signal(dice: &mut Dice<'_>) -> Vec<u8> {
    let message = ContractMessage {
        channel: channel(dice),
        version: Version(dice.below(4)),
        sequence: dice.below(64),
        body: body(dice),
    };
    encoded(dice, &message).unwrap_or_default()
}

fn encoded(dice: &mut Dice<'_>, message: &ContractMessage) -> Option<Vec<u8>> {
    let mut payload = [0; codec::LONGEST];
    let length = codec::encode(message, &mut payload).ok()?;
    Some(packet(dice, SIGNALLING, 0, (0, 1), &payload[..length]))
}

/// A message of a well-behaved neighbour about one of six channels from node 0, to here or on to
/// node 2.
fn usual(dice: &mut Dice<'_>, sequence: u32) -> (NodeId, ContractMessage) {
    let channel = GlobalChannelId { node: NodeId(0), epoch: Epoch(1), local: dice.below(6) };
    let ends_here = channel.local.is_multiple_of(2);
    let route: Vec<NodeId> = if ends_here { [0, 1].map(NodeId).into() } else { [0, 1, 2].map(NodeId).into() };
    let (least, latest) = (Span::from_us(10), Span::from_ms(5));
    let version = Version(if dice.below(4) == 0 { 2 } else { 1 });
    let body = match dice.below(7) {
        0 | 1 => {
            let contract = contract(dice);
            Body::Ask(Ask {
                contract,
                owner: Owner(dice.below(2)),
                port: Port(dice.below(3)),
                division: Division::Proportional,
                current: (version.0 > 1).then_some(Version(1)),
                balance: contract.deadline.saturating_sub(least),
                between: Span::ZERO,
                route,
                hops: vec![Needs { least, latest }],
            })
        }
        2 | 3 => Body::Commit { deadlines: vec![latest; route.len()], life: Epoch(1) },
        4 | 5 => {
            let life = if ends_here { Epoch(2) } else { Epoch(1) };
            Body::Refresh { changing: Some(Version(3 - version.0)), life }
        }
        _ if dice.below(4) == 0 => Body::Release { route },
        _ => Body::Unknown,
    };
    let from = if matches!(body, Body::Commit { .. }) { 2 } else { 0 };
    (NodeId(from), ContractMessage { channel, version, sequence, body })
}

/// A packet of one of the channels of [`usual`].
fn usual_data(dice: &mut Dice<'_>, number: u32) -> Vec<u8> {
    let fragments = 1 + dice.below(2);
    let length = dice.of(&[1, 301, 1000]);
    let header = TransportHeader {
        class: Class::RealTime,
        channel: Wire { node: 0, local: dice.below(6) },
        epoch: 1,
        message: u64::from(1 + dice.below(2)) << 32 | u64::from(number),
        fragment: dice.below(fragments),
        fragments,
        message_length: Bytes::new(if fragments > 1 { 1501 } else { length as u64 }),
        payload_length: Bytes::new(length as u64),
        timing: Timing::Remaining(Span::from_us(u64::from(dice.byte()) * 100)),
        tag: None,
        age: Span::ZERO,
    };
    let mut bytes = vec![0; HEADER_LEN + length];
    header.encode(&mut bytes).expect("the space is there");
    bytes
}

/// A frame with a header that is right but for what bytes choose.
fn packet(dice: &mut Dice<'_>, local: u32, message: u64, of: (u32, u32), payload: &[u8]) -> Vec<u8> {
    let length = Bytes::new(payload.len() as u64);
    let message_length = if of.1 > 1 { Bytes::new(dice.of(&[0, 1500, 2000, 5000])) } else { length };
    let channel = channel(dice);
    let header = TransportHeader {
        class: if local == DATAGRAM { Class::BestEffort } else { Class::RealTime },
        channel: Wire { node: channel.node.0, local },
        epoch: channel.epoch.0,
        message,
        fragment: of.0,
        fragments: of.1,
        message_length,
        payload_length: length,
        timing: match dice.below(4) {
            0 => Timing::None,
            1 => Timing::Deadline(Time::ZERO),
            _ => Timing::Remaining(dice.span()),
        },
        tag: None,
        age: dice.span(),
    };
    let mut bytes = vec![0; HEADER_LEN + payload.len()];
    header.encode(&mut bytes).expect("the space is there").copy_from_slice(payload);
    bytes
}

fn data(dice: &mut Dice<'_>) -> Vec<u8> {
    let message = u64::from(dice.below(3)) << 32 | u64::from(dice.byte());
    let fragments = 1 + dice.below(4);
    let of = (dice.below(fragments), fragments);
    let payload = [7; 1200];
    let length = dice.of(&[0, 1, 300, 1000, 1001, 1200]);
    let local = dice.below(6);
    packet(dice, local, message, of, &payload[..length])
}

fn command(dice: &mut Dice<'_>) -> Command {
    let own = GlobalChannelId { node: NodeId(1), epoch: Epoch(2), local: dice.below(6) };
    let any = if dice.below(4) == 0 { channel(dice) } else { own };
    match dice.below(9) {
        0 => Command::Listen(Port(dice.below(3))),
        1 => Command::Unlisten(Port(dice.below(3))),
        2 => {
            let (port, contract, route) = (Port(dice.below(3)), contract(dice), route(dice));
            Command::Open { owner: Owner(dice.below(2)), port, contract, route }
        }
        3 => Command::Change(any, contract(dice)),
        4 => Command::Close(any),
        5 => Command::Send(any, vec![1; dice.of(&[0, 1, 300, 2000, 70_000])]),
        6 => Command::Receive(Port(dice.below(3))),
        7 => {
            let (to, port) = (NodeId(dice.below(5)), Port(dice.below(3)));
            Command::Datagram { to, port, payload: vec![1; dice.of(&[0, 10, 992, 993])] }
        }
        _ => Command::Renew,
    }
}

/// Executes a script. A node never panics, and its memory is bounded; when the neighbours are
/// silent, the node becomes what it was.
///
/// Returns requests of programs, frames that left, and the most contracts committed at once.
pub(crate) fn run(script: &[u8], fault: Option<NodeFault>) -> [u64; 3] {
    let mut dice = Dice(script);
    let mut node = Node::with_fault(config(), Box::new(|| 0), fault).expect("a node");
    let mut now = Time::ZERO + Span::from_secs(1);
    let (mut counts, mut sequence) = ([0; 3], 0);
    while !dice.0.is_empty() {
        let from = NodeId(dice.of(&[0, 0, 2, 2, 3]));
        match dice.below(16) {
            0 => node.handle_frame(now, from, dice.bytes(100)),
            1 | 2 => {
                let mut frame = signal(&mut dice);
                // Damage.
                for _ in 0..dice.of(&[0, 0, 0, 1, 2]) {
                    let at = usize::from(dice.byte()) % frame.len().max(1);
                    if let Some(byte) = frame.get_mut(at) {
                        *byte = dice.byte();
                    }
                }
                node.handle_frame(now, from, &frame);
            }
            3 | 4 => {
                let frame = data(&mut dice);
                node.handle_frame(now, from, &frame);
            }
            5 => {
                let mut payload = [dice.below(3) as u8; 1200];
                payload[..8].copy_from_slice(&[0, 0, 0, dice.below(4) as u8, 0, 0, 0, dice.below(3) as u8]);
                let (hops, length) = (dice.of(&[0, 1, 31, 32]), dice.of(&[0, 8, 500, 1000, 1001, 1200]));
                let frame = packet(&mut dice, DATAGRAM, hops, (0, 1), &payload[..length]);
                node.handle_frame(now, from, &frame);
            }
            6 | 7 => {
                let done = node.command(now, Program(dice.below(2)), command(&mut dice));
                counts[0] += u64::from(matches!(done, Ok(Response::Opening(_))));
            }
            8 => {
                now = now.saturating_add(dice.span().min(Span::from_secs(2)));
                node.handle_timeout(now);
            }
            9..=11 => {
                sequence += 1;
                let (from, message) = usual(&mut dice, sequence);
                if let Some(frame) = encoded(&mut dice, &message) {
                    node.handle_frame(now, from, &frame);
                }
            }
            12..=14 => {
                sequence += 1;
                let frame = usual_data(&mut dice, sequence);
                node.handle_frame(now, NodeId(0), &frame);
            }
            // A clock that is set back.
            _ => now = now.saturating_sub(dice.span().min(Span::from_ms(500))),
        }
        counts[1] += transmit(&mut node, now);
        counts[2] =
            counts[2].max(node.manager().held().filter(|held| held.deadline.is_some()).count() as u64);
        check(&node);
    }
    // All leases and deadlines are over.
    for _ in 0..40 {
        now = now.saturating_add(Span::from_secs(60_000));
        node.handle_timeout(now);
        transmit(&mut node, now);
    }
    let (held, fresh) = (node.holdings(), Node::new(config(), Box::new(|| 0)).expect("a node").holdings());
    assert_eq!(held, fresh, "after the end");
    assert!(node.manager().quotas().is_unused());
    counts
}

fn transmit(node: &mut Node, now: Time) -> u64 {
    let mut frames = 0;
    for to in [0, 2].map(NodeId) {
        while node.poll_frame(now, to).is_some() {
            node.transmitted(to);
            frames += 1;
        }
    }
    while node.poll_answer().is_some() {}
    let _ = node.poll_timeout(now);
    frames
}

/// Bounds of tables and queues.
fn check(node: &Node) {
    let [hops, calls, ended, epochs, _, out] = node.manager().entries();
    assert!(hops <= ENTRIES && calls <= ENTRIES && ended <= REMEMBERED, "{hops} {calls} {ended}");
    assert!(epochs <= PEERS && out == 0, "{epochs} {out}");
    let ((_, memory, _), [flows, sources, receivers, _]) = node.holdings();
    assert!(memory.values().all(|bytes| *bytes <= MEMORY), "{memory:?}");
    assert!(
        flows <= 2 * ENTRIES && sources <= ENTRIES && receivers <= ENTRIES,
        "{flows} {sources} {receivers}"
    );
    // Each packet of a channel is longer than its header, and there are three neighbours.
    let packets = 3 * MEMORY as usize / HEADER_LEN;
    for to in [0, 2] {
        assert!(node.waiting(NodeId(to)) <= SIGNALS + DATAGRAMS + packets);
    }
    assert!(node.follows());
}
