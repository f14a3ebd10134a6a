//! Further limits of a contract, beside `B_max` and `I_min`.
//!
//! A source with several limits keeps all of them, as several token buckets do (the T-SPEC of RFC 2212:
//! a mean rate with a bucket, and a peak rate). A least distance `d` between messages is the limit of one
//! message each `d`.
//!
//! *Logical arrivals keep further limits.* Let messages `a_0 ≤ a_1 …` keep a limit of `b` messages
//! each `J`: `a_k ≥ a_{k−m} + (m + 1 − b) J` for all `m ≥ b`. Their logical arrivals are `ℓ_k =
//! max_j (a_{k−j} + j I_min)`. With the `j` of `ℓ_{k−m}`,
//!
//! ```text
//! ℓ_k ≥ a_{k−j} + j I_min ≥ a_{k−m−j} + (m + 1 − b) J + j I_min = ℓ_{k−m} + (m + 1 − b) J.
//! ```
//!
//! So the instants of a host that holds messages until their logical arrival keep all limits of the source.

use laxity_units::Span;

use crate::traffic::TrafficSpec;

/// The largest number of further limits of a contract.
pub const MOST_LIMITS: usize = 4;

/// A limit of a source: at most `burst + ⌊δ / min_interval⌋` messages in any closed window of length `δ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLimit {
    /// Messages at once; at least 1.
    pub burst: u32,
    /// Least average spacing of messages; not zero.
    pub min_interval: Span,
}

impl MessageLimit {
    /// Whether all traffic that keeps this limit keeps `other` too.
    pub fn implies(self, other: Self) -> bool {
        self.burst <= other.burst && self.min_interval >= other.min_interval
    }
}

/// The further limits of a contract; at most [`MOST_LIMITS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits([Option<MessageLimit>; MOST_LIMITS]);

impl Limits {
    /// No further limit.
    pub const NONE: Self = Self([None; MOST_LIMITS]);

    /// These limits; `None` if they are too many.
    pub fn new(limits: &[MessageLimit]) -> Option<Self> {
        let mut all = Self::NONE;
        for (place, limit) in limits.iter().enumerate() {
            *all.0.get_mut(place)? = Some(*limit);
        }
        Some(all)
    }

    /// The limits, in the order in which they were given.
    pub fn iter(self) -> impl Iterator<Item = MessageLimit> {
        self.0.into_iter().flatten()
    }

    /// The contracts of one limit each that a source of `spec` keeps: `spec` first, and then `spec` with
    /// each further limit in place of its burst and interval.
    pub fn contracts(self, spec: TrafficSpec) -> impl Iterator<Item = TrafficSpec> {
        let further = move |MessageLimit { burst, min_interval }| TrafficSpec { burst, min_interval, ..spec };
        std::iter::once(spec).chain(self.iter().map(further))
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Time};
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::LogicalClock;

    fn limit(burst: u32, us: u64) -> MessageLimit {
        MessageLimit { burst, min_interval: Span::from_us(us) }
    }

    fn spec(limit: MessageLimit) -> TrafficSpec {
        let MessageLimit { burst, min_interval } = limit;
        TrafficSpec { max_message: Bytes::new(1), min_message: Bytes::new(1), burst, min_interval }
    }

    #[test]
    fn a_limit_implies_those_with_more_at_once_and_more_often() {
        assert!(limit(2, 10).implies(limit(2, 10)) && limit(2, 10).implies(limit(3, 9)));
        assert!(!limit(2, 10).implies(limit(1, 9)) && !limit(2, 10).implies(limit(3, 11)));
    }

    #[test]
    fn limits_are_a_few_in_their_order() {
        let four = [limit(1, 1), limit(2, 2), limit(3, 3), limit(4, 4)];
        let limits = Limits::new(&four).unwrap();
        assert_eq!(limits.iter().collect::<Vec<_>>(), four);
        let contracts: Vec<TrafficSpec> = limits.contracts(spec(limit(9, 9))).collect();
        assert_eq!(contracts, [limit(9, 9), four[0], four[1], four[2], four[3]].map(spec));
        assert_eq!(Limits::new(&[limit(1, 1); 5]), None);
        assert_eq!(Limits::new(&[]), Some(Limits::NONE));
    }

    proptest! {
        /// Messages that keep a further limit keep it at their logical arrivals.
        #[test]
        fn logical_arrivals_keep_further_limits(
            gaps in prop::collection::vec(0_u64..60, 1..60),
            (burst, interval) in (1_u32..6, 1_u64..60),
            own in 1_u64..60,
        ) {
            let (further, own) = (limit(burst, interval), limit(1, own));
            let mut at = Time::ZERO;
            let mut first = LogicalClock::new(spec(further));
            let mut clock = LogicalClock::new(spec(own));
            let mut again = LogicalClock::new(spec(further));
            for gap in gaps {
                at += Span::from_us(gap);
                // Each message waits until the further limit allows it.
                while !first.conforms(at, Bytes::new(1)) {
                    at += Span::from_us(1);
                }
                first.arrive(at, Bytes::new(1));
                let logical = clock.arrive(at, Bytes::new(1)).at;
                prop_assert!(again.conforms(logical, Bytes::new(1)));
                again.arrive(logical, Bytes::new(1));
            }
        }
    }
}
