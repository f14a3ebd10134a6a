//! Writing of delivered frames to the programs behind a port.
//!
//! A write is a system call that takes the frame to a socket: 1.7 us, plus a wake-up of the
//! receiver. A kernel also exchanges bulks with its adapter, so frames of one bulk, or datagrams of
//! one flow, that are delivered in succession are written together if the world is behind, when the
//! next may already be due. No frame is written before the last of its bulk was delivered. A world
//! on time writes each frame at its own time. A world that has caught up polls its inputs, which
//! flushes held frames. No frame is held for a channel without further frames in flight.
//!
//! A frame with zero delay is delivered on time before the next of the same wake is read. If frames
//! arrive faster than they are read, as shown by a wake that left some, it waits for the last of
//! its wake, as every event does that is due by then: it has waited longer in the device, and all
//! frames behind it wait less. A single frame on time never waits.
//!
//! A kernel may not support bulks of datagrams (Linux before 6.2), and refuses the first. Held
//! frames therefore stay in their slots until they are written: they are then written singly, as is
//! every later datagram.

use std::io;
use std::sync::atomic::Ordering;

use laxity_machine::offload::{Joined, Piece};
use laxity_units::{Span, Time};

use super::delays::Stamp;
use super::trouble::Trouble;
use super::{Ports, Wire};

/// Lateness, about the time of a write, above which the world may already have the next frame to
/// deliver.
const BEHIND: Span = Span::from_us(1);

#[derive(Debug, Clone, Copy)]
struct Delivered {
    channel: usize,
    at: Time,
    slot: u32,
}

/// Frames held back because others are expected directly behind them.
#[derive(Debug, Default)]
pub(super) struct Held {
    joined: Joined,
    frames: Vec<Delivered>,
    /// The kernel does not support bulks of datagrams.
    refuses_datagrams: bool,
}

impl Held {
    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }
}

impl<W: Wire> Drop for Ports<W> {
    fn drop(&mut self) {
        self.let_all_go();
    }
}

impl<W: Wire> Ports<W> {
    /// Writes the frame in `slot`, which was delivered at `now`, or holds it back for its
    /// successors.
    pub(super) fn write(&mut self, now: Time, channel: usize, slot: u32) {
        let carrier = self.carriers[channel].as_ref().expect("only what carries frames has slots");
        let Some(to) = carrier.to else {
            self.counts.undeliverable += 1;
            return self.store.release(slot);
        };
        let began = self.clock.as_ref().map(|clock| clock());
        let is_behind = began.is_some_and(|began| began.saturating_since(now) >= BEHIND);
        let more = match self.is_reading() {
            true => is_behind || self.is_backlogged && began.is_some(),
            false => is_behind && carrier.has_more(),
        };
        let held = &mut self.held[to];
        let frame = self.store.frame(slot);
        let (offload, piece) = self.offloads[slot as usize];
        let piece = match piece {
            _ if held.refuses_datagrams && offload.is_of_datagrams() => None,
            // Parsed only if needed, since it reads the headers.
            None if more || !held.joined.is_empty() => Piece::of_datagram(frame, offload),
            piece => piece,
        };
        let delivered = Delivered { channel, at: now, slot };
        match piece {
            Some(piece) if held.joined.add(frame, piece) => {
                held.frames.push(delivered);
                if !more || held.joined.is_closed() {
                    self.let_go(to);
                }
            }
            Some(piece) if more && !piece.is_last() => {
                self.let_go(to);
                let held = &mut self.held[to];
                held.joined.begin(self.store.frame(slot), offload, piece);
                held.frames.push(delivered);
                // Flushes the frame when the world has caught up.
                self.more.store(true, Ordering::Relaxed);
            }
            _ => {
                self.let_go(to);
                self.write_alone(to, began, delivered);
            }
        }
    }

    /// Writes one frame to port `to`.
    fn write_alone(&mut self, to: usize, began: Option<Time>, frame: Delivered) {
        let slot = frame.slot;
        let sent = self.ports[to].wire.send(self.store.frame(slot), self.offloads[slot as usize].0);
        self.account(to, sent, began, &[frame]);
        self.store.release(slot);
    }

    #[inline]
    pub(super) fn let_all_go(&mut self) {
        for to in 0..self.held.len() {
            self.let_go(to);
        }
    }

    /// Writes the held frames of port `to`.
    pub(super) fn let_go(&mut self, to: usize) {
        let held = &mut self.held[to];
        let Some((bulk, offload)) = held.joined.take() else { return };
        let began = self.clock.as_ref().map(|clock| clock());
        let sent = self.ports[to].wire.send(bulk, offload);
        let mut frames = std::mem::take(&mut held.frames);
        if matches!(&sent, Err(why) if is_unknown(why) && offload.is_bulk() && offload.is_of_datagrams()) {
            held.refuses_datagrams = true;
            for frame in frames.drain(..) {
                let began = self.clock.as_ref().map(|clock| clock());
                self.write_alone(to, began, frame);
            }
        } else {
            self.account(to, sent, began, &frames);
            frames.drain(..).for_each(|frame| self.store.release(frame.slot));
        }
        self.held[to].frames = frames;
    }

    /// Accounts for `frames`, written from `began` on.
    fn account(&mut self, to: usize, sent: io::Result<bool>, began: Option<Time>, frames: &[Delivered]) {
        match sent {
            Ok(true) => {
                self.counts.written += frames.len() as u64;
                let Some((clock, began)) = self.clock.as_ref().zip(began) else { return };
                let ended = clock();
                for Delivered { channel, at, slot } in frames {
                    let Stamp { read, taken } = self.stamps[*slot as usize];
                    let took = ended.saturating_since(read);
                    self.errors.add(at.saturating_since(taken), began.saturating_since(read), took);
                    if let Some(carrier) = &mut self.carriers[*channel] {
                        carrier.times.leave(took);
                    }
                }
            }
            Ok(false) => self.counts.undeliverable += frames.len() as u64,
            Err(why) => {
                self.counts.undeliverable += frames.len() as u64;
                let at = frames.last().map_or(Time::ZERO, |frame| frame.at);
                Trouble::count(&mut self.ports[to].trouble, at, why);
            }
        }
    }
}

/// Whether the error is a kernel's refusal of an unsupported description.
fn is_unknown(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::InvalidInput
}
