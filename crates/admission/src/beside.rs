//! CPU time for the other links of a host: starts and interrupts of packets that leave by them, `c =
//! C_l + i C_i` each.
//!
//! A null adapter interrupts once for each packet, `i = 1`. An adapter of stages also interrupts for
//! the progress that it reports.
//!
//! Take a message `m` by one link, and `s`, `τ`, `f` as in [`super::trajectory`]; let `D` be the
//! packets with each adapter at most. Two bounds are known for another link. The smaller is taken,
//! or that by packets, as [`CountingOthers`] says: the smaller for each link by itself may leave no
//! time to all together, and then fewer channels would disturb more.
//!
//! # By time
//!
//! Completions there are at least `L'` apart, the shortest transmission. At `s` up to `D`
//! completions are outstanding, and of the packets started by `f` up to `D` are not complete. So in
//! any `δ` there are at most `2D + ⌈δ/L'⌉` of each, which is work above the handlers.
//!
//! *An adapter of stages* completes packets closer together than that. Let `L'` be the least time
//! of its slowest stage for each of many packets, or of all stages where `D = 1`. Of the packets with
//! a completion that the host serves in `δ`, up to `D` were with the adapter before. All others were
//! started in `δ`, and passed that stage in `δ`: `δ/L'` at most. Up to `D` more were started and are
//! not complete. So the count is the same `2D + ⌈δ/L'⌉`. It counts completions that are served, so it
//! holds for a host that polls, and where interrupts are moderated. A stall of the adapter only
//! spreads completions. A packet has all its `i` interrupts while it is one of those packets.
//!
//! # By packets
//!
//! Every packet was made by the same CPU.
//!
//! *First phase.* A packet that starts there in `(s, τ]` waited at `s`, or was made since. Level
//! handlers made it, or the block in progress, of length `B`, whose handler takes at least `C` for
//! each. With `Q` packets waiting at `s`, as in [`super::counted`] (2),
//!
//! ```text
//! c Σ_j k_j + c (Q + B/C + 1 + D + 1),
//! ```
//!
//! the sum over level messages by that link. `Q` is no more than the buffers of all that is sent
//! there. And where a null adapter takes `L ≤ C` for its longest packet, [`super::counted`] (1) holds
//! for that link, too: whatever keeps its next packet waiting for the CPU keeps handlers from making
//! another. There `K = (D + 1)(L + c)`.
//!
//! *Second phase.* Our adapter idles from a completion until the interrupt is served and the next
//! packet started. Interrupts are served in order of arrival. A call of the link scheduler may be
//! in progress, and before ours there are at most `D` completions of each other adapter, with the
//! progress of these packets. Each completion lets one packet be started; a timer that came between
//! lets as many more. So each packet of ours, and each of the `D` that were with the adapter, waits
//! for at most
//!
//! ```text
//! E = C_l + Σ D (i C_i + 2 C_l),   the sum over other links.
//! ```
//!
//! *Our adapter has stages.* The path of [`crate::station::window`] waits for the host at three kinds
//! of places, and at each for `E` beside our own interrupts and starts, which `per_start` has:
//!
//! - *between the completion of packet `y − D` and the start of packet `y`*. The path jumps from the
//!   one to the other and leaves out `D − 1` packets, so there are no more of these waits than
//!   packets of ours that are started. Interrupts are served in order. So when the host is notified
//!   of a completion, up to `D` packets of each other adapter have interrupts before it;
//! - *at the host as a stage*. Between two of our completions that follow each other without a pause,
//!   the interrupts of others arrive while the first of the two is pending. At that time each other
//!   adapter has `D` packets at most. So each packet of ours pays for `E`, and so does each of the `D`;
//! - *where the adapter waits for the host*, for each interrupt of that kind. A packet has `w` of
//!   these, and pays for `(1 + w) E`.
//!
//! # Under O2
//!
//! A start there is part of a run of the link scheduler's thread; [`super::o2`] charges the
//! switches of that run wherever a run may be. So `C_l` and `i C_i` are all that a start takes. But
//! these starts and completions are not back to back. While either keeps a run from going on, more
//! of our packets complete, and the run starts those too: to a run they are interrupts of other
//! links, each by itself. Counting by time is as above, and so is the first phase by packets.
//!
//! *Second phase by packets.* Our adapter idles, and a packet waits for it, for a block and a
//! switch at most until a run goes on, or begins. The thread takes links in turn, so until ours is
//! looked at each other is served once; one start may have been in progress. Of another link
//! complete meanwhile the `D` that were under way, or had been, and these two:
//!
//! ```text
//! E = Σ (D + 2) i C_i + 2 C_l.
//! ```
//!
//! Where our adapter has stages, such a wait ends with a start of ours, too: while a slot is free a
//! packet waits for it. So of all waits on the path of [`crate::station::window`] there is one for
//! each packet of ours at most, in which the thread waits for a block and others are served. An adapter
//! that waits for the host has `w` waits more, which are for interrupts and for a start in
//! progress: `(1 + w) E`.
//!
//! # Under O3
//!
//! A start there may be a thread's, so it takes `C_sw + C_cm + C_th` besides; the interrupted work
//! has paid for the switch back. By time that is work above the handlers as under O1. By packets
//! there is no bound: threads run in the order in which they were created, and the number of
//! threads of other links before ours is not counted. A handler of another link calls for its own
//! link, so ours waits for the end of its block, as it would under O2 ([`super::o3`]).

use laxity_units::Span;

use super::environment::{Above, CountingOthers, Environment, Interference, OtherLink, ResourceModel};
use super::population::Population;
use super::terms::{ps, span};
use super::trajectory::Beside;
use super::{o2, o3};

impl Beside {
    pub(super) fn of(environment: &Environment, population: &Population) -> Self {
        let mut all = Self::default();
        if environment.others.is_empty() {
            return all;
        }
        let depth = u128::from(environment.depth);
        // Waits of a packet of ours for the host: for its start, and at its stages.
        let waits = 1 + u128::from(environment.link.interrupts().waited_for);
        let (packets, ahead) = population.ahead(environment);
        for other in &environment.others {
            let Packet { uses, cost, gap } = Packet::of(environment, population, other.interrupts);
            let gap = gap.map(|gap| Gap { once: gap.once * waits, of_each: gap.of_each * waits });
            let apart = ps(other.apart);
            // Completions that are no further apart than their cost use all of the CPU.
            let by_time = if apart > cost { cost * (2 * depth + ahead.div_ceil(apart)) } else { u128::MAX };
            let once = gap
                .zip(waiting(environment, other))
                .map(|(gap, waiting)| (gap, cost * (waiting + made(environment, population) + depth + 1)));
            let is_taken = |gap: &Gap, once: u128| match environment.counting_others {
                CountingOthers::Expected => once + packets * gap.of_each < by_time,
                CountingOthers::Packets => true,
            };
            match once.filter(|(gap, once)| is_taken(gap, *once)) {
                Some((gap, once)) => {
                    all.each = all.each.max(cost);
                    all.once += once;
                    all.per_start += gap.of_each + if all.per_start == 0 { gap.once } else { 0 };
                }
                None => all.above.extend(uses.iter().map(|cost| Interference {
                    above: Above::Interrupt,
                    cost: span(*cost),
                    adapter: Span::ZERO,
                    burst: environment.depth.saturating_mul(2),
                    interval: other.apart,
                })),
            }
        }
        all
    }
}

/// CPU time of a packet of another link.
struct Packet {
    /// Separate arrivals.
    uses: Vec<u128>,
    /// All of that, and what it prolongs.
    cost: u128,
    /// `E`; `None` where it is counted by time only.
    gap: Option<Gap>,
}

/// Work of others before a packet of ours is started.
#[derive(Clone, Copy)]
struct Gap {
    once: u128,
    /// For each other link.
    of_each: u128,
}

impl Packet {
    /// One with that number of `interrupts`.
    fn of(environment: &Environment, population: &Population, interrupts: u32) -> Self {
        let (host, depth) = (&environment.host, u128::from(environment.depth));
        let (interrupt, call) = (ps(host.interrupt), ps(host.link_scheduling));
        let all = interrupt * u128::from(interrupts);
        match environment.model {
            ResourceModel::O2 => {
                // Where a run may have no end, the charges are an error.
                let prolonged = o2::prolonged(environment, population).ok().flatten();
                let by = |cost| prolonged.map_or(0, |prolonged| prolonged.by(cost));
                let gap = Gap { once: 0, of_each: (depth + 2) * all + 2 * call };
                let uses: Vec<u128> =
                    std::iter::once(call).chain((0..interrupts).map(|_| interrupt)).collect();
                let cost = uses.iter().map(|cost| cost + by(*cost)).sum();
                Self { uses, cost, gap: Some(gap) }
            }
            ResourceModel::O3 => {
                let cost = call + all + o3::thread(environment);
                Self { uses: vec![cost], cost, gap: None }
            }
            _ => {
                let gap = Gap { once: call, of_each: depth * (all + 2 * call) };
                Self { uses: vec![call + all], cost: call + all, gap: Some(gap) }
            }
        }
    }
}

/// `B/C + 1`; a block of one packet if the speed of making packets is unknown.
pub(super) fn made(environment: &Environment, population: &Population) -> u128 {
    match environment.makes.map(ps).filter(|makes| *makes > 0) {
        Some(makes) => population.block.div_ceil(makes) + 1,
        None => u128::from(population.largest_message.div_ceil(environment.packet)) + 1,
    }
}

/// `Q`.
fn waiting(environment: &Environment, other: &OtherLink) -> Option<u128> {
    // Of stages more is known only by their buffers.
    let longest = other.longest.map(ps);
    let makes = environment.makes.map(ps).filter(|makes| *makes > 0);
    let makes = makes.zip(longest).filter(|(makes, longest)| makes >= longest);
    // Where handlers are preempted within a packet, each may have half of one.
    let whole = environment.model == ResourceModel::O1 && !environment.ahead;
    let fast = makes.filter(|_| whole).map(|(makes, longest)| {
        let host = &environment.host;
        let (c, depth) = (ps(host.link_scheduling) + ps(host.interrupt), u128::from(environment.depth));
        let late = (depth + 1) * (longest + c) + depth * ps(host.interrupt) + c;
        1 + late.div_ceil(makes)
    });
    let buffers = other.buffers.map(u128::from);
    [fast, buffers].into_iter().flatten().min()
}
