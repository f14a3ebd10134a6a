//! Virtual time of rate-based disciplines.
//!
//! An item of `L` bytes of a flow with rate `r` takes `L / r`. This is a fraction, and sums of
//! fractions decide the order. Here they are whole multiples of 2⁻³² ps, each rounded up: a clock
//! is off by a picosecond after four thousand million steps. The type has 128 bits because virtual
//! time outruns real time. When a flow that reserved a millionth of the server has the server
//! alone, a minute is worth two years, and 64 bits of picoseconds are used up after seven months.

use std::ops::Add;

use laxity_units::{Bytes, Span, Time};

use crate::virtual_clock::Vtick;

/// Fraction bits of a picosecond.
const FRACTION: u32 = 32;

/// An instant or a length of virtual time; sums saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Virtual(u128);

impl Virtual {
    /// Virtual time equal to a span of real time.
    #[inline]
    pub(super) fn of(span: Span) -> Self {
        Self(u128::from(span.as_ps()) << FRACTION)
    }

    /// Virtual time equal to an instant of real time.
    #[inline]
    pub(super) fn at(time: Time) -> Self {
        Self(u128::from(time.as_ps()) << FRACTION)
    }

    /// `L / r`: time of an item of `size` at its flow's rate.
    #[inline]
    pub(super) fn tick(of: Vtick, size: Bytes) -> Self {
        let product = u128::from(of.interval().as_ps()) * u128::from(size.get());
        let per = u128::from(of.size().get().max(1));
        Self(match product >> (u128::BITS - FRACTION) {
            0 => (product << FRACTION).div_ceil(per),
            _ => (product / per).min(u128::from(u64::MAX)) << FRACTION,
        })
    }

    /// Time from `other` to `self`; zero if `other` is later.
    #[inline]
    pub(super) fn since(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The time in whole picoseconds, rounded up.
    #[inline]
    pub(super) fn time_ceil(self) -> Time {
        Time::from_ps(u64::try_from(self.0.div_ceil(1 << FRACTION)).unwrap_or(u64::MAX))
    }

    #[inline]
    pub(super) fn raw(self) -> u128 {
        self.0
    }

    #[inline]
    pub(super) fn from_raw(raw: u128) -> Self {
        Self(raw)
    }
}

impl Add for Virtual {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_rounded_up_behind_the_picosecond() {
        let third = Vtick::new(Span::from_ps(1), Bytes::new(3));
        assert_eq!(Virtual::tick(third, Bytes::new(3)), Virtual::of(Span::from_ps(1)));
        assert_eq!(Virtual::tick(third, Bytes::new(1)).raw(), (1u128 << 32).div_ceil(3));
    }

    /// Neither value fits 128 bits with a fraction; the second does not fit 64 bits without one.
    #[test]
    fn what_is_too_long_to_be_exact_is_whole_and_what_is_longer_than_time_is_as_long() {
        let long = Vtick::new(Span::from_ps(1 << 62), Bytes::new(1 << 40));
        assert_eq!(Virtual::tick(long, Bytes::new(1 << 40)), Virtual::of(Span::from_ps(1 << 62)));
        assert_eq!(Virtual::tick(Vtick::NONE, Bytes::new(1 << 40)), Virtual::of(Span::MAX));
    }

    #[test]
    fn the_end_of_it_is_the_end() {
        let last = Virtual::from_raw(u128::MAX);
        assert_eq!(
            (last + Virtual::of(Span::MAX), Virtual::default().since(last)),
            (last, Virtual::default())
        );
    }
}
