//! Flows that share a server, as the published bounds model them.
//!
//! Each rate-based discipline has a `bound` on the time from the arrival of an item until its last
//! bit has left. All bounds assume that the flow in question keeps a token bucket, while others
//! send arbitrary traffic. They also assume that rates sum up to at most the server's
//! ([`Sharing::fits`]), with the overhead of an item on the link counted as bytes of the item.

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use super::groups::Group;
use crate::costs::LinkCosts;
use crate::fragment::Fragmentation;
use crate::virtual_clock::Vtick;

/// A flow with a reserved rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// `r`.
    pub tick: Vtick,
    /// `σ`: in any time `δ` the flow sends at most `σ + r δ`. At least its largest item.
    pub burst: Bytes,
    /// Its largest item.
    pub largest: Bytes,
    /// Its smallest item.
    pub smallest: Bytes,
    /// Sizes of its messages, if its items are whole messages, cut to `largest`, one after the
    /// other; `None` if any item may follow any.
    pub messages: Option<Messages>,
    /// Its level, for disciplines with levels.
    pub level: u8,
    /// Index of its group, for disciplines with groups.
    pub group: Option<usize>,
}

impl Share {
    /// `L / r`: the time of its largest item at its rate.
    pub fn largest_tick(&self) -> Span {
        self.tick.of(self.largest)
    }
}

/// Sizes of the messages that a flow's items are parts of.
///
/// # Overhead of a message
///
/// An item has overhead, so of the items of a flow a small one takes the server longest for its
/// size. A message of 16 and a bit items has one small item, and no other follows it at once. Let
/// `T` be the time of a whole message on the server, `M` its size, `ρ` the largest `T / M` of all
/// messages, and `s` the smallest item, of time `c`. Let a server take items of the flow in a row,
/// `B` bytes in all. The row ends with part of a message, which has less overhead for its size than
/// the whole, because the small item comes last. It begins with the end of a message, of which the
/// small item may be all. So the row takes
///
/// ```text
/// ρ B + e   at most,   e = c − ρ s                                              (1)
/// ```
///
/// A message larger than `most` is carried as messages of `most` and a rest (`s` at least), so a
/// row can begin with two small items, `e` counts twice, and `(T(most) + c) / (most + s)` is one
/// of the `T / M`. `T / M` falls while the number of items stays, so the least message and the
/// shortest with one item more are the only others.
///
/// Disciplines by rates bound the bytes that the items of each other flow have together between an
/// instant and the departure of an item. With (1) rates are measured by `ρ`, and the latency is
/// longer by `Σ e`, once. Without messages an item is a message: `ρ = c / s`, and `e` is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// The smallest.
    pub least: Bytes,
    /// The largest that is carried whole.
    pub most: Bytes,
}

/// What takes a server long for its size, and is compared by that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costly {
    pub(super) time: Span,
    /// Not zero.
    pub(super) size: Bytes,
}

impl Costly {
    fn and(self, other: Self) -> Self {
        Self { time: self.time.saturating_add(other.time), size: self.size + other.size }
    }

    /// The one that takes longer for its size.
    pub(super) fn max(self, other: Self) -> Self {
        let product = |time: Span, size: Bytes| u128::from(time.as_ps()) * u128::from(size.get());
        if product(self.time, other.size) < product(other.time, self.size) { other } else { self }
    }
}

/// The flows that share a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// Transmission time of an item by size.
    pub speed: LinkCosts,
    /// Flows with a rate.
    pub flows: Vec<Share>,
    /// Largest item without a rate; zero if there are none.
    pub without: Bytes,
    /// The shortest frame, for framing disciplines.
    pub frame: Span,
    /// Groups of flows, each behind its parent.
    pub groups: Vec<Group>,
}

impl Sharing {
    /// The server, in the unit of [`part`](Self::part).
    pub const WHOLE: u128 = 1 << 40;

    /// Whether the server is fast enough for all rates: the sum over flows of a message's time on
    /// the server divided by its time at the flow's rate is at most one, for the messages with most
    /// overhead.
    pub fn fits(&self) -> bool {
        self.rates() <= Self::WHOLE
    }

    /// The rates' excess over the server, in millionths of the server, rounded up.
    pub fn excess(&self) -> u64 {
        let excess = self.rates().saturating_sub(Self::WHOLE).saturating_mul(1_000_000);
        u64::try_from(excess.div_ceil(Self::WHOLE)).unwrap_or(u64::MAX)
    }

    /// The part of the server that rates take, of [`WHOLE`](Self::WHOLE).
    fn rates(&self) -> u128 {
        self.flows.iter().map(|flow| self.part(flow)).fold(0, u128::saturating_add)
    }

    /// The part of the server that the rate of `flow` takes, of [`WHOLE`](Self::WHOLE).
    pub fn part(&self, flow: &Share) -> u128 {
        let Costly { time, size } = self.costly(flow);
        let of = u128::from(time.as_ps()) * Self::WHOLE;
        let tick = u128::from(flow.tick.interval().as_ps()) * u128::from(size.get());
        of.saturating_mul(u128::from(flow.tick.size().get())).div_ceil(tick.max(1))
    }

    /// `L / C` of a flow's largest item.
    pub fn item(&self, flow: usize) -> Span {
        self.speed.transmit(self.flows[flow].largest)
    }

    /// `L / C` of the largest item without a rate.
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

    pub(super) fn all_alike(&self, latency: Latency) -> Vec<Latency> {
        vec![latency; self.flows.len()]
    }

    /// For every flow the latency of its level.
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

    /// Service time of a whole bucket.
    pub fn burst(&self, flow: usize) -> Span {
        let share = &self.flows[flow];
        let Costly { time, size } = self.costly(share);
        time.saturating_mul(share.burst.div_ceil(size)).saturating_add(self.uneven(share))
    }

    /// Maximum service time of a flow's arrivals in `time`.
    pub fn work_in(&self, flow: usize, time: Span) -> Span {
        self.burst(flow).saturating_add(self.share_of(flow, time))
    }

    /// Maximum service time of a flow's items at its rate in `time`.
    pub fn served_in(&self, flow: usize, time: Span) -> Span {
        self.share_of(flow, time).saturating_add(self.uneven(&self.flows[flow]))
    }

    /// The same, but for the ends of messages ([`ends`](Self::ends)).
    pub(super) fn share_of(&self, flow: usize, time: Span) -> Span {
        let share = &self.flows[flow];
        let Costly { time: of, size } = self.costly(share);
        let product = u128::from(of.as_ps()) * u128::from(time.as_ps());
        let tick = u128::from(share.tick.of(size).as_ps()).max(1);
        Span::from_ps(u64::try_from(product.div_ceil(tick)).unwrap_or(u64::MAX))
    }

    /// `Σ e` of [`Messages`]: what the ends of messages take together, once.
    pub(super) fn ends(&self) -> Span {
        self.flows.iter().fold(Span::ZERO, |all, share| all.saturating_add(self.uneven(share)))
    }

    /// The same flows, of which any item may follow any.
    pub(super) fn by_items(&self) -> Self {
        let flows = self.flows.iter().map(|share| Share { messages: None, ..*share }).collect();
        Self { flows, groups: self.groups.clone(), ..*self }
    }

    /// Whether the end of a message of any flow is counted apart.
    pub(super) fn has_ends(&self) -> bool {
        self.flows.iter().any(|share| share.messages.is_some() && share.smallest < share.largest)
    }

    /// The message of a flow that takes longest for its size.
    pub(super) fn costly(&self, share: &Share) -> Costly {
        let item = |size: Bytes| Costly { time: self.speed.transmit_in_proportion(size), size };
        let smallest = share.smallest.max(Bytes::new(1));
        let Some(Messages { least, most }) = share.messages else { return item(smallest) };
        let whole = |size: Bytes| {
            let cut = Fragmentation::new(size, share.largest);
            let before = item(share.largest).time.saturating_mul(cut.packets() - 1);
            Costly { time: before.saturating_add(item(cut.last()).time), size }
        };
        let least = least.max(Bytes::new(1));
        let longer = Bytes::new(least.div_ceil(share.largest) * share.largest.get() + 1);
        let longer = if longer <= most { whole(longer) } else { whole(least) };
        whole(least).max(longer).max(whole(most).and(item(smallest)))
    }

    /// `e` of [`Messages`], for two ends.
    fn uneven(&self, share: &Share) -> Span {
        if share.messages.is_none() {
            return Span::ZERO;
        }
        let smallest = share.smallest.max(Bytes::new(1));
        let Costly { time, size } = self.costly(share);
        let product = u128::from(time.as_ps()) * u128::from(smallest.get());
        let even = Span::from_ps(u64::try_from(product / u128::from(size.get())).unwrap_or(u64::MAX));
        self.speed.transmit_in_proportion(smallest).saturating_sub(even).saturating_mul(2)
    }
}

/// The maximum lateness of a server that guarantees each flow its rate. The reference is the flow's
/// own clock, which finishes an item at
///
/// ```text
/// end ← max(its arrival, end of the one before) + L / r,       begin = end − L / r
/// ```
///
/// The item leaves within the latency after `begin` or after `end`, however far the flow exceeds
/// its bucket (Goyal, Lam and Vin 1997: *guaranteed rate* servers, with the end; Stiliadis and
/// Varma 1998: *latency-rate* servers).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    after: Span,
    begin: bool,
}

impl Latency {
    /// Departure by `end + after`.
    pub(super) fn behind_end(after: Span) -> Self {
        Self { after, begin: false }
    }

    /// Departure by `begin + after`.
    pub(super) fn behind_begin(after: Span) -> Self {
        Self { after, begin: true }
    }

    /// The latency of a server that is later by `more`.
    pub fn later_by(self, more: Span) -> Self {
        Self { after: self.after.saturating_add(more), ..self }
    }

    /// Whether the latency counts from the beginning.
    #[cfg(test)]
    pub(super) fn counts_from_begin(&self) -> bool {
        self.begin
    }

    /// The term added to the clock.
    pub fn after(&self) -> Span {
        self.after
    }

    /// Delay bound of an item of a flow that keeps its bucket.
    pub fn of_bucket(&self, share: &Share) -> Span {
        let of = if self.begin { share.burst.saturating_sub(share.smallest) } else { share.burst };
        share.tick.of(of).saturating_add(self.after)
    }

    /// Maximum additional delay at this server, after a server with `before` of
    /// [`handed_on`](super::Order::handed_on).
    ///
    /// Only the first of a row of servers adds the burst. With `end_n` the clock at the `n`-th,
    /// `X_n` its term after the beginning, `α_n` its term after the end, and `τ` the propagation
    /// delay,
    ///
    /// ```text
    /// arrival ≤ end_n + α_n + τ
    /// end_{n+1} ≤ end_n + c,   c = τ + X_n,   or   τ + α_n + max L / r     (induction over items)
    /// departure ≤ end_{n+1} + α_{n+1} ≤ end_n + c + α_{n+1}
    /// ```
    ///
    /// The item leaves `c − τ − α_n + α_{n+1}` later, in which only the largest item counts again
    /// (Goyal, Lam and Vin, "Determining end-to-end delay bounds in heterogeneous networks",
    /// Multimedia Systems 5, 1997; Parekh and Gallager, "… the multiple node case", IEEE/ACM ToN
    /// 2(2), 1994).
    pub fn of_next(&self, before: Span, share: &Share) -> Span {
        let begun = if self.begin { share.tick.of(share.smallest) } else { Span::ZERO };
        before.saturating_sub(begun).saturating_add(self.after)
    }
}
