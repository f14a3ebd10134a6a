//! Policing a channel at its receiver.
//!
//! A sender's host holds early messages back. A receiver cannot, and a channel that exceeds its
//! contract takes slots, buffers and CPU of those that do not. So an interface passes conforming
//! packets, at most `B_max + δ/I_min` in any interval `δ`, and drops the rest before they cost the
//! host any time. The policer is the bucket of [`crate::traffic`] seen from the receiver. `logical`
//! is the time of the next packet if all earlier ones had kept `I_min`, and the packet may arrive
//! `B_max − 1` intervals before.
//!
//! # Behind a network
//!
//! A network moves packets of a channel closer together, and no policer may drop a packet of a
//! source that keeps its contract. Let packets be released `I` apart at least, and let each arrive
//! `e` to `e + J` after its release. Packets that arrive in a closed window of length `x` were
//! released in one of length `x + J`, so there are at most
//!
//! ```text
//! 1 + ⌊(x + J)/I⌋ ≤ 1 + ⌈J/I⌉ + ⌊x/I⌋
//! ```
//!
//! of them, since `⌊a + b⌋ ≤ ⌊a⌋ + ⌈b⌉`. That is a contract of interval `I` and burst `1 + ⌈J/I⌉`.
//!
//! The policer passes every packet of a sequence that conforms to its contract. Let `s` be the last
//! arrival at which `logical` was not later than now. If the packet after `n` passed ones since `s`
//! were dropped at `s + x`, then `x < n I − (B − 1) I`, so `⌊x/I⌋ ≤ n − B`. The window would have `n +
//! 1` packets, and the contract allows `B + ⌊x/I⌋ ≤ n`. ∎

use laxity_units::{Span, Time};

use crate::traffic::TrafficSpec;

/// The policer of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    interval: Span,
    credit: Span,
    logical: Time,
}

impl Policer {
    /// For a channel with contract `spec`, each packet being a message.
    pub fn new(spec: TrafficSpec) -> Self {
        let credit = spec.min_interval.saturating_mul(u64::from(spec.burst) - 1);
        Self { interval: spec.min_interval, credit, logical: Time::ZERO }
    }

    /// For a channel behind a network: its packets are released `interval` apart at least, and arrive
    /// with that `jitter`.
    pub fn behind(interval: Span, jitter: Span) -> Self {
        let credit = interval.saturating_mul(jitter.div_ceil(interval));
        Self { interval, credit, logical: Time::ZERO }
    }

    /// Whether a packet that arrives `now` conforms; a packet that does not leaves the state
    /// unchanged.
    pub fn passes(&mut self, now: Time) -> bool {
        if now < self.logical.saturating_sub(self.credit) {
            return false;
        }
        self.logical = self.logical.max(now).saturating_add(self.interval);
        true
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Bytes;

    use super::*;

    fn policer(burst: u32) -> Policer {
        let size = Bytes::new(64);
        let min_interval = Span::from_us(10);
        Policer::new(TrafficSpec { max_message: size, min_message: size, burst, min_interval })
    }

    /// Numbers below those that are asked for.
    fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut random = seed;
        move |below| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        }
    }

    fn passed(burst: u32, times: &[u64]) -> Vec<bool> {
        let mut policer = policer(burst);
        times.iter().map(|us| policer.passes(Time::ZERO + Span::from_us(*us))).collect()
    }

    #[test]
    fn a_burst_passes_at_once_and_then_one_an_interval() {
        assert_eq!(passed(2, &[0, 0, 0, 10, 10, 20]), [true, true, false, true, false, true]);
        assert_eq!(passed(1, &[0, 9, 10, 19, 25, 34, 35]), [true, false, true, false, true, false, true]);
    }

    /// The policer passes all packets that a network delays within its jitter. With less credit it
    /// drops some.
    #[test]
    fn what_a_network_moved_closer_together_passes() {
        let us = Span::from_us;
        for jitter in [0, 1, 9, 10, 11, 25, 70] {
            let mut draw = draws(99);
            for _ in 0..200 {
                let (mut released, mut arrivals) = (0, Vec::new());
                for _ in 0..50 {
                    arrivals.push(released + draw(3) * jitter / 2);
                    released += 10 + draw(2) * draw(20);
                }
                arrivals.sort_unstable();
                let mut policer = Policer::behind(us(10), us(jitter));
                assert!(arrivals.iter().all(|at| policer.passes(Time::ZERO + us(*at))), "{arrivals:?}");
            }
        }
        // Releases at 0, 10, …, 70: the first seven are held up, and arrive with the last.
        let mut exact = Policer::behind(us(10), us(70));
        let mut short = Policer::behind(us(10), us(60));
        let at = Time::ZERO + us(100);
        assert_eq!((0..9).filter(|_| exact.passes(at)).count(), 8);
        assert_eq!((0..9).filter(|_| short.passes(at)).count(), 7);
    }

    #[test]
    fn in_no_interval_more_pass_than_the_contract_says() {
        for burst in 1..5u32 {
            let mut policer = policer(burst);
            let mut draw = draws(12_345);
            let (mut at, mut passed) = (0u64, Vec::new());
            for _ in 0..400 {
                at += draw(12);
                if policer.passes(Time::ZERO + Span::from_us(at)) {
                    passed.push(at);
                }
            }
            for (i, first) in passed.iter().enumerate() {
                for (j, last) in passed.iter().enumerate().skip(i) {
                    assert!((j - i + 1) as u64 <= u64::from(burst) + (last - first) / 10);
                }
            }
        }
    }
}
