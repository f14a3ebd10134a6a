//! Interleaved regulators of asynchronous traffic shaping (IEEE 802.1Qcr).
//!
//! A regulator is a FIFO queue before the queue of a class. Frames of several flows share it, and each
//! flow has a token bucket of its own. Only the first frame is examined: it is released when the
//! bucket of its flow contains it, and the frames behind it wait until then (Specht and Samii 2016).
//! All of that is known on arrival (802.1Q, 8.6.11): a frame is released at the latest of its arrival,
//! the release of the frame before it, and the instant at which its bucket contains it.
//!
//! Times are whole picoseconds and buckets are exact ([`TokenBucket`]). A release is rounded up, and
//! releases that a proof compares it with are whole as well, so rounding accumulates nowhere.

use laxity_units::{Bytes, Span, Time};

use crate::by_channel::ByChannel;
use crate::names::ChannelId;
use crate::token_bucket::TokenBucket;
use crate::traffic::TrafficSpec;

/// The contract that a regulator restores for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The regulator at this port; flows with the same number share one.
    pub regulator: u32,
    /// Bytes on the link of the largest message.
    pub message: Bytes,
    /// Messages at once; at least 1.
    pub burst: u32,
    /// Interval of messages.
    pub interval: Span,
    /// How far messages can be shifted against each other.
    pub tolerance: Span,
}

impl Committed {
    fn bucket(self) -> TokenBucket {
        let Self { regulator: _, message: max_message, burst, interval: min_interval, tolerance } = self;
        let spec = TrafficSpec { max_message, min_message: max_message, burst, min_interval };
        TokenBucket::new(&spec, tolerance)
    }
}

/// The regulators of a port.
#[derive(Debug, Clone, Default)]
pub(super) struct Regulators {
    /// Regulator and bucket of each regulated flow.
    flows: ByChannel<(usize, TokenBucket)>,
    /// By regulator: the release of its last frame.
    last: Vec<Time>,
}

impl Regulators {
    /// Regulates `flow` from now on.
    pub(super) fn add(&mut self, flow: ChannelId, committed: Committed) {
        let regulator = committed.regulator as usize;
        self.last.resize(self.last.len().max(regulator + 1), Time::ZERO);
        self.flows.insert(flow, (regulator, committed.bucket()));
    }

    /// The release of a frame of `flow` that arrives `now`.
    pub(super) fn release(&mut self, now: Time, flow: ChannelId, on_link: Bytes) -> Time {
        let Some((regulator, bucket)) = self.flows.get_mut(flow) else { return now };
        let last = &mut self.last[*regulator];
        *last = bucket.earliest(now.max(*last), on_link);
        bucket.count(*last, on_link);
        *last
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::super::{EarlyPolicy, ItemRequest, Order, Selection, ServerParameters, Tag};
    use super::*;
    use crate::costs::LinkCosts;
    use crate::packet::Carried;
    use crate::virtual_clock::Vtick;

    const FLOWS: u32 = 4;

    fn flow() -> impl Strategy<Value = Committed> {
        (0_u32..2, 64_u64..1500, 1_u32..4, 1_u64..300, 0_u64..50_000).prop_map(
            |(regulator, message, burst, interval, tolerance)| Committed {
                regulator,
                message: Bytes::new(message),
                burst,
                interval: Span::from_us(interval),
                tolerance: Span::from_ns(tolerance),
            },
        )
    }

    /// A frame: its flow, the time since the frame before, and its share of the largest message.
    fn frames() -> impl Strategy<Value = Vec<(u32, u64, u64)>> {
        vec((0..FLOWS, prop_oneof![Just(0_u64), 0_u64..200_000], 1_u64..=100), 1..60)
    }

    /// Whether the last of `frames`, each with its release and bytes, is in the bucket of `flow`: with
    /// all frames from each earlier one on.
    fn conforms(flow: &Committed, frames: &[(Time, u64)]) -> bool {
        let (last, _) = frames[frames.len() - 1];
        let (message, interval) = (u128::from(flow.message.get()), u128::from(flow.interval.as_ps()));
        let mut bytes = 0;
        frames.iter().rev().all(|&(at, own)| {
            bytes += u128::from(own);
            let window = u128::from(last.saturating_since(at).as_ps() + flow.tolerance.as_ps());
            bytes * interval <= message * (u128::from(flow.burst) * interval + window)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// The frames of each flow are within its bucket and those of each regulator in order, and no
        /// frame is released a picosecond later than that needs. On the link behind, frames of a
        /// regulator keep their order, none begins before its release, and none is lost.
        #[test]
        fn a_regulator_releases_in_order_as_soon_as_buckets_allow(
            flows in vec(flow(), FLOWS as usize),
            frames in frames(),
        ) {
            let selection = Selection { ats: vec![0], ..Selection::NONE };
            let speed = LinkCosts::new(Span::ZERO, Span::from_ns(3));
            let server = ServerParameters {
                speed,
                selection: Some(Arc::new(selection)),
                ..ServerParameters::with(EarlyPolicy::HOLD)
            };
            let mut queue = Order::StrictPriority.discipline(&server);
            let mut regulators = Regulators::default();
            for (number, flow) in (0..).zip(&flows) {
                regulators.add(ChannelId(number), *flow);
                queue.regulate(ChannelId(number), *flow);
            }
            let mut released: Vec<Vec<(Time, u64)>> = vec![Vec::new(); flows.len()];
            let mut last = [Time::ZERO; 2];
            let (mut now, mut free, mut all, mut begun) = (Time::ZERO, Time::ZERO, Vec::new(), Vec::new());
            let mut serve = |queue: &mut crate::discipline::Discipline<usize>, until: Time, all: &[(Time, u32, Bytes)]| {
                let mut at = free;
                while !queue.is_empty() && at <= until {
                    match queue.select(at) {
                        Some((_, item)) => {
                            begun.push((at, item));
                            free = at + speed.transmit(all[item].2);
                            at = free;
                        }
                        None => at = queue.next_eligible(at).expect("a frame has a release"),
                    }
                }
                free = free.max(until);
            };
            for (number, (index, gap, share)) in frames.into_iter().enumerate() {
                now += Span::from_ns(gap);
                let flow = &flows[index as usize];
                let size = Bytes::new((flow.message.get() * share).div_ceil(100));
                let release = regulators.release(now, ChannelId(index), size);
                let (regulator, before) = (flow.regulator as usize, released[index as usize].clone());
                let earliest = now.max(last[regulator]);
                prop_assert!(release >= earliest);
                let with = |at| [&before[..], &[(at, size.get())]].concat();
                prop_assert!(conforms(flow, &with(release)));
                let sooner = Time::ZERO + release.saturating_since(Time::ZERO + Span::from_ps(1));
                prop_assert!(release == earliest || !conforms(flow, &with(sooner)), "{} after {}", release, earliest);
                released[index as usize] = with(release);
                last[regulator] = release;
                serve(&mut queue, now, &all);
                all.push((release, flow.regulator, size));
                let tag = Tag::real_time(now, Span::from_ms(1), Vtick::NONE, 0);
                queue.enqueue(now, &ItemRequest { flow: ChannelId(index), size, tag, carried: Carried::NOTHING }, number);
            }
            serve(&mut queue, Time::MAX, &all);
            prop_assert_eq!(begun.len(), all.len());
            let mut order = [0; 2];
            for &(at, item) in &begun {
                let (release, regulator, _) = all[item];
                prop_assert!(at >= release);
                prop_assert!(item >= order[regulator as usize], "the order of a regulator");
                order[regulator as usize] = item;
            }
            let joined: Vec<Time> = begun.iter().map(|&(_, item)| all[item].0).collect();
            prop_assert!(joined.is_sorted(), "frames leave in the order of their releases");
        }
    }
}
