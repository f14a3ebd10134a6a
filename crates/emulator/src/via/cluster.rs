//! Adapters' process: firmware, wires, and the memory of programs.
//!
//! [`Via`], the state machine that a simulation runs, decides when each step happens. This module
//! executes it: a doorbell is read from shared memory, data is copied when HDMA has moved it, a
//! completion is written when its status is up. A program therefore sees each result at the time at
//! which an adapter with those stage times would show it.
//!
//! **Errors affect only their own process.** An invalid descriptor is detected here and handled as
//! an empty message up to the edge of its own adapter ([`flaw`](super::interface::Outgoing::flaw)):
//! it takes its turn and time only at that adapter. Doorbells are consumed round-robin, a limited
//! number of each process, and no process has more work in progress than its queues hold.
//!
//! **Notifications across processors are batched.** Each change of a cache line that the other side
//! polls costs more than a step of the firmware. The clock is therefore read once for all doorbells
//! consumed together, and a program is notified of all completed descriptors at the end of the call
//! in which they completed.
//!
//! **Structure.** This file has the state and the common consequences: a descriptor completes, a
//! connection breaks, finished objects are removed. Each kind of event has a file, which calls this
//! one and those behind it:
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

use laxity_engine::{Asked, Calendar, EngineOutcome, TickEpoch};
use laxity_model::via::{ViMessage, Via};
use laxity_units::Time;
use laxity_vi::provider::{Answer, CompletionEntries, Which};
use laxity_vi::{Address, Completion, State, Status, ViFault, ViRefusal};
use laxity_world::Observed;
use laxity_world::results::RealTime;

use super::bells::{AnyBell, Bells, Rung};
use super::desk::Desk;
use super::inputs::Inputs;
use super::interface::{Interface, InterfaceTally};
use super::load::Load;
use super::regions::Regions;
use super::turns::Shares;
use super::{RecordedOutput, Served, Setup};

/// Buffers that are kept for later messages.
const POOL: usize = 256;

/// Result of a request.
type Decided = Result<Answer, ViRefusal>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A doorbell that was read while another event was due first.
    Rung(Rung),
    /// A message reaches an adapter.
    Reach { node: u32, message: ViMessage },
    /// The playout delay of an early message is over.
    Played { vi: u32, number: u64 },
    /// An order is pending at the desk.
    Asked,
    /// A timer of an adapter; outdated if the adapter has set another since.
    Adapter { node: u32, asked: u32 },
}

#[derive(Debug)]
struct Process {
    node: u32,
    regions: Regions,
    /// Its protection tags, with unique numbers.
    tags: Vec<u32>,
    queues: Vec<Option<CompletionEntries>>,
    vis: u32,
}

#[derive(Debug, Clone, Copy)]
struct Call {
    number: u64,
    vi: u32,
    from: Address,
    to: Address,
    /// Process that was notified of it.
    told: Option<u32>,
}

/// Violations that a correct program does not commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Violations {
    /// Doorbells for a virtual interface that does not exist or belongs to another process.
    pub foreign_doorbells: u64,
    /// Words that are no doorbell, and invalid counts of doorbells.
    pub garbled_doorbells: u64,
    /// Virtual interfaces broken for posting more descriptors than a queue holds.
    pub overruns: u64,
    /// RDMA to memory that is not registered for it.
    pub rdma: u64,
}

/// Adapters, and the processes that have opened them.
pub(super) struct Cluster {
    setup: Setup,
    epoch: Option<TickEpoch>,
    /// Source of inputs, and their log.
    pub(super) inputs: Inputs,
    /// Number of events so far.
    events: u64,
    /// Digest of outputs and their times, if they are to be compared with another run.
    digest: u64,
    adapters: Vec<Via>,
    asked: Vec<Asked>,
    processes: Vec<Option<Process>>,
    bells: Rc<Bells>,
    desk: Rc<Desk>,
    /// An order is pending, and earlier doorbells are not all consumed.
    asks: bool,
    interfaces: Vec<Option<Interface>>,
    /// Doorbells just read.
    heard: Vec<Rung>,
    /// Adapters with outputs that were not executed yet.
    restless: Vec<usize>,
    /// Virtual interfaces with completions of which their programs were not notified.
    untold: Vec<u32>,
    /// Doorbells queued for the firmware.
    shares: Shares,
    /// Per adapter: virtual interface of each endpoint of its firmware.
    endpoints: Vec<Vec<Option<u32>>>,
    calls: Vec<Call>,
    calls_made: u64,
    pool: Vec<Vec<u8>>,
    recorded: Vec<RecordedOutput>,
    /// Observed channels.
    pub(super) channels: Vec<Observed>,
    pub(super) violations: Violations,
    /// Counts of messages at destroyed virtual interfaces.
    past: InterfaceTally,
    pub(super) over: bool,
}

impl Cluster {
    /// Adapters without processes. Inputs happen at the time of `epoch` at which they were read;
    /// without an epoch, when they are polled.
    pub(super) fn new(setup: Setup, epoch: Option<TickEpoch>, desk: Desk) -> Self {
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
            pool: Vec::new(),
            recorded: Vec::new(),
            channels: Vec::new(),
            violations: Violations::default(),
            past: InterfaceTally::default(),
            over: false,
        }
    }

    pub(super) fn bell(&self) -> AnyBell {
        AnyBell { bells: self.bells.clone(), desk: self.desk.clone() }
    }

    /// Counts of messages at all virtual interfaces.
    pub(super) fn tally(&self) -> InterfaceTally {
        let mut tally = self.past;
        self.interfaces.iter().flatten().for_each(|interface| tally.add(interface.tally));
        tally
    }

    /// Results, without the timeliness.
    pub(super) fn into_served(self, outcome: &EngineOutcome) -> Served {
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

    /// Virtual interface that is not destroyed; of this process, if given.
    fn own(&mut self, process: Option<u32>, vi: u32) -> Result<&mut Interface, ViRefusal> {
        let right =
            |own: &&mut Interface| own.queues.is_some() && process.is_none_or(|process| own.owner == process);
        self.interface(vi).filter(right).ok_or(ViRefusal::InvalidParameter)
    }

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

    /// Marks an adapter that may have outputs. Successive marks are mostly of one adapter, hence
    /// the check of the last.
    fn stir(&mut self, node: usize) {
        if self.restless.last() != Some(&node) {
            self.restless.push(node);
        }
    }

    fn complete(&mut self, vi: u32, which: Which, completion: &Completion) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        if interface.has_told() {
            self.untold.push(vi);
        }
        interface.complete(which, completion);
    }

    /// Notifies programs of all completions: at the virtual interface, then at the completion
    /// queue.
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
                    // A full completion queue loses entries, which affects only its own program.
                    let _all = queue.put(vi, which, count);
                }
            }
        }
    }

    /// Breaks a virtual interface, and its connection. The peer learns of it after the messages
    /// sent before, as over a wire.
    fn break_off(&mut self, now: Time, vi: u32, fault: ViFault, calendar: &mut Calendar<Event>) {
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

    /// Ends a virtual interface's part of a connection, which is broken by a fault or idle again:
    /// all posted descriptors complete as flushed.
    fn flush(&mut self, now: Time, vi: u32, fault: Option<ViFault>) {
        let Some(interface) = self.interface(vi) else { return };
        let [sends, receives] = interface.flush();
        // Published before the flushes, so that a program that sees a flush can see the cause.
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

    /// Removes finished messages; ends a connection without a peer if its last message has
    /// arrived; removes a virtual interface without remaining work.
    #[inline]
    fn sweep(&mut self, now: Time, vi: u32) {
        // Fast path of all messages, which rarely have work here.
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
        // Usually a finished message is all.
        if self.interface(vi).is_none_or(|own| !own.is_ending()) {
            return;
        }
        if self.interface(vi).is_some_and(|own| own.left && own.arrivals.len() == 0) {
            self.flush(now, vi, Some(ViFault::ConnectionLost));
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

/// Completion of a flushed descriptor of `which`.
fn flushed(which: Which) -> Completion {
    let kind = if which == Which::Receive { Status::RECEIVE } else { Status::default() };
    Completion { status: Status::DONE.and(kind).and(Status::FLUSHED), length: 0, immediate: None }
}
