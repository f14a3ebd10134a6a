//! CPU time for starting packets and for hearing of their completions, counted by packets.
//!
//! # The problem
//!
//! While a message is being made, lower packets may be transmitted, and each takes `c = C_l + C_i`
//! of the CPU. [`super::o1`] counts them by time: completions are at least so far apart. Where the
//! adapter is fast that leaves little or no CPU time. But the packets of such a train had to be
//! made by the same CPU before, and are not made as fast as that.
//!
//! # How many can wait at the link
//!
//! Let no handler work ahead of time, so that waiting packets may go. Let a handler take at least
//! `C` for a packet. Let `L` be the charge for a packet of the largest size in the second phase of
//! [`super::trajectory`], its start and completion included, and `once` the charge there once. Let
//! `q` packets wait at `t`, and `u` be the last instant before with none. In `(u, t]`, of length
//! `Δ` without what is above the handlers, let `n` packets be started. The next waits, so by the
//! bound of that phase, whose level is here all packets,
//!
//! ```text
//! Δ < K + n L,   K = once + what the adapter has at u + L.
//! ```
//!
//! Each start takes `c`, but for the completions of `D` packets and one part, so handlers made at
//! most `1 + (Δ − n c + D C_i + c)/C` packets. If `L ≤ C + c`, the link takes packets at least as
//! fast as they are made, and with the first line
//!
//! ```text
//! q ≤ 1 + (Δ + D C_i + c)/C − n (C + c)/C ≤ 1 + (K + D C_i + c)/C = Q.                    (1)
//! ```
//!
//! Whatever `L` is, each packet has a buffer until the host has heard of its completion, so `Q` is no
//! more than the buffers of all that is sent by the link.
//!
//! # The first phase
//!
//! A packet that starts in `(s, τ]` waited at `s`, or was made since: by the lower block in
//! progress, of length `B`, or by level handlers. A packet that completes was started then or was
//! with the adapter at `s`. So with `c` for each level packet made, and one part in progress, link
//! scheduling takes at most
//!
//! ```text
//! c Σ_j k_j + c (Q + B/C + 1 + D + 1).                                                    (2)
//! ```

use laxity_units::Span;

use super::beside::made;
use super::decision::Impossible;
use super::environment::{Environment, Interference, OtherLink};
use super::population::Population;
use super::terms::{Ratio, ps, sum};
use super::transmission::{in_adapter, start};

/// CPU time of link scheduling, counted by packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// For each level packet made.
    pub(super) each: u128,
    /// Once.
    pub(super) once: u128,
}

impl Counted {
    /// Whether it takes less of the CPU than counting by time, if that has a bound. Either holds;
    /// which is less hangs on how much there is to do ([`Population::ahead`]).
    pub(super) fn is_less(
        &self,
        environment: &Environment,
        population: &Population,
        stolen: &Result<(Ratio, u128), Impossible>,
    ) -> bool {
        let Ok((stretch, once)) = stolen else { return true };
        let (packets, work) = population.ahead(environment);
        work + packets * self.each + self.once < stretch.scale(work) + once
    }
}

/// By (2), with the least `Q` that is known.
pub(super) fn counted(environment: &Environment, population: &Population) -> Option<Counted> {
    let makes = ps(makes(environment)?);
    let kept_up = kept_up(environment, population, makes);
    let waiting = [kept_up, environment.buffers.map(u128::from)].into_iter().flatten().min()?;
    Some(of_waiting(environment, population, (waiting, start(environment))))
}

/// The same with the buffers as `Q`, where a start with its completion takes `each`.
///
/// (1) requires that a packet at the link is started when there is a slot. The number of buffers and
/// (2) do not, so they hold where a thread starts packets.
pub(super) fn by_buffers(environment: &Environment, population: &Population, each: u128) -> Option<Counted> {
    makes(environment)?;
    Some(of_waiting(environment, population, (environment.buffers?.into(), each)))
}

/// `C`, if handlers take time for a packet and do not work ahead.
fn makes(environment: &Environment) -> Option<Span> {
    environment.makes.filter(|makes| !makes.is_zero() && !environment.ahead)
}

/// (2).
fn of_waiting(environment: &Environment, population: &Population, (waiting, each): (u128, u128)) -> Counted {
    let depth = u128::from(environment.depth);
    let once = waiting + made(environment, population) + depth + 1;
    Counted { each, once: each.saturating_mul(once) }
}

/// `Q` by (1), if the link takes packets as fast as they are made.
fn kept_up(environment: &Environment, population: &Population, makes: u128) -> Option<u128> {
    let largest = population.largest_packet?;
    let each = start(environment);
    let starts = if environment.link.has_starts() { 0 } else { each };
    let link = ps(environment.link.transmit(largest)).checked_add(starts)?;
    let kept = Kept::of(environment)?;
    if link.checked_mul(kept.idle)? > (makes + each).checked_mul(kept.free)? {
        return None;
    }
    let (occupied, completions) = in_adapter(environment, population);
    let once = sum(environment.link.once());
    let depth = u128::from(environment.depth);
    let late = once + occupied + completions + link + kept.once;
    let late = late.checked_mul(kept.idle)?.div_ceil(kept.free) + depth * each + each;
    Some(1 + late.div_ceil(makes))
}

/// For how long incoming packets keep the adapter.
struct Kept {
    /// `β' + h β`.
    once: u128,
    /// `1 − h` is `free/idle`.
    free: u128,
    /// `1 − ρ`, in parts.
    idle: u128,
}

impl Kept {
    fn of(environment: &Environment) -> Option<Self> {
        const PARTS: u128 = 1 << 32;
        let back = ps(environment.host.switch());
        let depth = u128::from(environment.depth);
        // Other links take of any time what they do by time ([`super::beside`]), however counted.
        let other = |(once, rate): (u128, u128), other: &OtherLink| {
            let host = &environment.host;
            let interrupts = ps(host.interrupt) * u128::from(other.interrupts);
            let cost = ps(host.link_scheduling) + interrupts + back;
            (once + cost * (2 * depth + 1), rate + (cost * PARTS).div_ceil(ps(other.apart)))
        };
        let sum = |of: fn(&Interference) -> Span, back: u128| {
            environment.interference.iter().fold((0, 0), |(once, rate): (u128, u128), work| {
                let cost = ps(of(work)) + back;
                let more = (cost * PARTS).div_ceil(ps(work.interval));
                (once + cost * (u128::from(work.burst) + 1), rate + more)
            })
        };
        let (above, taken) = environment.others.iter().fold(sum(|work| work.cost, back), other);
        let (held, kept) = sum(|work| work.adapter, 0);
        if kept == 0 {
            return Some(Self { once: 0, free: 1, idle: 1 });
        }
        let idle = PARTS.checked_sub(taken).filter(|idle| *idle > 0)?;
        let free = idle.checked_sub(kept).filter(|free| *free > 0)?;
        Some(Self { once: held + (above * kept).div_ceil(idle), free, idle })
    }
}
