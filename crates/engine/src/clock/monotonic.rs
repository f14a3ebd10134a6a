//! Monotonic clock of the operating system: the only source of real time.

use std::time::Instant;

#[allow(clippy::disallowed_methods, reason = "this is where the real clock reads the time")]
pub(super) fn now() -> Instant {
    Instant::now()
}
