//! `auxVC` and `Vtick`: a clock for each flow that ticks with what it sends.
//!
//! An item that comes at `t` moves its flow's clock to
//!
//! ```text
//! auxVC ← max(t, auxVC) + Vtick        Vtick = what the item would take at the flow's own rate
//! ```
//!
//! and is served in the order of these stamps (L. Zhang, "VirtualClock: a new traffic control algorithm for packet-switched
//! networks", ACM TOCS 9(2), 1991). A flow that sends more than it reserved runs its clock ahead of time, and waits behind those
//! that do not. What has no reservation has a tick without end and goes when nothing else waits.

use laxity_units::{Bytes, Rate, Span, Time};

/// `Vtick` as an adapter is told it: what so many bytes take at the rate that was reserved.
///
/// Every packet carries it. So it is three half words, which leave the packet with two lines of memory: more than four gigabytes are told in units of two,
/// four and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vtick {
    /// Low half first.
    interval: [u32; 2],
    size: u32,
}

impl Vtick {
    /// Without an end: of a flow that has reserved nothing.
    pub const NONE: Self = Self { interval: [u32::MAX; 2], size: 1 };

    /// That `size`, which is not zero, takes `interval`.
    pub const fn new(interval: Span, size: Bytes) -> Self {
        let (mut interval, mut size) = (interval.as_ps(), size.get());
        while size > u32::MAX as u64 {
            // No faster than what was reserved.
            (interval, size) = (interval.div_ceil(2), size / 2);
        }
        Self { interval: [interval as u32, (interval >> 32) as u32], size: size as u32 }
    }

    /// How long.
    #[inline]
    pub fn interval(self) -> Span {
        let [low, high] = self.interval;
        Span::from_ps(u64::from(high) << 32 | u64::from(low))
    }

    /// For how much; not zero.
    #[inline]
    pub fn size(self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    /// Whether it has no end.
    #[inline]
    pub fn is_none(self) -> bool {
        self.interval() == Span::MAX
    }

    /// The rate, rounded down; nothing without one.
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
    /// The stamp of an item that comes `now` and takes `tick` at the flow's rate. Without a rate it is [`Time::MAX`], and the clock
    /// stays as it is.
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

    /// The last stamp: until then the flow has used up its rate.
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

    /// Nine times too much for its half word: by 16 less, and never faster for it.
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
