//! Cached state of a port's queue.
//!
//! Reading a queue is a system call, which costs as much without a frame as with one. A doorbell
//! that polls all queues at once (`bell.rs`) records here which are worth reading. Both run on one
//! thread; the atomics only allow them to be moved there separately.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_units::Time;

#[derive(Debug)]
pub(super) struct Inlet {
    may_have: AtomicBool,
    /// Time at which it was last seen empty, in picoseconds of the run.
    empty: AtomicU64,
}

impl Inlet {
    pub(super) fn new() -> Self {
        Self { may_have: AtomicBool::new(true), empty: AtomicU64::new(0) }
    }

    /// Records that it has a frame, or may have one.
    #[inline]
    pub(super) fn may_have(&self) {
        self.may_have.store(true, Ordering::Relaxed);
    }

    /// Records that it was empty at `time`.
    #[inline]
    pub(super) fn was_empty(&self, time: Time) {
        self.may_have.store(false, Ordering::Relaxed);
        self.empty.fetch_max(time.as_ps(), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_worth_asking(&self) -> bool {
        self.may_have.load(Ordering::Relaxed)
    }

    /// Time at which it was last empty: a frame read from it arrived later.
    #[inline]
    pub(super) fn last_empty(&self) -> Time {
        Time::from_ps(self.empty.load(Ordering::Relaxed))
    }
}
