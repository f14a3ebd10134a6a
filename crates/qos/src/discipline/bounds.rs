//! Flows that share a server, as published bounds see them.
//!
//! Each discipline that shares by rates has a `bound` of the time that an item is there, from when it comes to when its last bit has
//! left, and all of them assume: a flow that is asked about keeps a token bucket, others send what they like; and rates sum up to no more than
//! the server has ([`Sharing::fits`]), with the overhead of an item on the link counted as bytes of it.

use laxity_units::{Bytes, Span};

use super::Order;
use crate::costs::LinkCosts;
use crate::virtual_clock::Vtick;

/// A flow that reserved a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// `r`.
    pub tick: Vtick,
    /// `σ`: in any time `δ` it sends at most `σ + r δ`. Not less than its largest item.
    pub burst: Bytes,
    /// Its largest item.
    pub largest: Bytes,
    /// Its smallest.
    pub smallest: Bytes,
    /// Its level, where there are levels.
    pub level: u8,
}

impl Share {
    /// What its largest item takes at its rate.
    pub fn largest_tick(&self) -> Span {
        self.tick.of(self.largest)
    }
}

/// Who shares a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// How long an item of a size takes.
    pub speed: LinkCosts,
    /// Flows with a rate.
    pub flows: Vec<Share>,
    /// The largest item of those without; zero if there are none.
    pub without: Bytes,
    /// The shortest frame, where there are frames.
    pub frame: Span,
}

impl Sharing {
    /// Whether the server is fast enough for all rates: each item's time on it, over its time at its flow's rate, summed up. The smallest items have
    /// most overhead.
    pub fn fits(&self) -> bool {
        let share = |flow: &Share| {
            let size = flow.smallest.max(Bytes::new(1));
            let of = u128::from(self.speed.transmit(size).as_ps()) << 40;
            let tick = u128::from(flow.tick.interval.as_ps()) * u128::from(size.get());
            (of * u128::from(flow.tick.size.get())).div_ceil(tick.max(1))
        };
        self.flows.iter().map(share).sum::<u128>() <= 1 << 40
    }

    /// `σ / r`.
    pub fn at_its_rate(&self, flow: usize) -> Span {
        self.flows[flow].tick.of(self.flows[flow].burst)
    }

    /// `(σ − L) / r` with the smallest last item.
    pub fn before_the_last(&self, flow: usize) -> Span {
        let Share { tick, burst, smallest, .. } = self.flows[flow];
        tick.of(burst.saturating_sub(smallest))
    }

    /// `L / C` of a flow's largest item.
    pub fn item(&self, flow: usize) -> Span {
        self.speed.transmit(self.flows[flow].largest)
    }

    /// `L / C` of the largest item of those without a rate.
    pub fn without(&self) -> Span {
        if self.without.is_zero() { Span::ZERO } else { self.speed.transmit(self.without) }
    }

    /// `L_max / C`.
    pub fn longest(&self) -> Span {
        (0..self.flows.len()).map(|flow| self.item(flow)).fold(self.without(), Span::max)
    }

    /// What the server takes for a whole bucket, in the smallest items.
    pub fn burst(&self, flow: usize) -> Span {
        let Share { burst, smallest, .. } = self.flows[flow];
        let size = smallest.max(Bytes::new(1));
        self.speed.transmit(size).saturating_mul(burst.div_ceil(size))
    }

    /// What it takes for as much as comes of a flow in `time`, at most.
    pub fn work_in(&self, flow: usize, time: Span) -> Span {
        self.burst(flow).saturating_add(self.share_of(flow, time))
    }

    /// What the server takes for as much as a flow sends at its rate in `time`, at most.
    pub fn share_of(&self, flow: usize, time: Span) -> Span {
        let Share { tick, smallest, .. } = self.flows[flow];
        let size = smallest.max(Bytes::new(1));
        // Items of the smallest size, with one begun.
        let product = u128::from(self.speed.transmit(size).as_ps()) * u128::from(time.as_ps());
        let tick = u128::from(tick.of(size).as_ps()).max(1);
        Span::from_ps(u64::try_from(product.div_ceil(tick)).unwrap_or(u64::MAX))
    }
}

impl Order {
    /// How long an item of flow `of` is there, at most, if it keeps its token bucket; nothing where none is known, or its conditions are not met.
    ///
    /// Most hold whatever others send. Those of [`StopAndGo`](super::StopAndGo) and [`FifoPlus`](super::FifoPlus) take all to keep their buckets, as neither enforces
    /// anything ([`isolates`](Self::isolates)).
    pub fn bound(self, sharing: &Sharing, of: usize) -> Option<Span> {
        if !sharing.fits() {
            return None;
        }
        match self {
            Order::VirtualClock => Some(super::virtual_clock::bound(sharing, of)),
            Order::WeightedFair => Some(super::weighted_fair::bound(sharing, of)),
            Order::WorstCaseFair => Some(super::worst_case_fair::bound(sharing, of)),
            Order::SelfClocked => Some(super::self_clocked::bound(sharing, of)),
            Order::StartTimeFair => Some(super::start_time::bound(sharing, of)),
            Order::DeficitRoundRobin => Some(super::deficit_round_robin::bound(sharing, of)),
            Order::StopAndGo => super::stop_and_go::bound(sharing, of, sharing.frame),
            Order::HierarchicalRoundRobin => {
                super::hierarchical_round_robin::bound(sharing, of, sharing.frame)
            }
            Order::RateControlled => super::rate_controlled::bound(sharing, of),
            Order::FifoPlus => Some(super::fifo_plus::bound(sharing)),
            // Those of real-time channels are admission's: they are of contracts, and of a host around the queue. No other has one.
            Order::MultiClassEdf | Order::FixedPriority | Order::Edf | Order::Fifo | Order::HopLaxity => None,
        }
    }

    /// Whether its bound holds whatever other flows send.
    pub fn isolates(self) -> bool {
        !matches!(self, Order::StopAndGo | Order::FifoPlus)
    }
}
