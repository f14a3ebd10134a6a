//! The thread that can block: names, routes, sessions and the requests of programs.
//!
//! One thread runs all of its tasks, so its state needs no locks. It passes requests to the engine
//! through a ring, and finds the outcome of each by its number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use laxity_client::bell::Bell;
use laxity_client::protocol::FromDaemon;
use laxity_client::socket::Peer;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_units::Time;
use rtrb::{Consumer, Producer};
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::crossing::Crossing;
use crate::directory::{Directory, NodeRecord};
use crate::exchange::{FromEngine, Outcome, RequestId, ToEngine};
use crate::names::Names;
use crate::node_file::ClockUse;
use crate::owners::Owners;
use crate::pulse::{Pulse, Reading};
use crate::seal::MATERIAL;
use crate::session::Said;
use crate::watch::{Rung, watch};

/// Requests that may wait for the engine.
pub(crate) const RING: usize = 4096;

/// Messages to the task of a program.
pub(crate) enum ToProgram {
    /// A datagram for the program.
    Say(FromDaemon),
    /// The connection ends.
    Hangup,
}

/// The state of control.
pub(crate) struct Control {
    name: String,
    id: NodeId,
    epoch: Epoch,
    packet: u32,
    clock: Clock,
    /// Bytes per second of the link to each neighbour.
    rates: BTreeMap<NodeId, u64>,
    /// Names that are not in records.
    names: Option<Rc<Names>>,
    /// The use of the clocks of neighbours.
    clocks: ClockUse,
    pub(crate) state: RefCell<State>,
}

pub(crate) struct State {
    pub(crate) directory: Directory,
    pub(crate) owners: Owners,
    engine: Producer<ToEngine>,
    engine_bell: Bell,
    next_request: RequestId,
    requests: BTreeMap<RequestId, oneshot::Sender<Outcome>>,
    pub(crate) programs: BTreeMap<Program, mpsc::UnboundedSender<ToProgram>>,
    next_program: u32,
    next_port: u32,
    sessions: BTreeMap<NodeId, (u64, mpsc::UnboundedSender<Said>)>,
    /// The clocks of the neighbours.
    pulses: BTreeMap<NodeId, Rc<RefCell<Pulse>>>,
    next_session: u64,
    /// The last complaint about each neighbour, so that it is logged once.
    complaints: BTreeMap<String, String>,
}

/// The description of a node for control.
pub(crate) struct Description {
    /// The name of the node.
    pub(crate) name: String,
    /// Its number.
    pub(crate) id: NodeId,
    /// Its life.
    pub(crate) epoch: Epoch,
    /// The payload of a packet.
    pub(crate) packet: u32,
    /// Bytes per second of the link to each neighbour.
    pub(crate) rates: BTreeMap<NodeId, u64>,
    /// The clock of the engine.
    pub(crate) clock: Clock,
    /// The owners of programs.
    pub(crate) owners: Owners,
    /// The store of names, if records do not have them.
    pub(crate) names: Option<Rc<Names>>,
    /// The use of the clocks of neighbours.
    pub(crate) clocks: ClockUse,
}

impl Control {
    /// Control of a node with the engine behind a ring.
    pub(crate) fn new(description: Description, engine: Producer<ToEngine>, engine_bell: Bell) -> Self {
        let Description { name, id, epoch, packet, rates, clock, owners, names, clocks } = description;
        let state = State {
            directory: Directory::new(id, epoch, &name).with_names(names.is_some()),
            owners,
            engine,
            engine_bell,
            next_request: 0,
            requests: BTreeMap::new(),
            programs: BTreeMap::new(),
            next_program: 0,
            next_port: 0,
            sessions: BTreeMap::new(),
            pulses: BTreeMap::new(),
            next_session: 0,
            complaints: BTreeMap::new(),
        };
        Self { name, id, epoch, packet, clock, rates, names, clocks, state: RefCell::new(state) }
    }

    /// The name of the node.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the node.
    pub(crate) fn id(&self) -> NodeId {
        self.id
    }

    /// The life of the node.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The receivers at the node, with their ports.
    pub(crate) fn own_names(&self) -> BTreeMap<String, u32> {
        self.state.borrow().directory.own_names()
    }

    /// The receivers at the node changed.
    pub(crate) fn names_changed(&self) {
        self.names.as_ref().inspect(|names| names.changed());
        self.spread(false);
    }

    /// Node and port of the receiver `name`: of this node, in the records of others, or in the store of
    /// names.
    ///
    /// # Errors
    /// A sentence: no node knows the name, or the store does not answer.
    pub(crate) async fn resolve(&self, name: &str) -> Result<(NodeId, Port), String> {
        let unknown = format!("no node knows a receiver `{name}`");
        let known = self.state.borrow().directory.resolve(name);
        let Some(names) = self.names.as_ref().filter(|_| known.is_none()) else {
            return known.ok_or(unknown);
        };
        let found = names.look_up(name).await.map_err(|why| format!("{unknown}; {why}"))?;
        self.state.borrow().directory.living(&found).ok_or(unknown)
    }

    /// The payload of a packet.
    pub(crate) fn packet(&self) -> u32 {
        self.packet
    }

    /// The time.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The number of the first keys of this life: another one than at the end of the life before.
    pub(crate) fn first_key(&self) -> u8 {
        (self.epoch.0 as u8).wrapping_mul(64)
    }

    /// Writes a sentence to the log.
    pub(crate) fn log(&self, sentence: impl AsRef<str>) {
        tracing::info!("{}: {}", self.name, sentence.as_ref());
    }

    /// Writes a warning to the log.
    pub(crate) fn warn(&self, sentence: impl AsRef<str>) {
        tracing::warn!("{}: {}", self.name, sentence.as_ref());
    }

    /// Logs what is wrong with a neighbour, once.
    pub(crate) fn complain(&self, peer: &str, sentence: String) {
        let mut state = self.state.borrow_mut();
        if state.complaints.get(peer) != Some(&sentence) {
            state.complaints.insert(peer.to_owned(), sentence.clone());
            drop(state);
            self.warn(sentence);
        }
    }

    /// Passes a request to the engine.
    pub(crate) fn tell(&self, request: ToEngine) {
        let mut state = self.state.borrow_mut();
        if state.engine.push(request).is_err() {
            drop(state);
            self.warn("the engine does not take requests");
            return;
        }
        state.engine_bell.ring();
    }

    /// Passes a request to the engine, and waits for its outcome.
    pub(crate) async fn ask(&self, request: impl FnOnce(RequestId) -> ToEngine) -> Outcome {
        let (send, outcome) = oneshot::channel();
        let number = {
            let mut state = self.state.borrow_mut();
            state.next_request += 1;
            let number = state.next_request;
            state.requests.insert(number, send);
            number
        };
        self.tell(request(number));
        outcome.await.unwrap_or(Outcome::Unknown)
    }

    /// A number for a program that connects.
    pub(crate) fn new_program(&self, tell: mpsc::UnboundedSender<ToProgram>) -> Program {
        let mut state = self.state.borrow_mut();
        let program = Program(state.next_program);
        state.next_program += 1;
        state.programs.insert(program, tell);
        program
    }

    /// The owner of a program that connects.
    pub(crate) fn owner(&self, peer: Peer) -> Owner {
        self.state.borrow().owners.owner(peer)
    }

    /// The owners of programs that connect from now on.
    pub(crate) fn set_owners(&self, owners: Owners) {
        self.state.borrow_mut().owners = owners;
    }

    /// A number for a receiver.
    pub(crate) fn new_port(&self) -> Port {
        let mut state = self.state.borrow_mut();
        state.next_port += 1;
        Port(state.next_port)
    }

    /// The keys of a session.
    pub(crate) fn set_keys(&self, peer: NodeId, number: u8, own: [u8; MATERIAL], theirs: [u8; MATERIAL]) {
        self.tell(ToEngine::Keys { peer, number, own, theirs });
    }

    /// A session with a neighbour begins; it replaces an older one. Answers its number.
    pub(crate) fn session_up(
        &self,
        peer: NodeId,
        tell: mpsc::UnboundedSender<Said>,
        pulse: Rc<RefCell<Pulse>>,
    ) -> u64 {
        let rate = self.rates.get(&peer).copied().unwrap_or(0);
        let session = {
            let mut state = self.state.borrow_mut();
            state.next_session += 1;
            let session = state.next_session;
            for record in state.directory.set_neighbour(self.clock.now(), peer, Some(rate)) {
                let _ = tell.send(Said::Record(record));
            }
            let known = state.sessions.insert(peer, (session, tell));
            state.pulses.insert(peer, pulse);
            let complaints = std::mem::take(&mut state.complaints);
            drop(state);
            if known.is_none() || !complaints.is_empty() {
                self.log(format!("session with node {} is up", peer.0));
            }
            session
        };
        self.spread(true);
        session
    }

    /// A session ends. If it was the last one with the neighbour, which it answers, the link is used no more.
    pub(crate) fn session_down(&self, peer: NodeId, session: u64) -> bool {
        {
            let mut state = self.state.borrow_mut();
            if state.sessions.get(&peer).is_none_or(|(number, _)| *number != session) {
                return false;
            }
            state.sessions.remove(&peer);
            state.pulses.remove(&peer);
            let now = self.clock.now();
            let _ = state.directory.set_neighbour(now, peer, None);
        }
        self.warn(format!("session with node {} is down", peer.0));
        self.spread(true);
        true
    }

    /// The clock of each neighbour beside the own one.
    pub(crate) fn clocks(&self) -> Vec<(NodeId, Reading)> {
        let now = self.now();
        let state = self.state.borrow();
        let read =
            |(peer, pulse): (&NodeId, &Rc<RefCell<Pulse>>)| Some((*peer, pulse.borrow_mut().read(now)?));
        state.pulses.iter().filter_map(read).collect()
    }

    /// The clock of a neighbour was compared, or is not known any more (`None`).
    pub(crate) fn compared(&self, peer: NodeId, pulse: Option<&RefCell<Pulse>>) {
        if self.clocks == ClockUse::Links {
            let now = self.now();
            let reading = pulse.and_then(|pulse| pulse.borrow_mut().read(now));
            let crossing = reading.and_then(|reading| Crossing::new(now, reading));
            self.tell(ToEngine::Clock(peer, crossing));
        }
    }

    /// When the clock of the node began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) fn began(&self) -> u64 {
        self.clock.monotonic(Time::ZERO)
    }

    /// Whether a session with the neighbour is up.
    pub(crate) fn is_up(&self, peer: NodeId) -> bool {
        self.state.borrow().sessions.contains_key(&peer)
    }

    /// A record from a neighbour.
    pub(crate) fn heard(&self, from: NodeId, record: NodeRecord) {
        let changed = self.state.borrow_mut().directory.handle(self.clock.now(), from, record);
        self.spread(changed);
    }

    /// Does what is due in the directory.
    pub(crate) fn tick(&self) {
        let changed = self.state.borrow_mut().directory.handle_timeout(self.clock.now());
        self.spread(changed);
    }

    /// Sends the records that are to be sent; after a change, the engine gets the routes.
    pub(crate) fn spread(&self, changed: bool) {
        let routes = {
            let mut state = self.state.borrow_mut();
            for (record, but) in state.directory.poll_transmit() {
                for (peer, (_, tell)) in &state.sessions {
                    if Some(*peer) != but {
                        let _ = tell.send(Said::Record(record.clone()));
                    }
                }
            }
            changed.then(|| state.directory.next_hops())
        };
        if let Some(routes) = routes {
            self.tell(ToEngine::Routes(routes));
        }
    }

    /// Notifies the programs that the daemon stops.
    pub(crate) fn stopping(&self) {
        for tell in self.state.borrow().programs.values() {
            let _ = tell.send(ToProgram::Say(FromDaemon::Stopping));
        }
    }

    /// Takes what the engine says, for ever.
    ///
    /// # Errors
    /// The bell cannot be watched.
    pub(crate) async fn hear(
        self: Rc<Self>,
        mut answers: Consumer<FromEngine>,
        bell: Bell,
    ) -> std::io::Result<()> {
        let bell = watch(Rung(bell))?;
        loop {
            let mut ready = bell.readable().await?;
            bell.get_ref().0.silence();
            ready.clear_ready();
            while let Ok(answer) = answers.pop() {
                self.take(answer);
            }
        }
    }

    fn take(&self, answer: FromEngine) {
        let say = |program: Program, datagram| {
            let state = self.state.borrow();
            if let Some(tell) = state.programs.get(&program) {
                let _ = tell.send(datagram);
            }
        };
        let shown = |channel: GlobalChannelId| crate::exchange::name(channel);
        match answer {
            FromEngine::Outcome(number, outcome) => {
                let request = self.state.borrow_mut().requests.remove(&number);
                if let Some(request) = request {
                    let _ = request.send(outcome);
                }
            }
            FromEngine::Lost(program, slot) => say(program, ToProgram::Say(FromDaemon::Lost(slot))),
            FromEngine::Changed(program, slot, channel, contract) => {
                let contract = crate::serve::shown(&contract);
                say(program, ToProgram::Say(FromDaemon::Changed(slot, shown(channel), contract)));
            }
            FromEngine::Connected(program, port, channel) => {
                say(program, ToProgram::Say(FromDaemon::Connected(port.0, shown(channel))));
            }
            FromEngine::Ended(program, channel) => {
                say(program, ToProgram::Say(FromDaemon::Ended(shown(channel))));
            }
            FromEngine::Hostile(program) => {
                self.warn(format!("program {} does not follow the protocol", program.0));
                say(program, ToProgram::Hangup);
            }
        }
    }
}
