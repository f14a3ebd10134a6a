//! Sizes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::parse::{UnitError, print, quantity};

const VALID: &str = "a size such as `4 KiB`: a number and one of B, KiB, MiB, GiB, kB, MB, GB";

/// Size in bytes. `KiB` counts in 1024, `kB` in 1000; the papers' `KB` is 1024 and is rejected as
/// ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// `n` times 1024 bytes.
    #[inline]
    pub const fn from_kib(n: u64) -> Self {
        Self(n * 1024)
    }

    /// Number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether the size is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Number of pieces of at most `piece` bytes that hold this size; panics if `piece` is zero.
    #[inline]
    pub const fn div_ceil(self, piece: Bytes) -> u64 {
        self.0.div_ceil(piece.0)
    }

    /// `self - other`, at least zero.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.checked_add(other.0).expect("size overflows"))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.checked_sub(other.0).expect("size would be negative"))
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn mul(self, n: u64) -> Bytes {
        Bytes(self.0.checked_mul(n).expect("size overflows"))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)])
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let units = [
            ("B", 1),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
        ];
        quantity(text, &units, VALID).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_and_print() {
        assert_eq!("4 KiB".parse::<Bytes>().unwrap(), Bytes::from_kib(4));
        assert_eq!("1.5 kB".parse::<Bytes>().unwrap(), Bytes::new(1500));
        assert_eq!(Bytes::from_kib(60).to_string(), "60 KiB");
        assert_eq!(Bytes::new(1500).to_string(), "1500 B");
        assert!("4 KB".parse::<Bytes>().unwrap_err().to_string().contains("KiB"));
        assert!("0.5 B".parse::<Bytes>().is_err());
    }
}
