//! Hierarchical start-time fair queueing: groups share the server as flows do, and each group's
//! flows share the group's service.
//!
//! ```text
//!             server                    each node chooses, by start tags, a part of it that waits:
//!        ┌──────┴───────┐               S ← max(F, v of the node),   F = S + L / r,
//!     group A        group B            v = S of the part in service;
//!    ┌───┴───┐      ┌───┴───┐           so down to a flow: its first item is served, and L is
//!  flow     flow  flow    group C …     charged to each node of that path, at its own rate
//! ```
//!
//! (Goyal, Vin and Cheng, SIGCOMM 1996, §3; Goyal, Guo and Vin, "A hierarchical CPU scheduler for
//! multimedia operating systems", OSDI 1996.) A start tag does not depend on the length of the
//! chosen item, so a node chooses before the nodes below it do. That is why start tags extend to a
//! tree directly, whereas finish tags need a second rule (Bennett and Zhang's H-WF2Q+). A node
//! without waiting items advances to its latest `F` when its last item is done. Without groups this
//! is [`StartTimeFair`](super::StartTimeFair).
//!
//! **Fairness** is that of start-time fair queueing at every node: for two parts that both wait,
//! flows or groups, `| W_i / r_i − W_j / r_j | ≤ L_i / r_i + L_j / r_j`. So the traffic of one
//! group's flows changes the service of another group by at most an item of each. The rate that a
//! flow leaves unused goes to its group before it goes to others.
//!
//! **Delay.** A group with rate `r` gets `W ≥ r (t − Δ)` in any time `t` in which one of its items
//! waits. It is a *fluctuation constrained* server, which start-time fair queueing does not
//! require, and worsens by at most an item of each part. With `P` the parent node of a part,
//!
//! ```text
//! Δ of the server = an item without a rate / C
//! Δ of a group    = Δ_P + Σ_{n part of P} L_n / r_P + L / r          (SIGCOMM 1996, Theorem 3)
//! departure       ≤ EAT + Δ_P + Σ_{n part of P} L_n / r_P            (ibid., Theorem 4)
//! ```
//!
//! with `L` the largest item of a part and `EAT` as in start-time fair queueing, if the rates of
//! each node's parts sum up to no more than its own. The bound grows with each level by an item at
//! the group's rate. Work-conserving; `O(log n)` an item and level. Items without a rate are served
//! when no other item waits, in a group or not.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use laxity_units::{Bytes, Span, Time};

use super::groups::{Group, Groups};
use super::keyed::evict;
use super::sharing::{Costly, Latency, Sharing};
use super::stamped::{RATED, rank};
use super::virtual_time::Virtual;
use super::{Class, ItemRequest, Rank, Tag};
use crate::by_channel::ByChannel;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Flow(usize),
    Group(usize),
}

/// A queue served by the start tags of a tree's parts, equal tags in order of arrival; items
/// without a rate are last.
#[derive(Debug, Clone)]
pub struct HierarchicalFair<T> {
    groups: Groups,
    /// The server, then the groups.
    nodes: Vec<Node>,
    flows: ByChannel<Flow<T>>,
    /// The node of the item begun last, if the end of the item may not have been recorded yet.
    last: Option<usize>,
    waiting: usize,
    arrivals: u64,
    without: VecDeque<(Tag, T)>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    /// The parent node.
    within: usize,
    /// `S` of the part in service, or of the part served last while others wait.
    now: Virtual,
    /// The latest `F` of its parts.
    latest: Virtual,
    /// Parts that wait, by `S`, ties in order of arrival.
    parts: BinaryHeap<Reverse<(Virtual, u64, Part)>>,
    /// As a part itself: its last `S` that was chosen, and its last `F`.
    start: Virtual,
    finish: Virtual,
}

#[derive(Debug, Clone)]
struct Flow<T> {
    /// The parent node; `None` before the first item.
    within: Option<usize>,
    finish: Virtual,
    items: VecDeque<Waiting<T>>,
}

#[derive(Debug, Clone)]
struct Waiting<T> {
    tick: Virtual,
    size: Bytes,
    arrival: u64,
    tag: Tag,
    item: T,
}

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self { within: None, finish: Virtual::default(), items: VecDeque::new() }
    }
}

impl<T> Default for HierarchicalFair<T> {
    fn default() -> Self {
        Self {
            groups: Groups::default(),
            nodes: vec![Node::default()],
            flows: ByChannel::default(),
            last: None,
            waiting: 0,
            arrivals: 0,
            without: VecDeque::new(),
        }
    }
}

/// Index of the server among the nodes; group `i` has index `i + 1`.
const SERVER: usize = 0;

impl<T> HierarchicalFair<T> {
    /// Sets the groups. Call it before the first item.
    pub(super) fn group(&mut self, groups: &Groups) {
        assert!(self.arrivals == 0, "who is in which group is said before anything comes");
        let node = |group: &Group| Node {
            within: group.within.map_or(SERVER, |place| place + 1),
            ..Node::default()
        };
        self.nodes = [Node::default()].into_iter().chain(groups.all().iter().map(node)).collect();
        self.groups = groups.clone();
    }

    pub(super) fn enqueue(&mut self, _now: Time, request: &ItemRequest, item: T) {
        let ItemRequest { flow: channel, size, tag, .. } = *request;
        if tag.tick.is_none() {
            self.without.push_back((tag, item));
            return;
        }
        let place = self.flows.place(channel);
        let flow = &mut self.flows.all_mut()[place];
        let groups = &self.groups;
        let within = *flow.within.get_or_insert_with(|| groups.of(channel).map_or(SERVER, |group| group + 1));
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.waiting += 1;
        flow.items.push_back(Waiting { tick: Virtual::tick(tag.tick, size), size, arrival, tag, item });
        if flow.items.len() == 1 {
            let finish = flow.finish;
            self.wake(within, finish, (arrival, Part::Flow(place)));
        }
    }

    /// A part of `within` begins to wait; a node above begins to wait too if no other part of it
    /// waits.
    fn wake(&mut self, mut within: usize, mut finish: Virtual, (arrival, mut part): (u64, Part)) {
        loop {
            let node = &mut self.nodes[within];
            let first = node.parts.is_empty();
            node.parts.push(Reverse((finish.max(node.now), arrival, part)));
            if !first || within == SERVER {
                return;
            }
            (finish, part, within) = (node.finish, Part::Group(within), node.within);
        }
    }

    /// The item that was begun last is done: nodes without waiting items advance to their latest
    /// `F`.
    fn settle(&mut self) {
        let Some(mut place) = self.last.take() else { return };
        while let node = &mut self.nodes[place]
            && node.parts.is_empty()
        {
            node.now = node.latest;
            if place == SERVER {
                return;
            }
            place = node.within;
        }
    }

    pub(super) fn select(&mut self, _now: Time) -> Option<(Tag, T)> {
        self.settle();
        let mut place = SERVER;
        let (start, flow_place) = loop {
            let node = &mut self.nodes[place];
            let Some(Reverse((start, _, part))) = node.parts.pop() else {
                assert!(place == SERVER, "of a group that waits something waits");
                return self.without.pop_front();
            };
            node.now = start;
            match part {
                Part::Flow(flow) => break (start, flow),
                Part::Group(group) => {
                    self.nodes[group].start = start;
                    place = group;
                }
            }
        };
        let flow = &mut self.flows.all_mut()[flow_place];
        let Waiting { tick, size, tag, item, .. } = flow.items.pop_front().expect("its first item waited");
        self.waiting -= 1;
        flow.finish = start + tick;
        let next = flow.items.front().map(|next| (next.arrival, Part::Flow(flow_place)));
        let finish = flow.finish;
        self.last = Some(place);
        self.served(place, finish, next);
        while place != SERVER {
            let tick = Virtual::tick(self.groups.all()[place - 1].tick, size);
            let node = &mut self.nodes[place];
            node.finish = node.start + tick;
            let next = node.parts.peek().map(|Reverse((_, arrival, _))| (*arrival, Part::Group(place)));
            let (within, finish) = (node.within, node.finish);
            self.served(within, finish, next);
            place = within;
        }
        Some((tag, item))
    }

    /// A part of `place` was served up to its `finish`; it waits again as `next`, or has no more
    /// items.
    fn served(&mut self, place: usize, finish: Virtual, next: Option<(u64, Part)>) {
        let node = &mut self.nodes[place];
        node.latest = node.latest.max(finish);
        if let Some((arrival, part)) = next {
            node.parts.push(Reverse((finish, arrival, part)));
        }
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

    pub(super) fn idle(&mut self) {
        self.settle();
    }

    pub(super) fn evict(&mut self) -> Option<T> {
        if let Some(item) = evict(&mut self.without) {
            return Some(item);
        }
        // The last item of a flow: the items before it keep their tags.
        let last = |(_, flow): &(usize, &mut Flow<T>)| {
            flow.items.back().filter(|item| item.tag.class == Class::BestEffort).map(|item| item.arrival)
        };
        let flows = self.flows.all_mut().iter_mut().enumerate();
        let (place, flow) = flows.filter(|flow| last(flow).is_some()).max_by_key(|flow| last(flow))?;
        let evicted = flow.items.pop_back()?;
        self.waiting -= 1;
        if flow.items.is_empty() {
            let (mut gone, mut within) = (Part::Flow(place), flow.within.unwrap_or(SERVER));
            loop {
                let node = &mut self.nodes[within];
                node.parts.retain(|Reverse((.., part))| *part != gone);
                if !node.parts.is_empty() || within == SERVER {
                    break;
                }
                (gone, within) = (Part::Group(within), node.within);
            }
        }
        Some(evicted.item)
    }

    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        self.nodes.iter_mut().for_each(|node| node.parts.clear());
        let flows = self.flows.all_mut().iter_mut().flat_map(|flow| flow.items.drain(..));
        flows.map(|waiting| waiting.item).chain(self.without.drain(..).map(|(_, item)| item)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting + self.without.len()
    }
}

/// The delay of the header, for each flow: `None` in a node with parts that reserve more than its
/// rate.
pub(super) fn latencies(sharing: &Sharing) -> Vec<Option<Latency>> {
    let Sharing { flows, groups, .. } = sharing;
    let node = |within: Option<usize>| within.map_or(SERVER, |place| place + 1);
    // The message with most overhead and the largest item of each group, those of groups in it
    // included.
    let mut sizes: Vec<Option<(Costly, Bytes)>> = vec![None; groups.len()];
    for flow in flows {
        let mut within = flow.group;
        while let Some(place) = within {
            let own = sharing.costly(flow);
            let (costly, largest) = sizes[place].get_or_insert((own, flow.largest));
            (*costly, *largest) = ((*costly).max(own), (*largest).max(flow.largest));
            within = groups[place].within;
        }
    }
    // The time of an item of each part at its node, and the sum of the parts' rates.
    let mut items = vec![Span::ZERO; groups.len() + 1];
    let mut fits = vec![Some(0u128); groups.len() + 1];
    let of_flows = flows.iter().map(|flow| (flow.group, flow.tick, sharing.costly(flow), flow.largest));
    let of_groups = groups.iter().zip(&sizes).filter_map(|(group, sizes)| {
        let (costly, largest) = (*sizes)?;
        Some((group.within, group.tick, costly, largest))
    });
    for (within, tick, costly, largest) in of_flows.chain(of_groups) {
        let (item, part) = match within {
            None => {
                let ticks = u128::from(tick.of(costly.size).as_ps()).max(1);
                let of = u128::from(costly.time.as_ps()) << SHARE;
                (sharing.speed.transmit(largest), Some(of.div_ceil(ticks)))
            }
            Some(place) => {
                // Exact to less than a picosecond a day.
                let above = groups[place].tick;
                let own = u128::from(above.interval().as_ps()) * u128::from(tick.size().get());
                let whole = u128::from(tick.interval().as_ps()).checked_mul(u128::from(above.size().get()));
                let part = own.checked_mul(1 << SHARE).zip(whole).map(|(own, whole)| own / whole.max(1));
                (above.of(largest), part)
            }
        };
        let at = node(within);
        items[at] = items[at].saturating_add(item);
        fits[at] = fits[at].zip(part).and_then(|(sum, part)| sum.checked_add(part));
    }
    // The lag of each node behind its rate. A group follows its parent.
    let fits = |at: usize| fits[at].is_some_and(|sum| sum <= 1 << SHARE);
    let mut behind = vec![fits(SERVER).then(|| sharing.without().saturating_add(sharing.ends()))];
    for (place, (group, sizes)) in groups.iter().zip(&sizes).enumerate() {
        let of = |within: Span, (_, largest): (Costly, Bytes)| {
            within.saturating_add(items[node(group.within)]).saturating_add(group.tick.of(largest))
        };
        let kept = behind[node(group.within)].zip(*sizes).map(|(within, sizes)| of(within, sizes));
        behind.push(kept.filter(|_| fits(place + 1)));
    }
    let of = |within: Option<usize>| {
        let at = node(within);
        Some(Latency::behind_begin(behind[at]?.saturating_add(items[at])))
    };
    flows.iter().map(|flow| of(flow.group)).collect()
}

/// Fraction bits of a share of a rate.
const SHARE: u32 = 60;
