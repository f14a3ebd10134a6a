//! TAP devices as the outside of an emulation: real programs send into an emulated adapter and
//! receive from one.
//!
//! ```text
//! program ─▶ TAP of node a ─read─▶ slot ─▶ message on the first channel to its host that carries it ─▶ world
//! program ◀─ TAP of node b ◀─write─ slot ◀─ the channel has delivered the message, whole ◀────────┘
//! ```
//!
//! The world decides whether and when a frame arrives; its bytes wait in a slot meanwhile
//! (`store.rs`). A lost message is not reported, as in a real network, so slots are recovered at
//! later arrivals: messages of a channel arrive in order, so earlier ones are lost once a later one
//! arrives. Where the network may reorder frames, the last `OVERTAKEN` before it may still arrive.
//! A channel has at most as many slots as its queues along the path have entries; beyond that the
//! oldest is released.
//!
//! A port has a queue for each of its real-time channels and one for all other frames
//! (`steering.rs`); `turns.rs` selects the queue to read.
//!
//! Without a free slot no frame is read, and frames wait in the device's own queue until the kernel
//! drops them there, as in real hardware with a slow host. The last slots are reserved for frames
//! of real-time channels.

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
mod trouble;
mod turns;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_machine::offload::{CutBulk, Offload, Piece};
use laxity_qos::channel::Dropped;
use laxity_qos::discipline::Class;
use laxity_units::Time;
use laxity_world::experiment::{ChannelSpec, Experiment, PortSpec};
use laxity_world::results::{Delays, FrameResults};
use laxity_world::{Input, Notice, Outside};

pub use bell::TapBell;
use carriers::Carriers;
use delays::{Errors, Stamp, Times};
use delivery::Held;
use flight::Flight;
use inlet::Inlet;
pub use site::Site;
use store::Store;
use trouble::Trouble;
use turns::Turns;
use wire::next_frame;
pub use wire::{PolledWire, Wire};

/// Maximum number of frames read at a wake: with the work of each for the world, some ten
/// microseconds, by which an event may become late.
const BATCH: usize = 8;
/// Slots for messages offered to a channel and not answered.
const UNANSWERED: usize = 256;
/// Maximum number of slots of a channel for each of its hosts, beside its message queue.
const LONGEST_HOP: u64 = 1024;
/// Maximum number of slots of all channels: 50 MB of frames of ordinary length.
const MOST_SLOTS: usize = 1 << 15;
/// Maximum distance by which a message may be overtaken.
const OVERTAKEN: u64 = 1024;

/// Longest frame, with Ethernet header and a VLAN tag.
fn longest_frame(port: &PortSpec) -> usize {
    usize::from(port.mtu) + 18
}

/// Counts of frames by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// Read from ports, each as the link carries it.
    pub read: u64,
    /// Bulks of TCP or UDP from which some of those were cut.
    pub bulks: u64,
    /// Copies of frames for several hosts, beyond the first of each.
    pub copies: u64,
    /// Read, and not carried by a channel to their host.
    pub unmatched: u64,
    /// Longer than the port's MTU, which was changed, or than their channel accepts.
    pub oversize: u64,
    /// Offered to a full channel, or copies without a free slot.
    pub refused: u64,
    /// Offered to a channel for which they are too small.
    pub undersized: u64,
    /// Offered to a channel that admission refused.
    pub unadmitted: u64,
    /// Written to ports.
    pub written: u64,
    /// Delivered where the host did not take them, or where there is no port.
    pub undeliverable: u64,
    /// Taken by a channel and lost: a later frame arrived first, or too many were in flight.
    pub lost: u64,
    /// Delivered after they had counted as lost.
    pub strays: u64,
}

struct Port<W> {
    wire: Arc<W>,
    /// Channels that carry its frames.
    carriers: Carriers,
    /// Range of its queues among those of all ports.
    inlets: Range<usize>,
    turns: Turns,
    /// Size of the longest frame, with a VLAN tag.
    longest: usize,
    /// Interface and node.
    name: String,
    trouble: Option<Trouble>,
}

struct Carrier {
    flight: Flight,
    /// Frames offered to it and not answered.
    unanswered: u32,
    /// Port at its last node.
    to: Option<usize>,
    /// Whether its first link adds framing: then the header of a program's frame is that link's,
    /// and no payload.
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

/// Ports of an experiment, as its outside.
pub struct Ports<W: Wire> {
    ports: Vec<Port<W>>,
    /// By channel.
    carriers: Vec<Option<Carrier>>,
    store: Store,
    /// Real time of the run, if delays are measured.
    clock: Option<Box<dyn Fn() -> Time + Send>>,
    /// By slot.
    stamps: Box<[Stamp]>,
    /// By slot: remaining work on the frame, and its identity in a bulk.
    offloads: Box<[(Offload, Option<Piece>)]>,
    errors: Errors,
    /// Queues of all ports.
    inlets: Arc<[Inlet]>,
    /// By port: delivered frames that are not written yet.
    held: Vec<Held>,
    /// By queue: bulk in segmentation.
    cuts: Vec<CutBulk>,
    /// Slots reserved for frames of queues other than the first.
    kept: usize,
    /// Copies made and not yet offered: channel and slot.
    copies: VecDeque<(usize, u32)>,
    /// Channels of the current copies, kept for its allocation.
    others: Vec<usize>,
    /// Port to read next, and number of frames that may still be read at this wake.
    next: usize,
    left: usize,
    /// Whether the last wake ended reading at its limit.
    is_backlogged: bool,
    more: Arc<AtomicBool>,
    /// Whether it has ended the run.
    has_stopped: bool,
    counts: FrameCounts,
}

impl<W: Wire> Ports<W> {
    /// Ports of `experiment`, with the wire of each node. An error states what the experiment
    /// lacks.
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
            // One byte more, so that an overlong frame is detected.
            store: Store::new(slots, longest + 1),
            clock: None,
            stamps: vec![Stamp::default(); slots].into(),
            offloads: vec![(Offload::NONE, None); slots].into(),
            errors: Errors::default(),
            held: ports.iter().map(|_| Held::default()).collect(),
            cuts: (0..queues as u16).map(CutBulk::new).collect(),
            inlets,
            kept,
            copies: VecDeque::new(),
            others: Vec::new(),
            ports,
            next: 0,
            left: BATCH,
            is_backlogged: false,
            has_stopped: false,
            more: Arc::default(),
            counts: FrameCounts::default(),
        })
    }

    /// Measures delays by `clock`, the real time of the run.
    #[must_use]
    pub fn timed_by(mut self, clock: impl Fn() -> Time + Send + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Errors of the delays; `None` without written frames, or without a clock.
    pub fn delays(&self) -> Option<Delays> {
        self.errors.summary()
    }

    /// Real-time delays of the frames of each channel of `experiment`; empty without a clock.
    pub fn frames(&self, experiment: &Experiment) -> Vec<FrameResults> {
        let carried = experiment.channels.iter().zip(&self.carriers);
        let timed = carried.filter(|_| self.clock.is_some());
        let summary = |(channel, carrier): (&ChannelSpec, &Option<Carrier>)| {
            let interval = (channel.class == Class::RealTime).then_some(channel.spec.min_interval);
            Some(carrier.as_ref()?.times.summary(&channel.name, interval))
        };
        timed.filter_map(summary).collect()
    }

    /// Counts of frames so far.
    pub fn counts(&self) -> FrameCounts {
        FrameCounts { written: self.counts.written + self.written_soon() as u64, ..self.counts }
    }

    /// Channels that carry frames, to be passed to an emulation.
    pub fn channels(&self) -> Vec<usize> {
        (0..self.carriers.len()).filter(|i| self.carriers[*i].is_some()).collect()
    }

    /// Slots with a frame in flight.
    pub fn held(&self) -> usize {
        self.store.slots() - self.store.free() - self.written_soon()
    }

    /// Delivered frames that are held back; they are written at the latest when this is dropped.
    fn written_soon(&self) -> usize {
        self.held.iter().map(Held::frames).sum()
    }

    /// Whether frames have been read at this wake, and more may be.
    #[inline]
    fn is_reading(&self) -> bool {
        self.left < BATCH
    }

    fn rest(&mut self, more: bool) -> Option<Input> {
        self.left = BATCH;
        self.is_backlogged = more;
        self.let_all_go();
        self.more.store(more || self.cuts.iter().any(CutBulk::is_pending), Ordering::Relaxed);
        // Until a poll finds them empty.
        self.inlets.iter().for_each(Inlet::may_have);
        None
    }

    /// Reads a frame into a slot, from the next port that has one; returns port, queue and slot.
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
                // Read before the poll: a frame that arrives between the two must count as arrived
                // later than `looked`.
                let looked = self.clock.as_ref().map(|clock| clock());
                let mut left_to_do = (Offload::NONE, None);
                let slot = self.store.fill(|buffer| {
                    let (length, offload, piece) = match next_frame(&*port.wire, queue, buffer, cut) {
                        Ok(read) => read?,
                        Err(why) => {
                            Trouble::count(&mut port.trouble, now, why);
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

    /// Records when the frame in `slot`, which `channel` carries, was read from `inlet`.
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
            let Some((at, queue, slot)) = self.read(now) else {
                return if self.stops() { Some(Input::Stop) } else { self.rest(false) };
            };
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
