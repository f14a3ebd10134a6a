//! Corrected bound for a host that hands each packet over as it is made, to an adapter that
//! schedules the link itself.
//!
//! The link is none of the host's business: no packet waits there, no completion selects one. The
//! first phase of [`super::trajectory`] remains for the host; it ends at an instant `τ` when a
//! level handler hands a packet over. The second phase is the adapter's ([`crate::station::open`]),
//! and takes no CPU time.
//!
//! # First phase: the CPU, in `(s, τ]`
//!
//! The CPU is taken by a lower block (with its switch), by level packets, by a switch per level
//! block begun, by work above the handlers, and by completions, `C_i` each. A level packet includes
//! its handing over; the caller adds that to protocol processing, for it is executed with each
//! packet and is no preemption point. Completions are `L` apart, the least time of the last stage.
//! Pending at `s` are only those that came in a handing over, which masks interrupts, or since the
//! host last looked for responses. So in `Δ` at most
//!
//! ```text
//! n ≤ Δ/L + 2 + ⌈(C_h + hears)/L⌉
//! ```
//!
//! of them are executed, and with `α = L/(L − C_i)` and `β` for what does not depend on `Δ`: `Δ ≤ α
//! (work + β C_i)`. Without `C_i < L` there is no bound.
//!
//! ```text
//! W = α (C_sw + C_cm + B) + α β C_i + once + crossing
//! per_block = C_sw + C_cm,   per_start = 0,   per_activation = C_sw + C_cm
//! ```
//!
//! *By packets.* A completion that is executed in `(s, τ]` is of a packet that the host had not heard
//! of at `s`, of which there are `D` at most, or is in progress at `s`; or the packet was handed over
//! since. A level handler made it, or the block in progress, of length `B`, in which a packet takes at
//! least `C`. So with `k_j` packets of level message `j` in `(s, τ]` there are at most
//!
//! ```text
//! n ≤ Σ_j k_j + D + 1 + B/C + 1
//! ```
//!
//! of them, and `α = 1`, `per_made = C_i`, whatever `L` is. The crossing packet pays for its completion
//! in both phases.

use laxity_units::Bytes;

use super::beside::made;
use super::decision::Impossible;
use super::environment::{Counting, Environment};
use super::o1::INTERRUPTS;
use super::population::Population;
use super::terms::{Breakdown, Ratio, ps};
use super::trajectory::Charges;
use super::transmission::{crossing, once_behind};

/// The charges of a host that hands over.
pub(super) fn charges(environment: &Environment, population: &Population) -> Result<Charges, Impossible> {
    let taken = completions(environment, population)?;
    let switch = ps(environment.host.switch());
    let crossing = crossing(environment, population, taken.stretch, switch + taken.each, 0);
    let wait = wait(environment, population, taken)
        .with(once_behind(environment, population))
        .and("the crossing packet's second share", crossing);
    Ok(Charges { on_cpu: false, ..of_cpu(environment, (taken, wait)) })
}

/// The same of the first phase alone: a message is through when its last packet is handed over.
pub(super) fn charges_of_cpu(
    environment: &Environment,
    population: &Population,
) -> Result<Charges, Impossible> {
    let taken = completions(environment, population)?;
    Ok(of_cpu(environment, (taken, wait(environment, population, taken))))
}

/// CPU time that completions take.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// `α`.
    stretch: Ratio,
    /// For each packet made.
    each: u128,
    /// Once.
    once: u128,
}

/// CPU time that completions take from handing over, counted as `environment` says.
fn completions(environment: &Environment, population: &Population) -> Result<Taken, Impossible> {
    if environment.counting == Counting::Packets && population.largest_packet.is_some() {
        let each = ps(environment.host.interrupt) * u128::from(environment.link.interrupts().all);
        let earlier = u128::from(environment.depth) + 1 + made(environment, population);
        return Ok(Taken { stretch: Ratio::ONE, each, once: each.saturating_mul(earlier) });
    }
    let apart = population.largest_packet.map(|_| ps(environment.link.apart(population.smallest_packet)));
    let hears = ps(environment.host.link_scheduling) + ps(environment.link.hears());
    let masked = apart.map_or(0, |apart| hears.div_ceil(apart.max(1)));
    stolen(environment, apart.unwrap_or(u128::MAX), masked)
}

/// The same of a core of several ([`super::cores`]), whose link gives the spacing of completions,
/// whichever core sends.
pub(super) fn charges_of_core(
    environment: &Environment,
    population: &Population,
) -> Result<Charges, Impossible> {
    let apart = ps(environment.link.apart(Bytes::ZERO));
    let taken = stolen(environment, apart, environment.depth.into())?;
    Ok(of_cpu(environment, (taken, wait(environment, population, taken))))
}

/// CPU time of completions that are `apart`, of which `before` may be pending.
fn stolen(environment: &Environment, apart: u128, before: u128) -> Result<Taken, Impossible> {
    let interrupt = ps(environment.host.interrupt);
    if interrupt == 0 || apart == u128::MAX {
        return Ok(Taken { stretch: Ratio::ONE, each: 0, once: 0 });
    }
    if interrupt >= apart {
        return Err(INTERRUPTS);
    }
    let stretch = Ratio { numerator: apart, denominator: apart - interrupt };
    Ok(Taken { stretch, each: 0, once: stretch.scale(interrupt * (2 + before)) })
}

/// `W` of the CPU.
fn wait(environment: &Environment, population: &Population, taken: Taken) -> Breakdown {
    let (entered, block) = population.lower_block(environment);
    let lower = entered + block;
    Breakdown::default()
        .and("switch to a lower handler", entered)
        .and("its block", block)
        .and("CPU time stolen from it by completions", taken.stretch.scale(lower).saturating_sub(lower))
        .and("completions in progress", taken.once)
}

fn of_cpu(environment: &Environment, (taken, wait): (Taken, Breakdown)) -> Charges {
    let switch = ps(environment.host.switch());
    Charges {
        stretch: taken.stretch,
        per_block: switch,
        per_made: taken.each,
        per_other: taken.each,
        per_start: 0,
        per_activation: switch,
        preemptible: false,
        on_cpu: true,
        prolonged: None,
        wait,
    }
}
