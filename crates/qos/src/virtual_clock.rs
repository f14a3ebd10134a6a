//! `auxVC` and `Vtick`: a clock for each flow that ticks with the flow's items.
//!
//! An item that arrives at `t` advances its flow's clock to
//!
//! ```text
//! auxVC ← max(t, auxVC) + Vtick        Vtick = the time of the item at the flow's own rate
//! ```
//!
//! and is served in the order of these stamps (L. Zhang, "VirtualClock: a new traffic control
//! algorithm for packet-switched networks", ACM TOCS 9(2), 1991). A flow that sends more than it
//! reserved advances its clock beyond real time, and waits behind flows that do not. An item
//! without a reservation has an infinite tick and is served when no other item waits.

use laxity_units::{Bytes, Rate, Span, Time};

/// `Vtick` as an adapter gets it: the time that `size` bytes take at the reserved rate.
///
/// Every packet carries it. It has three half words, which keeps the packet within two cache lines:
/// sizes over four gigabytes are scaled down by powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vtick {
    /// Low half first.
    interval: [u32; 2],
    size: u32,
}

impl Vtick {
    /// Infinite: for a flow without a reservation.
    pub const NONE: Self = Self { interval: [u32::MAX; 2], size: 1 };

    /// A rate of `size`, which is not zero, per `interval`.
    pub const fn new(interval: Span, size: Bytes) -> Self {
        let (mut interval, mut size) = (interval.as_ps(), size.get());
        while size > u32::MAX as u64 {
            // Rounded so that the rate is no faster than reserved.
            (interval, size) = (interval.div_ceil(2), size / 2);
        }
        Self { interval: [interval as u32, (interval >> 32) as u32], size: size as u32 }
    }

    /// The interval.
    #[inline]
    pub fn interval(self) -> Span {
        let [low, high] = self.interval;
        Span::from_ps(u64::from(high) << 32 | u64::from(low))
    }

    /// The size per interval; not zero.
    #[inline]
    pub fn size(self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    /// Whether the tick is infinite.
    #[inline]
    pub fn is_none(self) -> bool {
        self.interval() == Span::MAX
    }

    /// The rate, rounded down; zero for an infinite tick.
    pub fn rate(self) -> Rate {
        let picoseconds = u128::from(self.interval().as_ps().max(1));
        let bits = u128::from(self.size().get()) * 8_000_000_000_000 / picoseconds;
        if self.is_none() {
            Rate::from_bits_per_sec(0)
        } else {
            Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX))
        }
    }

    /// The tick of an item of `size`, rounded up.
    pub fn of(self, size: Bytes) -> Span {
        let ps = u128::from(self.interval().as_ps()) * u128::from(size.get());
        let ps = ps.div_ceil(u128::from(self.size().get().max(1)));
        u64::try_from(ps).map_or(Span::MAX, Span::from_ps)
    }
}

/// `auxVC` of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowClock(Time);

impl FlowClock {
    /// The stamp of an item that arrives `now` and takes `tick` at the flow's rate. Without a rate
    /// it is [`Time::MAX`], and the clock does not change.
    #[inline]
    pub fn stamp(&mut self, now: Time, tick: Option<Span>) -> Time {
        let Some(tick) = tick else { return Time::MAX };
        self.0 = self.next(now, tick);
        self.0
    }

    /// The stamp that [`stamp`](Self::stamp) would give an item.
    #[inline]
    pub fn next(&self, now: Time, tick: Span) -> Time {
        self.0.max(now).saturating_add(tick)
    }

    /// The last stamp: the flow has used its rate up to this time.
    pub fn reading(&self) -> Time {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn who_keeps_its_rate_is_a_tick_ahead_and_who_exceeds_it_more() {
        let tick = Some(Span::from_us(100));
        let mut keeps = FlowClock::default();
        let mut exceeds = FlowClock::default();
        let kept: Vec<Time> = [0, 100, 250].map(|at| keeps.stamp(us(at), tick)).into();
        assert_eq!(kept, [us(100), us(200), us(350)]);
        let exceeded: Vec<Time> = [0, 10, 20].map(|at| exceeds.stamp(us(at), tick)).into();
        assert_eq!(exceeded, [us(100), us(200), us(300)]);
        assert_eq!((exceeds.stamp(us(30), None), exceeds.reading()), (Time::MAX, us(300)));
    }

    /// Nine times too large for its half word: scaled by 16, and never faster for it.
    #[test]
    fn much_is_told_in_greater_units() {
        let vtick = Vtick::new(Span::from_ps(1001), Bytes::new(9 << 32));
        assert_eq!((vtick.interval(), vtick.size()), (Span::from_ps(63), Bytes::new(9 << 28)));
        assert_eq!(vtick.of(Bytes::new(9 << 32)), Span::from_ps(63 * 16));
        let fits = Vtick::new(Span::MAX, Bytes::new(u64::from(u32::MAX)));
        assert!(fits.is_none() && fits.size() == Bytes::new(u64::from(u32::MAX)));
    }

    #[test]
    fn a_tick_is_in_proportion_to_the_size() {
        let vtick = Vtick::new(Span::from_us(128), Bytes::from_kib(4));
        assert_eq!(vtick.of(Bytes::from_kib(1)), Span::from_us(32));
        assert_eq!(vtick.of(Bytes::new(1)), Span::from_ps(31_250));
        assert_eq!(Vtick::new(vtick.interval(), Bytes::new(3)).of(Bytes::new(1)).as_ps(), 42_666_667);
    }
}
