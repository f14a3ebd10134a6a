//! Stop-and-go: what comes within a frame goes in the next, and not before.
//!
//! ```text
//! frames of T        │ a   b │     c │       │
//! may go                     │ a b   │ c     │          within a frame of their own, in whatever order
//! ```
//!
//! Golestani ("A stop-and-go queueing framework for congestion management", SIGCOMM 1990; "Congestion-free communication in high-speed
//! packet networks", IEEE Trans. Comm. 39(12), 1991) has frames of several lengths, each a multiple of the next shorter; an item
//! becomes eligible when the frame of its flow ends in which it came. Eligible ones of shorter frames go first, in order of arrival
//! among those of one length, and nobody is stopped. So what a source has spread over its frames stays spread over them at every hop: bursts cannot
//! build up, and an item is never more than two frames from where it would be without any queue.
//!
//! **Guarantee.** Let flows be *smooth*: no more than so many bytes come in any of its frames. If for each length `T_g`
//!
//! ```text
//! Σ_{T_p ≤ T_g} (T_g / T_p) · (what comes in a frame of T_p) / C  +  L_max / C  ≤  T_g
//! ```
//!
//! (ibid., with `L_max` of what has longer frames or none and may just have been begun), all that is eligible when a frame begins leaves within it, so
//!
//! ```text
//! 0 < delay ≤ 2 T_g
//! ```
//!
//! at a hop: one frame at most until the next begins, one within it. From hop to hop the frame in which it leaves is one more, no matter how
//! much else there is, so jitter over any number of hops is less than `2 T_g` (ibid., Eq. 4).
//!
//! **Its conditions.** It does not enforce: who sends more than is smooth takes it from all whose frames are as long or longer, so contracts must be enforced before
//! (in print, at the edge of the network). Frames begin with the simulation's zero here, at every link, where in print those of an outgoing link are a propagation
//! later; that adds to a hop at most one frame. Delay and rate are tied: a flow's frame is the longest `2^k T` within the interval of its contract, and it is
//! reserved for as if it sent a contract's largest message in each. What has no rate goes when nothing is eligible. Not work-conserving. `O(log n)` an item.

use std::collections::VecDeque;

use laxity_units::{Span, Time};

use super::bounds::Sharing;
use super::frames::Frames;
use super::keyed::{Keyed, evict};
use super::stamped::{RATED, rank};
use super::{Rank, Request, Server, Tag};

/// Items until their frames end, and those of each length whose have.
#[derive(Debug, Clone)]
pub struct StopAndGo<T> {
    frames: Frames,
    /// By when they may go.
    stopped: Keyed<(u8, T)>,
    /// By the length of their frames, then by arrival.
    going: Vec<VecDeque<(Tag, T)>>,
    without: VecDeque<(Tag, T)>,
}

impl<T> StopAndGo<T> {
    /// An empty queue before `server`, whose frame is the shortest.
    pub fn of(server: &Server) -> Self {
        let frames = Frames::of(server.frame);
        Self { frames, stopped: Keyed::new(), going: Vec::new(), without: VecDeque::new() }
    }

    pub(super) fn enqueue(&mut self, now: Time, request: &Request, item: T) {
        let tag = request.tag;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let level = self.frames.within(tag.tick.interval);
        self.stopped.push(self.frames.end(level, now), tag, (level, item));
    }

    fn promote(&mut self, now: Time) {
        while self.stopped.first().is_some_and(|at| at <= now) {
            let Some((tag, (level, item))) = self.stopped.pop() else { break };
            let level = usize::from(level);
            if self.going.len() <= level {
                self.going.resize_with(level + 1, VecDeque::new);
            }
            self.going[level].push_back((tag, item));
        }
    }

    pub(super) fn select(&mut self, now: Time) -> Option<(Tag, T)> {
        self.promote(now);
        self.going.iter_mut().find_map(VecDeque::pop_front).or_else(|| self.without.pop_front())
    }

    pub(super) fn best(&mut self, now: Time) -> Option<Rank> {
        self.promote(now);
        match self.going.iter().any(|level| !level.is_empty()) {
            true => Some(RATED),
            false => self.without.front().map(|(tag, _)| self.rank(tag, now)),
        }
    }

    pub(super) fn rank(&self, tag: &Tag, _now: Time) -> Rank {
        rank(tag)
    }

    pub(super) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        self.promote(now);
        self.stopped.first()
    }

    pub(super) fn idle(&mut self) {}

    pub(super) fn evict(&mut self) -> Option<T> {
        let stopped = |queue: &mut Keyed<(u8, T)>| queue.evict().map(|(_, item)| item);
        let evicted = evict(&mut self.without).or_else(|| stopped(&mut self.stopped));
        evicted.or_else(|| self.going.iter_mut().rev().find_map(evict))
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        let stopped = self.stopped.drain().map(|(_, (_, item))| item);
        let going = self.going.iter_mut().flat_map(|level| level.drain(..));
        let others = going.chain(self.without.drain(..)).map(|(_, item)| item);
        stopped.chain(others).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.stopped.len() + self.going.iter().map(VecDeque::len).sum::<usize>() + self.without.len()
    }
}

/// `2 T_g`, if all flows are smooth and the frames that are not longer have room for what comes in them; nothing if they have not.
///
/// A flow with a bucket `(σ, r)` is taken to send `σ + r T` in a frame of `T`.
pub(super) fn bound(sharing: &Sharing, of: usize, frame: Span) -> Option<Span> {
    let frames = Frames::of(frame);
    let level = |flow: usize| frames.within(sharing.flows[flow].tick.interval);
    let own = level(of);
    let all = 0..sharing.flows.len();
    // All lengths that are not longer, as what has to leave in those has to before this.
    for length in (0..=own).filter(|length| all.clone().any(|flow| level(flow) == *length)) {
        let (inside, longer): (Vec<usize>, Vec<usize>) = all.clone().partition(|flow| level(*flow) <= length);
        let of_flow = |flow: usize| {
            let times = 1u64 << (length - level(flow));
            sharing.work_in(flow, frames.length(level(flow))).saturating_mul(times)
        };
        let work = inside.into_iter().map(of_flow).fold(Span::ZERO, Span::saturating_add);
        let begun = longer.into_iter().map(|flow| sharing.item(flow)).fold(sharing.without(), Span::max);
        if work.saturating_add(begun) > frames.length(length) {
            return None;
        }
    }
    Some(frames.length(own).saturating_mul(2))
}
