//! The operating system's monotonic clock: the one place where real time comes from.

use std::time::Instant;

#[allow(clippy::disallowed_methods, reason = "this is where the real clock reads the time")]
pub(super) fn now() -> Instant {
    Instant::now()
}
