//! Rates.

use std::fmt;
use std::str::FromStr;

use crate::bytes::Bytes;
use crate::parse::{UnitError, print, quantity};
use crate::time::Span;

const VALID: &str = "a rate such as `100 Mbit/s` or `1200 KiB/s`: a number and one of bit/s, kbit/s, Mbit/s, Gbit/s, \
                     B/s, KiB/s, MiB/s, GiB/s, kB/s, MB/s, GB/s";
const PS_PER_SEC: u128 = 1_000_000_000_000;

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// `n` bits per second.
    #[inline]
    pub const fn from_bits_per_sec(n: u64) -> Self {
        Self(n)
    }

    /// `n` bytes per second.
    #[inline]
    pub const fn from_bytes_per_sec(n: u64) -> Self {
        Self(n * 8)
    }

    /// Rate of one `size` per `interval`, rounded down; panics if `interval` is zero.
    #[inline]
    pub fn of(size: Bytes, interval: Span) -> Self {
        let bits = u128::from(size.get()) * 8 * PS_PER_SEC / u128::from(interval.as_ps());
        Self(u64::try_from(bits).expect("rate fits"))
    }

    /// Bits per second.
    #[inline]
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Whether the rate is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Bytes per second, to the nearest double; for display only.
    #[inline]
    pub fn bytes_per_sec_f64(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Serialisation time of `size`, rounded up, as admission charges it; panics at a zero rate.
    #[inline]
    pub fn time_for_ceil(self, size: Bytes) -> Span {
        let ps = (u128::from(size.get()) * 8 * PS_PER_SEC).div_ceil(u128::from(self.0));
        Span::from_ps(u64::try_from(ps).expect("time fits"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
        let binary = [("MiB/s", 8 << 20), ("KiB/s", 8 << 10)];
        // The papers' rates are whole KiB/s: print them in that unit rather than as odd numbers of
        // kbit/s.
        if !self.0.is_multiple_of(1_000_000) && self.0 != 0 && self.0.is_multiple_of(8 << 10) {
            return print(f, self.0, &binary);
        }
        print(f, self.0, &decimal)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        let units = [
            ("bit/s", 1),
            ("kbit/s", 1_000),
            ("Mbit/s", 1_000_000),
            ("Gbit/s", 1_000_000_000),
            ("B/s", 8),
            ("KiB/s", 8 << 10),
            ("MiB/s", 8 << 20),
            ("GiB/s", 8 << 30),
            ("kB/s", 8_000),
            ("MB/s", 8_000_000),
            ("GB/s", 8_000_000_000),
        ];
        quantity(text, &units, VALID).map(Rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_parse_print_and_take_time() {
        let rate: Rate = "160 Mbit/s".parse().unwrap();
        assert_eq!(rate.time_for_ceil(Bytes::new(4096)), Span::from_ns(204_800));
        assert_eq!("1200 KiB/s".parse::<Rate>().unwrap(), Rate::of(Bytes::from_kib(60), Span::from_ms(50)));
        assert_eq!("1200 KiB/s".parse::<Rate>().unwrap().to_string(), "1200 KiB/s");
        assert_eq!("2 Gbit/s".parse::<Rate>().unwrap().to_string(), "2 Gbit/s");
        assert!("-3 Mbit/s".parse::<Rate>().unwrap_err().to_string().contains("negative"));
    }
}
