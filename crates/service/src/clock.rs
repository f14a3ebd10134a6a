//! The clock of the daemon: `CLOCK_MONOTONIC`, counted from the start.

use std::time::Duration;

use laxity_units::Time;
use nix::time::{ClockId, clock_gettime};

/// The clock of a node in real time.
///
/// [`Time`] counts picoseconds in 64 bits, so a life of a daemon lasts 213 days at most; the daemon
/// then restarts itself with the next epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// The monotonic clock at the start, in nanoseconds.
    start: u64,
}

/// Nanoseconds of a clock of the system.
pub(crate) fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Clock {
    /// A clock that begins at zero.
    pub(crate) fn start() -> Self {
        Self { start: nanoseconds(ClockId::CLOCK_MONOTONIC) }
    }

    /// The time.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time::from_ns(nanoseconds(ClockId::CLOCK_MONOTONIC).saturating_sub(self.start))
    }

    /// An instant in nanoseconds of `CLOCK_MONOTONIC`, as programs read it.
    pub(crate) fn monotonic(&self, time: Time) -> u64 {
        self.start.saturating_add(time.as_ps() / 1000)
    }
}

/// CPU time of the calling thread in nanoseconds.
pub(crate) fn cpu_time() -> u64 {
    nanoseconds(ClockId::CLOCK_THREAD_CPUTIME_ID)
}
