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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vtick {
    /// How long.
    pub interval: Span,
    /// For how much; not zero.
    pub size: Bytes,
}

impl Vtick {
    /// Without an end: of a flow that has reserved nothing.
    pub const NONE: Self = Self { interval: Span::MAX, size: Bytes::new(1) };

    /// Whether it has no end.
    #[inline]
    pub fn is_none(self) -> bool {
        self.interval == Span::MAX
    }

    /// The rate, rounded down; nothing without one.
    pub fn rate(self) -> Rate {
        let picoseconds = u128::from(self.interval.as_ps().max(1));
        let bits = u128::from(self.size.get()) * 8_000_000_000_000 / picoseconds;
        if self.is_none() {
            Rate::from_bits_per_sec(0)
        } else {
            Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX))
        }
    }

    /// The tick of an item of `size`, rounded up.
    pub fn of(self, size: Bytes) -> Span {
        let ps = u128::from(self.interval.as_ps()) * u128::from(size.get());
        let ps = ps.div_ceil(u128::from(self.size.get().max(1)));
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

    #[test]
    fn a_tick_is_in_proportion_to_the_size() {
        let vtick = Vtick { interval: Span::from_us(128), size: Bytes::from_kib(4) };
        assert_eq!(vtick.of(Bytes::from_kib(1)), Span::from_us(32));
        assert_eq!(vtick.of(Bytes::new(1)), Span::from_ps(31_250));
        assert_eq!(Vtick { size: Bytes::new(3), ..vtick }.of(Bytes::new(1)).as_ps(), 42_666_667);
    }
}
