//! VirtualClock: everybody gets the rate of his contract, whatever the others send.
//!
//! An item is served in the order of its flow's [`auxVC`](crate::virtual_clock) when it came, `auxVC ← max(t, auxVC) + Vtick` with
//! `Vtick` the interval of the contract (L. Zhang, ACM TOCS 9(2), 1991). That clock is here already: the logical arrival time of
//! a message, `ℓ ← max(t, ℓ + I_min)`, is one tick behind it,
//!
//! ```text
//! auxVC = ℓ + I_min        since        max(t, ℓ + I_min) + I_min = max(t, auxVC) + I_min
//! ```
//!
//! so a queue orders by `ℓ + I_min` and keeps nothing of flows. (Without enforcement there is no logical clock, and an item is
//! stamped with the time that it came and a tick.) Packets of one message have one stamp. What has no contract has a tick without
//! end, and goes by arrival when nothing else waits.
//!
//! **Guarantee.** Of flows whose rates sum up to no more than the server's `C`, each item leaves by its stamp and one largest item more,
//!
//! ```text
//! departure ≤ auxVC + L_max / C
//! ```
//!
//! whatever other flows do (Figueira and Pasquale, "An upper bound on delay for the VirtualClock service discipline", IEEE/ACM
//! ToN 3(4), 1995). Let the item leave at `f` with stamp `s`, and let `t0` be the last instant before at which something was begun
//! that has a later stamp than `s`, or at which nothing waited. All that is served from then until `f`, but for that one, has a stamp up to
//! `s` and came after `t0`; of a flow with tick `I` stamps after `t0` are apart by `I`, the first at least `I` after `t0`, so no more than
//! `(s − t0) / I` of them are up to `s`; together that is at most `C (s − t0)`. So `f ≤ t0 + L_max / C + (s − t0)`. For a flow
//! that keeps a token bucket `(σ, r)` the delay is at most `σ / r + L_max / C`, that of weighted fair queueing.
//!
//! **What it does not do.** It is not fair: whoever has used capacity that nobody wanted has run his clock ahead, and waits behind all
//! others when they come back. Work-conserving; what is early is served like anything else, later by its stamp. `O(log n)` an item.

use laxity_units::Time;

use super::keyed::Keyed;
use super::{Rank, Tag};

/// A queue served by stamps, equal stamps in order of arrival.
#[derive(Debug, Clone)]
pub struct VirtualClock<T> {
    queue: Keyed<T>,
}

impl<T> Default for VirtualClock<T> {
    fn default() -> Self {
        Self { queue: Keyed::new() }
    }
}

fn stamp(tag: &Tag) -> Time {
    tag.logical_arrival.saturating_add(tag.tick)
}

impl<T> VirtualClock<T> {
    pub(super) fn enqueue(&mut self, tag: Tag, item: T) {
        self.queue.push(stamp(&tag), tag, item);
    }

    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        self.queue.pop()
    }

    pub(super) fn best(&mut self, _now: Time) -> Option<Rank> {
        self.queue.first().map(|stamp| Rank(0, stamp))
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        Rank(0, stamp(tag))
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::{Bytes, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::discipline::Class;
    use crate::traffic::{LogicalClock, TrafficSpec};
    use crate::virtual_clock::FlowClock;

    /// A flow: an item of so many nanoseconds of the server in every `interval`, of which it sends more or less.
    #[derive(Debug, Clone)]
    struct Flow {
        item: u64,
        gaps: Vec<u64>,
    }

    fn flows() -> impl Strategy<Value = Vec<Flow>> {
        let gap = prop_oneof![Just(0u64), Just(1000), 0u64..5000];
        let flow =
            (1u64..400, prop::collection::vec(gap, 1..30)).prop_map(|(item, gaps)| Flow { item, gaps });
        prop::collection::vec(flow, 1..6)
    }

    /// Every item that comes: when, its tag, what it takes, and by when it has to be gone.
    fn arrivals(flows: &[Flow], best_effort: &[u64]) -> Vec<(Time, Tag, Span)> {
        let all: u64 = flows.iter().map(|flow| flow.item).sum();
        let mut arrivals = Vec::new();
        for flow in flows {
            // Rates in proportion to what items take, and together no more than there is.
            let interval = Span::from_ns(all.max(1));
            let spec = TrafficSpec {
                max_message: Bytes::new(1),
                min_message: Bytes::new(1),
                burst: 1,
                min_interval: interval,
            };
            let mut clock = LogicalClock::new(spec);
            let mut now = Time::ZERO;
            for gap in &flow.gaps {
                now += Span::from_ns(*gap);
                let at = clock.arrive(now, Bytes::new(1)).at;
                let tag = Tag {
                    class: Class::RealTime,
                    logical_arrival: at,
                    deadline: at,
                    tick: interval,
                    level: 0,
                };
                arrivals.push((now, tag, Span::from_ns(flow.item)));
            }
        }
        for at in best_effort {
            let at = Time::ZERO + Span::from_ns(*at);
            arrivals.push((at, Tag::best_effort(at), Span::from_ns(400)));
        }
        arrivals.sort_by_key(|(at, ..)| *at);
        arrivals
    }

    proptest! {
        /// Flows that keep their rates, flows that send all at once, and best effort: each item leaves by its stamp and the largest
        /// item.
        #[test]
        fn every_item_leaves_by_its_stamp(flows in flows(), best_effort in prop::collection::vec(0u64..20_000, 0..20)) {
            let arrivals = arrivals(&flows, &best_effort);
            let largest = arrivals.iter().map(|(.., takes)| *takes).max().unwrap();
            let mut queue = VirtualClock::default();
            let mut coming = arrivals.iter().peekable();
            let (mut now, mut served) = (Time::ZERO, 0);
            while served < arrivals.len() {
                while let Some((_, tag, takes)) = coming.next_if(|(at, ..)| *at <= now) {
                    queue.enqueue(*tag, *takes);
                }
                match queue.select(now) {
                    None => now = coming.peek().expect("something is to come").0,
                    Some((tag, takes)) => {
                        now += takes;
                        served += 1;
                        prop_assert!(
                            tag.class == Class::BestEffort || now <= stamp(&tag) + largest,
                            "{:?} left at {}", tag, now
                        );
                    }
                }
            }
        }

        /// The logical clock is `auxVC`, one tick behind.
        #[test]
        fn a_stamp_is_the_flows_clock(gaps in prop::collection::vec(0u64..5000, 1..40), interval in 1u64..4000) {
            let interval = Span::from_ns(interval);
            let spec = TrafficSpec { max_message: Bytes::new(9), min_message: Bytes::new(1), burst: 2, min_interval: interval };
            let (mut logical, mut aux, mut now) = (LogicalClock::new(spec), FlowClock::default(), Time::ZERO);
            for gap in gaps {
                now += Span::from_ns(gap);
                let at = logical.arrive(now, Bytes::new(9)).at;
                let tag = Tag { class: Class::RealTime, logical_arrival: at, deadline: at, tick: interval, level: 0 };
                prop_assert_eq!(stamp(&tag), aux.stamp(now, Some(interval)));
            }
        }
    }
}
