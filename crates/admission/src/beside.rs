//! CPU time for the other links of a host: starts and completions of packets that leave by them, `c
//! = C_l + C_i` each.
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
//! there. And where its longest packet takes `L ≤ C`, [`super::counted`] (1) holds for that link,
//! too: whatever keeps its next packet waiting for the CPU keeps handlers from making another.
//! There `K = (D + 1)(L + c)`.
//!
//! *Second phase.* Our adapter idles from a completion until the interrupt is served and the next
//! packet started. Interrupts are served in order of arrival. A call of the link scheduler may be
//! in progress, and before ours there are at most `D` completions of each other adapter. Each of
//! those lets one packet be started; a timer that came between lets as many more. So each packet of
//! ours, and each of the `D` that were with the adapter, waits for at most
//!
//! ```text
//! E = C_l + Σ D (C_i + 2 C_l),   the sum over other links.
//! ```
//!
//! # Under O2
//!
//! A start there is part of a run of the link scheduler's thread; [`super::o2`] charges the
//! switches of that run wherever a run may be. So `C_l` and `C_i` are all that a start takes. But
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
//! E = Σ (D + 2) C_i + 2 C_l.
//! ```
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
use super::transmission::start;
use super::{o2, o3};

impl Beside {
    pub(super) fn of(environment: &Environment, population: &Population) -> Self {
        let mut all = Self::default();
        if environment.others.is_empty() {
            return all;
        }
        let depth = u128::from(environment.depth);
        let (packets, ahead) = population.ahead(environment);
        let Packet { uses, cost, gap } = Packet::of(environment, population);
        for other in &environment.others {
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
                    all.each = cost;
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
    fn of(environment: &Environment, population: &Population) -> Self {
        let (host, depth) = (&environment.host, u128::from(environment.depth));
        let (interrupt, call) = (ps(host.interrupt), ps(host.link_scheduling));
        match environment.model {
            ResourceModel::O2 => {
                // Where a run may have no end, the charges are an error.
                let prolonged = o2::prolonged(environment, population).ok().flatten();
                let by = |cost| prolonged.map_or(0, |prolonged| prolonged.by(cost));
                let gap = Gap { once: 0, of_each: (depth + 2) * interrupt + 2 * call };
                let cost = call + by(call) + interrupt + by(interrupt);
                Self { uses: vec![call, interrupt], cost, gap: Some(gap) }
            }
            ResourceModel::O3 => {
                let cost = start(environment) + o3::thread(environment);
                Self { uses: vec![cost], cost, gap: None }
            }
            _ => {
                let gap = Gap { once: call, of_each: depth * (interrupt + 2 * call) };
                let cost = start(environment);
                Self { uses: vec![cost], cost, gap: Some(gap) }
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
    let makes = environment.makes.map(ps).filter(|makes| *makes >= ps(other.longest) && *makes > 0);
    // Where handlers are preempted within a packet, each may have half of one.
    let whole = environment.model == ResourceModel::O1 && !environment.ahead;
    let fast = makes.filter(|_| whole).map(|makes| {
        let (c, depth) = (start(environment), u128::from(environment.depth));
        let late = (depth + 1) * (ps(other.longest) + c) + depth * ps(environment.host.interrupt) + c;
        1 + late.div_ceil(makes)
    });
    let buffers = other.buffers.map(u128::from);
    [fast, buffers].into_iter().flatten().min()
}
