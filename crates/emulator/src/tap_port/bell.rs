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
//! A wake that has read as many frames as it may rings again, without a look unless a device has several queues: what came
//! to the others meanwhile may be more urgent than what is known to wait.
//!
//! A look says of each queue whether it has a frame, so that the others are not asked for one.

#![allow(
    unsafe_code,
    reason = "nix borrows descriptors for each call, and a list of them would be made at every look"
)]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_engine::{Doorbell, Epoch};
use laxity_units::Span;

use super::inlet::Inlet;
use super::{Polled, Ports};

/// What a look takes, and a little.
const MARGIN: Span = Span::from_us(1);
/// Between two looks at devices that have nothing.
const PERIOD: Span = Span::from_us(2);
/// Between two looks when the world has no time for them.
const PATIENCE: Span = Span::from_us(200);

/// Rings when a TAP device has a frame.
pub struct TapBell<W> {
    /// A descriptor for each queue of each port.
    polled: Vec<libc::pollfd>,
    /// What is seen of each.
    inlets: Arc<[Inlet]>,
    /// Keeps the descriptors open.
    _wires: Vec<Arc<W>>,
    more: Arc<AtomicBool>,
    /// Whether a queue may be looked into before another.
    is_sorted: bool,
    epoch: Epoch,
    margin: u64,
    period: u64,
    patience: u64,
    looked: u64,
}

impl<W: Polled> TapBell<W> {
    /// For `ports`, in a run that begins at `epoch`.
    pub fn new(ports: &Ports<W>, epoch: Epoch) -> Self {
        let ticks = epoch.ticks();
        let [margin, period, patience] = [MARGIN, PERIOD, PATIENCE].map(|span| ticks.in_span(span));
        let wires: Vec<Arc<W>> = ports.ports.iter().map(|port| port.wire.clone()).collect();
        let descriptors =
            wires.iter().flat_map(|wire| (0..wire.queues()).map(|queue| wire.descriptor(queue)));
        let poll = |fd: BorrowedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let polled: Vec<libc::pollfd> = descriptors.map(poll).collect();
        Self {
            is_sorted: polled.len() > wires.len(),
            polled,
            inlets: ports.inlets.clone(),
            _wires: wires,
            more: ports.more.clone(),
            epoch,
            margin,
            period,
            patience,
            looked: 0,
        }
    }

    /// Sees which queues have a frame at `now`, and answers whether any has.
    fn look(&mut self, now: u64) -> bool {
        // SAFETY: the list and its length belong together, and the descriptors in it are kept open.
        let ready = unsafe { libc::poll(self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t, 0) };
        // What could not be looked at is asked.
        let Ok(ready) = usize::try_from(ready) else { return true };
        let time = self.epoch.time_at(now);
        for (inlet, polled) in self.inlets.iter().zip(&self.polled) {
            if polled.revents == 0 { inlet.was_empty(time) } else { inlet.may_have() }
        }
        ready > 0
    }
}

impl<W: Polled> Doorbell for TapBell<W> {
    fn is_rung(&mut self) -> bool {
        self.is_rung_before(self.epoch.ticks().read(), u64::MAX)
    }

    #[inline]
    fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
        let since = now.saturating_sub(self.looked);
        let more = self.more.load(Ordering::Relaxed);
        let wait = match now.saturating_add(self.margin) > due {
            true => self.patience,
            false if more => 0,
            false => self.period,
        };
        if since < wait {
            return false;
        }
        self.looked = now;
        if more && !self.is_sorted {
            return true;
        }
        self.look(now) || more
    }
}
