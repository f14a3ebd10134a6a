//! What is known of a port's queue without asking it again.
//!
//! Asking a queue for a frame is a system call, and one that finds nothing costs as much as one that does. A bell that looks
//! at all of them at once (`bell.rs`) says here which are worth asking. The two are on one thread; atomics are what lets them
//! go to it by different ways.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_units::Time;

/// A queue of a port.
#[derive(Debug)]
pub(super) struct Inlet {
    may_have: AtomicBool,
    /// When it was last seen empty, in picoseconds of the run.
    empty: AtomicU64,
}

impl Inlet {
    /// One of which nothing is known.
    pub(super) fn new() -> Self {
        Self { may_have: AtomicBool::new(true), empty: AtomicU64::new(0) }
    }

    /// It has a frame, or nothing is known of it any more.
    #[inline]
    pub(super) fn may_have(&self) {
        self.may_have.store(true, Ordering::Relaxed);
    }

    /// It had nothing at `time`.
    #[inline]
    pub(super) fn was_empty(&self, time: Time) {
        self.may_have.store(false, Ordering::Relaxed);
        self.empty.fetch_max(time.as_ps(), Ordering::Relaxed);
    }

    /// Whether it is worth asking for a frame.
    #[inline]
    pub(super) fn is_worth_asking(&self) -> bool {
        self.may_have.load(Ordering::Relaxed)
    }

    /// When it last had nothing: a frame that is read from it came later.
    #[inline]
    pub(super) fn last_empty(&self) -> Time {
        Time::from_ps(self.empty.load(Ordering::Relaxed))
    }
}
