//! TAP devices as the outside of an emulation: real programs send into an emulated adapter and receive from one.
//!
//! ```text
//! program ─▶ TAP of node a ─read─▶ slot ─▶ message on the first channel to its host that carries it ─▶ world
//! program ◀─ TAP of node b ◀─write─ slot ◀─ the channel has delivered the message, whole ◀────────┘
//! ```
//!
//! The world decides when a frame arrives and whether; its bytes wait in a slot meanwhile (`store.rs`). Nothing says
//! that a message was lost on its way, since no network does, so slots are got back by what does come: messages
//! of a channel arrive in order, and those before one that arrived will not. Where the network lets frames overtake each other,
//! the last [`OVERTAKEN`] before it may still. And no channel has more slots than its queues along the way have places:
//! when those are used up, the oldest is given up.
//!
//! A port has a queue for each of its real-time channels and one for all else (`steering.rs`); who is read next is `turns.rs`.
//!
//! When there is no free slot, nothing is read, and the frames wait in the device's own queue until the kernel drops
//! them there: what real hardware does when its host is too slow. The last slots are kept for frames of real-time channels.

mod bell;
mod carriers;
mod copies;
mod delays;
mod delivery;
mod flight;
mod inlet;
mod site;
pub mod steering;
mod store;
#[cfg(test)]
mod tests;
mod turns;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_machine::offload::{Cut, Offload, Piece};
use laxity_qos::channel::Dropped;
use laxity_qos::discipline::Class;
use laxity_units::Time;
use laxity_world::experiment::{ChannelSpec, Experiment, PortSpec};
use laxity_world::results::{Delays, Frames};
use laxity_world::{Input, Notice, Outside};

pub use bell::TapBell;
use carriers::Carriers;
use delays::{Errors, Stamp, Times};
use delivery::Held;
use flight::Flight;
use inlet::Inlet;
pub use site::Site;
use store::Store;
use turns::Turns;
use wire::next_frame;
pub use wire::{Polled, Wire};

/// Frames that are read at a wake: with the work that each makes for the world, some ten microseconds, which is how late
/// an event may become for it.
const BATCH: usize = 8;
/// Slots for messages that a channel was offered and has not answered.
const UNANSWERED: usize = 256;
/// Slots a channel has for each of its hosts, at most, beside its message queue.
const LONGEST_HOP: u64 = 1024;
/// Slots of all channels, at most: 50 MB of frames of ordinary length.
const MOST_SLOTS: usize = 1 << 15;
/// How many messages later a message that was overtaken may still come.
const OVERTAKEN: u64 = 1024;

/// With the header of Ethernet and a VLAN tag.
fn longest_frame(port: &PortSpec) -> usize {
    usize::from(port.mtu) + 18
}

/// What became of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Read from ports, each as the link carries it.
    pub read: u64,
    /// Bulks of TCP or UDP that some of those were cut from.
    pub bulks: u64,
    /// Copies of frames for several hosts, beyond the first of each.
    pub copies: u64,
    /// Read, and no channel to their host carries them.
    pub unmatched: u64,
    /// Longer than the port's MTU allows, which has been changed, or than their channel takes.
    pub oversize: u64,
    /// Offered to a channel that was full, or copies for which there was no slot.
    pub refused: u64,
    /// Offered to a channel for which they are too small.
    pub undersized: u64,
    /// Offered to a channel that admission refused.
    pub unadmitted: u64,
    /// Written to ports.
    pub written: u64,
    /// Delivered where the host did not take them, or where there is no port.
    pub undeliverable: u64,
    /// Taken by a channel, and something sent later came first, or too much did.
    pub lost: u64,
    /// Delivered after they had been taken for lost.
    pub strays: u64,
}

/// One port.
struct Port<W> {
    wire: Arc<W>,
    /// The channels that carry its frames.
    carriers: Carriers,
    /// Its queues among those of all ports.
    inlets: Range<usize>,
    turns: Turns,
    /// The longest frame, with a VLAN tag.
    longest: usize,
    /// The interface, and the node it is at.
    name: String,
    trouble: Option<Trouble>,
}

impl<W> Port<W> {
    fn fail(&mut self, at: Time, why: io::Error) {
        let trouble = self.trouble.get_or_insert(Trouble { at, why, count: 0 });
        trouble.count += 1;
    }
}

/// Errors of a port, which is without frames while it has them.
#[derive(Debug)]
struct Trouble {
    /// When the first came, in the time of the run.
    at: Time,
    why: io::Error,
    count: u64,
}

/// A channel that carries frames.
struct Carrier {
    flight: Flight,
    /// Frames that it was offered and has not answered.
    unanswered: u32,
    /// The port at its last node.
    to: Option<usize>,
    /// Whether its first link frames what it is given: the header of a program's frame is that link's then, and no payload.
    framed: bool,
    times: Times,
}

impl Carrier {
    /// Whether a frame may still be delivered.
    #[inline]
    fn has_more(&self) -> bool {
        self.unanswered > 0 || !self.flight.is_empty()
    }

    #[inline]
    fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }
}

/// The ports of an experiment, as its outside.
pub struct Ports<W: Wire> {
    ports: Vec<Port<W>>,
    /// By channel.
    carriers: Vec<Option<Carrier>>,
    store: Store,
    /// Tells the time of the run, if delays are to be measured.
    clock: Option<Box<dyn Fn() -> Time + Send>>,
    /// By slot.
    stamps: Box<[Stamp]>,
    /// What is left to be done with the frame in a slot, and which piece of a bulk it is.
    offloads: Box<[(Offload, Option<Piece>)]>,
    errors: Errors,
    /// The queues of all ports.
    inlets: Arc<[Inlet]>,
    /// Of each port, what is not written yet.
    held: Vec<Held>,
    /// Of each queue, the bulk that is being cut into frames.
    cuts: Vec<Cut>,
    /// Slots that are only for what waits in other than the first queues.
    kept: usize,
    /// Copies that were made and not yet offered: the channel and the slot of each.
    copies: VecDeque<(usize, u32)>,
    /// The channels of the copies that are being made, kept for its memory.
    others: Vec<usize>,
    /// The port to be read next, and how many frames may still be read at this wake.
    next: usize,
    left: usize,
    /// Whether the last wake left off reading because it had read as many.
    is_backlogged: bool,
    more: Arc<AtomicBool>,
    counts: Counts,
}

impl<W: Wire> Ports<W> {
    /// The ports of `experiment`, each node's with its wire. An error says what the experiment lacks.
    pub fn new(experiment: &Experiment, mut wires: BTreeMap<usize, Arc<W>>) -> Result<Self, String> {
        let longest = experiment.ports.iter().map(longest_frame).max().unwrap_or(0);
        let in_order = experiment
            .networks
            .iter()
            .all(|network| network.impairments.reordering.probability == Default::default());
        let port_of = |node: usize| experiment.ports.iter().position(|port| port.node == node);
        let (mut ports, mut queues) = (Vec::new(), 0);
        for port in &experiment.ports {
            let wire = wires.remove(&port.node).ok_or_else(|| format!("node {} has no wire", port.node))?;
            let inlets = queues..queues + wire.queues();
            queues = inlets.end;
            ports.push(Port {
                wire,
                carriers: Carriers::default(),
                inlets,
                turns: Turns::default(),
                longest: longest_frame(port),
                name: format!("{} (node {})", port.interface, port.node),
                trouble: None,
            });
        }
        let mut carriers = Vec::new();
        for (i, channel) in experiment.channels.iter().enumerate() {
            let Some(carries) = channel.carries else {
                carriers.push(None);
                continue;
            };
            let from = port_of(channel.route[0]).ok_or_else(|| {
                format!(
                    "channel `{}` carries frames of the port at node {}, and there is none: add `[[port]]` with \
                     `node = {}`, or leave out `carries`",
                    channel.name, channel.route[0], channel.route[0]
                )
            })?;
            let on_the_way = channel.packet_slots.min(LONGEST_HOP).saturating_mul(channel.route.len() as u64);
            let budget = channel.message_slots as usize + on_the_way as usize + UNANSWERED;
            let last = *channel.route.last().expect("a route has a node");
            ports[from].carriers.add(carries, last, i);
            let flight = Flight::new(budget, if in_order { 0 } else { OVERTAKEN });
            carriers.push(Some(Carrier {
                flight,
                unanswered: 0,
                to: port_of(last),
                framed: experiment.is_framed(channel),
                times: Times::default(),
            }));
        }
        let wanted: usize = carriers.iter().flatten().map(|carrier| carrier.flight.budget()).sum();
        let inlets: Arc<[Inlet]> = (0..queues).map(|_| Inlet::new()).collect();
        let kept = if queues > ports.len() { UNANSWERED } else { 0 };
        let slots = wanted.min(MOST_SLOTS) + UNANSWERED + kept;
        if wanted > MOST_SLOTS {
            for carrier in carriers.iter_mut().flatten() {
                carrier.flight.reduce(MOST_SLOTS as f64 / wanted as f64);
            }
        }
        Ok(Self {
            carriers,
            // A byte more, so that a frame that is too long shows.
            store: Store::new(slots, longest + 1),
            clock: None,
            stamps: vec![Stamp::default(); slots].into(),
            offloads: vec![(Offload::NONE, None); slots].into(),
            errors: Errors::default(),
            held: ports.iter().map(|_| Held::default()).collect(),
            cuts: (0..queues as u16).map(Cut::new).collect(),
            inlets,
            kept,
            copies: VecDeque::new(),
            others: Vec::new(),
            ports,
            next: 0,
            left: BATCH,
            is_backlogged: false,
            more: Arc::default(),
            counts: Counts::default(),
        })
    }

    /// Measures delays by `clock`, which tells the real time of the run.
    #[must_use]
    pub fn timed_by(mut self, clock: impl Fn() -> Time + Send + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// How well delays were kept; none if nothing was written, or no time told.
    pub fn delays(&self) -> Option<Delays> {
        self.errors.summary()
    }

    /// How long the frames of each channel of `experiment` took in real time; nothing if no time was told.
    pub fn frames(&self, experiment: &Experiment) -> Vec<Frames> {
        let carried = experiment.channels.iter().zip(&self.carriers);
        let timed = carried.filter(|_| self.clock.is_some());
        let summary = |(channel, carrier): (&ChannelSpec, &Option<Carrier>)| {
            let interval = (channel.class == Class::RealTime).then_some(channel.spec.min_interval);
            Some(carrier.as_ref()?.times.summary(&channel.name, interval))
        };
        timed.filter_map(summary).collect()
    }

    /// What became of frames so far.
    pub fn counts(&self) -> Counts {
        Counts { written: self.counts.written + self.written_soon() as u64, ..self.counts }
    }

    /// The channels that carry frames: what an emulation has to be told.
    pub fn channels(&self) -> Vec<usize> {
        (0..self.carriers.len()).filter(|i| self.carriers[*i].is_some()).collect()
    }

    /// Errors of ports, a line for each port that had some.
    pub fn errors(&self) -> Vec<String> {
        let line = |port: &Port<W>| {
            let Trouble { at, why, count } = port.trouble.as_ref()?;
            let name = &port.name;
            Some(format!("port {name} could not be read or written, {count} times from {at} on: {why}"))
        };
        self.ports.iter().filter_map(line).collect()
    }

    /// Slots that hold a frame which is on its way.
    pub fn held(&self) -> usize {
        self.store.slots() - self.store.free() - self.written_soon()
    }

    /// What the world has delivered and is held back; it is written when this goes, if not before.
    fn written_soon(&self) -> usize {
        self.held.iter().map(Held::frames).sum()
    }

    /// Whether frames have been read at this wake, and more may be.
    #[inline]
    fn is_reading(&self) -> bool {
        self.left < BATCH
    }

    /// Ends the reading at this wake.
    fn rest(&mut self, more: bool) -> Option<Input> {
        self.left = BATCH;
        self.is_backlogged = more;
        self.let_all_go();
        self.more.store(more || self.cuts.iter().any(Cut::is_pending), Ordering::Relaxed);
        // Until a look says otherwise.
        self.inlets.iter().for_each(Inlet::may_have);
        None
    }

    /// Reads a frame into a slot, from the next port that has one; answers the port and the queue, too.
    #[inline]
    fn read(&mut self, now: Time) -> Option<(usize, usize, u32)> {
        for _ in 0..self.ports.len() {
            let at = self.next;
            self.next = if at + 1 == self.ports.len() { 0 } else { at + 1 };
            let port = &mut self.ports[at];
            let queues = port.inlets.len();
            for queue in port.turns.order(queues) {
                let number = port.inlets.start + queue;
                let (inlet, cut) = (&self.inlets[number], &mut self.cuts[number]);
                let kept = if queue == 0 { self.kept } else { 0 };
                if !(inlet.is_worth_asking() || cut.is_pending()) || self.store.free() <= kept {
                    continue;
                }
                // Before the look, or a frame that comes between it and the reading of the clock was not there.
                let looked = self.clock.as_ref().map(|clock| clock());
                let mut left_to_do = (Offload::NONE, None);
                let slot = self.store.fill(|buffer| {
                    let (length, offload, piece) = match next_frame(&*port.wire, queue, buffer, cut) {
                        Ok(read) => read?,
                        Err(why) => {
                            port.trouble.get_or_insert(Trouble { at: now, why, count: 0 }).count += 1;
                            return None;
                        }
                    };
                    left_to_do = (offload, piece);
                    Some(length.min(buffer.len()))
                });
                if let Some(slot) = slot {
                    self.offloads[slot as usize] = left_to_do;
                    self.counts.bulks += u64::from(left_to_do.1.is_some_and(|piece| piece.is_first()));
                    port.turns.read(queue, queues);
                    return Some((at, queue, slot));
                }
                inlet.was_empty(looked.unwrap_or_default());
            }
        }
        None
    }

    /// Notes when the frame in `slot`, which `channel` carries, was read from `inlet`.
    #[inline]
    fn stamp(&mut self, channel: Option<usize>, slot: u32, inlet: usize) {
        let Some(clock) = &self.clock else { return };
        let read = clock();
        self.stamps[slot as usize].read = read;
        if let Some(carrier) = channel.and_then(|channel| self.carriers[channel].as_mut()) {
            carrier.times.arrive(read, self.inlets[inlet].last_empty());
        }
    }
}

impl<W: Wire> Outside for Ports<W> {
    fn next_input(&mut self, now: Time) -> Option<Input> {
        if !self.is_reading() {
            // The world has caught up.
            self.let_all_go();
        }
        loop {
            if self.left == 0 {
                return self.rest(true);
            }
            if let Some((channel, slot)) = self.copies.pop_front() {
                self.left -= 1;
                return Some(self.offer(channel, slot));
            }
            let Some((at, queue, slot)) = self.read(now) else { return self.rest(false) };
            self.left -= 1;
            self.counts.read += 1;
            let (port, frame) = (&self.ports[at], self.store.frame(slot));
            if frame.len() > port.longest {
                self.counts.oversize += 1;
                self.store.release(slot);
                continue;
            }
            let inlet = port.inlets.start + queue;
            let channel = port.carriers.of(frame, &mut self.others);
            self.stamp(channel, slot, inlet);
            match channel {
                Some(channel) => {
                    self.copy(slot, queue, inlet);
                    return Some(self.offer(channel, slot));
                }
                None => {
                    self.counts.unmatched += 1;
                    self.store.release(slot);
                }
            }
        }
    }

    fn notice(&mut self, now: Time, notice: Notice<'_>) {
        match notice {
            Notice::Taken { channel, handle, message } => {
                self.stamps[handle as usize].taken = now;
                let carrier = self.carriers[channel].as_mut().expect("only what carries frames has handles");
                carrier.answered();
                if let Some(lost) = carrier.flight.begin(message, handle) {
                    self.counts.lost += 1;
                    self.store.release(lost);
                }
            }
            Notice::Refused { channel, handle, cause } => {
                if let Some(carrier) = &mut self.carriers[channel] {
                    carrier.answered();
                }
                match cause {
                    None => self.counts.unadmitted += 1,
                    Some(Dropped::Undersized) => self.counts.undersized += 1,
                    Some(Dropped::Oversize) => self.counts.oversize += 1,
                    Some(_) => self.counts.refused += 1,
                }
                self.store.release(handle);
            }
            Notice::Delivered { channel, message } => {
                let Some(carrier) = &mut self.carriers[channel] else { return };
                while let Some(lost) = carrier.flight.overdue(message) {
                    self.counts.lost += 1;
                    self.store.release(lost);
                }
                match carrier.flight.land(message) {
                    Some(slot) => self.write(now, channel, slot),
                    None => self.counts.strays += 1,
                }
            }
            Notice::Response { .. } | Notice::Window { .. } => {}
        }
    }
}
