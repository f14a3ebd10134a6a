//! The adapters' process: firmware, wires, and the memory of programs.
//!
//! When anything happens is what [`Via`] says, the state machine that a simulation runs. Here it is carried out: a doorbell is heard in
//! shared memory, data is copied when HDMA has moved it, a completion is written when its status is up. So what a program sees, it
//! sees when an adapter of those stage times would show it.
//!
//! **Nobody pays for another's mistakes.** What is wrong with a descriptor is found here and goes the way of an empty message to the
//! edge of its own adapter ([`flaw`](super::interface::Outgoing::flaw)): it takes time of the adapter that it was rung at, in its turn, and that is all.
//! Doorbells are heard by turns, so many of each process, and no process has more under way than its queues hold.
//!
//! **What is told across processors is told in batches.** A line of memory that the other side looks at costs more than a step of the
//! firmware each time that it changes. So the clock is read once for all doorbells that are heard together, and a program is told of all
//! its descriptors that are complete when the call is over in which they completed.
//!
//! **What is decided where.** Here is the state, and what all else comes to: a descriptor completes, a connection breaks, what is over is swept out.
//! What may happen is a file each, which calls this one and those behind it:
//!
//! ```text
//! hearing ──▶ requests ──▶ connections ──▶ outputs ──▶ messages ──▶ doorbells
//! ```

mod connections;
mod doorbells;
mod hearing;
mod messages;
mod outputs;
mod requests;

use std::rc::Rc;

use laxity_engine::{Asked, Calendar, Epoch, Outcome};
use laxity_model::via::{Message, Via};
use laxity_units::Time;
use laxity_vi::provider::{Answer, CompletionEntries, Which};
use laxity_vi::{Address, Completion, Fault, Refusal, State, Status};
use laxity_world::Observed;
use laxity_world::results::RealTime;

use super::bells::{AnyBell, Bells, Rung};
use super::desk::Desk;
use super::inputs::Inputs;
use super::interface::{Interface, Tally};
use super::load::Load;
use super::regions::Regions;
use super::turns::Shares;
use super::{Recorded, Served, Setup};

/// Buffers that are kept for the next message.
const POOL: usize = 256;

/// What a request comes to.
type Decided = Result<Answer, Refusal>;

/// What can happen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A doorbell that was heard when something else was due first.
    Rung(Rung),
    /// A message reaches an adapter.
    Reach { node: u32, message: Message },
    /// A message that came before its time may be seen now.
    Played { vi: u32, number: u64 },
    /// Something is asked for at the desk.
    Asked,
    /// An adapter asked to be called; stale if it has asked anew since.
    Adapter { node: u32, asked: u32 },
}

/// A process that has opened an adapter.
#[derive(Debug)]
struct Process {
    node: u32,
    regions: Regions,
    /// Protection tags that it has, each a number of its own.
    tags: Vec<u32>,
    queues: Vec<Option<CompletionEntries>>,
    vis: u32,
}

/// Somebody who wants to be connected.
#[derive(Debug, Clone, Copy)]
struct Call {
    number: u64,
    vi: u32,
    from: Address,
    to: Address,
    /// Who was told of it.
    told: Option<u32>,
}

/// Somebody who wants to be connected with who wants the same of him.
#[derive(Debug, Clone, Copy)]
struct Peer {
    vi: u32,
    from: Address,
    to: Address,
}

/// What went wrong that a well-behaved program does not do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Violations {
    /// Doorbells for a virtual interface that is not the process's own, or is none.
    pub foreign_doorbells: u64,
    /// Words that are no doorbell, and counts of doorbells that cannot be.
    pub garbled_doorbells: u64,
    /// Virtual interfaces broken for more descriptors than a queue has.
    pub overruns: u64,
    /// RDMA to memory that is not registered for it.
    pub rdma: u64,
}

/// The adapters, and whoever has opened them.
pub(super) struct Cluster {
    setup: Setup,
    epoch: Option<Epoch>,
    /// Where what comes from outside is written down, or found.
    pub(super) inputs: Inputs,
    /// Events so far.
    events: u64,
    /// Of what adapters did and when, if that is to be compared with another run.
    digest: u64,
    adapters: Vec<Via>,
    asked: Vec<Asked>,
    processes: Vec<Option<Process>>,
    bells: Rc<Bells>,
    desk: Rc<Desk>,
    /// Something was asked for, and not all is heard that was rung before.
    asks: bool,
    interfaces: Vec<Option<Interface>>,
    /// Doorbells that were just heard.
    heard: Vec<Rung>,
    /// Adapters that have done something that was not carried out.
    restless: Vec<usize>,
    /// Virtual interfaces whose programs were not told of all that is complete.
    untold: Vec<u32>,
    /// The doorbells that the firmware is told of in turn.
    shares: Shares,
    /// Per adapter, whose an endpoint of its firmware is.
    endpoints: Vec<Vec<Option<u32>>>,
    calls: Vec<Call>,
    calls_made: u64,
    peers: Vec<Peer>,
    pool: Vec<Vec<u8>>,
    recorded: Vec<Recorded>,
    /// What comes of the channels that programs are.
    pub(super) channels: Vec<Observed>,
    pub(super) violations: Violations,
    /// What became of messages at virtual interfaces that are gone.
    past: Tally,
    pub(super) over: bool,
}

impl Cluster {
    /// Adapters that nobody has opened. Inputs happen at the time of `epoch` at which they were read; without one, when they are polled.
    pub(super) fn new(setup: Setup, epoch: Option<Epoch>, desk: Desk) -> Self {
        let mut adapters: Vec<Via> = (0..setup.nodes).map(|_| Via::new(setup.adapter, [])).collect();
        if setup.recorded {
            adapters.iter_mut().for_each(Via::watch);
        }
        Self {
            setup,
            epoch,
            inputs: Inputs::default(),
            events: 0,
            digest: 0,
            asked: vec![Asked::default(); adapters.len()],
            endpoints: vec![Vec::new(); adapters.len()],
            adapters,
            processes: Vec::new(),
            bells: Rc::default(),
            desk: Rc::new(desk),
            asks: false,
            interfaces: Vec::new(),
            heard: Vec::new(),
            restless: Vec::new(),
            untold: Vec::new(),
            shares: Shares::default(),
            calls: Vec::new(),
            calls_made: 0,
            peers: Vec::new(),
            pool: Vec::new(),
            recorded: Vec::new(),
            channels: Vec::new(),
            violations: Violations::default(),
            past: Tally::default(),
            over: false,
        }
    }

    pub(super) fn bell(&self) -> AnyBell {
        AnyBell { bells: self.bells.clone(), desk: self.desk.clone() }
    }

    /// What became of messages at all virtual interfaces.
    pub(super) fn tally(&self) -> Tally {
        let mut tally = self.past;
        self.interfaces.iter().flatten().for_each(|interface| tally.add(interface.tally));
        tally
    }

    /// What came of it, but for how well time was kept.
    pub(super) fn into_served(self, outcome: &Outcome) -> Served {
        Served {
            kept: RealTime::default(),
            adapters: self.adapters.iter().map(Via::report).collect(),
            tally: self.tally(),
            violations: self.violations,
            end: outcome.now,
            events: outcome.events,
            inputs: outcome.wakes,
            departures: self.digest,
            refused: Vec::new(),
            channels: self.channels,
            recorded: self.recorded,
        }
    }

    fn interface(&mut self, vi: u32) -> Option<&mut Interface> {
        self.interfaces.get_mut(vi as usize)?.as_mut()
    }

    /// A virtual interface that is not destroyed; of this process, if one is named.
    fn own(&mut self, process: Option<u32>, vi: u32) -> Result<&mut Interface, Refusal> {
        let right =
            |own: &&mut Interface| own.queues.is_some() && process.is_none_or(|process| own.owner == process);
        self.interface(vi).filter(right).ok_or(Refusal::InvalidParameter)
    }

    /// What all that is reserved asks of an adapter.
    fn load(&self, node: u32) -> Load {
        let mut load = Load::default();
        for own in self.interfaces.iter().flatten().filter(|own| own.queues.is_some()) {
            if own.node == node {
                load = load.and(Load::of(&self.setup.adapter, own.bandwidth, true));
            }
            let there = own.peer.and_then(|peer| self.interfaces[peer as usize].as_ref());
            if there.is_some_and(|there| there.node == node) {
                load = load.and(Load::of(&self.setup.adapter, own.bandwidth, false));
            }
        }
        load
    }

    /// A buffer for a message.
    fn buffer(&mut self) -> Vec<u8> {
        let mut data = self.pool.pop().unwrap_or_default();
        data.clear();
        data
    }

    fn give_back(&mut self, data: Vec<u8>) {
        if data.capacity() > 0 && self.pool.len() < POOL {
            self.pool.push(data);
        }
    }

    /// An adapter may have done something. Mostly the same one as before: once is enough.
    fn stir(&mut self, node: usize) {
        if self.restless.last() != Some(&node) {
            self.restless.push(node);
        }
    }

    /// A descriptor is complete.
    fn complete(&mut self, vi: u32, which: Which, completion: &Completion) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        if interface.has_told() {
            self.untold.push(vi);
        }
        interface.complete(which, completion);
    }

    /// Tells programs of all that is complete: at the virtual interface, and then at the completion queue.
    fn tell_programs(&mut self) {
        while let Some(vi) = self.untold.pop() {
            let Some(interface) = self.interfaces[vi as usize].as_mut() else { continue };
            for which in [Which::Send, Which::Receive] {
                let count = interface.tell(which);
                if count > 0
                    && let Some(queue) = interface.announced[which as usize]
                    && let Some(process) = self.processes[interface.owner as usize].as_mut()
                    && let Some(Some(queue)) = process.queues.get_mut(queue as usize)
                {
                    // A queue that is full loses entries: it is its program's own.
                    let _all = queue.put(vi, which, count);
                }
            }
        }
    }

    /// Breaks a virtual interface, and with it the connection. The other side hears of it behind what was sent to it before, as
    /// from a wire.
    fn break_off(&mut self, now: Time, vi: u32, fault: Fault, calendar: &mut Calendar<Event>) {
        let Some(own) = self.interface(vi) else { return };
        let (node, peer) = (own.node as usize, own.peer);
        self.flush(now, vi, Some(fault));
        self.ask(now, node, calendar);
        if let Some(there) = peer.and_then(|peer| self.interface(peer)) {
            (there.peer, there.left) = (None, true);
            let node = there.node as usize;
            peer.inspect(|peer| self.sweep(now, *peer));
            self.ask(now, node, calendar);
        }
    }

    fn ask(&mut self, now: Time, node: usize, calendar: &mut Calendar<Event>) {
        if let Some((at, asked)) = self.asked[node].change(Some(now)) {
            calendar.schedule(at, Event::Adapter { node: node as u32, asked });
        }
    }

    /// Ends what a virtual interface has of a connection, which is broken by a fault or idle again: all that is posted completes as flushed.
    fn flush(&mut self, now: Time, vi: u32, fault: Option<Fault>) {
        let Some(interface) = self.interface(vi) else { return };
        let [sends, receives] = interface.flush();
        // Whoever sees that something is flushed can see why.
        match fault {
            Some(fault) => interface.show_fault(fault),
            None => interface.show(State::Idle),
        }
        let (node, endpoint) = (interface.node as usize, interface.endpoint);
        for (which, count) in [(Which::Send, sends), (Which::Receive, receives)] {
            for _ in 0..count {
                self.complete(vi, which, &flushed(which));
            }
        }
        self.adapters[node].flush(now, endpoint);
    }

    /// Drops messages that are over; ends a connection whose last has come and whose other side has gone; and forgets a virtual
    /// interface of which nothing is left.
    #[inline]
    fn sweep(&mut self, now: Time, vi: u32) {
        // What all messages come by, and nearly none has anything to do at.
        if self.interface(vi).is_some_and(|own| own.is_to_be_swept()) {
            self.sweep_out(now, vi);
        }
    }

    fn sweep_out(&mut self, now: Time, vi: u32) {
        while let Some(arrival) =
            self.interface(vi).and_then(|own| own.arrivals.pop_if(|arrival| arrival.over))
        {
            self.give_back(arrival.data);
        }
        // A message that is over is all there is, nearly always.
        if self.interface(vi).is_none_or(|own| !own.is_ending()) {
            return;
        }
        if self.interface(vi).is_some_and(|own| own.left && own.arrivals.len() == 0) {
            self.flush(now, vi, Some(Fault::ConnectionLost));
        }
        if let Some(gone) = self.interfaces[vi as usize].take_if(|own| own.is_gone()) {
            self.past.add(gone.tally);
            self.shares.leave(gone.share);
            if let Some(Some(owner)) = self.processes.get_mut(gone.owner as usize) {
                owner.vis = owner.vis.saturating_sub(1);
            }
            self.endpoints[gone.node as usize][gone.endpoint as usize] = None;
        }
    }
}

/// What a descriptor of `which` completes with that comes to nothing.
fn flushed(which: Which) -> Completion {
    let kind = if which == Which::Receive { Status::RECEIVE } else { Status::default() };
    Completion { status: Status::DONE.and(kind).and(Status::FLUSHED), length: 0, immediate: None }
}
