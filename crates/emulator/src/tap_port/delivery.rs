//! How frames that the world has delivered go to the programs behind a port.
//!
//! A write is a system call that takes the frame all the way to a socket, 1.7 us and the waking of whoever waits there. A kernel
//! gives its adapter bulk TCP to cut and takes from it what it joined, so the frames of one bulk that are delivered one right after
//! the other are written together: when the world is behind, and the next may be due already. They are never written before
//! the last of them was delivered. A world that keeps time writes each at its own time, and one that has caught up
//! asks for inputs, which lets go of what is held.

use std::io;
use std::sync::atomic::Ordering;

use laxity_machine::offload::Joined;
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
    stamp: Stamp,
}

/// Frames that are held back because others of their bulk are expected right behind them.
#[derive(Debug, Default)]
pub(super) struct Held {
    joined: Joined,
    frames: Vec<Delivered>,
}

impl Held {
    /// How many.
    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }
}

impl<W: Wire> Drop for Ports<W> {
    fn drop(&mut self) {
        (0..self.held.len()).for_each(|to| self.let_go(to));
    }
}

impl<W: Wire> Ports<W> {
    /// Writes the frame in `slot`, which was delivered at `now`, or holds it back for those that come right behind it.
    pub(super) fn write(&mut self, now: Time, channel: usize, slot: u32) {
        let carrier = self.carriers[channel].as_ref().expect("only what carries frames has slots");
        let delivered = Delivered { channel, at: now, stamp: self.stamps[slot as usize] };
        let (offload, piece) = self.offloads[slot as usize];
        match carrier.to {
            None => self.counts.undeliverable += 1,
            Some(to) => {
                let began = self.clock.as_ref().map(|clock| clock());
                let is_behind = began.is_some_and(|began| began.saturating_since(now) >= BEHIND);
                let frame = self.store.frame(slot);
                let held = &mut self.held[to];
                let piece = piece.map(|piece| (piece, is_behind && !piece.is_last()));
                match piece {
                    Some((piece, goes_on)) if held.joined.add(frame, piece) => {
                        held.frames.push(delivered);
                        if !goes_on {
                            self.let_go(to);
                        }
                    }
                    Some((piece, true)) => {
                        self.let_go(to);
                        let held = &mut self.held[to];
                        held.joined.begin(self.store.frame(slot), offload, piece);
                        held.frames.push(delivered);
                        // So that it is let go when the world has caught up.
                        self.more.store(true, Ordering::Relaxed);
                    }
                    _ => {
                        self.let_go(to);
                        let sent = self.ports[to].wire.send(self.store.frame(slot), offload);
                        self.account(to, sent, began, &[delivered]);
                    }
                }
            }
        }
        self.store.release(slot);
    }

    /// Writes what is held back of port `to`.
    pub(super) fn let_go(&mut self, to: usize) {
        let held = &mut self.held[to];
        let Some((frame, offload)) = held.joined.take() else { return };
        let began = self.clock.as_ref().map(|clock| clock());
        let sent = self.ports[to].wire.send(frame, offload);
        let mut frames = std::mem::take(&mut held.frames);
        self.account(to, sent, began, &frames);
        frames.clear();
        self.held[to].frames = frames;
    }

    /// Notes what became of `frames`, the writing of which began at `began`.
    fn account(&mut self, to: usize, sent: io::Result<bool>, began: Option<Time>, frames: &[Delivered]) {
        match sent {
            Ok(true) => {
                self.counts.written += frames.len() as u64;
                let Some((clock, began)) = self.clock.as_ref().zip(began) else { return };
                let ended = clock();
                for Delivered { channel, at, stamp: Stamp { read, taken } } in frames {
                    let took = ended.saturating_since(*read);
                    self.errors.add(at.saturating_since(*taken), began.saturating_since(*read), took);
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
