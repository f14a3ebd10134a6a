//! Deficit round robin: turns, with the unused part of a turn kept for the next.
//!
//! Turns item by item favour flows with long items. Here a flow gets a *quantum* in its turn, and
//! sends as long as its deficit covers its first item. It keeps the rest for its next turn as long
//! as it has an item waiting (Shreedhar and Varghese, "Efficient fair queueing using deficit round
//! robin", SIGCOMM 1995).
//!
//! **The quantum.** A quantum has to be in proportion to the rate, and should cover any item;
//! otherwise finding a flow that may send takes several steps. So the quantum is the amount that a
//! flow may send at its rate within a *round*. A round is the longest time that any item so far
//! takes at its flow's own rate: `Q_i = r_i T`, `T = max L / r`. Counted in time at the flow's own
//! rate all quanta are `T`, an item costs `L / r`, and no weights are needed. A slow flow with
//! large items makes rounds long for all flows.
//!
//! **Fairness.** While two flows both have items waiting, their numbers of turns differ by at most
//! one, so
//!
//! ```text
//! | W_i / r_i − W_j / r_j | ≤ T + L_i / r_i + L_j / r_j
//! ```
//!
//! **Delay.** A latency-rate server (Stiliadis and Varma, "Latency-rate servers", IEEE/ACM ToN
//! 6(5), 1998, Table I): with `F` the sum of quanta
//!
//! ```text
//! D_i ≤ σ_i / r_i + (3 F − 2 Q_i) / C          F / C ≤ T if rates sum up to no more than C
//! ```
//!
//! This is many times the bound of WFQ, for `O(1)` an item. The published bound is for quanta in
//! proportion to rates that *reserve* all of `C`; where rates sum up to less, `F` is the sum of the
//! quanta. Items without a rate add the one item that was begun before. Work-conserving.

use std::collections::VecDeque;

use laxity_units::{Span, Time};

use super::keyed::evict;
use super::sharing::{Latency, Share, Sharing};
use super::stamped::{RATED, rank};
use super::virtual_time::Virtual;
use super::{Class, ItemRequest, Rank, Tag};
use crate::by_channel::ByChannel;

/// Flows that take turns, and behind them the items without a rate.
#[derive(Debug, Clone)]
pub struct DeficitRoundRobin<T> {
    flows: ByChannel<Flow<T>>,
    /// Flows with items, in the order of their turns.
    turns: VecDeque<usize>,
    /// Whether the first of them has got its quantum.
    given: bool,
    /// `T`.
    round: Virtual,
    waiting: usize,
    without: VecDeque<(Tag, T)>,
}

#[derive(Debug, Clone)]
struct Flow<T> {
    items: VecDeque<(Virtual, Tag, T)>,
    /// The flow's deficit, as time at its rate.
    deficit: Virtual,
}

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), deficit: Virtual::default() }
    }
}

impl<T> Default for DeficitRoundRobin<T> {
    fn default() -> Self {
        Self {
            flows: ByChannel::default(),
            turns: VecDeque::new(),
            given: false,
            round: Virtual::default(),
            waiting: 0,
            without: VecDeque::new(),
        }
    }
}

impl<T> DeficitRoundRobin<T> {
    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let ItemRequest { flow, size, tag, .. } = *request;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let tick = Virtual::tick(tag.tick, size);
        self.round = self.round.max(tick);
        let place = self.flows.place(flow);
        let flow = &mut self.flows.all_mut()[place];
        flow.items.push_back((tick, tag, item));
        self.waiting += 1;
        if flow.items.len() == 1 {
            self.turns.push_back(place);
        }
    }

    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        // A quantum covers any item, so the loop skips at most the first flow, at the end of its
        // turn.
        while let Some(&place) = self.turns.front() {
            let flow = &mut self.flows.all_mut()[place];
            if !std::mem::replace(&mut self.given, true) {
                flow.deficit = flow.deficit + self.round;
            }
            let (tick, ..) = flow.items.front().expect("who has a turn has items");
            if *tick > flow.deficit {
                self.turns.rotate_left(1);
                self.given = false;
                continue;
            }
            flow.deficit = flow.deficit.since(*tick);
            let (_, tag, item) = flow.items.pop_front().expect("it was just looked at");
            if flow.items.is_empty() {
                flow.deficit = Virtual::default();
                self.turns.pop_front();
                self.given = false;
            }
            self.waiting -= 1;
            return Some((tag, item));
        }
        self.without.pop_front()
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

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        if let Some(item) = evict(&mut self.without) {
            return Some(item);
        }
        let best_effort =
            |flow: &Flow<T>| flow.items.back().is_some_and(|(_, tag, _)| tag.class == Class::BestEffort);
        let flows = self.flows.all_mut();
        let turn = self.turns.iter().rposition(|place| best_effort(&flows[*place]))?;
        let flow = &mut flows[self.turns[turn]];
        let (.., item) = flow.items.pop_back()?;
        self.waiting -= 1;
        if flow.items.is_empty() {
            flow.deficit = Virtual::default();
            self.turns.remove(turn);
            self.given &= turn != 0;
        }
        Some(item)
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        (self.waiting, self.given) = (0, false);
        self.turns.clear();
        let flows = self.flows.all_mut().iter_mut();
        let items = flows.flat_map(|flow| {
            flow.deficit = Virtual::default();
            flow.items.drain(..)
        });
        items.map(|(.., item)| item).chain(self.without.drain(..).map(|(_, item)| item)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting + self.without.len()
    }
}

/// `(3 F − 2 Q_i) / C`, plus an item without a rate that was begun before.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Latency> {
    let round = sharing.flows.iter().map(Share::largest_tick).max().unwrap_or_default();
    let quanta: Vec<Span> = (0..sharing.flows.len()).map(|flow| sharing.share_of(flow, round)).collect();
    let all = quanta.iter().fold(Span::ZERO, |all, own| all.saturating_add(*own)).saturating_mul(3);
    let of = |own: &Span| all.saturating_sub(own.saturating_mul(2)).saturating_add(sharing.without());
    quanta.iter().map(|own| Latency::behind_end(of(own))).collect()
}
