//! Tests with programs, neighbours and files that write what they want.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use laxity_client::bell::Bell;
use laxity_client::outbox;
use laxity_client::protocol::{FromDaemon, ProgramRequest};
use laxity_client::ring::{RecordProducer, RingRecord};
use laxity_node::{Command, Node, Response};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_transport::TransportHeader;
use laxity_units::{Bytes, Span, Time};
use laxity_vi::provider::Memory;
use nix::sys::epoll::{EpollEvent, EpollTimeout};
use proptest::prelude::*;

use crate::clock::Clock;
use crate::engine::{Ends, Engine};
use crate::exchange::{FromEngine, ToEngine};
use crate::journal::Journal;
use crate::node_file::{Idle, NodeFile};
use crate::wire::Wire;

const HONEST: Program = Program(1);
const HOSTILE: Program = Program(2);

/// A node with links to `peers`.
fn file(id: u32, peers: &[u32]) -> NodeFile {
    let mut text = format!("name = \"n{id}\"\nid = {id}\nsecurity = \"none\"\n");
    for peer in peers {
        text += &format!(
            "[[link]]\npeer = \"n{peer}\"\npeer_id = {peer}\nlocal = \"127.0.0.1:{}\"\nremote = \"127.0.0.1:9\"\n\
             rate = \"80 Mbit/s\"\n",
            1000 + peer
        );
    }
    let mut file = NodeFile::parse(&text, Path::new(".")).unwrap();
    // Any port that is free.
    file.links.iter_mut().for_each(|link| link.local.set_port(0));
    file
}

/// An engine with an honest and a hostile program, and the ends of control.
struct Host {
    engine: Engine,
    answers: rtrb::Consumer<FromEngine>,
    honest: Arc<Memory>,
    hostile: Arc<Memory>,
    hostile_bell: Bell,
    _requests: rtrb::Producer<ToEngine>,
}

impl Host {
    fn new() -> Self {
        let file = file(1, &[2]);
        let config = file.node(Epoch(1));
        let wire = Wire::open(&file.links[0], config.links[&NodeId(2)], false).unwrap();
        let (_requests, requests) = rtrb::RingBuffer::new(16);
        let (to_control, answers) = rtrb::RingBuffer::new(1024);
        let bell = || Bell::new().unwrap();
        let ends = Ends { requests, request_bell: bell(), answers: to_control, answer_bell: bell() };
        let clock = Clock::start();
        let mut engine =
            Engine::new(config, vec![wire], ends, Idle::Sleep, clock, Box::new(|| 0), Journal::OFF).unwrap();
        let hostile_bell = Bell::new().unwrap();
        let [honest, hostile] = [HONEST, HOSTILE].map(|program| {
            let memory = Arc::new(Memory::create("laxity-outbox", outbox::BYTES).unwrap().0);
            let outbox = memory.clone();
            let bell = || if program == HOSTILE { hostile_bell.try_clone().unwrap() } else { bell() };
            engine.serve(clock.now(), ToEngine::Attach { program, owner: Owner(0), outbox, bell: bell() });
            memory
        });
        Self { engine, answers, honest, hostile, hostile_bell, _requests }
    }

    /// Turns until all records that can be taken are, and the answers meanwhile.
    fn run(&mut self) -> Vec<FromEngine> {
        for _ in 0..8 {
            let now = self.engine.clock.now();
            self.engine.turn(now);
        }
        std::iter::from_fn(|| self.answers.pop().ok()).collect()
    }

    /// The engine takes a message of the honest program.
    fn serves_the_honest(&mut self) {
        let before = self.engine.ledger.strays;
        let mut producer = RecordProducer::new(&self.honest, outbox::RING_AT, outbox::CAPACITY);
        // Without a channel, it is counted as a stray.
        assert!(producer.push(RingRecord { kind: outbox::MESSAGE, words: [0; 3] }, &[1; 100]));
        self.run();
        assert!(self.engine.ledger.strays > before);
    }
}

fn record() -> impl Strategy<Value = (RingRecord, Vec<u8>)> {
    let word = prop_oneof![0..4_u64, any::<u64>()];
    let words = prop::array::uniform3(word);
    let payload =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..64), Just(vec![7; 1400]), Just(vec![7; 9000])];
    (0..4_u32, words, payload).prop_map(|(kind, words, payload)| (RingRecord { kind, words }, payload))
}

/// How a hostile neighbour changes a packet that it may send.
#[derive(Debug, Clone)]
enum Change {
    Keep,
    Flip(usize, u8),
    Cut(usize),
    Twice,
    Other(Vec<u8>),
    /// A packet of another neighbour.
    Foreign(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Keep),
        4 => (0..120_usize, 1..=255_u8).prop_map(|(at, bits)| Change::Flip(at, bits)),
        1 => (0..120_usize).prop_map(Change::Cut),
        1 => Just(Change::Twice),
        1 => prop::collection::vec(any::<u8>(), 0..120).prop_map(Change::Other),
        2 => (0..64_usize).prop_map(Change::Foreign),
    ]
}

/// Node 1 between an honest neighbour 3 and a hostile one 2.
struct Three {
    now: Time,
    nodes: BTreeMap<u32, Node>,
    /// Packets of the honest neighbour.
    seen: Vec<Vec<u8>>,
}

impl Three {
    fn new() -> Self {
        let node = |id: u32, peers: &[u32]| {
            let config = file(id, peers).node(Epoch(1));
            (id, Node::new(config, Box::new(|| 0)).unwrap())
        };
        let nodes = BTreeMap::from([node(1, &[2, 3]), node(2, &[1]), node(3, &[1])]);
        Self { now: Time::from_ns(1_000_000), nodes, seen: Vec::new() }
    }

    fn node(&mut self, id: u32) -> &mut Node {
        self.nodes.get_mut(&id).unwrap()
    }

    fn command(&mut self, id: u32, command: Command) -> Option<Response> {
        let now = self.now;
        self.node(id).command(now, Program(id), command).ok()
    }

    /// A millisecond, with all frames on all links.
    fn step(&mut self, changes: &mut impl Iterator<Item = Change>) {
        self.now += Span::from_ms(1);
        let now = self.now;
        for _ in 0..4 {
            for node in self.nodes.values_mut() {
                node.handle_timeout(now);
            }
            for (from, to) in [(1, 2), (1, 3), (3, 1), (2, 1)] {
                while let Some(mut frame) = self.node(from).poll_frame(now, NodeId(to)) {
                    self.node(from).transmitted(NodeId(to));
                    if from == 3 {
                        self.seen.push(frame.clone());
                    }
                    let mut count = 1;
                    match if from == 2 { changes.next().unwrap_or(Change::Keep) } else { Change::Keep } {
                        Change::Keep => {}
                        Change::Flip(at, bits) => {
                            let at = at % frame.len();
                            frame[at] ^= bits;
                        }
                        Change::Cut(length) => frame.truncate(length),
                        Change::Twice => count = 2,
                        Change::Other(bytes) => frame = bytes,
                        Change::Foreign(at) => frame = self.seen.get(at).cloned().unwrap_or_default(),
                    }
                    for _ in 0..count {
                        let mut arrived = frame.clone();
                        let _ = TransportHeader::add_age(&mut arrived, Span::from_us(3));
                        self.node(to).handle_frame(now, NodeId(from), &arrived);
                    }
                }
            }
        }
    }

    /// Opens a channel to node 1, and steps until it is established, or not.
    fn open(&mut self, id: u32, changes: &mut impl Iterator<Item = Change>) -> Option<GlobalChannelId> {
        let (min_interval, deadline) = (Span::from_ms(5), Span::from_ms(50));
        let [max_message, min_message] = [3000, 1].map(Bytes::new);
        let contract = ChannelContract { max_message, min_message, min_interval, burst: 2, deadline };
        let (owner, route) = (Owner(id), vec![NodeId(id), NodeId(1)]);
        let opened = self.command(id, Command::Open { owner, port: Port(id), contract, route });
        let Some(Response::Opening(channel)) = opened else { return None };
        for _ in 0..50 {
            self.step(changes);
            while let Some(answer) = self.node(id).poll_answer() {
                if matches!(answer.event, SourceEvent::Established { channel: of, .. } if of == channel) {
                    return Some(channel);
                }
            }
        }
        None
    }

    /// The messages at port `id` of node 1.
    fn received(&mut self, id: u32) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        while let Ok(Response::Received(message)) = {
            let now = self.now;
            self.node(1).command(now, Program(10 + id), Command::Receive(Port(id)))
        } {
            messages.push(message.payload);
        }
        messages
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever records a program writes, the engine takes them and serves the others.
    #[test]
    fn no_records_of_a_program_stop_the_engine(records in prop::collection::vec(record(), 0..100)) {
        let mut host = Host::new();
        let mut producer = RecordProducer::new(&host.hostile, outbox::RING_AT, outbox::CAPACITY);
        for (record, payload) in records {
            let _ = producer.push(record, &payload);
        }
        prop_assert!(host.run().is_empty(), "records without a meaning are dropped");
        host.serves_the_honest();
    }

    /// A program that scribbles over its memory is disconnected at most.
    #[test]
    fn no_words_of_a_program_stop_the_engine(
        words in prop::collection::vec((0..outbox::BYTES / 8, any::<u64>()), 0..200),
        front in prop::collection::vec(prop_oneof![0..300_u64, any::<u64>()], 16),
    ) {
        let mut host = Host::new();
        for (at, word) in words {
            host.hostile.word64(8 * at).store(word, Ordering::Relaxed);
        }
        for (at, word) in front.into_iter().enumerate() {
            host.hostile.word64(outbox::RING_AT + 8 * at).store(word, Ordering::Relaxed);
        }
        let answers = host.run();
        let is_gone = !host.engine.outboxes.contains_key(&HOSTILE);
        let hostile = answers.iter().filter(|answer| matches!(answer, FromEngine::Hostile(HOSTILE)));
        prop_assert_eq!(hostile.count(), usize::from(is_gone));
        // The program still has its bell, which wakes the engine of its neighbours no more.
        host.hostile_bell.ring();
        let mut events = [EpollEvent::empty()];
        let rings = host.engine.files.wait(&mut events, EpollTimeout::ZERO).unwrap();
        prop_assert_eq!(rings, usize::from(!is_gone));
        host.serves_the_honest();
    }

    /// The packets of a neighbour pass authentication and are wrong in every other way: the channel of
    /// another neighbour loses no message.
    #[test]
    fn a_neighbour_with_a_certificate_harms_only_its_own(changes in prop::collection::vec(change(), 1..64)) {
        let mut net = Three::new();
        for id in [2, 3] {
            let now = net.now;
            net.node(1).command(now, Program(10 + id), Command::Listen(Port(id))).unwrap();
        }
        let honest = net.open(3, &mut std::iter::empty()).expect("an idle network admits it");
        let mut changes = changes.into_iter().cycle();
        let hostile = net.open(2, &mut changes);
        let mut sent = Vec::new();
        for number in 0..40_u8 {
            let message = vec![number; 1 + 70 * usize::from(number)];
            let accepted = net.command(3, Command::Send(honest, message.clone()));
            prop_assert!(matches!(accepted, Some(Response::Accepted { .. })), "{accepted:?}");
            sent.push(message);
            if let Some(hostile) = hostile {
                let _ = net.command(2, Command::Send(hostile, vec![1; 2000]));
            }
            let body = vec![2; 200];
            let _ = net.command(2, Command::Datagram { to: NodeId(1), port: Port(3), payload: body });
            (0..6).for_each(|_| net.step(&mut changes));
        }
        (0..60).for_each(|_| net.step(&mut changes));
        let mut received = net.received(3);
        // Datagrams may go to any port.
        received.retain(|message| *message != [2; 200]);
        prop_assert_eq!(received, sent);
        let _ = net.received(2);
    }

    /// Bytes that are no request or answer are refused, and what is one is read as it was written.
    #[test]
    fn no_datagram_on_a_socket_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok((number, request)) = postcard::from_bytes::<(u32, ProgramRequest)>(&bytes) {
            let again = postcard::to_stdvec(&(number, &request)).unwrap();
            prop_assert_eq!(postcard::from_bytes::<(u32, ProgramRequest)>(&again).unwrap(), (number, request));
        }
        if let Ok(datagram) = postcard::from_bytes::<FromDaemon>(&bytes) {
            prop_assert!(postcard::to_stdvec(&datagram).is_ok());
        }
    }

    /// A node file with any numbers is a node, or is refused with a sentence.
    #[test]
    fn no_node_file_panics(
        numbers in prop::array::uniform4(prop_oneof![0..5000_u64, (0..200_u64).prop_map(|less| u64::from(u32::MAX) - less), any::<u64>()]),
        spans in prop::array::uniform4(prop_oneof![Just("0 s"), Just("1 ps"), Just("50 us"), Just("4 s"), Just("200 d"), Just("9000000 s"), Just("1e30 s"), Just("-1 s")]),
        rates in prop::array::uniform2(prop_oneof![Just("0 bit/s"), Just("1 bit/s"), Just("80 Mbit/s"), Just("1e30 bit/s"), Just("9000 Gbit/s")]),
        cut in any::<prop::sample::Index>(), whole in prop::bool::weighted(0.9),
    ) {
        let [packet, mtu, places, channels] = numbers;
        let text = format!(
            "name = \"a\"\nid = 1\nsecurity = \"none\"\npacket = {packet}\nlease = \"{}\"\nsignalling = \"{}\"\n\
             [host]\ndelay = \"{}\"\nplaces = {places}\n[[link]]\npeer = \"b\"\npeer_id = 2\n\
             local = \"10.0.0.1:1\"\nremote = \"10.0.0.2:1\"\nrate = \"{}\"\nmtu = {mtu}\npropagation = \"{}\"\n\
             [quota.default]\nchannels = {channels}\nbandwidth = \"{}\"\n",
            spans[0], spans[1], spans[2], rates[0], spans[3], rates[1]
        );
        let length = if whole { text.len() } else { cut.index(text.len()) };
        match NodeFile::parse(&text[..length], Path::new(".")) {
            Ok(file) => drop(Node::new(file.node(Epoch(1)), Box::new(|| 0))),
            Err(why) => prop_assert!(!why.is_empty()),
        }
    }
}
