//! A row of stages that has each packet as soon as it is made, and orders packets itself.
//!
//! Where the host hands everything over, its link queue is always empty, and what [`crate`]'s
//! argument says of that queue has to be said of the adapter's. There is no window, so best effort
//! may be in the adapter in any number. There is a bound only because each stage, when its server
//! is free, takes packets of the level before others: real time before best effort. Real time goes
//! by the deadlines that order the CPU, or in order of arrival; then all of real time is one level.
//!
//! # One stage after the other
//!
//! Message `m` is of a level. From an instant `x` before its last packet has left, and with
//! something of the level in the adapter, follow the way backwards. At stage `k` a packet of the
//! level is; let `τ_k` be the last instant before which none was there, and `y` the packet that
//! came then. Since then the stage has had a packet of the level all the time, in its queue or its
//! server, so its server took no other; the one it had when `y` arrived it finished first. `y` came
//! from stage `k − 1`, where it was until `τ_k`: go on there. A packet that was served at `k` since
//! `τ_k` arrived after `τ_k`. A packet that was served at `k − 1` before `τ_k` and left it had left
//! `k` before `y` arrived, for no packet of the level was there. So but for the `y`s each packet of
//! the level is charged at one stage. Packets made before the one that arrived at the first stage
//! at `τ_1` are charged at none. That is `τ` of [`crate`], the end of the first phase: a packet was
//! handed over.
//!
//! ```text
//! x − τ < once + Σ_n L(n),   L(n) = max_k c_k(n),
//! once = Σ_k c_k(S) [what a server had]  +  Σ_k c_k(S) − max_k c_k(S) [the y's]  +  looks        (1)
//! ```
//!
//! An adapter that looks for commands now and then takes all there are: `y` is the first made of
//! those that it takes at `τ_1`, and waited for `looks` at most.
//!
//! # A prefetch before the last stage
//!
//! A stage `b` with `p` places holds up the one before it, `a`, and may share a resource with it;
//! both go for one, if they are the last. Let `y` have arrived at `a` when no packet of the level
//! was *there*. From then until the packet in question goes from `a` to `b`, `a` has a packet of
//! the level, so all packets that it passes on are of the level, but for the one it had. In that
//! time either its server works, or it waits for a resource or for a place, and then `b` works. The
//! packets that `b` works on were passed on since, or were inside at `τ_a`: at most `p + 2`
//! packets, in its server, at its places and in the server of `a`. When our packet is in `b`, at
//! most `p` are before it, which are counted already. They and it may each find the resource taken
//! by `a`, for the time that one packet has it (`a`'s phase may be under way, and if `b`'s does not
//! go before, `a` may have it for as many as it finds places for). With `w_b` for that,
//!
//! ```text
//! c(n) = s_a(n) + s_b(n),   what was inside: s_a(S) + (p + 2) (s_b(S) + w_b).
//! ```
//!
//! If `b` goes by another order than it came, others of the level pass ours there. They were handed
//! over since, so they are charged. A packet that has the resource at `a` when one of them wants it
//! is of the level and charged itself, or is best effort. A best-effort packet takes a place and
//! keeps it until ours has left, so there are no more of those than `p`, of which ours has one.
//!
//! On a token ring all this is work of the last cluster while the token is there: it is stretched,
//! and the latency is charged once ([`super::Turns`]).
//!
//! # Fed by a slower host
//!
//! Where a queue does not separate real time from best effort, all packets are one level, and best
//! effort may be ahead in any number. That is not so if the host takes as long to make a packet as
//! the adapter to be done with it. Let handings-over be at least `C` apart, of whichever flow, and
//! `L(S) ≤ C`. Take the packet handed over at `h`, done at `x`, with the last `τ` before `h` as
//! above. By (1) with all packets of the level,
//!
//! ```text
//! x − τ < once + Σ_n L(n),   the sum over the packets handed over in (τ, x).
//! ```
//!
//! If no packet passes it, those after `h` do not count, and there are at most `1 + (h − τ)/C` up
//! to it, its own included:
//!
//! ```text
//! x − h < once + L(S) (1 + (h − τ)/C) − (h − τ) ≤ once + L(S)                       (2)
//! ```
//!
//! If others may pass, there are `1 + (x − τ)/C`, so `x − h ≤ x − τ < (once + L(S)) C/(C − L(S))`,
//! which takes `L(S) < C`.                       (3)
//!
//! Either way each packet is gone so long after it was handed over, whatever else there is: `τ` is
//! the handing over of the message's last packet, the whole message is made in the first phase, and
//! the time of the second is charged once. In the first stage no packet ever waits, if it is a
//! server for itself and each command is noticed at once, so its order does not matter.

use std::ops::Range;

use laxity_units::{Bytes, Span};

use super::clusters::selecting;
use super::window::terms;
use super::{FrameMedium, Station, StationTells, ps};
use crate::terms::{Term, sum};

/// A station that orders packets itself, analysed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    station: Station,
    largest: Bytes,
    /// One stage each, but for the last, which may be two.
    groups: Vec<Range<usize>>,
    once: Vec<Term>,
    /// Packets arrive so slowly that the time of each is in `once`.
    fed: bool,
}

/// Why a station that has each packet at once has no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Packets wait for a buffer, or for a place before the first stage, in order of arrival.
    NoRoom,
    /// Stages other than the last two hold each other up or share a resource.
    Entangled,
    /// The host is notified of more than completions.
    Talkative,
    /// Packets are served together, side by side or in turns.
    Together,
    /// On a ring, the stages for which the token stays are not those that are analysed together.
    Token,
}

impl Open {
    /// `station`, which has packets of at most `largest`.
    pub fn new(station: Station, largest: Bytes) -> Result<Self, Closed> {
        let stages = &station.stages;
        if station.buffers.is_some() || stages[0].places.is_some() {
            return Err(Closed::NoRoom);
        }
        if stages.iter().flat_map(|stage| &stage.phases).any(|phase| phase.tells != StationTells::Nothing) {
            return Err(Closed::Talkative);
        }
        let together = |stage: &super::StationStage| stage.servers > 1 || stage.batch > 1;
        if stages.iter().any(together) || station.passes > 0 {
            return Err(Closed::Together);
        }
        let groups = groups(&station)?;
        if let FrameMedium::Ring(_) = station.medium
            && groups.last() != selecting(&station).as_ref()
        {
            return Err(Closed::Token);
        }
        let mut open = Self { station, largest, groups, once: Vec::new(), fed: false };
        let each: Vec<u128> =
            open.groups.iter().map(|group| open.most(|size| open.service(group, size))).collect();
        let slowest = each.iter().copied().max().unwrap_or(0);
        let inside: u128 = open.groups.iter().map(|group| open.inside(group)).sum();
        let token = match &open.station.medium {
            FrameMedium::Own => 0,
            FrameMedium::Ring(turns) => ps(turns.latency()),
        };
        open.once = terms([
            ("packets already in the adapter's servers", inside),
            ("filling the adapter's stages", each.iter().sum::<u128>() - slowest),
            ("looking for commands", ps(open.station.looks)),
            ("waiting for the token", token),
        ]);
        Ok(open)
    }

    /// The same where packets are handed over `spacing` apart or more, of whichever flow, and
    /// `passing` says whether one may pass another that waits anywhere but before the first stage:
    /// by (2) or (3). `None` where it is not as fast as that.
    pub fn fed(self, spacing: Span, passing: bool) -> Option<Self> {
        let (spacing, slowest) = (ps(spacing), self.charge(self.largest));
        let alone = self.groups.first().is_some_and(|group| group.len() == 1) && self.station.looks.is_zero();
        let passing = passing || !alone;
        let free = spacing.checked_sub(slowest).filter(|free| *free > 0 || !passing)?;
        let once = sum(&self.once);
        let caught_up =
            if passing { ((once + slowest) * spacing).div_ceil(free) - once - slowest } else { 0 };
        let mut fed = Self { fed: true, ..self };
        fed.once.extend(terms([
            ("the last packet in the adapter's slowest stages", slowest),
            ("packets that pass it there", caught_up),
        ]));
        Some(fed)
    }

    /// The station.
    pub fn station(&self) -> &Station {
        &self.station
    }

    /// The stages that are one server, in order.
    pub(super) fn groups(&self) -> impl Iterator<Item = &Range<usize>> {
        self.groups.iter()
    }

    /// The largest packet.
    pub(super) fn largest(&self) -> Bytes {
        self.largest
    }

    /// `L` of a packet of up to `size`.
    pub fn charge(&self, size: Bytes) -> u128 {
        if self.fed {
            return 0;
        }
        let slowest = |size| self.groups.iter().map(|group| self.service(group, size)).max().unwrap_or(0);
        self.station.most(size, slowest)
    }

    /// Terms charged once.
    pub fn once(&self) -> &[Term] {
        &self.once
    }

    /// How far apart completions of packets of at least `size` are.
    pub fn apart(&self, size: Bytes) -> u128 {
        let last = self.station.stages.last().expect("a station has a stage");
        self.station.least(size, self.largest, |size| last.each(size))
    }

    /// For how long the host may not have looked for completions.
    pub fn hears(&self) -> Span {
        self.station.hears
    }

    pub(super) fn most(&self, of: impl Fn(Bytes) -> u128) -> u128 {
        self.station.most(self.largest, of)
    }

    /// `c_k`.
    fn service(&self, group: &Range<usize>, size: Bytes) -> u128 {
        let work = self.station.stages[group.clone()].iter().map(|stage| stage.service(size)).sum();
        self.stretched(group, work)
    }

    fn stretched(&self, group: &Range<usize>, work: u128) -> u128 {
        match &self.station.medium {
            FrameMedium::Ring(turns) if group.end == self.station.stages.len() => turns.stretched(work),
            FrameMedium::Ring(_) | FrameMedium::Own => work,
        }
    }

    /// Packets that may be inside when a packet of the level arrives.
    pub(super) fn inside(&self, group: &Range<usize>) -> u128 {
        let stages = &self.station.stages[group.clone()];
        let work = match stages {
            [before, last] => {
                let places = u128::from(last.places.unwrap_or(0));
                let (a, b) = (self.most(|size| before.service(size)), self.most(|size| last.service(size)));
                let shared = |r: usize| before.wants(r) && last.wants(r);
                let held = self.most(|size| before.holding(size, shared));
                let rank = |stage: &super::StationStage| {
                    let phases = stage.phases.iter().filter(|phase| phase.holds.iter().any(|r| shared(*r)));
                    phases.map(|phase| phase.rank).collect::<Vec<_>>()
                };
                let (ahead, behind) = (rank(last), rank(before));
                let first = ahead.iter().max() < behind.iter().min();
                let times = if first { 1 } else { places + 2 };
                a + (places + 2) * (b + held * times * ahead.len() as u128)
            }
            stages => stages.iter().map(|stage| self.most(|size| stage.service(size))).sum(),
        };
        self.stretched(group, work)
    }
}

/// Single stages, and the last two as one if they hold each other up.
fn groups(station: &Station) -> Result<Vec<Range<usize>>, Closed> {
    let stages = &station.stages;
    let last = stages.len() - 1;
    let held_up = stages.iter().position(|stage| stage.places.is_some());
    if held_up.is_some_and(|at| at < last) {
        return Err(Closed::Entangled);
    }
    let pair = held_up.is_some();
    for (i, stage) in stages.iter().enumerate() {
        let resources = stage.phases.iter().flat_map(|phase| &phase.holds);
        for r in resources {
            let others = (i + 1..stages.len()).find(|other| stages[*other].wants(*r));
            if others.is_some_and(|_| !(pair && i + 1 == last)) {
                return Err(Closed::Entangled);
            }
        }
    }
    let single = if pair { last - 1 } else { last + 1 };
    let mut groups: Vec<Range<usize>> = (0..single).map(|stage| stage..stage + 1).collect();
    if pair {
        groups.push(last - 1..last + 1);
    }
    Ok(groups)
}
