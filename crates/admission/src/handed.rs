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

use laxity_units::Bytes;

use super::decision::{Deficit, Impossible, Reason, Resource};
use super::environment::Environment;
use super::population::Population;
use super::terms::{Breakdown, Ratio, ps};
use super::trajectory::Charges;
use super::transmission::{crossing, once_behind};

/// The charges of a host that hands over.
pub(super) fn charges(environment: &Environment, population: &Population) -> Result<Charges, Impossible> {
    let (stretch, pending) = completions(environment, population)?;
    let switch = ps(environment.host.switch());
    let crossing = crossing(environment, population, stretch, switch, 0);
    let wait = wait(environment, population, (stretch, pending))
        .with(once_behind(environment, population))
        .and("the crossing packet's second share", crossing);
    Ok(Charges { on_cpu: false, ..of_cpu(environment, (stretch, wait)) })
}

/// The same of the first phase alone: a message is through when its last packet is handed over.
pub(super) fn charges_of_cpu(
    environment: &Environment,
    population: &Population,
) -> Result<Charges, Impossible> {
    let (stretch, pending) = completions(environment, population)?;
    Ok(of_cpu(environment, (stretch, wait(environment, population, (stretch, pending)))))
}

/// CPU time that completions take from handing over: `α`, and once.
fn completions(environment: &Environment, population: &Population) -> Result<(Ratio, u128), Impossible> {
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
    let (stretch, pending) = stolen(environment, apart, environment.depth.into())?;
    Ok(of_cpu(environment, (stretch, wait(environment, population, (stretch, pending)))))
}

/// CPU time of completions that are `apart`, of which `before` may be pending: `α`, and once.
fn stolen(environment: &Environment, apart: u128, before: u128) -> Result<(Ratio, u128), Impossible> {
    let interrupt = ps(environment.host.interrupt);
    if interrupt == 0 || apart == u128::MAX {
        return Ok((Ratio::ONE, 0));
    }
    if interrupt >= apart {
        return Err((Resource::Cpu, Deficit::Unbounded, Reason::InterruptsTakeAll));
    }
    let stretch = Ratio { numerator: apart, denominator: apart - interrupt };
    Ok((stretch, stretch.scale(interrupt * (2 + before))))
}

/// `W` of the CPU.
fn wait(environment: &Environment, population: &Population, (stretch, pending): (Ratio, u128)) -> Breakdown {
    let switch = ps(environment.host.switch());
    let lower = switch + population.block;
    Breakdown::default()
        .and("switch to a lower handler", switch)
        .and("its block", population.block)
        .and("CPU time stolen from it by completions", stretch.scale(lower).saturating_sub(lower))
        .and("completions in progress", pending)
}

fn of_cpu(environment: &Environment, (stretch, wait): (Ratio, Breakdown)) -> Charges {
    let switch = ps(environment.host.switch());
    Charges {
        stretch,
        per_block: switch,
        per_made: 0,
        per_other: 0,
        per_start: 0,
        per_activation: switch,
        preemptible: false,
        on_cpu: true,
        prolonged: None,
        wait,
    }
}
