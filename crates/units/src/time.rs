//! Instants and spans.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::parse::{UnitError, print, quantity};

const PER_NANO: u64 = 1_000;
const PER_MICRO: u64 = 1_000_000;
const PER_MILLI: u64 = 1_000_000_000;
const PER_SEC: u64 = 1_000_000_000_000;
const VALID: &str = "a time such as `600 us`: a number and one of ps, ns, us, ms, s, min, h";

/// Instant: picoseconds since the start of the run.
///
/// A `Time` is not a wall-clock time; a clock (virtual, scripted or real) defines zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// Difference of two instants, in picoseconds; never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Last representable instant; means "never" only where a value is required.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// The instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PER_NANO)
    }

    /// Picoseconds since the start.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The instant, or `None` for [`Time::MAX`], which components store as "no timer".
    #[inline]
    pub fn named(self) -> Option<Time> {
        (self != Time::MAX).then_some(self)
    }

    /// Earlier of two optional instants; `None` only if both are.
    ///
    /// Every query of the next event ends here, hence a comparison rather than an iterator.
    #[inline]
    pub fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b < a { b } else { a }),
            (a, None) => a,
            (None, b) => b,
        }
    }

    /// Seconds since the start, rounded to the nearest double; for display only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PER_SEC as f64
    }

    /// Span from `earlier` to this instant; panics if `earlier` is later, which is a bug of the
    /// model.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("an instant precedes the one it is measured from"))
    }

    /// Span from `earlier` to this instant, or zero if `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, at most [`Time::MAX`].
    #[inline]
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// `self - span`, at least [`Time::ZERO`].
    #[inline]
    pub const fn saturating_sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }

    /// Whether the instant is a multiple of `period`, which is not zero.
    #[inline]
    pub const fn is_multiple_of(self, period: Span) -> bool {
        self.0.is_multiple_of(period.0)
    }

    /// First multiple of `period`, which is not zero, after this instant.
    #[inline]
    pub fn next_multiple_of(self, period: Span) -> Time {
        Time::ZERO + period * (self.0 / period.0 + 1)
    }
}

impl Span {
    /// Zero length.
    pub const ZERO: Span = Span(0);
    /// Longest span, 213 days.
    pub const MAX: Span = Span(u64::MAX);

    /// `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PER_NANO)
    }

    /// `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Self(us * PER_MICRO)
    }

    /// `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * PER_MILLI)
    }

    /// `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * PER_SEC)
    }

    /// Span nearest to `secs` seconds, or `None` if that is negative, not finite or too long.
    ///
    /// For values that are real by nature, such as an exponential variate; a written quantity is
    /// parsed exactly.
    pub fn from_secs_f64(secs: f64) -> Option<Self> {
        let ps = (secs * PER_SEC as f64).round();
        (ps >= 0.0 && ps < u64::MAX as f64).then_some(Self(ps as u64))
    }

    /// Picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, rounded to the nearest double; for display only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PER_SEC as f64
    }

    /// Whether the span is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, at least zero.
    #[inline]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or [`Span::MAX`].
    #[inline]
    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// `self × n`, or [`Span::MAX`].
    #[inline]
    pub const fn saturating_mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }

    /// Number of whole `other` that fit; panics if `other` is zero.
    #[inline]
    pub const fn div_floor(self, other: Span) -> u64 {
        self.0 / other.0
    }

    /// Number of `other` that cover this span; panics if `other` is zero.
    #[inline]
    pub const fn div_ceil(self, other: Span) -> u64 {
        self.0.div_ceil(other.0)
    }

    /// Span divided by `factor`, which is finite and above zero, rounded to the nearest picosecond.
    ///
    /// A span that is not zero stays so: work at any speed takes some time.
    #[must_use]
    pub fn divided(self, factor: f64) -> Span {
        let ps = (self.0 as f64 / factor).round() as u64;
        Span(if self.0 == 0 { 0 } else { ps.max(1) })
    }

    /// `self × numerator / denominator`, rounded up.
    #[inline]
    pub fn scale_ceil(self, numerator: u64, denominator: u64) -> Span {
        let scaled = (u128::from(self.0) * u128::from(numerator)).div_ceil(u128::from(denominator));
        Span(u64::try_from(scaled).expect("a scaled span fits"))
    }

    /// `self × numerator / denominator`, rounded down.
    #[inline]
    pub fn scale_floor(self, numerator: u64, denominator: u64) -> Span {
        let scaled = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Span(u64::try_from(scaled).expect("a scaled span fits"))
    }

    /// The shortest span of at most `digits` significant digits that is at least `self`; `self` if
    /// that exceeds [`Span::MAX`].
    pub fn rounded_up(self, digits: u32) -> Span {
        let excess = self.0.checked_ilog10().map_or(0, |log| (log + 1).saturating_sub(digits));
        let unit = 10u64.pow(excess);
        self.0.div_ceil(unit).checked_mul(unit).map_or(self, Span)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.checked_add(span.0).expect("instant overflows"))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0.checked_sub(span.0).expect("instant precedes the start"))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.checked_add(other.0).expect("span overflows"))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.checked_sub(other.0).expect("span would be negative"))
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0.checked_mul(n).expect("span overflows"))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    /// Rounds down.
    #[inline]
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(iter: I) -> Span {
        iter.fold(Span::ZERO, Add::add)
    }
}

const PRINTED: [(&str, u64); 5] =
    [("s", PER_SEC), ("ms", PER_MILLI), ("us", PER_MICRO), ("ns", PER_NANO), ("ps", 1)];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, &PRINTED)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, &PRINTED)
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        let units = [
            ("ps", 1),
            ("ns", PER_NANO),
            ("us", PER_MICRO),
            ("µs", PER_MICRO),
            ("μs", PER_MICRO),
            ("ms", PER_MILLI),
            ("s", PER_SEC),
            ("min", 60 * PER_SEC),
            ("h", 3600 * PER_SEC),
        ];
        quantity(text, &units, VALID).map(Span)
    }
}

impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Time, UnitError> {
        text.parse::<Span>().map(|span| Time::ZERO + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_at_any_speed_takes_some_time() {
        let divided = |ps: u64, factor: f64| Span::from_ps(ps).divided(factor).as_ps();
        assert_eq!((divided(0, 3.0), divided(10, 4.0), divided(10, 0.5)), (0, 3, 20));
        assert_eq!((divided(1000, 2200.0), divided(1, 1e9)), (1, 1));
    }

    #[test]
    fn a_readable_span_is_never_shorter() {
        let up = |ps: u64| Span::from_ps(ps).rounded_up(4).as_ps();
        assert_eq!(up(33_965_599_992), 33_970_000_000);
        assert_eq!(up(33_960_000_001), 33_970_000_000);
        assert_eq!((up(0), up(9999), up(10_001)), (0, 9999, 10_010));
        assert_eq!(up(u64::MAX), u64::MAX, "the next number of four digits does not fit");
    }

    #[test]
    fn the_earlier_of_two_that_may_be_missing() {
        let (a, b) = (Some(Time::from_ps(1)), Some(Time::from_ps(2)));
        for (first, second, earlier) in [(a, b, a), (b, a, a), (a, None, a), (None, b, b), (None, None, None)]
        {
            assert_eq!(Time::earlier(first, second), earlier);
        }
    }

    #[test]
    fn written_spans_are_exact() {
        for (text, ps) in [
            ("600 us", 600 * PER_MICRO),
            ("1.5ms", 1_500_000_000),
            ("0.1 µs", 100_000),
            ("2 min", 120 * PER_SEC),
            ("1_000 ns", PER_MICRO),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().as_ps(), ps, "{text}");
        }
    }

    #[test]
    fn a_bad_span_says_why() {
        for (text, reason) in [
            ("600", "no unit"),
            ("-1 ms", "negative"),
            ("1 parsec", "not a unit"),
            ("ms", "start with a number"),
            ("0.1 ps", "finer"),
            ("1.2.3 ms", "not a decimal"),
            ("99999999999999999999 s", "too large"),
            ("300 h_", "not a unit"),
            ("6000 h", "too large"),
            (". s", "not a decimal"),
        ] {
            let error = text.parse::<Span>().unwrap_err();
            assert!(error.reason().contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn spans_print_as_they_are_read() {
        for text in ["600 us", "1.5 ms", "245 us", "40 ms", "2 s", "1.234 us", "1234567 ns", "0 ps", "7 ps"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span, "{text}");
        }
        assert_eq!(Span::from_us(245).to_string(), "245 us");
    }

    #[test]
    fn rounding_is_named() {
        assert_eq!(Span::from_ps(10).scale_ceil(1, 3).as_ps(), 4);
        assert_eq!(Span::from_ps(10).scale_floor(1, 3).as_ps(), 3);
        assert_eq!(Span::from_ps(10).div_ceil(Span::from_ps(3)), 4);
        assert_eq!(Span::from_ps(10).div_floor(Span::from_ps(3)), 3);
    }
}
