//! When to look whether a TAP device has a frame.
//!
//! A ring that holds an input is seen by a load; a TAP device is seen by a system call of about half a microsecond.
//! Made on every turn of the clock's wait it would double the lateness of every event, and made before a read that
//! finds nothing it is not needed. A thread that reads ahead into a ring would take a second processor, which
//! on a small machine is the one that the programs run on. So the look is put where it does not hurt:
//!
//! * not closer before a deadline than it takes, by [`MARGIN`];
//! * not when the world is behind: what has been read and waits to be worked on is the reason, and more would only be
//!   queued, and dropped there. This is what makes the device's own queue, and not ours, the one that overflows;
//! * otherwise every [`PERIOD`], which a frame so waits at most;
//! * and after [`PATIENCE`] in any case, so that a world that is always behind still sees its inputs.
//!
//! A wake that has read as many frames as it may rings again without a look.

#![allow(
    unsafe_code,
    reason = "nix borrows descriptors for each call, and a list of them would be made at every look"
)]

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_engine::{Doorbell, Epoch};
use laxity_units::Span;

use super::Ports;
use laxity_machine::tap::Tap;

/// What a look takes, and a little.
const MARGIN: Span = Span::from_us(1);
/// Between two looks at devices that have nothing.
const PERIOD: Span = Span::from_us(2);
/// Between two looks when the world has no time for them.
const PATIENCE: Span = Span::from_us(200);

/// Rings when a TAP device has a frame.
pub struct TapBell {
    polled: Vec<libc::pollfd>,
    /// Keeps the descriptors open.
    _taps: Vec<Arc<Tap>>,
    more: Arc<AtomicBool>,
    epoch: Epoch,
    /// When all devices were last seen empty, in picoseconds of the run.
    seen_empty: Arc<AtomicU64>,
    margin: u64,
    period: u64,
    patience: u64,
    looked: u64,
}

impl TapBell {
    /// For `ports`, whose devices are `taps`, in a run that begins at `epoch`.
    pub fn new<W>(ports: &Ports<W>, taps: Vec<Arc<Tap>>, epoch: Epoch) -> Self {
        let ticks = epoch.ticks();
        let [margin, period, patience] = [MARGIN, PERIOD, PATIENCE].map(|span| ticks.in_span(span));
        let poll =
            |tap: &Arc<Tap>| libc::pollfd { fd: tap.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let polled = taps.iter().map(poll).collect();
        let (more, seen_empty) = (ports.more.clone(), ports.seen_empty.clone());
        Self { polled, _taps: taps, more, epoch, seen_empty, margin, period, patience, looked: 0 }
    }
}

impl Doorbell for TapBell {
    fn is_rung(&mut self) -> bool {
        if self.more.load(Ordering::Relaxed) {
            return true;
        }
        // SAFETY: the list and its length belong together, and the descriptors in it are kept open.
        let ready = unsafe { libc::poll(self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t, 0) };
        ready > 0
    }

    #[inline]
    fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
        let since = now.saturating_sub(self.looked);
        let wait = match now.saturating_add(self.margin) > due {
            true => self.patience,
            false if self.more.load(Ordering::Relaxed) => 0,
            false => self.period,
        };
        if since < wait {
            return false;
        }
        self.looked = now;
        let is_rung = self.is_rung();
        if !is_rung {
            self.seen_empty.store(self.epoch.time_at(now).as_ps(), Ordering::Relaxed);
        }
        is_rung
    }
}
