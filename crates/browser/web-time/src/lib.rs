//! A replacement of the crate `web-time`: the standard clock natively, and none in WebAssembly.
//!
//! The solver of linear programs reads a clock for its limits of time, which Laxity does not use. The
//! published crate reads the clock of a page through imports of the module. With this one the
//! module has no imports, and no answer can depend on the time of day.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::*;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use still::*;

#[cfg(any(test, all(target_family = "wasm", target_os = "unknown")))]
mod still {
    use std::ops::{Add, Sub};
    pub use std::time::Duration;

    /// A time of a clock that stands still: a limit of time is never reached.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Instant(Duration);

    impl Instant {
        /// The one time that there is.
        pub fn now() -> Instant {
            Instant(Duration::ZERO)
        }

        /// No time has passed.
        pub fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        /// From `earlier` to this; zero if it is later.
        pub fn duration_since(&self, earlier: Instant) -> Duration {
            self.0.saturating_sub(earlier.0)
        }

        /// Later by `duration`, if such a time can be said.
        pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
            self.0.checked_add(duration).map(Instant)
        }
    }

    impl Add<Duration> for Instant {
        type Output = Instant;
        fn add(self, duration: Duration) -> Instant {
            Instant(self.0.saturating_add(duration))
        }
    }

    impl Sub<Instant> for Instant {
        type Output = Duration;
        fn sub(self, earlier: Instant) -> Duration {
            self.duration_since(earlier)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::still::{Duration, Instant};

    #[test]
    fn a_limit_is_never_reached() {
        let limit = Instant::now() + Duration::from_nanos(1);
        assert!(Instant::now() < limit && Instant::now().elapsed().is_zero());
        assert_eq!(limit - Instant::now(), Duration::from_nanos(1));
        assert_eq!(Instant::now().checked_add(Duration::from_nanos(1)), Some(limit));
        assert!(limit.checked_add(Duration::MAX).is_none());
    }
}
