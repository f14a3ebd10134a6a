//! WF2Q+: an item waits until the fluid server would have begun it.
//!
//! [`WeightedFair`](super::WeightedFair) may run ahead of its fluid server by half a busy period.
//! Bennett and Zhang exclude that: of the items that the fluid server has *begun*, send the item
//! that it finishes first ("WF2Q: worst-case fair weighted fair queueing", INFOCOM 1996). Their
//! WF2Q+ ("Hierarchical packet fair queueing algorithms", IEEE/ACM ToN 5(5), 1997) has a clock that
//! needs no fluid server,
//!
//! ```text
//! V(t + τ) = max(V(t) + τ, min_{i waits} S_i)
//! S = F of the flow's last, or max(F, V) at an idle flow,   F = S + L / r
//! eligible: S ≤ V          served: the eligible item with the least F
//! ```
//!
//! `V` advances with real time, because the fluid server serves flows that have reserved all of it
//! at just their rates. It jumps when no waiting item is eligible. Only the first item of a flow
//! needs tags, so heaps are as long as the number of flows: one heap of ineligible flows, by `S`,
//! and one of eligible flows, by `F`. (The paper's stand-alone algorithm is one tree; two heaps do
//! the same work.)
//!
//! **Guarantee**, if rates sum up to at most `C`:
//!
//! ```text
//! D_i ≤ σ_i / r_i + L_max / C                                            of a token bucket
//! departure ≤ arrival + Q_i / r_i + (L_i / r_i + (L_max − L_i) / C)
//! ```
//!
//! with `Q_i` the flow's backlog at the arrival, the item included (ibid., Theorems 3 and 4). The
//! second is its *worst-case fairness*: whatever its earlier service, a flow is never without
//! service for longer than an item at its own rate plus one item of another flow. `T-WFI` of WFQ
//! grows with the number of flows instead.
//!
//! *Beside items without a rate*, which the paper does not have, the first guarantee needs an
//! argument. Let `X(t) = V(t) − t`. `X` never falls, and rises only when no waiting item is
//! eligible, whatever is served meanwhile. So the first guarantee holds behind each flow's own
//! clock (`end`, [`Latency`]), as for any earliest-deadline schedule:
//!
//! ```text
//! F ≤ end + X                                                         (a)
//! departure ≤ t₁ + L_max / C + F − V(t₁) = F − X(t₁) + L_max / C      (b)
//! ```
//!
//! (a) holds by induction: `S = max(F, V)`, `end = max(end, arrival) + L / r`, and `X` does not
//!     fall. In (b) `t₁` is the last time before the item's begin at which an item with later `F`
//!     or without a rate was begun, or no item was eligible. All items begun since `t₁` up to this
//!     one have `S ≥ V(t₁)`, and `F` at most its own. The intervals `[S, F]` of a flow do not
//!     overlap and last `L / r` each, so these items take at most `F − V(t₁)`. `X` stays at `X(t₁)`
//!     until the item leaves, because this item or an earlier one is eligible throughout.
//!
//! Start tags need more: their clock is the item in service, so it stands still unless it is
//! advanced explicitly ([`StartTimeFair`](super::StartTimeFair)). Work-conserving; `O(log n)` an
//! item. If rates sum up to more than `C` real time is too fast a clock, and the item that arrives
//! last waits longest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use laxity_units::Time;

use super::keyed::evict;
use super::sharing::{Latency, Sharing};
use super::stamped::{RATED, rank};
use super::virtual_time::Virtual;
use super::{Class, ItemRequest, Rank, Tag};
use crate::by_channel::ByChannel;

/// A heap of flows by a tag of their first item, ties in order of arrival.
type ByTag = BinaryHeap<Reverse<(Virtual, u64, u32)>>;

/// A queue served by finish tags of eligible items; items without a rate are last.
#[derive(Debug, Clone)]
pub struct WorstCaseFair<T> {
    /// `V`, as of `at`.
    now: Virtual,
    at: Time,
    flows: ByChannel<Flow<T>>,
    /// Flows with a first item that is not eligible, by `S`.
    ahead: ByTag,
    /// Flows with an eligible first item, by `F`.
    eligible: ByTag,
    latest: Virtual,
    waiting: usize,
    arrivals: u64,
    without: VecDeque<(Tag, T)>,
}

#[derive(Debug, Clone)]
struct Flow<T> {
    items: VecDeque<Waiting<T>>,
    /// `F` of its first item; of its last one if none waits.
    finish: Virtual,
}

#[derive(Debug, Clone)]
struct Waiting<T> {
    tick: Virtual,
    arrival: u64,
    tag: Tag,
    item: T,
}

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), finish: Virtual::default() }
    }
}

impl<T> Default for WorstCaseFair<T> {
    fn default() -> Self {
        Self {
            now: Virtual::default(),
            at: Time::ZERO,
            flows: ByChannel::default(),
            ahead: ByTag::new(),
            eligible: ByTag::new(),
            latest: Virtual::default(),
            waiting: 0,
            arrivals: 0,
            without: VecDeque::new(),
        }
    }
}

impl<T> WorstCaseFair<T> {
    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        let ItemRequest { flow, size, tag, .. } = *request;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let tick = Virtual::tick(tag.tick, size);
        let place = self.flows.place(flow);
        let flow = &mut self.flows.all_mut()[place];
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.waiting += 1;
        flow.items.push_back(Waiting { tick, arrival, tag, item });
        if flow.items.len() == 1 {
            let start = flow.finish.max(self.now + Virtual::of(now.saturating_since(self.at)));
            flow.finish = start + tick;
            self.latest = self.latest.max(flow.finish);
            self.ahead.push(Reverse((start, arrival, place as u32)));
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        self.now = self.now + Virtual::of(now.saturating_since(self.at));
        self.at = self.at.max(now);
        if self.eligible.is_empty() {
            match self.ahead.peek() {
                Some(Reverse((start, ..))) => self.now = self.now.max(*start),
                None => return self.without.pop_front(),
            }
        }
        while let Some(&Reverse((start, arrival, place))) = self.ahead.peek()
            && start <= self.now
        {
            self.ahead.pop();
            let finish = self.flows.all_mut()[place as usize].finish;
            self.eligible.push(Reverse((finish, arrival, place)));
        }
        let Reverse((finish, _, place)) = self.eligible.pop().expect("one was made eligible");
        let flow = &mut self.flows.all_mut()[place as usize];
        let Waiting { tag, item, .. } = flow.items.pop_front().expect("its first item waited");
        self.waiting -= 1;
        if let Some(next) = flow.items.front() {
            flow.finish = finish + next.tick;
            self.latest = self.latest.max(flow.finish);
            self.ahead.push(Reverse((finish, next.arrival, place)));
        }
        Some((tag, item))
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        match self.waiting {
            0 => self.without.front().map(|(tag, _)| self.rank(tag, now)),
            _ => Some(RATED),
        }
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        rank(tag)
    }

    pub(super) fn next_eligible(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// No flow has a later tag than this, so each begins here.
    pub(super) fn idle(&mut self) {
        self.now = self.now.max(self.latest);
    }

    pub(super) fn evict(&mut self) -> Option<T> {
        if let Some(item) = evict(&mut self.without) {
            return Some(item);
        }
        // The last item of a flow: the items before it keep their tags.
        let last = |flow: &&mut Flow<T>| {
            flow.items.back().filter(|item| item.tag.class == Class::BestEffort).map(|item| item.arrival)
        };
        let flow = self.flows.all_mut().iter_mut().filter(|flow| last(flow).is_some()).max_by_key(last)?;
        let evicted = flow.items.pop_back()?;
        self.waiting -= 1;
        if flow.items.is_empty() {
            let stays = |Reverse((_, arrival, _)): &Reverse<(Virtual, u64, u32)>| *arrival != evicted.arrival;
            self.ahead.retain(stays);
            self.eligible.retain(stays);
        }
        Some(evicted.item)
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        (self.waiting, self.ahead, self.eligible) = (0, ByTag::new(), ByTag::new());
        let flows = self.flows.all_mut().iter_mut().flat_map(|flow| flow.items.drain(..));
        flows.map(|waiting| waiting.item).chain(self.without.drain(..).map(|(_, item)| item)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting + self.without.len()
    }
}

/// `L_max / C` behind the fluid server, in which no item is later than at its flow's own rate.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    sharing.all_alike(Latency::behind_end(sharing.longest()))
}
