//! What the other links of a host take of the CPU: starts and completions of packets that leave by them, `c = C_l + C_i` each.
//!
//! Take a message `m` by one link, and `s`, `τ`, `f` as in [`super::trajectory`]; let `D` be the packets with each adapter at most. Of another link two things are known, and the one
//! that comes to less is taken.
//!
//! # By time
//!
//! Completions there are at least `L'` apart, the shortest transmission. At `s` up to `D` are pending or to come, and of the packets started by `f` up to `D` are not
//! complete. So in any `δ` there are at most `2D + ⌈δ/L'⌉` of each, which is work above the handlers.
//!
//! # By packets
//!
//! Every packet was made by the same CPU.
//!
//! *First phase.* What is started there in `(s, τ]` waited at `s`, or was made since: by level handlers, or by the block in progress, of length `B`, whose handler takes
//! at least `C` for each. With `Q` packets waiting at `s`, as in [`super::counted`] (2),
//!
//! ```text
//! c Σ_j k_j + c (Q + B/C + 1 + D + 1),
//! ```
//!
//! the sum over level messages by that link. `Q` is no more than the buffers of all that is sent there. And where its longest packet takes `L ≤ C`,
//! [`super::counted`] (1) holds for that link, too: whatever keeps its next packet waiting for the CPU keeps handlers from making another. There
//! `K = (D + 1)(L + c)`.
//!
//! *Second phase.* Our adapter idles from a completion until the interrupt is served and the next packet started. Interrupts are served in the order in which they
//! came: a call of the link scheduler may be in progress, and before ours there are at most `D` completions of each other adapter, each of which
//! lets one packet be started; a timer that came between lets as many more. So each packet of ours, and each of the `D` that were with the adapter, waits for at most
//!
//! ```text
//! E = C_l + Σ D (C_i + 2 C_l),   the sum over other links.
//! ```

use laxity_units::Span;

use super::environment::{Above, Environment, Interference, OtherLink, ResourceModel};
use super::o1::start;
use super::population::Population;
use super::terms::{ps, span};

/// What other links take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// By time: as work above the handlers.
    pub(super) above: Vec<Interference>,
    /// By packets, for each that level handlers make for another link.
    pub(super) each: u128,
    /// Once.
    pub(super) once: u128,
    /// For each packet of ours in the second phase.
    pub(super) per_start: u128,
}

impl Beside {
    pub(super) fn of(environment: &Environment, population: &Population) -> Self {
        let (host, depth) = (&environment.host, u128::from(environment.depth));
        let (c, call) = (start(environment), ps(host.link_scheduling));
        let gap = depth * (ps(host.interrupt) + 2 * call);
        let (packets, ahead) = population.ahead(environment);
        let mut all = Self::default();
        for other in &environment.others {
            let apart = ps(other.apart);
            // Completions that are no further apart than they cost leave nothing of the CPU.
            let by_time = if apart > c { c * (2 * depth + ahead.div_ceil(apart)) } else { u128::MAX };
            let waiting = waiting(environment, other);
            let once = waiting.map(|waiting| c * (waiting + made(environment, population) + depth + 1));
            match once.filter(|once| once + packets * gap < by_time) {
                Some(once) => {
                    all.each = c;
                    all.once += once;
                    all.per_start += gap;
                }
                None => all.above.push(Interference {
                    above: Above::Interrupt,
                    cost: span(c),
                    adapter: Span::ZERO,
                    burst: environment.depth.saturating_mul(2),
                    interval: other.apart,
                }),
            }
        }
        if all.per_start > 0 {
            all.per_start += call;
        }
        all
    }
}

/// `B/C + 1`; a block of one packet where nothing says how fast they are made.
fn made(environment: &Environment, population: &Population) -> u128 {
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
