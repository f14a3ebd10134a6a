//! How frames that the world has delivered go to the programs behind a port.
//!
//! A write is a system call that takes the frame all the way to a socket, 1.7 us and the waking of whoever waits there. A kernel
//! gives its adapter bulks to cut and takes from it what it joined, so the frames of one bulk, or datagrams of one flow, that are
//! delivered one right after the other are written together: when the world is behind, and the next may be due already. They are
//! never written before the last of them was delivered. A world that keeps time writes each at its own time, and one that
//! has caught up asks for inputs, which lets go of what is held. Nothing is held for a channel that has nothing more on its way.
//!
//! A frame whose way takes no time is delivered before the next of the same wake is read, and in time. If frames come faster than
//! they are read, which a wake shows that had to leave some, it waits for the last of its wake, as every event does that is due
//! by then: it has waited in the device for longer, and all behind it wait less. One that comes alone and in time never waits.
//!
//! A kernel may not know bulks of datagrams (Linux before 6.2), which it says when it is given the first. So what is held stays in
//! its slots until it is written: then each goes by itself, and so does every datagram after them.

use std::io;
use std::sync::atomic::Ordering;

use laxity_machine::offload::{Joined, Piece};
use laxity_units::{Span, Time};

use super::delays::Stamp;
use super::{Ports, Wire};

/// A world that is later than this, about what a write takes, may have the next frame to deliver already.
const BEHIND: Span = Span::from_us(1);

/// A frame that the world has delivered.
#[derive(Debug, Clone, Copy)]
struct Delivered {
    channel: usize,
    at: Time,
    slot: u32,
}

/// Frames that are held back because others are expected right behind them.
#[derive(Debug, Default)]
pub(super) struct Held {
    joined: Joined,
    frames: Vec<Delivered>,
    /// The kernel does not know bulks of datagrams.
    refuses_datagrams: bool,
}

impl Held {
    /// How many.
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
    /// Writes the frame in `slot`, which was delivered at `now`, or holds it back for those that come right behind it.
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
            // Only when it matters: headers are looked at.
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
                // So that it is let go when the world has caught up.
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

    /// Writes all that is held back.
    #[inline]
    pub(super) fn let_all_go(&mut self) {
        for to in 0..self.held.len() {
            self.let_go(to);
        }
    }

    /// Writes what is held back of port `to`.
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

    /// Notes what became of `frames`, the writing of which began at `began`.
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
                self.ports[to].fail(at, why);
            }
        }
    }
}

/// Whether a kernel says so of a description that it does not know.
fn is_unknown(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::InvalidInput
}
