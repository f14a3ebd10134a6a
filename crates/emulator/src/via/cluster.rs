//! The adapters' process: firmware, wires, and the memory of programs.
//!
//! When anything happens is what [`Via`] says, the state machine that a simulation runs. Here it is carried out: a doorbell is heard in
//! shared memory, data is copied when HDMA has moved it, a completion is written when its status is up. So what a program sees, it
//! sees when an adapter of those stage times would show it.
//!
//! **Nobody pays for another's mistakes.** What is wrong with a descriptor is found here and goes the way of an empty message to the
//! edge of its own adapter ([`Outgoing::flaw`]): it takes time of the adapter that it was rung at, in its turn, and that is all.
//! Doorbells are heard by turns, so many of each process, and no process has more under way than its queues hold.
//!
//! **What is told across processors is told in batches.** A line of memory that the other side looks at costs more than a step of the
//! firmware each time that it changes. So the clock is read once for all doorbells that are heard together, and a program is told of all
//! its descriptors that are complete when the call is over in which they completed.

use std::rc::Rc;

use laxity_engine::{Asked, Calendar, Epoch};
use laxity_model::via::{Direction, Doorbell, Message, Via, ViaOutput};
use laxity_units::{Bytes, Time};
use laxity_vi::provider::{self, Posted, Which};
use laxity_vi::{Completion, DEPTH, Fault, Operation, Reliability, State, Status};
use laxity_world::Observed;

use super::bells::{AnyBell, Bells};
use super::connections::{Call, Peer};
use super::hearing::digest;
use super::inputs::Inputs;
use super::interface::{Interface, Outgoing, Tally};
use super::regions::Regions;
use super::requests::Desk;
use super::turns::{Shares, Turns};
use super::{Recorded, Setup};

/// Bytes of the request of an RDMA read.
const READ_REQUEST: Bytes = Bytes::new(32);
/// Records of what adapters did that are kept.
const MOST_RECORDS: usize = 1 << 20;

/// A process rang: the virtual interface that it named, the queue, how many descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rung {
    pub(super) process: u32,
    pub(super) vi: u32,
    pub(super) which: Which,
    pub(super) count: u16,
}

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
pub(super) struct Process {
    pub(super) node: u32,
    pub(super) regions: Regions,
    /// Protection tags that it has, each a number of its own.
    pub(super) tags: Vec<u32>,
    pub(super) queues: Vec<Option<provider::CompletionEntries>>,
    pub(super) vis: u32,
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
    pub(super) setup: Setup,
    pub(super) epoch: Option<Epoch>,
    /// Where what comes from outside is written down, or found.
    pub(super) inputs: Inputs,
    /// Events so far.
    pub(super) events: u64,
    /// Of what adapters did and when, if that is to be compared with another run.
    pub(super) digest: u64,
    pub(super) adapters: Vec<Via>,
    pub(super) asked: Vec<Asked>,
    pub(super) processes: Vec<Option<Process>>,
    pub(super) bells: Rc<Bells>,
    pub(super) desk: Rc<Desk>,
    /// Something was asked for, and not all is heard that was rung before.
    pub(super) asks: bool,
    pub(super) interfaces: Vec<Option<Interface>>,
    /// Doorbells that were just heard.
    pub(super) heard: Vec<Rung>,
    /// Adapters that have done something that was not carried out.
    pub(super) restless: Vec<usize>,
    /// Virtual interfaces whose programs were not told of all that is complete.
    untold: Vec<u32>,
    /// The doorbells that the firmware is told of in turn.
    pub(super) shares: Shares,
    /// Per adapter, whose an endpoint of its firmware is.
    pub(super) endpoints: Vec<Vec<Option<u32>>>,
    pub(super) calls: Vec<Call>,
    pub(super) calls_made: u64,
    pub(super) peers: Vec<Peer>,
    pub(super) pool: Vec<Vec<u8>>,
    pub(super) recorded: Vec<Recorded>,
    /// What comes of the channels that programs are.
    pub(super) channels: Vec<Observed>,
    pub(super) violations: Violations,
    /// What became of messages at virtual interfaces that are gone.
    pub(super) past: Tally,
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

    pub(super) fn interface(&mut self, vi: u32) -> Option<&mut Interface> {
        self.interfaces.get_mut(vi as usize)?.as_mut()
    }

    pub(super) fn rung(
        &mut self,
        now: Time,
        Rung { process, vi, which, count }: Rung,
        calendar: &mut Calendar<Event>,
    ) {
        let own = |interface: &&mut Interface| interface.owner == process && interface.queues.is_some();
        let Some(interface) = self.interfaces.get_mut(vi as usize).and_then(Option::as_mut).filter(own)
        else {
            self.violations.foreign_doorbells += 1;
            return;
        };
        let node = interface.node as usize;
        let most = if u32::from(count) <= DEPTH { count } else { 0 };
        let heard = (0..most).all(|_| self.post(now, vi, which));
        if most < count || !heard {
            self.violations.overruns += 1;
            self.break_off(now, vi, Fault::Overrun, calendar);
        }
        self.stir(node);
    }

    /// A descriptor was posted; false if there was no room for one.
    fn post(&mut self, now: Time, vi: u32, which: Which) -> bool {
        let Self { interfaces, inputs, .. } = self;
        let Some(interface) = interfaces.get_mut(vi as usize).and_then(Option::as_mut) else { return false };
        let Some(number) = interface.hear(which) else { return false };
        if interface.state == State::Error || (which == Which::Send && interface.state != State::Connected) {
            // It takes no time of the firmware, and none of what is at work there.
            self.complete(vi, which, &flushed(which));
            return true;
        }
        let queues = interface.queues.as_ref();
        let found =
            queues.map_or(Err(Status::FLUSHED), |queues| inputs.descriptor(|| queues.read(which, number)));
        // What is longer than an adapter's longest holds its units for longer than whoever is promised something waits.
        let longest = self.setup.longest;
        let is_longer = |posted: &Posted| which == Which::Send && posted.len() > longest;
        let found = if found.as_ref().is_ok_and(is_longer) { Err(Status::LENGTH_ERROR) } else { found };
        match which {
            Which::Send => {
                let (posted, flaw) = match found {
                    Ok(posted) => (posted, None),
                    Err(flaw) => (Posted::EMPTY, Some(flaw)),
                };
                self.ring(now, vi, Outgoing::new(posted, flaw));
            }
            Which::Receive => {
                let (doorbell, fresh) = (Doorbell::Receive(interface.endpoint), interface.is_done_with());
                interface.receives.push_back(found);
                interface.unposted += 1;
                self.announce(now, vi, (which, doorbell), fresh);
            }
        }
        true
    }

    /// The firmware is told of something to send.
    pub(super) fn ring(&mut self, now: Time, vi: u32, mut outgoing: Outgoing) {
        let Self { interfaces, channels, .. } = self;
        let Some(interface) = interfaces.get_mut(vi as usize).and_then(Option::as_mut) else { return };
        let reads = outgoing.answers.is_none() && matches!(outgoing.posted.operation, Operation::RdmaRead(_));
        let size = match () {
            () if outgoing.flaw.is_some() => Bytes::ZERO,
            () if reads => READ_REQUEST,
            () => Bytes::new(outgoing.posted.len()),
        };
        if !reads && outgoing.answers.is_none() {
            outgoing.rung_at = Some(now);
            interface.channel.inspect(|channel| channels[*channel as usize].send(now, size));
        }
        let (vi_there, number) = (interface.endpoint, interface.outgoing.next());
        let message = Message { vi: vi_there, number, size, directed: false, in_turn: false };
        let doorbell = match outgoing.answers {
            Some(_) => Doorbell::Answer(message),
            None => Doorbell::Send(message),
        };
        let fresh = interface.is_done_with();
        interface.outgoing.push(outgoing);
        self.announce(now, vi, (Which::Send, doorbell), fresh);
    }

    /// The firmware is told of a doorbell, at once or in its turn. With a `fresh` one it has no other of `vi`, whose bandwidth may have
    /// changed since it had.
    fn announce(&mut self, now: Time, vi: u32, (which, doorbell): (Which, Doorbell), fresh: bool) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        // Who is done at once has nothing that others would have to wait for.
        let adapter = &mut self.adapters[interface.node as usize];
        if adapter.is_at_once() {
            return adapter.ring(now, doorbell);
        }
        if fresh && !self.shares.is(interface.share, interface.counted_in()) {
            self.shares.leave(interface.share);
            interface.share = self.shares.enter(interface.counted_in());
        }
        let told = self.shares.at(interface.share).and_then(|turns| turns.ring(vi, which, doorbell));
        if let Some(told) = told {
            adapter.ring(now, told);
        }
    }

    /// The firmware is done with a doorbell of `vi`, and is told of the next that shares with it.
    fn rung_out(&mut self, now: Time, vi: u32) {
        let Some(interface) = self.interfaces[vi as usize].as_ref() else { return };
        let adapter = &mut self.adapters[interface.node as usize];
        if adapter.is_at_once() {
            return;
        }
        if let Some(next) = self.shares.at(interface.share).and_then(Turns::done) {
            adapter.ring(now, next);
        }
    }

    /// Carries out what an adapter did, and what others do for that.
    pub(super) fn settle(&mut self, now: Time, node: usize, calendar: &mut Calendar<Event>) {
        self.stir(node);
        self.calm(now, calendar);
    }

    /// An adapter may have done something. Mostly the same one as before: once is enough.
    pub(super) fn stir(&mut self, node: usize) {
        if self.restless.last() != Some(&node) {
            self.restless.push(node);
        }
    }

    /// Carries out what adapters did, and asks when they want to be called next.
    pub(super) fn calm(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        while let Some(node) = self.restless.pop() {
            while let Some((at, output)) = self.adapters[node].next_output() {
                if self.inputs.are_kept() {
                    self.digest = digest(self.digest, node, at, output);
                }
                self.carry_out(at.max(now), node, output, calendar);
            }
            if let Some((at, asked)) = self.asked[node].change(self.adapters[node].next_deadline()) {
                calendar.schedule(at.max(now), Event::Adapter { node: node as u32, asked });
            }
        }
    }

    /// A message is on the wire to an adapter.
    pub(super) fn carry(&mut self, now: Time, node: u32, message: Message, calendar: &mut Calendar<Event>) {
        if self.setup.latency.is_zero() {
            self.adapters[node as usize].reach(now, message);
            self.stir(node as usize);
        } else {
            calendar.schedule(now.saturating_add(self.setup.latency), Event::Reach { node, message });
        }
    }

    fn carry_out(&mut self, now: Time, node: usize, output: ViaOutput, calendar: &mut Calendar<Event>) {
        let whose = |endpoint: u32| self.endpoints[node][endpoint as usize];
        match output {
            ViaOutput::Did(..) | ViaOutput::Worked(..) => {
                if self.recorded.len() < MOST_RECORDS {
                    self.recorded.push(Recorded { node: node as u32, at: now, output });
                }
            }
            ViaOutput::Moved(Direction::Send, message) => {
                whose(message.vi).inspect(|vi| self.fetch(*vi, message.number));
            }
            ViaOutput::Departs(message) => {
                whose(message.vi).inspect(|vi| self.depart(now, *vi, message, calendar));
            }
            ViaOutput::Sent(message) => {
                let Some(vi) = whose(message.vi) else { return };
                self.rung_out(now, vi);
                let Self { interfaces, channels, .. } = self;
                let own = interfaces[vi as usize].as_mut();
                if let Some((channel, outgoing)) =
                    own.and_then(|own| Some((own.channel, own.outgoing.item(message.number)?)))
                {
                    outgoing.sent = true;
                    if let Some((channel, rung_at)) = channel.zip(outgoing.rung_at)
                        && outgoing.flaw.is_none()
                    {
                        channels[channel as usize].complete(now, rung_at);
                    }
                }
                self.complete_sends(now, vi, calendar);
            }
            ViaOutput::Moved(Direction::Receive, message) => {
                whose(message.vi).inspect(|vi| self.store(*vi, message.number));
            }
            ViaOutput::Received(message) => {
                whose(message.vi).inspect(|vi| self.come(now, *vi, message.number, calendar));
            }
            ViaOutput::Dropped(message) => {
                let Some(vi) = whose(message.vi) else { return };
                let Some(interface) = self.interface(vi) else { return };
                interface.tally.lost += 1;
                let breaks = interface.reliability == Reliability::Reliable;
                if let Some(arrival) = interface.arrivals.item(message.number) {
                    arrival.over = true;
                    let (of, void) = (arrival.of, arrival.void);
                    of.into_iter().for_each(|channel| self.channels[channel as usize].lose());
                    if breaks && !void {
                        self.break_off(now, vi, Fault::ReceiveQueueEmpty, calendar);
                    }
                }
                self.sweep(now, vi);
            }
            ViaOutput::Posted(endpoint) => {
                let Some(vi) = whose(endpoint) else { return };
                if let Some(interface) = self.interface(vi) {
                    interface.unposted = interface.unposted.saturating_sub(1);
                }
                self.rung_out(now, vi);
                self.sweep(now, vi);
            }
        }
    }

    /// A descriptor is complete.
    pub(super) fn complete(&mut self, vi: u32, which: Which, completion: &Completion) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        if interface.has_told() {
            self.untold.push(vi);
        }
        interface.complete(which, completion);
    }

    /// Tells programs of all that is complete: at the virtual interface, and then at the completion queue.
    pub(super) fn tell_programs(&mut self) {
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
    pub(super) fn break_off(&mut self, now: Time, vi: u32, fault: Fault, calendar: &mut Calendar<Event>) {
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
    pub(super) fn flush(&mut self, now: Time, vi: u32, fault: Option<Fault>) {
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
    pub(super) fn sweep(&mut self, now: Time, vi: u32) {
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
