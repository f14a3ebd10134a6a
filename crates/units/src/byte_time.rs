//! Exact serialisation time of a byte.
//!
//! At most rates a byte takes a fraction of picoseconds: 71 3/7 ps at 112 Gbit/s. A time rounded
//! per byte would be wrong by 0.8 % there, and by 60 % at 6400 Gbit/s. The time is therefore a
//! ratio; only the time of a whole frame is rounded up to the next picosecond. Simulation and
//! admission call the same function, so a bound that adds up frames is never below the simulated
//! sum.

use std::cmp::Ordering;
use std::fmt;

use crate::bytes::Bytes;
use crate::rate::Rate;
use crate::time::Span;

/// Picoseconds that a byte takes at 1 bit/s.
const PS_AT_ONE_BIT: u64 = 8_000_000_000_000;

/// Time per byte: a ratio of picoseconds to bytes in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteTime {
    ps: u64,
    /// At least 1; 1 if the time per byte is a whole number of picoseconds.
    bytes: u64,
}

impl ByteTime {
    /// Zero time.
    pub const ZERO: ByteTime = ByteTime::of(Span::ZERO);

    /// `span` for each byte.
    #[inline]
    pub const fn of(span: Span) -> Self {
        Self { ps: span.as_ps(), bytes: 1 }
    }

    /// `ps` picoseconds for each byte.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Self { ps, bytes: 1 }
    }

    /// `ns` nanoseconds for each byte.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self::of(Span::from_ns(ns))
    }

    /// Exact time per byte at `rate`; panics if the rate is zero.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Self::of(Span::from_us(us))
    }

    /// The time of a byte at `rate`, exactly; panics if the rate is zero.
    pub fn at(rate: Rate) -> Self {
        Self::ratio(u128::from(PS_AT_ONE_BIT), u128::from(rate.bits_per_sec()))
    }

    /// `ps` picoseconds for `bytes` bytes; panics if `bytes` is zero.
    ///
    /// Exact if the reduced terms have 64 bits; otherwise rounded up, and at most `u64::MAX` ps a byte.
    pub fn ratio(ps: u128, bytes: u128) -> Self {
        assert!(bytes > 0, "a time for no bytes");
        let common = greatest_common_divisor(ps, bytes);
        let (mut ps, mut bytes) = (ps / common, bytes / common);
        let excess = (u128::BITS - ps.max(bytes).leading_zeros()).saturating_sub(u64::BITS);
        if excess > 0 {
            let unit = 1u128 << excess;
            if bytes < unit {
                return Self::from_ps(u64::MAX);
            }
            (ps, bytes) = (ps.div_ceil(unit).min(u128::from(u64::MAX)), bytes / unit);
            let common = greatest_common_divisor(ps, bytes);
            (ps, bytes) = (ps / common, bytes / common);
        }
        let term = |term: u128| u64::try_from(term).expect("the term was shortened");
        Self { ps: term(ps), bytes: term(bytes) }
    }

    /// Time of `size` bytes, rounded up; panics if it exceeds [`Span::MAX`].
    #[inline]
    pub fn time(self, size: Bytes) -> Span {
        if self.bytes == 1 {
            return Span::from_ps(self.ps) * size.get();
        }
        self.divided_time(size)
    }

    fn divided_time(self, size: Bytes) -> Span {
        let ps = match self.ps.checked_mul(size.get()) {
            Some(ps) => ps.div_ceil(self.bytes),
            None => {
                let ps = (u128::from(self.ps) * u128::from(size.get())).div_ceil(u128::from(self.bytes));
                u64::try_from(ps).expect("span overflows")
            }
        };
        Span::from_ps(ps)
    }

    /// Whether the time is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.ps == 0
    }

    /// Maximum that rounding adds to the time of a frame: zero if a byte takes whole picoseconds,
    /// otherwise one picosecond.
    #[inline]
    pub const fn rounding(self) -> Span {
        if self.bytes == 1 { Span::ZERO } else { Span::from_ps(1) }
    }

    /// Time per byte in units of 2⁻ᵇⁱᵗˢ ps, rounded up; `bits` is at most 64.
    pub fn scaled_ceil(self, bits: u32) -> u128 {
        (u128::from(self.ps) << bits).div_ceil(u128::from(self.bytes))
    }

    /// Time per byte in units of 2⁻ᵇⁱᵗˢ ps, rounded down; `bits` is at most 64.
    pub fn scaled_floor(self, bits: u32) -> u128 {
        (u128::from(self.ps) << bits) / u128::from(self.bytes)
    }

    /// Time per byte, rounded up.
    pub const fn ceil(self) -> Span {
        Span::from_ps(self.ps.div_ceil(self.bytes))
    }

    /// `self × numerator / denominator`, rounded as by [`ratio`](Self::ratio); panics if the
    /// denominator is zero.
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let times = |a: u64, b: u64| u128::from(a) * u128::from(b);
        Self::ratio(times(self.ps, numerator), times(self.bytes, denominator))
    }

    /// Rate with this time per byte, rounded down to bits per second; `None` if the time is zero.
    pub fn rate(self) -> Option<Rate> {
        let bits = (u128::from(PS_AT_ONE_BIT) * u128::from(self.bytes)).checked_div(u128::from(self.ps))?;
        Some(Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX)))
    }

    /// Time divided by `factor`, which is finite and above zero.
    ///
    /// Exact if the factor has at most six decimals, otherwise rounded to the nearest 2⁻²⁰ ps.
    #[must_use]
    pub fn divided(self, factor: f64) -> Self {
        const MILLIONTHS: u64 = 1_000_000;
        let whole = (factor * MILLIONTHS as f64).round();
        if whole >= 1.0 && whole < u64::MAX as f64 && whole / MILLIONTHS as f64 == factor {
            return self.scaled(MILLIONTHS, whole as u64);
        }
        let ps = self.ps as f64 / self.bytes as f64 / factor;
        Self::ratio((ps * (1u64 << 20) as f64).round() as u128, 1 << 20)
    }
}

impl Default for ByteTime {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ord for ByteTime {
    fn cmp(&self, other: &Self) -> Ordering {
        let times = |a: u64, b: u64| u128::from(a) * u128::from(b);
        times(self.ps, other.bytes).cmp(&times(other.ps, self.bytes))
    }
}

impl PartialOrd for ByteTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ByteTime {
    /// `50 ns/B`, or `112 Gbit/s` if a byte takes no whole number of picoseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate() {
            Some(rate) if self.bytes != 1 => rate.fmt(f),
            _ => write!(f, "{}/B", self.ceil()),
        }
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(gbit: u64) -> ByteTime {
        ByteTime::at(Rate::from_bits_per_sec(gbit * 1_000_000_000))
    }

    /// 1538 B are 12304 bits: 4101.333 ns at 3 Gbit/s, 109.857 ns at 112, 3.845 ns at 3200, 1.9225 ns at 6400.
    #[test]
    fn a_frame_is_rounded_up_once() {
        let frame = Bytes::new(1538);
        let times = [1, 3, 112, 3200, 6400].map(|gbit| at(gbit).time(frame).as_ps());
        assert_eq!(times, [12_304_000, 4_101_334, 109_858, 3845, 1923]);
        assert_eq!(at(6400).time(Bytes::new(4)), Span::from_ps(5), "a byte takes 1.25 ps");
        assert_eq!(at(3).time(Bytes::ZERO), Span::ZERO);
        let slow = ByteTime::at(Rate::from_bits_per_sec(7));
        assert_eq!(slow.time(Bytes::new(7_000_000)), Span::from_secs(8_000_000), "past 64 bits on the way");
    }

    #[test]
    fn ratios_are_compared_and_printed_as_what_they_are() {
        assert!(at(113) < at(112) && at(112) < ByteTime::from_ps(72) && ByteTime::from_ps(71) < at(112));
        assert_eq!(ByteTime::ratio(100, 50), ByteTime::from_ps(2));
        assert_eq!(at(8), ByteTime::from_ns(1));
        assert_eq!([at(112), at(160)].map(|time| time.to_string()), ["112 Gbit/s", "50 ps/B"]);
        assert_eq!([at(112).rounding(), at(160).rounding()], [Span::from_ps(1), Span::ZERO]);
        assert_eq!((at(3).scaled_ceil(16), at(3).scaled_floor(16)), (174_762_667, 174_762_666));
        assert_eq!((at(112).ceil(), ByteTime::ZERO.rate()), (Span::from_ps(72), None));
    }

    #[test]
    fn factors_are_exact_and_what_has_too_many_bits_is_rounded_up() {
        assert_eq!(ByteTime::from_ps(1).divided(2.5), ByteTime::ratio(2, 5));
        assert_eq!(ByteTime::from_ps(3).scaled(1, 3), ByteTime::from_ps(1));
        assert_eq!(ByteTime::from_ps(1).divided(std::f64::consts::PI), ByteTime::ratio(333_772, 1 << 20));
        let odd = ByteTime::ratio((1 << 100) + 1, 1 << 80);
        assert!(odd > ByteTime::from_ps(1 << 20) && odd.time(Bytes::new(1)) == Span::from_ps((1 << 20) + 1));
    }
}
