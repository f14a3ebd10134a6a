//! TAP devices as the outside of an emulation: real programs send into an emulated adapter and receive from one.
//!
//! ```text
//! program ─▶ TAP of node a ─read─▶ slot ─▶ message on the first channel that carries the frame ─▶ world
//! program ◀─ TAP of node b ◀─write─ slot ◀─ the channel has delivered the message, whole ◀────────┘
//! ```
//!
//! The world decides when a frame arrives and whether; its bytes wait in a slot meanwhile (`store.rs`). Nothing says
//! that a message was lost on its way, since no network does, so slots are got back by what does come: messages
//! of a channel arrive in order, and those before one that arrived will not. Where the network lets frames overtake each other,
//! the last [`OVERTAKEN`] before it may still. And no channel has more slots than its queues along the way have places:
//! when those are used up, the oldest is given up.
//!
//! When there is no free slot, nothing is read, and the frames wait in the device's own queue until the kernel drops
//! them there: what real hardware does when its host is too slow.

mod bell;
mod flight;
mod site;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_lab::scenario::{Carries, Experiment};
use laxity_lab::world::{Input, Notice, Outside};
use laxity_units::{Bytes, Time};

use crate::frame::Headers;
use crate::tap::Tap;
pub use bell::TapBell;
use flight::Flight;
pub use site::Site;
use store::Store;

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

/// Where frames come from and go to.
pub trait Wire {
    /// Reads a frame into `buffer`; `None` if there is none.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends a frame; `false` if it cannot be taken now.
    fn send(&self, frame: &[u8]) -> io::Result<bool>;
}

impl Wire for Tap {
    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Tap::receive(self, buffer)
    }

    #[inline]
    fn send(&self, frame: &[u8]) -> io::Result<bool> {
        Tap::send(self, frame)
    }
}

/// What became of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Read from ports.
    pub read: u64,
    /// Read, and no channel carries them.
    pub unmatched: u64,
    /// Offered to a channel that dropped them at once.
    pub refused: u64,
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
    /// The channels that carry its frames, the first match first.
    carriers: Vec<(Carries, usize)>,
}

/// A channel that carries frames.
struct Carrier {
    flight: Flight,
    /// The port at its last node.
    to: Option<usize>,
}

/// The ports of an experiment, as its outside.
pub struct Ports<W> {
    ports: Vec<Port<W>>,
    /// By channel.
    carriers: Vec<Option<Carrier>>,
    store: Store,
    /// The port to be read next, and how many frames may still be read at this wake.
    next: usize,
    left: usize,
    /// Ports that had nothing at this wake, one after the other.
    empty: usize,
    more: Arc<AtomicBool>,
    counts: Counts,
    error: Option<io::Error>,
}

impl<W: Wire> Ports<W> {
    /// The ports of `experiment`, each node's with its wire. An error says what the experiment lacks.
    pub fn new(experiment: &Experiment, mut wires: BTreeMap<usize, Arc<W>>) -> Result<Self, String> {
        let longest = experiment.ports.iter().map(|port| usize::from(port.mtu) + 18).max().unwrap_or(0);
        let in_order = experiment.network.impairments.reordering.probability == Default::default();
        let port_of = |node: usize| experiment.ports.iter().position(|port| port.node == node);
        let mut ports = Vec::new();
        for port in &experiment.ports {
            let wire = wires.remove(&port.node).ok_or_else(|| format!("node {} has no wire", port.node))?;
            ports.push(Port { wire, carriers: Vec::new() });
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
            ports[from].carriers.push((carries, i));
            let on_the_way = channel.packet_slots.min(LONGEST_HOP).saturating_mul(channel.route.len() as u64);
            let budget = channel.message_slots as usize + on_the_way as usize + UNANSWERED;
            let last = *channel.route.last().expect("a route has a node");
            let flight = Flight::new(budget, if in_order { 0 } else { OVERTAKEN });
            carriers.push(Some(Carrier { flight, to: port_of(last) }));
        }
        let wanted: usize = carriers.iter().flatten().map(|carrier| carrier.flight.budget()).sum();
        let slots = wanted.min(MOST_SLOTS) + UNANSWERED;
        if wanted > MOST_SLOTS {
            for carrier in carriers.iter_mut().flatten() {
                carrier.flight.reduce(MOST_SLOTS as f64 / wanted as f64);
            }
        }
        Ok(Self {
            ports,
            carriers,
            store: Store::new(slots, longest),
            next: 0,
            left: BATCH,
            empty: 0,
            more: Arc::default(),
            counts: Counts::default(),
            error: None,
        })
    }

    /// What became of frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The channels that carry frames: what an emulation has to be told.
    pub fn channels(&self) -> Vec<usize> {
        (0..self.carriers.len()).filter(|i| self.carriers[*i].is_some()).collect()
    }

    /// The first error of a port, if one had an error; it was then without frames.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Slots that hold a frame.
    pub fn held(&self) -> usize {
        self.store.slots() - self.store.free()
    }

    /// Ends the reading at this wake.
    fn rest(&mut self, more: bool) -> Option<Input> {
        self.left = BATCH;
        self.empty = 0;
        self.more.store(more, Ordering::Relaxed);
        None
    }

    /// Reads a frame of the port that is next into a slot.
    #[inline]
    fn read(&mut self) -> Option<u32> {
        let port = &self.ports[self.next];
        let error = &mut self.error;
        self.store.fill(|buffer| match port.wire.receive(buffer) {
            Ok(length) => length,
            Err(why) => {
                error.get_or_insert(why);
                None
            }
        })
    }

    fn write(&mut self, to: Option<usize>, slot: u32) {
        let sent = to.map(|to| self.ports[to].wire.send(self.store.frame(slot)));
        match sent {
            Some(Ok(true)) => self.counts.written += 1,
            Some(Ok(false)) | None => self.counts.undeliverable += 1,
            Some(Err(why)) => {
                self.counts.undeliverable += 1;
                self.error.get_or_insert(why);
            }
        }
        self.store.release(slot);
    }
}

impl<W: Wire> Outside for Ports<W> {
    fn next_input(&mut self, _now: Time) -> Option<Input> {
        loop {
            if self.left == 0 {
                return self.rest(true);
            }
            if self.empty == self.ports.len() || self.store.free() == 0 {
                return self.rest(false);
            }
            let Some(slot) = self.read() else {
                self.next = (self.next + 1) % self.ports.len();
                self.empty += 1;
                continue;
            };
            self.left -= 1;
            self.empty = 0;
            self.counts.read += 1;
            let frame = self.store.frame(slot);
            let carriers = &self.ports[self.next].carriers;
            let channel = match carriers[..] {
                [(Carries::All, channel), ..] => Some(channel),
                _ => {
                    let headers = Headers::of(frame);
                    let carrier = carriers.iter().find(|(carries, _)| headers.are_carried(*carries));
                    carrier.map(|(_, channel)| *channel)
                }
            };
            let size = Bytes::new(frame.len() as u64);
            self.next = (self.next + 1) % self.ports.len();
            match channel {
                Some(channel) => return Some(Input::Message { channel, size, handle: slot }),
                None => {
                    self.counts.unmatched += 1;
                    self.store.release(slot);
                }
            }
        }
    }

    fn notice(&mut self, _now: Time, notice: Notice) {
        match notice {
            Notice::Taken { channel, handle, message } => {
                let carrier = self.carriers[channel].as_mut().expect("only what carries frames has handles");
                if let Some(lost) = carrier.flight.begin(message, handle) {
                    self.counts.lost += 1;
                    self.store.release(lost);
                }
            }
            Notice::Refused { handle, .. } => {
                self.counts.refused += 1;
                self.store.release(handle);
            }
            Notice::Delivered { channel, message } => {
                let Some(carrier) = &mut self.carriers[channel] else { return };
                while let Some(lost) = carrier.flight.overdue(message) {
                    self.counts.lost += 1;
                    self.store.release(lost);
                }
                let (landed, to) = (carrier.flight.land(message), carrier.to);
                match landed {
                    Some(slot) => self.write(to, slot),
                    None => self.counts.strays += 1,
                }
            }
            Notice::Response { .. } => {}
        }
    }
}
