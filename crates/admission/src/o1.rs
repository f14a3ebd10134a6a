//! Corrected bound for option O1: handlers and completion interrupts call the link scheduler.
//!
//! # What the papers leave out
//!
//! * A transmission may end at any time, and the interrupt that follows (`C_i`, and `C_l` if a
//!   packet waits) takes the CPU from any work. Lower-priority packets may wait at the link in any
//!   number, so this goes on *throughout* a message's processing; the papers count it for the first
//!   block waited for only. A message bound by the CPU pays for about one lower packet's start with
//!   every packet of its own.
//! * A message of a higher channel pays for a switch at its first block too, and the lower handler
//!   that is waited for may still have its own switch before it.
//! * Completions interrupt the link phase, the adapter may be `depth` packets ahead, and the
//!   higher-priority messages that are bound by the other resource than ours are not covered by
//!   their own service time.
//!
//! # First phase: the CPU, in `(s, τ]` of [`super::trajectory`]
//!
//! The CPU is taken by a lower block (with its switch), by level packets, by a switch per level
//! block begun, by work above the handlers, and by link scheduling. The last is a train of bursts.
//! Let `c = C_i + C_l`.
//!
//! *Depth 1.* A start's `C_l`, its transmission and its `C_i` follow each other, and the next `C_l`
//! follows them. So bursts of at most `c` are at least `L_min` apart, the shortest transmission
//! there may be. In any window of length `Δ` they take at most `ρΔ + (1 − ρ)c` with `ρ = c/(c +
//! L_min)`. So `Δ` of which the rest is work obeys
//!
//! ```text
//! Δ ≤ α · work + c,   α = 1/(1 − ρ) = (c + L_min)/L_min.
//! ```
//!
//! *Depth D > 1.* Completions are at least `L_min` apart, so at most `Δ/L_min + 1` fall into the
//! window. Each costs `C_i` and frees one place; another `C_i` may be in progress at `s`, and up to
//! `D` places may be free or being filled there. With `α = L_min/(L_min − c)`,
//!
//! ```text
//! Δ ≤ α (work + c + C_i + D C_l).
//! ```
//!
//! Without `c < L_min` there is no bound at all: completions can keep the CPU for good. (With depth
//! 1 only `L_min > 0` is needed, since the link stands still while the CPU schedules it.)
//!
//! *Counted.* Where handlers make packets more slowly than the link takes them, few can wait there,
//! and few completions follow each other as fast as that: see [`super::counted`]. Then `α = 1`, and
//! each packet made pays for its own start and completion.
//!
//! *By polls.* A host that polls every `P` reads completions at multiples of `P` only, and at each
//! those of `D` packets at most. A response that is read is taken for work above the handlers,
//! released at that instant. The window has at most `⌈Δ/P⌉` such instants. With `a` interrupts a
//! packet, each brings `a C_i` and one start for each of `D` packets. All other starts in the
//! window fill places that were free at `s`, and one may be in progress there. So
//!
//! ```text
//! Δ ≤ work + ⌈Δ/P⌉ D (a C_i + C_l) + (D + 1) C_l.
//! ```
//!
//! A poll that reads no response is paid for by itself. A driver with a watchdog also reads at
//! other instants, and has no such bound.
//!
//! # Second phase: the link, in `(τ, f)`
//!
//! At most `D` packets are with the adapter at `τ`. Since then only level packets are selected, at
//! once whenever a place is free: by the handler at `τ`, later by the interrupt that freed the
//! place. The adapter idles only during some `C_i` or `C_l`, or while work above the handlers keeps
//! a handler from going on, and all those count once each. There are `L_x + C_l + C_i` per level
//! packet, `D (L_max + C_i)` for the earlier ones, and activations in [`super::trajectory`]'s
//! interference term, whose `α` can only help.
//!
//! # Together
//!
//! ```text
//! W = α (C_sw + C_cm + B) + const + D (L_max + C_i) + crossing
//! per_block = C_sw + C_cm,   per_start = C_l + C_i,   per_activation = C_sw + C_cm
//! ```
//!
//! where `B` is the longest protocol work of any handler between preemption points and `crossing`
//! the second share of the crossing packet: its CPU or its link share, so the smaller of the two
//! maxima.

use laxity_units::Span;

use super::counted::counted;
use super::decision::{Deficit, Impossible, Reason, Scarce};
use super::environment::{Above, Counting, Environment, Interference};
use super::population::Population;
use super::terms::{Breakdown, Ratio, ps, span};
use super::trajectory::{Beside, Charges};
use super::transmission::{completions_at_once, crossing, in_adapter, once_behind, start};

pub(super) const INTERRUPTS: Impossible = (Scarce::Cpu, Deficit::Unbounded, Reason::InterruptsTakeAll);

/// How transmissions slow down CPU work, and what they add once: `α` and the constant.
pub(super) fn stolen(
    environment: &Environment,
    population: &Population,
) -> Result<(Ratio, u128), Impossible> {
    let interrupt = ps(environment.host.interrupt);
    let call = ps(environment.host.link_scheduling);
    if let Counting::Polls(_) = environment.counting {
        let starts = u128::from(environment.depth) + 1;
        let sends = population.largest_packet.is_some();
        return Ok((Ratio::ONE, if sends { call * starts } else { 0 }));
    }
    let announced = environment.link.interrupts();
    let burst = interrupt * u128::from(announced.all) + call;
    let shortest = ps(environment.link.apart(population.smallest_packet));
    if burst == 0 || population.largest_packet.is_none() {
        return Ok((Ratio::ONE, 0));
    }
    if environment.depth == 1 && announced.all > 1 {
        let free = shortest.checked_sub(interrupt * u128::from(announced.beside)).filter(|free| *free > 0);
        let stretch =
            Ratio { numerator: burst + free.ok_or(INTERRUPTS)?, denominator: free.ok_or(INTERRUPTS)? };
        return Ok((stretch, stretch.scale(2 * burst)));
    }
    if environment.depth == 1 {
        let stretch = Ratio { numerator: burst + shortest, denominator: shortest };
        return if shortest == 0 { Err(INTERRUPTS) } else { Ok((stretch, burst)) };
    }
    if burst >= shortest {
        return Err(INTERRUPTS);
    }
    let stretch = Ratio { numerator: shortest, denominator: shortest - burst };
    let at_once = burst * completions_at_once(environment);
    Ok((stretch, stretch.scale(at_once + interrupt + call * u128::from(environment.depth))))
}

/// The charges of O1.
pub(super) fn charges(
    environment: &Environment,
    population: &Population,
    beside: &Beside,
) -> Result<Charges, Impossible> {
    let switch = ps(environment.host.switch());
    let (stretch, per_made, once) = taken(environment, population)?;
    let starts = !environment.link.has_starts();
    let per_start = if starts { start(environment) } else { 0 } + beside.per_start;
    let crossing = crossing(environment, population, stretch, switch + per_made, per_start);
    let (entered, block) = population.lower_block(environment);
    let lower = entered + block + beside.once;
    let (occupied, completions) = in_adapter(environment, population);
    let completions = if starts { completions } else { 0 } + beside.per_start * u128::from(environment.depth);
    let wait = Breakdown::default()
        .and("switch to a lower handler", entered)
        .and("its block", block)
        .and("packets of other links already made", beside.once)
        .and("CPU time stolen from it by transmissions", stretch.scale(lower).saturating_sub(lower))
        .and("link scheduling in progress", once)
        .and("packets already with the adapter", occupied)
        .and("their completions", completions)
        .with(once_behind(environment, population))
        .and("the crossing packet's second share", crossing);
    Ok(Charges {
        stretch,
        per_block: switch,
        per_made,
        per_other: beside.each,
        per_start,
        per_activation: switch,
        preemptible: false,
        on_cpu: false,
        prolonged: None,
        wait,
    })
}

/// The work of completions above the handlers, counted by polls; `None` if completions are counted
/// otherwise, or no channel sends.
///
/// `thread` is what a completion takes beside its interrupts and a call of the link scheduler.
pub(super) fn polled(
    environment: &Environment,
    population: &Population,
    thread: u128,
) -> Option<Interference> {
    let Counting::Polls(interval) = environment.counting else { return None };
    population.largest_packet?;
    let host = &environment.host;
    let responses = u128::from(environment.link.interrupts().all);
    let each = ps(host.interrupt) * responses + ps(host.link_scheduling) + thread;
    let cost = span(each * u128::from(environment.depth));
    Some(Interference { above: Above::Interrupt, cost, adapter: Span::ZERO, burst: 0, interval })
}

/// The CPU time of link scheduling, counted as `environment` says: `α`, for each packet made, and
/// once.
fn taken(environment: &Environment, population: &Population) -> Result<(Ratio, u128, u128), Impossible> {
    let stolen = stolen(environment, population);
    let counted = match environment.counting {
        Counting::Expected => counted(environment, population)
            .filter(|counted| counted.is_less(environment, population, &stolen)),
        Counting::Packets if population.largest_packet.is_some() => {
            Some(counted(environment, population).ok_or(INTERRUPTS)?)
        }
        Counting::Packets | Counting::Time | Counting::Polls(_) => None,
    };
    match counted {
        Some(counted) => Ok((Ratio::ONE, counted.each, counted.once)),
        None => stolen.map(|(stretch, once)| (stretch, 0, once)),
    }
}

/// The charges of the first phase alone, where the link goes by another order: a message is through
/// when its last packet waits there. Both ways of counting what is taken of the CPU hold whatever
/// the order of what waits at the link, if it is served as long as anything does.
pub(super) fn charges_of_cpu(
    environment: &Environment,
    population: &Population,
) -> Result<Charges, Impossible> {
    let switch = ps(environment.host.switch());
    let (stretch, per_made, once) = taken(environment, population)?;
    let (entered, block) = population.lower_block(environment);
    let lower = entered + block;
    let wait = Breakdown::default()
        .and("switch to a lower handler", entered)
        .and("its block", block)
        .and("CPU time stolen from it by transmissions", stretch.scale(lower).saturating_sub(lower))
        .and("link scheduling in progress", once);
    Ok(Charges {
        stretch,
        per_block: switch,
        per_made,
        per_other: 0,
        per_start: 0,
        per_activation: switch,
        preemptible: false,
        on_cpu: true,
        prolonged: None,
        wait,
    })
}
