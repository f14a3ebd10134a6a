//! Flows that share a server, as published bounds see them.
//!
//! Each discipline that shares by rates has a `bound` of the time that an item is there, from when it comes to when its last bit has
//! left, and all of them assume: a flow that is asked about keeps a token bucket, others send what they like; and rates sum up to no more than
//! the server has ([`Sharing::fits`]), with the overhead of an item on the link counted as bytes of it.

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use super::groups::Group;
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
    /// The place of the group that it is in, where groups count.
    pub group: Option<usize>,
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
    /// Groups of flows, each behind that of which it is a part.
    pub groups: Vec<Group>,
}

impl Sharing {
    /// Whether the server is fast enough for all rates: each item's time on it, over its time at its flow's rate, summed up. The smallest items have
    /// most overhead.
    pub fn fits(&self) -> bool {
        self.rates() <= 1 << 40
    }

    /// By how much rates exceed the server, in millionths of it, rounded up.
    pub fn excess(&self) -> u64 {
        let excess = self.rates().saturating_sub(1 << 40).saturating_mul(1_000_000);
        u64::try_from(excess.div_ceil(1 << 40)).unwrap_or(u64::MAX)
    }

    /// The part of the server that rates take, in 2⁻⁴⁰.
    fn rates(&self) -> u128 {
        let share = |flow: &Share| {
            let size = flow.smallest.max(Bytes::new(1));
            let of = u128::from(self.speed.transmit_in_proportion(size).as_ps()) << 40;
            let tick = u128::from(flow.tick.interval().as_ps()) * u128::from(size.get());
            (of * u128::from(flow.tick.size().get())).div_ceil(tick.max(1))
        };
        self.flows.iter().map(share).fold(0, u128::saturating_add)
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

    /// `Σ L / C`: an item of each flow, and one without a rate.
    pub(super) fn one_of_each(&self) -> Span {
        (0..self.flows.len()).map(|flow| self.item(flow)).fold(self.without(), Span::saturating_add)
    }

    /// The same for every flow.
    pub(super) fn all_alike(&self, latency: Latency) -> Vec<Latency> {
        vec![latency; self.flows.len()]
    }

    /// For every flow what goes with its level.
    pub(super) fn by_level(
        &self,
        level: impl Fn(usize) -> u8,
        of: impl Fn(u8) -> Option<Latency>,
    ) -> Vec<Option<Latency>> {
        let mut known = BTreeMap::new();
        (0..self.flows.len())
            .map(|flow| *known.entry(level(flow)).or_insert_with_key(|level| of(*level)))
            .collect()
    }

    /// What the server takes for a whole bucket, in the smallest items.
    pub fn burst(&self, flow: usize) -> Span {
        let Share { burst, smallest, .. } = self.flows[flow];
        let size = smallest.max(Bytes::new(1));
        self.speed.transmit_in_proportion(size).saturating_mul(burst.div_ceil(size))
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
        let product = u128::from(self.speed.transmit_in_proportion(size).as_ps()) * u128::from(time.as_ps());
        let tick = u128::from(tick.of(size).as_ps()).max(1);
        Span::from_ps(u64::try_from(product.div_ceil(tick)).unwrap_or(u64::MAX))
    }
}

/// How late a server is that gives each flow its rate, if at all: behind the flow's own clock, by which an item is done at
///
/// ```text
/// end ← max(when it comes, end of the one before) + L / r,       begin = end − L / r
/// ```
///
/// An item has left by either of them and so much more, however far the flow is ahead of its bucket (Goyal, Lam and Vin 1997 have it as *guaranteed rate* servers, with the
/// end; Stiliadis and Varma 1998 as *latency-rate* servers).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    after: Span,
    begin: bool,
}

impl Latency {
    /// Gone by the end and `after`.
    pub(super) fn behind_end(after: Span) -> Self {
        Self { after, begin: false }
    }

    /// Gone by the beginning and `after`.
    pub(super) fn behind_begin(after: Span) -> Self {
        Self { after, begin: true }
    }

    /// The latency of a server that is later by `more`.
    pub fn later_by(self, more: Span) -> Self {
        Self { after: self.after.saturating_add(more), ..self }
    }

    /// Whether it is counted from the beginning.
    #[cfg(test)]
    pub(super) fn counts_from_begin(&self) -> bool {
        self.begin
    }

    /// What it adds to the clock.
    pub fn after(&self) -> Span {
        self.after
    }

    /// How long an item is there at most of a flow that keeps its bucket.
    pub fn of_bucket(&self, share: &Share) -> Span {
        let of = if self.begin { share.burst.saturating_sub(share.smallest) } else { share.burst };
        share.tick.of(of).saturating_add(self.after)
    }

    /// How much later than it may leave the server before, which had `before` of [`handed_on`](super::Order::handed_on), an item leaves this one at most.
    ///
    /// The burst is paid for at the first of a row of servers only. With `end_n` the clock at the `n`-th, `X_n` what it adds to its beginning, `α_n` to its end, and `τ` the way,
    ///
    /// ```text
    /// comes ≤ end_n + α_n + τ        end_{n+1} ≤ end_n + c,   c = τ + X_n,   or   τ + α_n + max L / r     (induction over items)
    /// leaves by end_{n+1} + α_{n+1} ≤ end_n + c + α_{n+1}
    /// ```
    ///
    /// so `c − τ − α_n + α_{n+1}` later, in which only the largest item is paid for again (Goyal, Lam and Vin, "Determining end-to-end delay bounds in heterogeneous networks",
    /// Multimedia Systems 5, 1997; Parekh and Gallager, "… the multiple node case", IEEE/ACM ToN 2(2), 1994).
    pub fn of_next(&self, before: Span, share: &Share) -> Span {
        let begun = if self.begin { share.tick.of(share.smallest) } else { Span::ZERO };
        before.saturating_sub(begun).saturating_add(self.after)
    }
}
