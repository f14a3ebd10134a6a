//! Hierarchical round robin: a fixed quota in each frame.
//!
//! Kalmanek, Kanakia and Keshav ("Rate controlled servers for very high-speed networks", GLOBECOM
//! 1990) cut a link's time into frames of slots. A flow has a number of slots in each frame, may
//! use them at any time within it, and is served round robin with the other flows of its frame.
//! Frames of several lengths share the link: flows of short frames go first, and flows of longer
//! frames get the unreserved rest. A flow that has used its slots waits for the next frame even if
//! the link idles. It therefore sends at most a frame's worth at once, and needs no larger buffer
//! at the next hop.
//!
//! **Here** items are not cells. A flow's slots are the time `T` of its frame at its own rate, and
//! an item takes `L / r` of that time. A rest that does not cover the next item is kept for the
//! next frame, as in deficit round robin; a rest that would have covered it is not. A flow's frame
//! is the shortest `2^k T` that covers an interval of its contract, so that a frame's worth covers
//! the largest message.
//!
//! **Guarantee**, beside flows with arbitrary traffic. In a frame of its length a flow with items
//! of `L` sends at most `T + L / r` of its time, so if for each length
//!
//! ```text
//! Σ_{T_p ≤ T_g} (T_g / T_p) · (r_p T_p + L_p) / C  +  L_max / C  ≤  T_g
//! ```
//!
//! every flow can use within a frame the whole quota that it has when the frame begins. For a token
//! bucket
//!
//! ```text
//! D ≤ σ / r + 2 T_g
//! ```
//!
//! Let the flow have an item waiting from `t0` on, let the item arrive at `t`, and let the first
//! frame after `t0` begin at `t1 ≤ t0 + T`. By the end of the `n`-th frame from `t1` on the flow
//! has got `n T`, and the arrivals by `t` are at most `σ / r + t − t0`. So the item leaves by the
//! end of the first frame with `n T` not below that: `t1 + n T < t0 + T + (σ / r + t − t0) + T`.
//! The published bound is `2 T`, for cells of which at most a frame's worth arrives in any frame
//! *of the server's*: then no backlog passes from one frame to the next. That condition fails for a
//! bucket of a frame's worth that arrives around the edge of a frame.
//!
//! Items without a rate are served when no other item may be. Not work-conserving. `O(1)` an item:
//! a flow is visited again at the end of each frame in which it leaves items, and levels are at
//! most 64.

use std::collections::VecDeque;

use laxity_units::Time;

use super::frames::Frames;
use super::keyed::evict;
use super::sharing::{Latency, Sharing};
use super::stamped::{RATED, rank};
use super::virtual_time::Virtual;
use super::{Class, ItemRequest, Rank, ServerParameters, Tag};
use crate::by_channel::ByChannel;

/// Rounds of each length, followed by the items without a rate.
#[derive(Debug, Clone)]
pub struct HierarchicalRoundRobin<T> {
    frames: Frames,
    flows: ByChannel<Flow<T>>,
    /// By the length of frames.
    levels: Vec<Level>,
    waiting: usize,
    without: VecDeque<(Tag, T)>,
}

/// Flows with items, with frames of one length.
#[derive(Debug, Clone, Default)]
struct Level {
    frame: u64,
    /// Flows that may send, in the order of their turns.
    turns: VecDeque<usize>,
    /// Flows that have used up their quota of the frame.
    spent: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Flow<T> {
    items: VecDeque<(Virtual, Tag, T)>,
    /// The rest of the quota in `frame`.
    left: Virtual,
    frame: Option<u64>,
}

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), left: Virtual::default(), frame: None }
    }
}

impl<T> Flow<T> {
    /// Enters frame `number` with a quota of `worth`. The rest of the last quota is kept as far as
    /// it would not have covered the first item.
    fn enter(&mut self, number: u64, worth: Virtual) {
        if self.frame == Some(number) {
            return;
        }
        let first = self.items.front().map_or(Virtual::default(), |(tick, ..)| *tick);
        let kept = if self.frame.is_some() && self.left < first { self.left } else { Virtual::default() };
        (self.left, self.frame) = (kept + worth, Some(number));
    }

    fn may_send(&self) -> bool {
        self.items.front().is_some_and(|(tick, ..)| *tick <= self.left)
    }
}

impl<T> HierarchicalRoundRobin<T> {
    /// An empty queue in front of `server`, which has the shortest frame.
    pub fn of(server: &ServerParameters) -> Self {
        let frames = Frames::of(server.frame);
        let (flows, without) = (ByChannel::default(), VecDeque::new());
        Self { frames, flows, levels: Vec::new(), waiting: 0, without }
    }

    pub(super) fn enqueue(&mut self, now: Time, request: &ItemRequest, item: T) {
        let ItemRequest { flow, size, tag, .. } = *request;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let number = self.frames.around(tag.tick.interval());
        while self.levels.len() <= usize::from(number) {
            self.levels.push(Level::default());
        }
        self.turn(now);
        let place = self.flows.place(flow);
        let flow = &mut self.flows.all_mut()[place];
        flow.items.push_back((Virtual::tick(tag.tick, size), tag, item));
        self.waiting += 1;
        if flow.items.len() == 1 {
            let level = &mut self.levels[usize::from(number)];
            level.frame = self.frames.number(number, now);
            // A flow without waiting items has kept no quota.
            if flow.frame != Some(level.frame) {
                flow.frame = None;
            }
            flow.enter(level.frame, Virtual::of(self.frames.length(number)));
            match flow.may_send() {
                true => level.turns.push_back(place),
                false => level.spent.push(place),
            }
        }
    }

    /// Starts the next frame of each flow at the end of its frame.
    fn turn(&mut self, now: Time) {
        for (number, level) in (0..).zip(&mut self.levels) {
            if level.spent.is_empty() && level.turns.is_empty() {
                continue;
            }
            let frame = self.frames.number(number, now);
            if level.frame == frame {
                continue;
            }
            level.frame = frame;
            let worth = Virtual::of(self.frames.length(number));
            let flows = self.flows.all_mut();
            level.turns.iter().for_each(|place| flows[*place].enter(frame, worth));
            let mut still = Vec::new();
            for place in level.spent.drain(..) {
                flows[place].enter(frame, worth);
                match flows[place].may_send() {
                    true => level.turns.push_back(place),
                    // An item larger than a frame's quota takes several frames.
                    false => still.push(place),
                }
            }
            level.spent = still;
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        self.turn(now);
        let Some(level) = self.levels.iter_mut().find(|level| !level.turns.is_empty()) else {
            return self.without.pop_front();
        };
        let place = level.turns.pop_front().expect("somebody has a turn");
        let flow = &mut self.flows.all_mut()[place];
        let (tick, tag, item) = flow.items.pop_front().expect("who has a turn has items");
        flow.left = flow.left.since(tick);
        self.waiting -= 1;
        if flow.may_send() {
            level.turns.push_back(place);
        } else if !flow.items.is_empty() {
            level.spent.push(place);
        }
        Some((tag, item))
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        self.turn(now);
        match self.levels.iter().any(|level| !level.turns.is_empty()) {
            true => Some(RATED),
            false => self.without.front().map(|(tag, _)| self.rank(tag, now)),
        }
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        rank(tag)
    }

    pub(super) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        self.turn(now);
        let levels = (0..).zip(&self.levels).filter(|(_, level)| !level.spent.is_empty());
        levels.map(|(number, _)| self.frames.end(number, now)).min()
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        if let Some(item) = evict(&mut self.without) {
            return Some(item);
        }
        let flows = self.flows.all_mut();
        let best_effort = |place: &usize| {
            flows[*place].items.back().is_some_and(|(_, tag, _)| tag.class == Class::BestEffort)
        };
        let waiting = |level: &Level| level.turns.iter().chain(&level.spent).copied().rfind(best_effort);
        let place = self.levels.iter().rev().find_map(waiting)?;
        let (.., item) = flows[place].items.pop_back()?;
        self.waiting -= 1;
        if flows[place].items.is_empty() {
            for level in &mut self.levels {
                level.turns.retain(|other| *other != place);
                level.spent.retain(|other| *other != place);
            }
        }
        Some(item)
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        self.levels.clear();
        let flows = self.flows.all_mut().iter_mut().flat_map(|flow| flow.items.drain(..));
        flows.map(|(.., item)| item).chain(self.without.drain(..).map(|(_, item)| item)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting + self.without.len()
    }
}

/// `2 T_g`; `None` for a flow if a frame that is not longer than its own is over capacity.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Option<Latency>> {
    let frames = Frames::of(sharing.frame);
    let level = |flow: usize| frames.around(sharing.flows[flow].tick.interval());
    let given = |flow: usize| {
        let worth = frames.length(level(flow)).saturating_add(sharing.flows[flow].largest_tick());
        sharing.served_in(flow, worth)
    };
    let of_level = |own: u8| {
        let room = frames.have_room(sharing, own, level, given);
        room.then(|| Latency::behind_end(frames.length(own).saturating_mul(2)))
    };
    sharing.by_level(level, of_level)
}
