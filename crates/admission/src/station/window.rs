//! A row of stages behind a window: what packets take that a host hands over one by one, never more
//! than `D` of them under way.
//!
//! # The question
//!
//! In the second phase of [`crate`]'s argument, `(τ, f)`, a packet of the level always waits at the
//! host, so only such packets are handed over, as soon as the window lets the host. How long is
//! that for a given number of packets? For the papers' adapter it is `D L_max` for what the adapter
//! had at `τ`, and `L_x` for each packet after that. Here it is
//!
//! ```text
//! x − τ < once + D L(S) + Σ_n L(n) + Σ_n per_start,                                       (1)
//! ```
//!
//! for every `x` in `(τ, f)`, the sums over the packets `n` handed over in `(τ, x)` up to the last
//! of the message `m`, with `L` and `once` by either of two methods. `per_start` is what the caller
//! charges for each packet's handing over and for its interrupts, each of which is executed once;
//! whenever the next event waits for one of those, that is what the instant is charged to. Call the
//! `D` packets that the adapter has at `τ` and those handed over since, up to `m`'s last, *ours*.
//! Those after it are not: at most `D − 1` of them are under way before `m`'s last has left, for a
//! station is accepted only if none of them overtakes it ([`Overtaking`]). Let `T(n)` be the time
//! of packet `n` if it waits only for the host's responses to requests of its stages on the way, of
//! each of which the host hears within `hears`.
//!
//! # One after the other
//!
//! Call those packets *passing* that are handed over after `m`'s last and are served before it at
//! some stage, at most `V`. Of ours and those, look at the one that is furthest. It is not held up
//! by the stage after it, nor is the server before it taken by one that is neither, which would
//! have passed. So it is in a phase that goes on, or waits for its batch, or for a resource that
//! another packet holds which goes on. That packet is one of them, or one of the others, which are
//! under way until `m`'s last has left and so at most `D − 1`. (A phase has all its resources or
//! none, and a packet that has a resource goes on.) Or it has not been fetched yet, or its
//! completion not been heard of: `looks + hears` for each packet. Or it waits for the medium. A
//! batch takes no longer than its packets one after the other, and a wait for company ends with a
//! batch; only in its own batch may `m`'s last have others behind it, `b_k − 1` at stage `k`. With
//! `Z` what a packet holds of shared resources and `s_k` of the server of stage `k`,
//!
//! ```text
//! L(n) = T(n) + looks + hears + wait of the medium,
//! once = (D − 1) Z(S) + V L(S) + Σ_k (min(b_k, D) − 1) s_k(S).                             (2)
//! ```
//!
//! Of the stages' queues that needs only `V`, and several stages bring no gain. With `D = 1` it is
//! exact.
//!
//! *Gathered.* With several packets under way, waits for being heard of go on together. Call it
//! idle when no packet of ours or passing is in a stage or waits to be fetched. When it is idle
//! before `m`'s last is handed over, the window is closed, so `D` packets wait, and the host hears
//! of each within `h = hears`. Take the first idle instant, `h` from there, the next idle instant
//! after that, and so on: in each of these intervals but the last `D` of ours are heard of. So it
//! is idle for at most `h ((D + n)/D + 1)` where `n` packets are handed over:
//!
//! ```text
//! L(n) = T(n) + looks + h/D + wait of the medium,   once = … + 2 h.                        (3)
//! ```
//!
//! If idle is also when packets wait to be fetched, each has two such waits, of at most `g =
//! max(looks, hears)`, and it is for at most `g (2 (D + n)/D + 1)`: `L = T + 2 g/D`, `once = … + 3
//! g`. It takes that a packet is fetched as soon as the adapter knows of it: buffers and places for
//! all.
//!
//! # Side by side
//!
//! Now no packet overtakes another; [`super::overtaking`] has the argument where they do.
//! Neighbouring stages are put together into a *cluster* where one can hold up the other: where the
//! second has few places, or where they share a resource (and with all between them, if they are
//! not neighbours). While a cluster has one of ours it works, as above, and a cluster is never held
//! up by the next. `c_k(n)` is what a packet takes in cluster `k`, all its stages together.
//!
//! Follow the path that ends at `x` backwards. In cluster `k` packet `p` is, or has just left it.
//! Let `y` be the last packet, at most `p`, that arrived at the cluster when no packet ahead of it
//! was there. Since then the cluster has worked, on `y … p` or on a packet behind `p` that holds
//! resources of those. Behind `p` at most `X_k` packets have begun something there: those that have
//! servers or places in it, fewer than `D`. When `y` came it came from cluster `k − 1`: go on there
//! with `y`. In the first cluster it came from the host: it was handed over at once (then that was
//! at `τ`), or when the window had opened, by the completion of packet `y − D`, which has left the
//! last cluster: go on there. A path passes clusters from last to first, then jumps; it is at a
//! packet in one cluster, but for those at which it changes from one to the next, so a round, from
//! one jump to the next, is at most
//!
//! ```text
//! Σ_n max_k c_k(n) + E,     E = Σ_k c_k(S) − max_k c_k(S) + Σ_k X_k Z_k(S) + looks + hears,
//! ```
//!
//! the sum over the packets that it is at. (Where it changes from `k` to `k + 1`, charge the packet
//! with the one of the two that is farther from the cluster where `c_k(S)` is largest; that is each
//! cluster but this once.) A jump leaves out `D − 1` packets. They pay for `E` if each pays `E/(D −
//! 1)`; or, with the first packet that the round is at, for `E` and that packet if each of the `D`
//! pays `(c(S) + E)/D`, where `c(S) = max_k c_k(S)`. Only the last round is left:
//!
//! ```text
//! L(n) = max(max_k c_k(n), min(E/(D − 1), (c(S) + E)/D)),   once = E.                     (4)
//! ```
//!
//! For packets alike that equals a closed network of `D` customers: the slowest cluster, or the
//! whole way for each `D`.
//!
//! Several servers that keep the order are no worse than one. A batch that `p` is in may have
//! others behind it: `(b_k − 1) s_k(S)` more in `E` for each stage. [`super::parallel`] charges less
//! where servers wait at the same time.
//!
//! *The host is a stage, too*, where completions interrupt it in their order and each starts the
//! next packet at once (option O1): the last one, with `c_host = C_i + C_l` for each packet, and
//! the window opens when a packet has left it. Then `per_start` is in (4) and zero in (1), and
//! starting a packet at `τ` is charged once. Whatever else interrupts that CPU the caller counts by
//! itself.
//!
//! If the adapter has fewer than `D` buffers, a packet is not fetched before that of `B` before it
//! is free, which is the same with `B` in place of `D`. An adapter that looks for commands from
//! time to time may find no room at each look, and then only (2) is charged.
//!
//! # On a token ring
//!
//! The token stays while the cluster that ends with the medium has anything, if that consists of
//! stages that select and of the one on the medium, for that is how a frame says that more follow.
//! So `c_K` is stretched, and `E` has the latency ([`Turns`]): each round begins with the token
//! elsewhere. In (2) and (3) each frame waits for it.
//!
//! # Completions
//!
//! With one packet at a time, completions are at least `T` apart, and the time for which each waits
//! for a batch that cannot form. Otherwise the host hears of at most `D + Δ/b` in a time `Δ`, `b`
//! being the least that the slowest stage takes for each of many: of those that were not under way
//! before, each has been served in it. That is so however long responses wait for company.

use std::ops::Range;

use laxity_units::{Bytes, Span};

use super::clusters::{clusters, selecting};
use super::parallel::{self, Parallel};
use super::{FrameMedium, Interrupts, Overtaking, Station, StationStage, StationTells, ps, span};
use crate::terms::{Term, sum};

const PASSING: &str = "later packets that pass in the adapter";

/// How packets are charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Each for all of its way.
    OneByOne,
    /// The same, but for the waits of commands and responses, which the packets of a window have
    /// together.
    Gathered,
    /// Each for the slowest cluster of stages, and the way once.
    SideBySide,
}

/// A station behind a window, analysed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    station: Station,
    depth: u32,
    largest: Bytes,
    method: Method,
    /// The stages that are one server to the analysis.
    clusters: Vec<Range<usize>>,
    /// `M` of [`super::parallel`] for the clusters that are charged so.
    ahead: Option<u32>,
    /// The least charge of each packet.
    floor: u128,
    once: Vec<Term>,
}

impl Behind {
    /// `station` behind a window of `depth` packets of at most `largest`, by the method that
    /// charges less.
    pub fn new(station: Station, depth: u32, largest: Bytes) -> Self {
        Self::all(station, depth, largest).swap_remove(0)
    }

    /// The same by each method that no other of them undercuts, the one that charges least first: long
    /// messages are better off with cheap packets, and short ones with a cheap start.
    pub fn all(station: Station, depth: u32, largest: Bytes) -> Vec<Self> {
        let mut all = vec![Self::one_by_one(station.clone(), depth, largest)];
        all.extend(Self::gathered(station.clone(), depth, largest));
        all.extend(Self::side_by_side(station, depth, largest));
        all.sort_by_key(|way| way.cost());
        let mut kept: Vec<Self> = Vec::new();
        for way in all {
            if !kept.iter().any(|other| other.undercuts(&way)) {
                kept.push(way);
            }
        }
        kept
    }

    /// By how much a method charges: for a packet, or where packets overtake each other for a window.
    fn cost(&self) -> u128 {
        let (each, window) = self.packet_and_window();
        if overtakes(&self.station) { window + each } else { each }
    }

    /// The charge of a packet with its start, and all that is charged before the first packet.
    fn packet_and_window(&self) -> (u128, u128) {
        let starts = if self.has_starts() { 0 } else { self.station.host.map_or(0, ps) };
        let each = self.charge(self.largest) + starts;
        (each, each * u128::from(self.depth) + sum(&self.once))
    }

    /// Whether `other`, which has the starts of packets in the same place, charges no less anywhere.
    fn undercuts(&self, other: &Self) -> bool {
        let (own, others) = (self.packet_and_window(), other.packet_and_window());
        let smallest = Bytes::new(1);
        self.has_starts() == other.has_starts()
            && own.0 <= others.0
            && own.1 <= others.1
            && self.charge(smallest) <= other.charge(smallest)
    }

    /// By (2).
    pub fn one_by_one(station: Station, depth: u32, largest: Bytes) -> Self {
        let clusters = std::iter::once(0..station.stages.len()).collect();
        let method = Method::OneByOne;
        let (ahead, once) = (None, Vec::new());
        let mut all = Self { station, depth, largest, method, clusters, ahead, floor: 0, once };
        if depth > 1 {
            let held = held(&all.station, 0..all.station.stages.len(), largest) * u128::from(depth - 1);
            let passing = all.charge(largest) * u128::from(all.station.passes);
            let batches = all.batches();
            all.once = terms([
                ("what later packets hold of the adapter", held),
                (PASSING, passing),
                ("what is behind in the batches of the last packet", batches),
            ]);
        }
        all
    }

    /// By (3), if it applies; by the variant of it that charges less.
    pub fn gathered(station: Station, depth: u32, largest: Bytes) -> Option<Self> {
        let (looks, hears) = (ps(station.looks), ps(station.hears));
        let room = station.buffers.is_none() && station.stages[0].places.is_none_or(|places| places >= depth);
        if depth < 2 || !room || looks + hears == 0 {
            return None;
        }
        let part = |wait: u128| wait.div_ceil(u128::from(depth));
        let both = (part(2 * looks.max(hears)), 3 * looks.max(hears));
        let heard = (looks + part(hears), 2 * hears);
        let mut all = Self::one_by_one(station, depth, largest);
        all.method = Method::Gathered;
        let waits;
        (all.floor, waits) = both.min(heard);
        let passing = all.charge(largest) * u128::from(all.station.passes);
        for term in &mut all.once {
            if term.name == PASSING {
                term.cost = span(passing);
            }
        }
        all.once.extend(terms([("commands and responses that wait to be seen", waits)]));
        Some(all)
    }

    /// By (4), if it applies; with the `M` of [`super::parallel`] for which a window and its waits
    /// take least.
    pub fn side_by_side(station: Station, depth: u32, largest: Bytes) -> Option<Self> {
        let plain = Self::clustered(station, depth, largest, None)?;
        let helps =
            |cluster: &Range<usize>| Parallel::of(&plain.station.stages[cluster.clone()], depth).is_some();
        if !plain.clusters.iter().any(helps) {
            return Some(plain);
        }
        let doubled = std::iter::successors(Some(1), |ahead: &u32| ahead.checked_mul(2));
        let all = doubled.take_while(|ahead| *ahead < depth - 1).chain([depth - 1]);
        let each =
            all.filter_map(|ahead| Self::clustered(plain.station.clone(), depth, largest, Some(ahead)));
        let cost = |way: &Self| way.charge(largest) * (u128::from(depth) + 1) + sum(&way.once);
        each.fold(plain.clone(), |best, other| if cost(&other) < cost(&best) { other } else { best }).into()
    }

    /// By (4) with this `M`, if it applies.
    pub(super) fn clustered(
        station: Station,
        depth: u32,
        largest: Bytes,
        ahead: Option<u32>,
    ) -> Option<Self> {
        let short_of_places = |limit: Option<u32>| limit.is_some_and(|limit| limit < depth);
        let held_back = short_of_places(station.buffers) || short_of_places(station.stages[0].places);
        let window = station.buffers.map_or(depth, |buffers| buffers.min(depth));
        if window < 2
            || overtakes(&station) && held_back
            || held_back && !station.looks.is_zero()
            || station
                .stages
                .iter()
                .any(|stage| stage.phases.iter().any(|p| p.tells == StationTells::Handshake))
        {
            return None;
        }
        let clusters = clusters(&station, depth);
        if let FrameMedium::Ring(_) = station.medium
            && clusters.last() != Some(&selecting(&station)?)
        {
            return None;
        }
        let mut all = Self {
            station,
            depth,
            largest,
            method: Method::SideBySide,
            clusters,
            ahead,
            floor: 0,
            once: Vec::new(),
        };
        let station = &all.station;
        let most = |cluster: &Range<usize>| station.most(largest, |size| all.service(cluster, size));
        let host = all.host();
        let whole: u128 = all.clusters.iter().map(most).sum::<u128>() + host;
        let slowest = all.clusters.iter().map(most).max().unwrap_or(0).max(host);
        let behind = |cluster| match all.parallel(cluster) {
            Some(_) => held(station, cluster.start..cluster.end - 1, largest) * u128::from(depth - 1),
            None => all.stretched(cluster, behind(station, cluster, depth, largest)),
        };
        let behind: u128 = all.clusters.iter().map(behind).sum();
        let parallel = || all.clusters.iter().filter_map(|cluster| all.parallel(cluster));
        let ahead = |(parallel, ahead): (Parallel<'_>, u32)| parallel.work(largest) * u128::from(ahead);
        let token = match &station.medium {
            FrameMedium::Own => 0,
            FrameMedium::Ring(turns) => ps(turns.latency()),
        };
        let once = terms([
            ("filling the adapter's stages", whole - slowest),
            ("waits of stages that serve several packets", parallel().map(|(all, _)| all.waits()).sum()),
            ("earlier packets in those stages", parallel().map(ahead).sum()),
            ("what later packets hold of the adapter", behind),
            ("looking for commands and responses", ps(station.looks) + ps(station.hears)),
            ("waiting for the token", token),
            ("what is behind in a packet's batches", all.batches()),
        ]);
        let round = sum(&once);
        let window = u128::from(window);
        all.floor = round.div_ceil(window - 1).min((slowest + round).div_ceil(window));
        all.once = once;
        let passing = all.charge(largest) * u128::from(all.station.passes);
        all.once.extend(terms([("starting the first packet", host), (PASSING, passing)]));
        Some(all)
    }

    /// Whether the host's part in each packet is charged here.
    pub fn has_starts(&self) -> bool {
        self.method == Method::SideBySide && self.station.host.is_some()
    }

    /// Time of the host for each packet, if that is a stage.
    fn host(&self) -> u128 {
        if self.has_starts() { self.station.host.map_or(0, ps) } else { 0 }
    }

    /// The station.
    pub fn station(&self) -> &Station {
        &self.station
    }

    /// How packets are charged.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The stages that the analysis takes together, and what the largest packet takes there.
    pub fn clusters(&self) -> impl Iterator<Item = (Range<usize>, Span)> {
        let most =
            |cluster: &Range<usize>| self.station.most(self.largest, |size| self.service(cluster, size));
        self.clusters.iter().map(move |cluster| (cluster.clone(), span(most(cluster))))
    }

    /// `L` of a packet of up to `size`.
    pub fn charge(&self, size: Bytes) -> u128 {
        let once_each = ps(self.station.looks) + ps(self.station.hears) + self.wait();
        self.station.most(size, |size| match self.method {
            Method::OneByOne => self.transit(size) + once_each,
            Method::Gathered => self.transit(size) + self.wait() + self.floor,
            Method::SideBySide => {
                let size = if overtakes(&self.station) { self.largest } else { size };
                let slowest = self.clusters.iter().map(|cluster| self.service(cluster, size)).max();
                slowest.unwrap_or(0).max(self.host()).max(self.floor)
            }
        })
    }

    /// `T`, with what a packet waits in its stages until the host has heard of it there.
    fn transit(&self, size: Bytes) -> u128 {
        self.station.transit(size) + u128::from(self.interrupts().waited_for) * ps(self.station.hears)
    }

    /// Terms charged once.
    pub fn once(&self) -> &[Term] {
        &self.once
    }

    /// How far apart completions of packets of at least `size` are in the long run.
    pub fn apart(&self, size: Bytes) -> u128 {
        let station = &self.station;
        match self.depth {
            1 => station.least(size, self.largest, |size| station.shortest(size)) + ps(station.gathers),
            _ => {
                let least = |stage: &StationStage| station.least(size, self.largest, |size| stage.each(size));
                station.stages.iter().map(least).max().unwrap_or(0)
            }
        }
    }

    /// The interrupts of a packet.
    pub fn interrupts(&self) -> Interrupts {
        let phases = || self.station.stages.iter().flat_map(|stage| &stage.phases);
        let count = |tells| phases().filter(|phase| phase.tells == tells).count() as u32;
        let (beside, waited_for) = (count(StationTells::Progress), count(StationTells::Handshake));
        Interrupts { all: 1 + beside + waited_for, beside, waited_for }
    }

    /// Wait of a frame for the medium each time that it is not there already.
    fn wait(&self) -> u128 {
        match &self.station.medium {
            FrameMedium::Own => 0,
            FrameMedium::Ring(turns) => ps(turns.latency()),
        }
    }

    /// `cluster` as [`super::parallel`] has it, and `M`, if it is charged so.
    fn parallel(&self, cluster: &Range<usize>) -> Option<(Parallel<'_>, u32)> {
        let ahead = self.ahead?;
        Parallel::of(&self.station.stages[cluster.clone()], self.depth).map(|parallel| (parallel, ahead))
    }

    /// `Σ_k (min(b_k, D) − 1) s_k(S)`: what may be behind a packet in the batches that it is in.
    fn batches(&self) -> u128 {
        let behind = |cluster: &Range<usize>| {
            let parallel = self.parallel(cluster).is_some();
            let of = move |stage: &StationStage, size| {
                if parallel { parallel::work(stage, size) } else { stage.service(size) }
            };
            let each = move |stage: &StationStage| {
                let others = u128::from(stage.batch.min(self.depth) - 1);
                others * self.station.most(self.largest, |size| of(stage, size))
            };
            self.station.stages[cluster.clone()].iter().map(each).sum::<u128>()
        };
        self.clusters.iter().map(behind).sum()
    }

    /// `c_k`, stretched where it goes at the medium's rate.
    fn service(&self, cluster: &Range<usize>, size: Bytes) -> u128 {
        if let Some((parallel, ahead)) = self.parallel(cluster) {
            return parallel.work(size) + parallel.share(ahead);
        }
        let work = self.station.stages[cluster.clone()].iter().map(|stage| stage.service(size)).sum();
        self.stretched(cluster, work)
    }

    /// Time of `work` in a cluster there.
    fn stretched(&self, cluster: &Range<usize>, work: u128) -> u128 {
        match &self.station.medium {
            FrameMedium::Ring(turns) if cluster.end == self.station.stages.len() => turns.stretched(work),
            FrameMedium::Ring(_) | FrameMedium::Own => work,
        }
    }
}

pub(super) fn terms<const N: usize>(all: [(&'static str, u128); N]) -> Vec<Term> {
    let some = all.into_iter().filter(|(_, cost)| *cost > 0);
    some.map(|(name, cost)| Term { name, cost: span(cost) }).collect()
}

/// Whether packets overtake each other.
fn overtakes(station: &Station) -> bool {
    station.order != Overtaking::Never || station.passes > 0
}

/// Whether two of `stages` want resource `r`.
fn is_shared(stages: &[StationStage], r: usize) -> bool {
    stages.iter().filter(|stage| stage.wants(r)).count() > 1
}

/// Time for which a packet of up to `size` holds resources in `stages` that several stages use.
fn held(station: &Station, stages: Range<usize>, size: Bytes) -> u128 {
    let shared = |r| is_shared(&station.stages, r);
    let all = |size| station.stages[stages.clone()].iter().map(|stage| stage.holding(size, shared)).sum();
    station.most(size, all)
}

/// `X_k Z_k`: what packets behind one that is still in `cluster` may have held there.
///
/// They are in a server of an earlier stage of it or at a place of a later one; in its last stage a
/// packet behind is not served.
fn behind(station: &Station, cluster: &Range<usize>, depth: u32, largest: Bytes) -> u128 {
    let Some(inner) = station.stages.get(cluster.start + 1..cluster.end) else { return 0 };
    let places = |stage: &StationStage| u64::from(stage.places.unwrap_or(depth).min(depth)) + 1;
    let room: u64 = inner.iter().map(places).sum();
    let several = u128::from(room.min(u64::from(depth - 1)));
    let earlier = cluster.start..cluster.end.saturating_sub(1);
    if !overtakes(station) {
        return held(station, earlier, largest) * several;
    }
    let all = |size| station.stages[earlier.clone()].iter().map(|stage| stage.service(size)).sum();
    let spent = station.most(largest, all);
    if inner.len() > 1 { spent * several } else { held(station, earlier.clone(), largest) * several + spent }
}
