//! The node: its parts, and what happens to them.

use std::collections::{BTreeMap, VecDeque};

use laxity_qos::discipline::{Class, EarlyPolicy};
use laxity_signalling::event::{OpenRequest, SourceEvent};
use laxity_signalling::identity::{GlobalChannelId, NodeId, Port, Program, Version};
use laxity_signalling::quota::Quotas;
use laxity_signalling::resources::Resources;
use laxity_signalling::{Jitter, Manager, codec};
use laxity_transport::{HEADER_LEN, Timing, TransportHeader};
use laxity_units::{Bytes, Span, Time};

use crate::command::{Command, Departure, Failure, ProgramAnswer, Response};
use crate::config::{NodeConfig, NotANode};
use crate::counters::{DropCause, NodeCounters};
use crate::data::Source;
use crate::faults::NodeFault;
use crate::flow::{Flow, Key};
use crate::frame::one_packet;
use crate::line::Lines;
use crate::link::{Kind, Link, Subject, is_promised};
use crate::queue::Queue;
use crate::receive::Receiver;
use crate::steady::Steady;
use crate::synchronise::split_clock;
use crate::timers::Timers;

/// The local number of signalling packets.
pub(crate) const SIGNALLING: u32 = u32::MAX;
/// The local number of datagrams.
pub(crate) const DATAGRAM: u32 = u32::MAX - 1;
/// Signalling messages that may wait for a link.
pub const SIGNALS: usize = 256;

/// A node. See the documentation of the crate.
///
/// The owner passes frames, commands and timeouts with the time by the clock of the node. After
/// each input it takes the frames of free links ([`poll_frame`](Self::poll_frame)), the answers and
/// the next timeout.
pub struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) manager: Manager<Lines>,
    pub(crate) links: BTreeMap<NodeId, Link>,
    pub(crate) flows: BTreeMap<Key, Flow>,
    pub(crate) sources: BTreeMap<GlobalChannelId, Source>,
    pub(crate) receivers: BTreeMap<GlobalChannelId, Receiver>,
    pub(crate) listeners: BTreeMap<Port, Program>,
    /// Messages for programs.
    pub(crate) queues: BTreeMap<Port, Queue>,
    steady: Steady,
    pub(crate) timers: Timers,
    /// Reservations that ended and that are not free yet.
    pub(crate) retained: usize,
    /// The last promised packet that left.
    departure: Option<Departure>,
    answers: VecDeque<ProgramAnswer>,
    /// Messages of clock synchronisation for the owner.
    pub(crate) clocks: VecDeque<(NodeId, laxity_clock::ClockMessage)>,
    pub(crate) counters: NodeCounters,
    #[cfg(feature = "faults")]
    fault: Option<NodeFault>,
}

impl Node {
    /// A node that holds no channel; `jitter` spreads retransmissions.
    ///
    /// # Errors
    /// The description is no node.
    pub fn new(config: NodeConfig, jitter: Jitter) -> Result<Self, NotANode> {
        Self::assemble(config, jitter, EarlyPolicy::HOLD)
    }

    fn assemble(config: NodeConfig, jitter: Jitter, early: EarlyPolicy) -> Result<Self, NotANode> {
        let config = config.by_clock();
        let lines = Lines::new(&config)?;
        let manager = Manager::new(config.node, config.epoch, config.settings, lines, jitter);
        Ok(Self {
            manager: manager.with_quotas(config.quotas.clone()),
            links: config.links.iter().map(|(to, link)| (*to, Link::new(*link, early))).collect(),
            flows: BTreeMap::new(),
            sources: BTreeMap::new(),
            receivers: BTreeMap::new(),
            listeners: BTreeMap::new(),
            queues: BTreeMap::new(),
            steady: Steady::default(),
            timers: Timers::default(),
            retained: 0,
            departure: None,
            answers: VecDeque::new(),
            clocks: VecDeque::new(),
            counters: NodeCounters::default(),
            config,
            #[cfg(feature = "faults")]
            fault: None,
        })
    }

    /// The same with something that the node does wrong, for tests of the tests.
    ///
    /// # Errors
    /// The description is no node.
    #[cfg(feature = "faults")]
    pub fn with_fault(
        config: NodeConfig,
        jitter: Jitter,
        fault: Option<NodeFault>,
    ) -> Result<Self, NotANode> {
        let early =
            if fault == Some(NodeFault::ReleasedEarly) { EarlyPolicy::CONSERVE } else { EarlyPolicy::HOLD };
        let mut node = Self { fault, ..Self::assemble(config, jitter, early)? };
        if let Some(NodeFault::Protocol(fault)) = fault {
            node.manager = node.manager.with_fault(Some(fault));
        }
        Ok(node)
    }

    #[cfg(feature = "faults")]
    pub(crate) fn broken(&self, fault: NodeFault) -> bool {
        self.fault == Some(fault)
    }

    #[cfg(not(feature = "faults"))]
    pub(crate) const fn broken(&self, _: NodeFault) -> bool {
        false
    }

    /// Handles a frame that arrived from the neighbour `from`. No bytes make it panic.
    pub fn handle_frame(&mut self, now: Time, from: NodeId, frame: &[u8]) {
        self.handle_waiting_frame(now, Span::ZERO, from, frame);
    }

    /// The same of a frame that has `waited` in the host before. The time that is left to its packet
    /// counts from its arrival, or a stop of the node would move the packets of a channel together.
    pub fn handle_waiting_frame(&mut self, now: Time, waited: Span, from: NodeId, frame: &[u8]) {
        let now = self.time(now);
        let arrived = now.saturating_sub(waited);
        self.counters.frames += 1;
        if !self.links.contains_key(&from) {
            return self.counters.drop(DropCause::Link);
        }
        let Ok((header, payload)) = TransportHeader::decode(frame) else {
            return self.counters.drop(DropCause::Malformed);
        };
        match header.channel.local {
            SIGNALLING => self.on_signals(now, from, payload),
            DATAGRAM => self.on_datagram(now, &header, payload),
            _ => self.on_packet((now, arrived), from, &header, payload, frame),
        }
    }

    /// Handles the signalling messages of a frame.
    fn on_signals(&mut self, now: Time, from: NodeId, mut payload: &[u8]) {
        loop {
            let rest = if let Some((record, rest)) = split_clock(payload) {
                self.on_clock(now, record);
                rest
            } else {
                let (first, rest) = codec::split(payload);
                match codec::decode(first) {
                    Ok(message) => self.manager.handle(now, from, message),
                    Err(_) => self.counters.drop(DropCause::Signalling),
                }
                self.settle(now);
                rest
            };
            if rest.is_empty() {
                return;
            }
            payload = rest;
        }
    }

    /// Executes a command of `program`.
    ///
    /// # Errors
    /// The command is refused at once and changes nothing.
    pub fn command(&mut self, now: Time, program: Program, command: Command) -> Result<Response, Failure> {
        let now = self.time(now);
        let answer = match command {
            Command::Listen(port) => self.listen(program, port),
            Command::Unlisten(port) => self.unlisten(now, program, port),
            Command::Open { owner, port, contract, route } => {
                let channel = self.manager.open(now, OpenRequest { program, owner, port, contract, route });
                self.sources.insert(channel, Source::new(program));
                Ok(Response::Opening(channel))
            }
            Command::Change(channel, contract) => {
                self.check(program, channel)?;
                let waits = self.waits(now, channel);
                let version = self.manager.change(now, channel, contract, waits).map_err(Failure::Unfit)?;
                Ok(Response::Changing(version))
            }
            Command::Close(channel) => {
                self.close(now, program, channel)?;
                Ok(Response::Done)
            }
            Command::Send(channel, payload) => {
                let due = self.send(now, program, channel, &payload)?;
                return Ok(Response::Accepted { due: self.steady.clock_at(due) });
            }
            Command::Receive(port) => return self.receive(program, port),
            Command::Datagram { to, port, payload } => {
                return self.datagram(now, to, port, &payload).map(|()| Response::Done);
            }
            Command::Renew => {
                self.manager.renew(now, program);
                Ok(Response::Done)
            }
        };
        self.settle(now);
        answer
    }

    /// [`Command::Send`] of bytes that stay with the caller: when the message is delivered at the
    /// latest.
    ///
    /// # Errors
    /// The message is refused at once.
    pub fn send_message(
        &mut self,
        now: Time,
        program: Program,
        channel: GlobalChannelId,
        payload: &[u8],
    ) -> Result<Time, Failure> {
        let now = self.time(now);
        let due = self.send(now, program, channel, payload)?;
        Ok(self.steady.clock_at(due))
    }

    /// [`Command::Datagram`] of bytes that stay with the caller.
    ///
    /// # Errors
    /// The datagram is refused at once.
    pub fn send_datagram(
        &mut self,
        now: Time,
        to: NodeId,
        port: Port,
        payload: &[u8],
    ) -> Result<(), Failure> {
        let now = self.time(now);
        self.datagram(now, to, port, payload)
    }

    /// The time of the node with its clock at `clock`.
    pub(crate) fn time(&mut self, clock: Time) -> Time {
        if self.broken(NodeFault::StepBelieved) {
            return clock;
        }
        let (now, set_back) = self.steady.at(clock);
        self.counters.set_back += u64::from(set_back);
        now
    }

    /// A channel is that of the program which opened it.
    pub(crate) fn check(&self, program: Program, channel: GlobalChannelId) -> Result<(), Failure> {
        let source = self.sources.get(&channel).map(|source| source.program);
        if source == Some(program) { Ok(()) } else { Err(Failure::NotYours) }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        let now = self.time(now);
        self.manager.handle_timeout(now);
        self.settle(now);
        self.run_due(now);
    }

    /// The next frame for the link to `to`, if the link is free and a frame may leave. The link is
    /// then busy until [`transmitted`](Self::transmitted).
    pub fn poll_frame(&mut self, now: Time, to: NodeId) -> Option<Vec<u8>> {
        let now = self.time(now);
        let whole = self.broken(NodeFault::RemainingNotReduced);
        let demoted = self.broken(NodeFault::SignallingBestEffort);
        loop {
            let link = self.links.get_mut(&to)?;
            let (tag, mut frame) = link.select(now)?;
            match frame.kind {
                Kind::Signalling => {
                    let messages = link.take_signals(now, self.config.signalling, demoted);
                    frame.bytes = one_packet(&self.config, SIGNALLING, Class::RealTime, &[&messages]);
                }
                Kind::Datagram => link.datagrams -= 1,
                Kind::Packet(key) => {
                    let Some(flow) = self.flows.get_mut(&key) else {
                        self.counters.drop(DropCause::Ended);
                        continue;
                    };
                    flow.waiting = flow.waiting.saturating_sub(1);
                    flow.left = flow.left.max(Some(tag.logical_arrival));
                }
            }
            let end = now.saturating_add(link.config.transmission(frame.bytes.len()));
            if is_promised(&tag) {
                let channel = if let Kind::Packet((channel, _)) = frame.kind { Some(channel) } else { None };
                let [logical_arrival, deadline, end] =
                    [tag.logical_arrival, tag.deadline, end].map(|time| self.steady.clock_at(time));
                self.departure = Some(Departure { channel, to, logical_arrival, deadline, end });
            }
            if let (Kind::Packet(_), true) = (frame.kind, is_promised(&tag)) {
                let from = if whole { tag.logical_arrival } else { end };
                let left = tag.deadline.saturating_since(from);
                let (age, since) = frame.age;
                let age = age.saturating_add(end.saturating_since(since)).saturating_add(link.config.way);
                let timing = Timing::Remaining(left);
                TransportHeader::set_time(&mut frame.bytes, timing, age).expect("a header of this node");
            }
            link.begin();
            self.counters.sent += 1;
            return Some(frame.bytes);
        }
    }

    /// The promised packet that the last frame of [`poll_frame`](Self::poll_frame) is, if it is one
    /// and was not taken before.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.departure.take()
    }

    /// The neighbours for datagrams, by destination.
    pub fn set_routes(&mut self, routes: BTreeMap<NodeId, NodeId>) {
        self.config.routes = routes;
    }

    /// Gives owners other quotas. Channels stay, also those beyond a new limit.
    pub fn set_quotas(&mut self, quotas: Quotas) {
        self.manager.set_quotas(quotas);
    }

    /// The queues of programs in which messages wait.
    pub fn ready(&self) -> impl Iterator<Item = (Port, Option<Program>)> {
        self.queues.keys().map(|port| (*port, self.listeners.get(port).copied()))
    }

    /// The link to `to` has transmitted its frame and is free.
    pub fn transmitted(&mut self, to: NodeId) {
        if let Some(link) = self.links.get_mut(&to) {
            link.transmitted();
        }
    }

    /// When the owner calls [`handle_timeout`](Self::handle_timeout) and polls the frames of free
    /// links next, by the clock of the node.
    pub fn poll_timeout(&mut self, now: Time) -> Option<Time> {
        let now = self.time(now);
        let other = Time::earlier(self.timers.next(), self.manager.poll_timeout());
        let links = self.links.values_mut().filter_map(|link| link.next_eligible(now)).min();
        Time::earlier(other, links).map(|time| self.steady.clock_at(time))
    }

    /// The next notification of a program.
    pub fn poll_answer(&mut self) -> Option<ProgramAnswer> {
        self.answers.pop_front()
    }

    /// The counters.
    pub fn counters(&self) -> &NodeCounters {
        &self.counters
    }

    /// The network manager.
    pub fn manager(&self) -> &Manager<Lines> {
        &self.manager
    }

    /// What is reserved in the tables, and the number of entries of the data path: flows, sources,
    /// receivers, retained reservations.
    pub fn holdings(&self) -> (<Lines as Resources>::Snapshot, [usize; 4]) {
        let entries = [self.flows.len(), self.sources.len(), self.receivers.len(), self.retained];
        (self.manager.resources().snapshot(), entries)
    }

    /// The part of the link to `to` that channels have reserved, in millionths.
    pub fn reserved(&self, to: NodeId) -> u32 {
        let Some(link) = self.links.get(&to) else { return 0 };
        let held = self.manager.held().filter(|held| held.place.to == Some(to));
        let share = |held: laxity_signalling::HeldContract| {
            let Ok(message) = u32::try_from(held.contract.max_message.get()) else { return 0 };
            let sizes = laxity_transport::FragmentSizes { message, packet: self.config.packet };
            let headers = sizes.packets() as usize * (HEADER_LEN + link.config.around as usize);
            let time = link.config.per_byte.time(Bytes::new(message as u64 + headers as u64));
            u128::from(time.as_ps()) * 1_000_000 / u128::from(held.contract.min_interval.as_ps().max(1))
        };
        let total: u128 = held.map(share).sum();
        u32::try_from(total).unwrap_or(u32::MAX)
    }

    /// The part of the processor that channels and signalling have reserved, in millionths.
    pub fn reserved_processor(&self) -> u32 {
        u32::try_from(self.manager.resources().processor()).unwrap_or(u32::MAX)
    }

    /// The stated time of the processor for a packet.
    pub fn packet_time(&self) -> Span {
        self.config.packet_time
    }

    /// Signalling messages that wait for the link to `to`.
    pub fn signalling_waiting(&self, to: NodeId) -> usize {
        self.links.get(&to).map_or(0, |link| link.signals.len())
    }

    /// Frames that wait for the link to `to`.
    pub fn waiting(&self, to: NodeId) -> usize {
        self.links.get(&to).map_or(0, Link::len)
    }

    /// After an input of the manager: the data path follows it, and its messages and events leave.
    fn settle(&mut self, now: Time) {
        while let Some(event) = self.manager.poll_event() {
            match event {
                // The receiver has ended meanwhile: the source finds the channel broken.
                SourceEvent::Opened { channel, port } if !self.listeners.contains_key(&port) => {
                    let _ = self.manager.leave(now, channel);
                }
                event => {
                    self.follow(now);
                    self.notify(event);
                }
            }
        }
        self.follow(now);
        while let Some((to, message)) = self.manager.poll_transmit() {
            let mut payload = [0; codec::LONGEST];
            match codec::encode(&message, &mut payload) {
                Ok(length) => {
                    let subject = Subject::Channel(message.channel, message.body.kind());
                    self.signal(now, to, (subject, &payload[..length]));
                }
                Err(_) => self.counters.drop(DropCause::Signalling),
            }
        }
    }

    pub(crate) fn signal(&mut self, now: Time, to: NodeId, message: (Subject, &[u8])) {
        let (demoted, interval) = (self.broken(NodeFault::SignallingBestEffort), self.config.signalling);
        let Some(link) = self.links.get_mut(&to) else { return self.counters.drop(DropCause::Link) };
        if !link.add_signal(now, (interval, demoted), SIGNALS, message) {
            self.counters.drop(DropCause::Signalling);
        }
    }

    fn notify(&mut self, event: SourceEvent) {
        let listener = |node: &Self, port: &Port| node.listeners.get(port).copied();
        let program = match event {
            SourceEvent::Established { channel, .. }
            | SourceEvent::Refused { channel, .. }
            | SourceEvent::Changed { channel, .. }
            | SourceEvent::ChangeRefused { channel, .. }
            | SourceEvent::Closed { channel, .. }
            | SourceEvent::Lost { channel, .. } => self.sources.get(&channel).map(|source| source.program),
            SourceEvent::Opened { channel, port } => {
                if let Some(receiver) = self.receivers.get_mut(&channel) {
                    receiver.port = port;
                }
                listener(self, &port)
            }
            // The receiver of the channel is gone with its last contract; the port is unknown then.
            SourceEvent::Ended { .. } => None,
        };
        match event {
            SourceEvent::Established { channel, .. } => self.promised(channel, Version::FIRST),
            SourceEvent::Changed { channel, version, .. } => self.promised(channel, version),
            SourceEvent::Refused { channel, .. }
            | SourceEvent::Closed { channel, .. }
            | SourceEvent::Lost { channel, .. } => {
                self.sources.remove(&channel);
            }
            _ => {}
        }
        self.answers.push_back(ProgramAnswer { program, event });
    }
}
