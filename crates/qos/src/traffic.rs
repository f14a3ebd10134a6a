//! The traffic contract: a linear bounded arrival process, and the logical time that enforces it.
//!
//! A real-time channel sends at most `B_max + δ·R_max` messages of at most `M_max` bytes in any
//! interval `δ` (resource §2.1). Bursts are allowed, yet admission reserves only one message every
//! `I_min = 1/R_max`. *Logical arrival time* reconciles the two: each message counts as arriving no
//! sooner than `I_min` after its predecessor,
//!
//! ```text
//! ℓ(m_0) = t_0,   ℓ(m_i) = max(ℓ(m_{i−1}) + I_min, t_i),
//! ```
//!
//! and its deadline counts from `ℓ`. A message is *early* before `ℓ`; from `ℓ` on it is *current*.
//! A channel that exceeds its contract only delays its own messages.
//!
//! # Coverage of a contract
//!
//! A conforming message that is sent at `t` has `ℓ ≤ t + (B_max − 1) I_min`. The contract *covers*
//! a message with a logical arrival at most `B_max` intervals ahead when the message is sent. For a
//! message larger than `M_max`, the logical arrival of the last piece counts.
//!
//! ```text
//! ℓ(m) ≤ t + B_max I_min                                                    (1)
//! ```
//!
//! Rule (1) is a token bucket for `B_max + 1` messages, filled at `R_max`. The additional message
//! is for an application that waits for the CPU for up to one `I_min`: the messages after that wait
//! are closer together than the source sent them. If only covered messages get a guarantee, at most
//! `B_max` guaranteed messages are ahead of their logical arrival.

use laxity_units::{Bytes, Rate, Span, Time};

use crate::fragment::{Cut, Fragmentation};
use crate::limits::MessageLimit;
use crate::virtual_clock::Vtick;

/// The traffic contract of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficSpec {
    /// `M_max`: largest message.
    pub max_message: Bytes,
    /// Smallest message, at most `max_message`. Not in the papers: small packets complete often,
    /// and under O1 every completion interrupts the running thread, so a bound needs the minimum
    /// size.
    pub min_message: Bytes,
    /// `B_max`: longest burst, in messages; at least 1.
    pub burst: u32,
    /// `I_min = 1/R_max`: minimum average spacing of messages; not zero.
    pub min_interval: Span,
}

impl TrafficSpec {
    /// `R_max × M_max`: the rate that the channel reserves.
    pub fn rate(&self) -> Rate {
        Rate::of(self.max_message, self.min_interval)
    }

    /// Its limit of messages.
    pub fn limit(&self) -> MessageLimit {
        MessageLimit { burst: self.burst, min_interval: self.min_interval }
    }

    /// The reserved rate as `Vtick`: the largest message in each interval.
    pub fn tick(&self) -> Vtick {
        Vtick::new(self.min_interval, self.max_message)
    }

    /// The division of a message of `size` into packets, carried under this contract.
    pub fn cut(&self, size: Bytes, packet: Bytes) -> Cut {
        Cut::new(size, self.max_message, packet)
    }

    /// The division of the largest message into packets.
    pub fn fragmentation(&self, packet: Bytes) -> Fragmentation {
        Fragmentation::new(self.max_message, packet)
    }

    /// Largest packet that a conforming message can contain with packets of at most `packet`.
    pub fn largest_packet(&self, packet: Bytes) -> Bytes {
        self.max_message.min(packet)
    }

    /// Smallest packet that a conforming message can contain with packets of at most `packet`: the
    /// shortest tail over the whole range of sizes.
    pub fn smallest_packet(&self, packet: Bytes) -> Bytes {
        let (low, high) = (self.min_message.get(), self.max_message.get());
        let s = packet.get();
        // A size one above a multiple of S leaves a tail of one byte.
        let next_multiple = low.div_ceil(s) * s;
        if low == 0 {
            Bytes::ZERO
        } else if next_multiple < high {
            Bytes::new(1.min(low))
        } else {
            Fragmentation::new(self.min_message, packet).last().min(Bytes::new(low))
        }
    }
}

/// The logical arrival of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalArrival {
    /// `ℓ`: from this time on the message, or its first piece, may use its reservation.
    pub at: Time,
    /// Delay of the last piece's logical arrival after `ℓ`, because the message is oversize. The
    /// deadline of the whole message counts from the last piece.
    pub stretch: Span,
    /// The message was sent before `ℓ`: faster than `R_max`, within a burst or beyond it.
    pub early: bool,
    /// The message was larger than `M_max`.
    pub oversize: bool,
}

/// The logical clock of one channel.
///
/// A message larger than `M_max` counts as several messages of the contract, one `I_min` apart.
/// Structuring §3.1 lengthens the spacing "in proportion to the extra packets" instead
/// ([`by_packets`](Self::by_packets)), and lets the whole message begin at `ℓ` with a later
/// deadline. That keeps the rate but not the guarantee. All its packets are then one demand, so the
/// block of a handler that yields between messages has no bound. The next host, where the whole
/// message becomes current at once, has reserved one message and receives several.
#[derive(Debug, Clone, Copy)]
pub struct LogicalClock {
    spec: TrafficSpec,
    /// The packet by which oversize messages are counted; zero for whole intervals.
    packet: Bytes,
    /// Earliest `ℓ` of the next message.
    next: Time,
}

impl LogicalClock {
    /// A clock for `spec`.
    pub fn new(spec: TrafficSpec) -> Self {
        Self { spec, packet: Bytes::ZERO, next: Time::ZERO }
    }

    /// The same, with the next message after an oversize one delayed in proportion to the packets,
    /// of at most `packet`, of the oversize message (structuring §3.1).
    ///
    /// The pieces of a message are still `I_min` apart, but its last piece and the next message are
    /// not, so no bound holds: a contract for one message an interval has more in it.
    #[must_use]
    pub fn by_packets(self, packet: Bytes) -> Self {
        Self { packet, ..self }
    }

    /// Accounts for a message of `size` sent at `now`, and returns its logical arrival.
    pub fn arrive(&mut self, now: Time, size: Bytes) -> LogicalArrival {
        let at = self.next.max(now);
        let stretch = self.stretch(size);
        self.next = at.saturating_add(self.spacing(size, stretch));
        LogicalArrival { at, stretch, early: at > now, oversize: size > self.spec.max_message }
    }

    /// Whether the contract covers a message of `size` that is sent at `now`, by rule (1) of the
    /// module.
    pub fn covers(&self, now: Time, size: Bytes) -> bool {
        self.is_within(now, size, self.spec.burst)
    }

    /// Whether a message of `size` that is sent at `now` keeps the contract: `ℓ ≤ t + (B_max − 1)
    /// I_min` for its last piece.
    pub fn conforms(&self, now: Time, size: Bytes) -> bool {
        self.is_within(now, size, self.spec.burst - 1)
    }

    /// From when on a message of at most `M_max` [conforms](Self::conforms).
    pub fn conforms_from(&self) -> Time {
        let ahead = self.spec.min_interval.saturating_mul(u64::from(self.spec.burst.saturating_sub(1)));
        self.next.saturating_sub(ahead)
    }

    /// Whether the last piece of a message of `size` arrives logically within `intervals` intervals
    /// of `now`.
    fn is_within(&self, now: Time, size: Bytes, intervals: u32) -> bool {
        let last_piece = self.next.max(now).saturating_add(self.stretch(size));
        last_piece <= now.saturating_add(self.spec.min_interval.saturating_mul(intervals.into()))
    }

    /// Time from the logical arrival of the first piece of a message of `size` to that of the last.
    fn stretch(&self, size: Bytes) -> Span {
        let pieces = size.div_ceil(self.spec.max_message.max(Bytes::new(1))).max(1);
        self.spec.min_interval.saturating_mul(pieces - 1)
    }

    /// Time from the logical arrival of a message of `size` to that of the next one; the last piece
    /// arrives logically `stretch` after the first.
    fn spacing(&self, size: Bytes, stretch: Span) -> Span {
        let interval = self.spec.min_interval;
        if self.packet.is_zero() || size <= self.spec.max_message {
            return stretch.saturating_add(interval);
        }
        let contract = self.spec.max_message.div_ceil(self.packet).max(1);
        let packets = size.div_ceil(self.packet);
        let (whole, rest) = (packets / contract, packets % contract);
        let part = u128::from(interval.as_ps()) * u128::from(rest);
        let part = Span::from_ps(part.div_ceil(contract.into()) as u64);
        interval.saturating_mul(whole).saturating_add(part).max(stretch)
    }

    /// Sets a new `min_interval` for future messages. The logical arrival of the next message does
    /// not change.
    pub fn renegotiate(&mut self, min_interval: Span) {
        self.spec.min_interval = min_interval;
    }

    /// Retracts the latest arrival, at `logical`, for a message of which no packet was sent.
    ///
    /// Otherwise a source that overruns its buffers would advance its logical time with every lost
    /// message, and its accepted messages would be delayed without limit. Only the latest arrival
    /// can be retracted, because later ones depend on it.
    pub fn retract(&mut self, logical: Time) {
        self.next = logical;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: TrafficSpec = TrafficSpec {
        max_message: Bytes::from_kib(60),
        min_message: Bytes::from_kib(60),
        burst: 3,
        min_interval: Span::from_ms(50),
    };

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    #[test]
    fn another_rate_holds_from_the_next_message_on() {
        let mut clock = LogicalClock::new(SPEC);
        let arrive = |clock: &mut LogicalClock| clock.arrive(ms(10), SPEC.max_message).at;
        let before = [arrive(&mut clock), arrive(&mut clock)];
        clock.renegotiate(Span::from_ms(20));
        let after = [arrive(&mut clock), arrive(&mut clock), arrive(&mut clock)];
        assert_eq!((before, after), ([ms(10), ms(60)], [ms(110), ms(130), ms(150)]));
    }

    /// Logical arrivals at 10, 60, 110 and 160 ms are at most three intervals ahead at 10 ms; 210
    /// ms is so at 60 ms and not before. For a message in pieces the last piece counts: four pieces
    /// arrive within three intervals, and five do not.
    #[test]
    fn a_contract_covers_what_is_a_burst_ahead() {
        let mut clock = LogicalClock::new(SPEC);
        for _ in 0..4 {
            assert!(clock.covers(ms(10), SPEC.max_message));
            clock.arrive(ms(10), SPEC.max_message);
        }
        let just_before = ms(60) - Span::from_ps(1);
        assert_eq!(
            [ms(10), just_before, ms(60)].map(|t| clock.covers(t, Bytes::new(1))),
            [false, false, true]
        );
        let pieces = |n: u64| clock.covers(ms(500), SPEC.max_message * n);
        assert_eq!([pieces(4), pieces(5)], [true, false]);
    }

    /// A message conforms from the instant that the clock names on, and not before.
    #[test]
    fn a_clock_names_the_instant_at_which_a_message_conforms() {
        let mut clock = LogicalClock::new(SPEC);
        assert_eq!(clock.conforms_from(), Time::ZERO);
        for _ in 0..5 {
            clock.arrive(ms(100), SPEC.max_message);
        }
        // The next logical arrival is at 350 ms, and two intervals ahead is allowed.
        assert_eq!(clock.conforms_from(), ms(250));
        let conforms = |at| clock.conforms(at, SPEC.max_message);
        assert_eq!((conforms(ms(250) - Span::from_ps(1)), conforms(ms(250))), (false, true));
    }

    #[test]
    fn a_burst_is_spread_at_the_reserved_rate() {
        let mut clock = LogicalClock::new(SPEC);
        let at: Vec<_> = (0..3).map(|_| clock.arrive(ms(10), SPEC.max_message).at).collect();
        assert_eq!(at, [ms(10), ms(60), ms(110)]);
        let late = clock.arrive(ms(500), SPEC.max_message);
        assert_eq!((late.at, late.early), (ms(500), false));
    }

    #[test]
    fn a_message_of_twice_the_size_takes_two_intervals() {
        let mut clock = LogicalClock::new(SPEC);
        let large = clock.arrive(ms(0), Bytes::from_kib(120));
        assert!(large.oversize);
        assert_eq!((large.at, large.stretch), (ms(0), Span::from_ms(50)));
        assert_eq!(clock.arrive(ms(0), SPEC.max_message).at, ms(100));
        let slightly = clock.arrive(ms(200), Bytes::from_kib(61));
        assert_eq!((slightly.at, slightly.stretch), (ms(200), Span::from_ms(50)));
    }

    /// Five packets on a contract of four every 40 ms: 50 ms by packets, 80 ms by intervals. A whole
    /// multiple takes as long either way, and a message within the contract one interval.
    #[test]
    fn by_packets_a_message_delays_the_next_in_proportion() {
        let kib = Bytes::from_kib;
        let spec = TrafficSpec { max_message: kib(16), min_interval: Span::from_ms(40), ..SPEC };
        let next = |clock: LogicalClock, size| {
            let mut clock = clock;
            clock.arrive(ms(0), size);
            clock.arrive(ms(0), kib(16)).at
        };
        let (whole, packets) = (LogicalClock::new(spec), LogicalClock::new(spec).by_packets(kib(4)));
        for (size, intervals, proportion) in
            [(8, 40, 40), (16, 40, 40), (20, 80, 50), (32, 80, 80), (61, 160, 160)]
        {
            assert_eq!(next(whole, kib(size)), ms(intervals), "{size} KiB");
            assert_eq!(next(packets, kib(size)), ms(proportion), "{size} KiB");
        }
    }

    #[test]
    fn a_retracted_message_leaves_no_gap() {
        let mut clock = LogicalClock::new(SPEC);
        clock.arrive(ms(0), SPEC.max_message);
        let lost = clock.arrive(ms(0), SPEC.max_message);
        clock.retract(lost.at);
        assert_eq!(clock.arrive(ms(0), SPEC.max_message).at, ms(50));
    }

    #[test]
    fn a_contract_reserves_its_rate() {
        assert_eq!(SPEC.rate(), Rate::of(Bytes::from_kib(60), Span::from_ms(50)));
        let cut = SPEC.cut(Bytes::from_kib(61), Bytes::from_kib(4));
        assert_eq!((cut.pieces(), cut.packets()), (2, 16));
    }

    /// A message is early if its logical arrival lies ahead, and oversize if it is larger than the
    /// contract's largest: neither at the very limit.
    #[test]
    fn a_message_is_early_or_oversize_past_the_limit() {
        let mut clock = LogicalClock::new(SPEC);
        let first = clock.arrive(ms(0), SPEC.max_message);
        assert_eq!((first.early, first.oversize, first.stretch), (false, false, Span::ZERO));
        let early = clock.arrive(ms(49), SPEC.max_message + Bytes::new(1));
        assert_eq!((early.early, early.oversize, early.stretch), (true, true, Span::from_ms(50)));
        let due = clock.arrive(ms(150), Bytes::new(1));
        assert_eq!((due.at, due.early, due.oversize), (ms(150), false, false));
    }

    /// Sizes from 100 to 4096 have no tail, 4097 has one of a byte; a minimum size of zero gives an
    /// empty packet.
    #[test]
    fn the_smallest_packet_at_the_limits() {
        let s = Bytes::from_kib(4);
        let sizes =
            |min, max| TrafficSpec { min_message: Bytes::new(min), max_message: Bytes::new(max), ..SPEC };
        for (min, max, smallest) in [
            (100, 4096, 100),
            (100, 4097, 1),
            (0, 9000, 0),
            (4096, 4096, 4096),
            (4096, 4097, 1),
            (5000, 8192, 904),
        ] {
            assert_eq!(sizes(min, max).smallest_packet(s), Bytes::new(smallest), "{min} to {max}");
        }
    }

    #[test]
    fn the_smallest_packet_is_found() {
        let s = Bytes::from_kib(4);
        assert_eq!(SPEC.smallest_packet(s), s);
        let varied = TrafficSpec { min_message: Bytes::new(100), ..SPEC };
        assert_eq!(varied.smallest_packet(s), Bytes::new(1));
        let small = TrafficSpec { min_message: Bytes::new(100), max_message: Bytes::new(900), ..SPEC };
        assert_eq!(small.smallest_packet(s), Bytes::new(100));
    }
}
