//! Polling of TAP devices for frames.
//!
//! A ring is polled by a load, a TAP device by a system call of about half a microsecond. At every
//! turn of the clock's wait it would double the lateness of every event. A thread that reads ahead
//! into a ring would need a second processor, which on a small machine the programs use. Polls are
//! therefore placed where they do little harm:
//!
//! * not within [`MARGIN`], the time of a poll, before a deadline;
//! * not when the world is behind: frames already read are the cause, and further ones would only
//!   be queued and dropped there. The device's own queue, and not ours, is thus the one that
//!   overflows;
//! * otherwise every [`PERIOD`], which is the maximum wait of a frame;
//! * after [`PATIENCE`] in any case, so that a world that is always behind still sees its inputs.
//!
//! A wake that has read its maximum number of frames rings again. It does so without a poll, unless
//! a device has several queues: a frame in another queue may have higher priority.
//!
//! A poll shows for each queue whether it has a frame, so that the others need not be read.

#![allow(
    unsafe_code,
    reason = "nix borrows descriptors for each call, and a list of them would be made at every look"
)]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_engine::{InputDoorbell, TickEpoch};
use laxity_units::Span;

use super::inlet::Inlet;
use super::{PolledWire, Ports};

/// Time of a poll, with a reserve.
const MARGIN: Span = Span::from_us(1);
/// Time between two polls of empty devices.
const PERIOD: Span = Span::from_us(2);
/// Maximum time between two polls when the world is behind.
const PATIENCE: Span = Span::from_us(200);

/// Doorbell that rings when a TAP device has a frame.
pub struct TapBell<W> {
    /// Descriptor of each queue of each port.
    polled: Vec<libc::pollfd>,
    /// Poll results of each.
    inlets: Arc<[Inlet]>,
    /// Keeps the descriptors open.
    _wires: Vec<Arc<W>>,
    more: Arc<AtomicBool>,
    /// Whether a queue may have priority over another.
    is_sorted: bool,
    epoch: TickEpoch,
    margin: u64,
    period: u64,
    patience: u64,
    looked: u64,
}

impl<W: PolledWire> TapBell<W> {
    /// Doorbell for `ports`, in a run that begins at `epoch`.
    pub fn new(ports: &Ports<W>, epoch: TickEpoch) -> Self {
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

    /// Polls all queues at `now`, and returns whether any has a frame.
    fn look(&mut self, now: u64) -> bool {
        // SAFETY: the list matches its length, and the descriptors in it are kept open.
        let ready = unsafe { libc::poll(self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t, 0) };
        // If the poll fails, all queues are read.
        let Ok(ready) = usize::try_from(ready) else { return true };
        let time = self.epoch.time_at(now);
        for (inlet, polled) in self.inlets.iter().zip(&self.polled) {
            if polled.revents == 0 { inlet.was_empty(time) } else { inlet.may_have() }
        }
        ready > 0
    }
}

impl<W: PolledWire> InputDoorbell for TapBell<W> {
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
