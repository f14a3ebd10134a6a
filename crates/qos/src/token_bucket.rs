//! Policing a channel by its packets alone.
//!
//! [`crate::traffic`] counts messages, but an adapter sees packets. So the contract is expressed in
//! bytes here: a bucket that holds `B_max M_max` and is filled with `M_max` in each `I_min`. A
//! packet conforms if the bucket contains its size, and removes that. Packets do not arrive when
//! their messages did: a handler that had to wait makes the packets of two messages back to back.
//! If each packet is late by at most `τ`, the packets of an interval `δ` belong to messages of `δ +
//! τ`. A policer that must not drop conforming packets therefore has to pass packets that are early
//! by `τ`. ATM's usage parameter control does so with its cell delay variation tolerance (ITU-T
//! I.371, the generic cell rate algorithm, of which this is the virtual scheduling form, in bytes).
//! In any interval `δ` at most
//!
//! ```text
//! B_max M_max + (δ + τ) M_max / I_min
//! ```
//!
//! bytes pass. Times are stored multiplied by `M_max`, so there is no rounding.

use laxity_units::{Bytes, Span, Time};

use crate::traffic::TrafficSpec;

/// The policer of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// `I_min`; a byte takes `1 / M_max` of it.
    interval: u128,
    /// `M_max`.
    message: u128,
    /// Maximum of `due` minus the current time, multiplied by `M_max`.
    ahead: u128,
    /// When the bytes that passed would all be due at the contract's rate, multiplied by `M_max`.
    due: u128,
}

impl TokenBucket {
    /// A full bucket, for a channel with contract `spec` and packets that are up to `tolerance`
    /// late.
    pub fn new(spec: &TrafficSpec, tolerance: Span) -> Self {
        let message = u128::from(spec.max_message.get().max(1));
        let interval = u128::from(spec.min_interval.as_ps());
        let burst = interval.saturating_mul(u128::from(spec.burst)) + u128::from(tolerance.as_ps());
        Self { interval, message, ahead: burst.saturating_mul(message), due: 0 }
    }

    /// Whether a packet of `size` that arrives `now` conforms.
    pub fn conforms(&self, now: Time, size: Bytes) -> bool {
        let now = self.message * u128::from(now.as_ps());
        self.due.saturating_sub(now) + self.worth(size) <= self.ahead
    }

    /// The first instant from `now` on at which a packet of `size` conforms. A packet that is larger
    /// than the bucket waits until the bucket would contain it if it had no limit.
    pub fn earliest(&self, now: Time, size: Bytes) -> Time {
        let missing = (self.due + self.worth(size)).saturating_sub(self.ahead);
        let at = missing.div_ceil(self.message);
        now.max(Time::ZERO.saturating_add(Span::from_ps(u64::try_from(at).unwrap_or(u64::MAX))))
    }

    /// Counts a packet of `size` that arrived `now`.
    pub fn count(&mut self, now: Time, size: Bytes) {
        self.due = self.due.max(self.message * u128::from(now.as_ps())) + self.worth(size);
    }

    fn worth(&self, size: Bytes) -> u128 {
        self.interval * u128::from(size.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(burst: u32) -> TrafficSpec {
        let max_message = Bytes::new(1000);
        TrafficSpec { max_message, min_message: Bytes::new(1), burst, min_interval: Span::from_us(10) }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn passed(burst: u32, tolerance: u64, packets: &[(u64, u64)]) -> Vec<bool> {
        let mut bucket = TokenBucket::new(&spec(burst), Span::from_us(tolerance));
        let mut pass = |us, size| {
            let conforms = bucket.conforms(at(us), Bytes::new(size));
            if conforms {
                bucket.count(at(us), Bytes::new(size));
            }
            conforms
        };
        packets.iter().map(|(us, size)| pass(*us, *size)).collect()
    }

    /// 2000 bytes at once, then 100 bytes in each microsecond, to the byte; an empty bucket fills
    /// to 2000 and no further.
    #[test]
    fn a_bucket_is_a_burst_and_fills_at_the_rate() {
        let packets =
            [(0, 600), (0, 1400), (0, 1), (3, 301), (3, 300), (3, 1), (100, 2001), (100, 2000), (101, 100)];
        assert_eq!(passed(2, 0, &packets), [true, true, false, false, true, false, false, true, true]);
    }

    /// Behind 2000 bytes at once, 300 more wait until 3 us, and 301 until 3.01 us. At 50 us the
    /// bucket is full, and 2100 bytes are a microsecond more than it.
    #[test]
    fn a_packet_has_an_earliest_instant() {
        let mut bucket = TokenBucket::new(&spec(2), Span::ZERO);
        let earliest = |bucket: &TokenBucket, us, size| bucket.earliest(at(us), Bytes::new(size));
        assert_eq!(earliest(&bucket, 0, 2000), at(0));
        bucket.count(at(0), Bytes::new(2000));
        assert_eq!(earliest(&bucket, 0, 300), at(3));
        assert_eq!(earliest(&bucket, 5, 300), at(5));
        assert_eq!(earliest(&bucket, 0, 301), at(3) + Span::from_ns(10));
        bucket.count(at(50), Bytes::ZERO);
        assert_eq!(earliest(&bucket, 50, 2100), at(51));
        let third = TrafficSpec { max_message: Bytes::new(3), ..spec(1) };
        let mut bucket = TokenBucket::new(&third, Span::from_ps(1));
        bucket.count(at(0), Bytes::new(3));
        let exact = Time::ZERO + Span::from_ps(3_333_333);
        assert_eq!(bucket.earliest(at(0), Bytes::new(1)), exact, "10/3 us less 1 ps, rounded up");
    }

    /// With a burst of one: the second message is 4 early, which a tolerance of 4 allows and one of
    /// 3 does not.
    #[test]
    fn what_is_late_makes_what_follows_early() {
        let packets = [(4, 1000), (10, 1000), (20, 1000), (30, 1000)];
        assert_eq!(passed(1, 4, &packets), [true; 4]);
        assert_eq!(passed(1, 3, &packets), [true, false, true, true]);
    }

    /// Random messages of a contract, in packets, each late by up to the tolerance: all pass. Of a
    /// flood no more passes than the contract allows.
    #[test]
    fn who_keeps_the_contract_loses_nothing_and_nobody_exceeds_it() {
        let mut random = 99u64;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        for burst in 1..5 {
            let tolerance = 17;
            let mut bucket = TokenBucket::new(&spec(burst), Span::from_us(tolerance));
            let (mut logical, mut packets) = (0, Vec::new());
            for message in 0..500 {
                // As early as the burst allows, or later.
                let sent = u64::saturating_sub(logical, 10 * u64::from(burst - 1)) + below(2) * below(15);
                logical = logical.max(sent) + 10;
                let mut left = 1 + below(1000);
                let late = below(tolerance + 1);
                while left > 0 {
                    let size = (1 + below(400)).min(left);
                    packets.push((sent + late, message, size));
                    left -= size;
                }
            }
            packets.sort_unstable();
            for (us, _, size) in packets {
                assert!(bucket.conforms(at(us), Bytes::new(size)), "burst {burst} at {us}");
                bucket.count(at(us), Bytes::new(size));
            }
            let mut flooded = TokenBucket::new(&spec(burst), Span::from_us(tolerance));
            let (mut now, mut passed) = (0, Vec::new());
            for _ in 0..2000 {
                (now, _) = (now + below(3), ());
                let size = 1 + below(400);
                if flooded.conforms(at(now), Bytes::new(size)) {
                    flooded.count(at(now), Bytes::new(size));
                    passed.push((now, size));
                }
            }
            for (i, (first, _)) in passed.iter().enumerate() {
                let mut bytes = 0;
                for (last, size) in &passed[i..] {
                    bytes += size;
                    assert!(bytes <= u64::from(burst) * 1000 + (last - first + tolerance) * 100);
                }
            }
        }
    }
}
