//! Corrected bound for option O2: the link scheduler is a thread above all handlers.
//!
//! # What the papers leave out
//!
//! Above all handlers, yet a thread: it runs when a block ends or the CPU is idle. A completion may
//! arrive just after a handler's block began, *every time*, and any handler's: while our last
//! packets wait for the link, lower and best-effort handlers have the CPU. The papers' text says
//! that "this wait penalty must be assumed for each packet", their formula adds it once, and not at
//! all where a block outlasts a transmission. That the scheduler "is guaranteed to run next" is
//! true, but next is a block away. The scheduler's own switches and the one back to the handler are
//! also missing at block boundaries.
//!
//! # First phase: the CPU, in `(s, τ]` of [`super::trajectory`]
//!
//! The lower block in progress at `s`, if any, ends with a run of the scheduler; if the scheduler
//! runs at `s`, a level handler is next. After that the CPU is taken by level blocks, each begun
//! with a switch and followed by at most one run. A run costs a switch, and `C_l` for each of the
//! at most `q` packets it starts. With depth 1 that is one: a packet started at the end of a run
//! completes later than that (`L_min > 0`), so at the next preemption point at the earliest. With
//! depth `D > 1` places may fall free while it runs. Of `n` starts in a run, all but `D` fill a
//! place freed since the run began, and until the last is begun it has taken at most `(n − 1) C_l +
//! n C_i`; completions are `L_min` apart. So
//!
//! ```text
//! n ≤ D + ((n − 1) C_l + n C_i)/L_min   ⇒   n ≤ q = ⌊D L_min / (L_min − C_l − C_i)⌋,
//! ```
//!
//! and without `C_l + C_i < L_min` a run may never end. In contrast to O1 no other time is stolen:
//! starts happen at block boundaries only, so CPU work is not stretched (`α = 1`). A completion
//! costs `C_i` and belongs to one of the counted starts or to one of the `D` packets that were with
//! the adapter at `s`.
//!
//! *Interrupts of other sources than the link* (a packet that arrives, a timer) are served between
//! two starts of a run, and completions in the meantime are started by the same run. A host with a
//! `C_l` longer than a transmission could spend the run of one block on every waiting packet. With
//! `A` of them in a run, depth 1 has one start more for each `L_min` of them, since from handing
//! over to completion no other work keeps the CPU from handlers. Depth `D > 1` has
//!
//! ```text
//! n ≤ ⌊(D L_min + A) / (L_min − C_l − C_i)⌋ ≤ q + Σ ⌈A_g / (L_min − C_l − C_i)⌉,
//! ```
//!
//! so with `c = C_l + C_i` each is charged `A + A c/L_min`, or `A + ⌈A/(L_min − c)⌉ c`. A thread
//! above the handlers is no part of a run: another run follows it.
//!
//! *Counted by packets.* A run starts packets that wait, and no handler makes one meanwhile. So runs together
//! start no more than (2) of [`super::counted`] has, with the buffers as its `Q`, however many a single
//! run starts and whatever interrupts it. A run is then charged as a switch, and each packet that is made
//! as a start with its completion. A fast link takes no more of the CPU so, where by time it may take all.
//!
//! # Second phase: the link, in `(τ, f)`
//!
//! The adapter idles from the completion of the last packet it has until the scheduler has run: at
//! most a block of any handler with its switch (`B'`: the switch and the block are one step), the
//! scheduler's switch and `C_l`. Every such gap ends with the start of a level packet, so there is
//! one at most per level packet. The packets that the adapter had at `τ` take `D L_max` at most.
//!
//! Work above the handlers delays blocks and the scheduler alike; every activation counts once over
//! the window. Whether its end is a preemption point is left open: it is charged a run of the
//! scheduler and the switch back.
//!
//! # Together
//!
//! ```text
//! run = C_sw + C_cm + q (C_l + C_i)
//! W = (C_sw + C_cm + B) + run + D C_i + D L_max + crossing
//! per_block = C_sw + C_cm + run,   per_start = B' + C_sw + C_cm + C_l + C_i
//! ```
//!
//! The gap `B'` could be halved for hosts with best effort that never idles, where blocks tile the
//! time since the last start. An adversary that lets the CPU idle, and sends just before the
//! completion, gets all of it.

use super::counted::by_buffers;
use super::decision::Impossible;
use super::environment::{Above, Counting, Environment, Interference};
use super::o1::INTERRUPTS;
use super::population::Population;
use super::terms::{Breakdown, Ratio, ps};
use super::trajectory::{Beside, Charges, Prolonged};
use super::transmission::{completions_at_once, crossing, in_adapter, once_behind, start};

/// The charges of O2.
pub(super) fn charges(
    environment: &Environment,
    population: &Population,
    beside: &Beside,
) -> Result<Charges, Impossible> {
    let cpu = charges_of_cpu(environment, population)?;
    let per_start = per_start(environment, population) + beside.per_start;
    let (occupied, _) = in_adapter(environment, population);
    let crossing = crossing(environment, population, Ratio::ONE, cpu.per_block + cpu.per_made, per_start);
    let wait = cpu
        .wait
        .and("packets of other links already made", beside.once)
        .and("packets already with the adapter", occupied)
        .with(once_behind(environment, population))
        .and("the crossing packet's second share", crossing);
    Ok(Charges { per_start, per_other: beside.each, on_cpu: false, wait, ..cpu })
}

/// Wait and time of a start: a block of any handler.
pub(super) fn per_start(environment: &Environment, population: &Population) -> u128 {
    let switch = ps(environment.host.switch());
    switch + population.block + switch + start(environment)
}

/// The charges of the first phase alone, where the link goes by another order: a message is through
/// when its last packet waits there. Runs of the link scheduler do not ask in which order packets
/// are started.
pub(super) fn charges_of_cpu(
    environment: &Environment,
    population: &Population,
) -> Result<Charges, Impossible> {
    if environment.counting == Counting::Packets && population.largest_packet.is_some() {
        return by_packets(environment, population);
    }
    let host = &environment.host;
    let switch = ps(host.switch());
    let start = start(environment);
    let shortest = ps(environment.link.apart(population.smallest_packet));
    let depth = u128::from(environment.depth);
    let endless = if depth == 1 { shortest == 0 } else { start >= shortest };
    if endless && start > 0 && population.largest_packet.is_some() {
        return Err(INTERRUPTS);
    }
    // Starts without a cost need no counting.
    let starts = match population.largest_packet {
        None => 0,
        Some(_) if depth == 1 || start == 0 => depth,
        Some(_) if environment.link.is_alone() => depth * shortest / (shortest - start),
        Some(_) => (depth + completions_at_once(environment)) * shortest / (shortest - start),
    };
    let prolonged = prolonged(environment, population)?;
    let run = switch + starts * start;
    let (_, completions) = in_adapter(environment, population);
    let (entered, block) = population.lower_block(environment);
    let wait = Breakdown::default()
        .and("switch to a lower handler", entered)
        .and("its block", block)
        .and("a run of the link scheduler after it", run)
        .and("completions of packets already with the adapter", completions);
    Ok(Charges {
        stretch: Ratio::ONE,
        per_block: switch + run,
        per_made: 0,
        per_other: 0,
        per_start: 0,
        per_activation: switch + run,
        preemptible: false,
        on_cpu: true,
        prolonged,
        wait,
    })
}

/// The same, counted by packets.
fn by_packets(environment: &Environment, population: &Population) -> Result<Charges, Impossible> {
    let switch = ps(environment.host.switch());
    let counted = by_buffers(environment, population, start(environment)).ok_or(INTERRUPTS)?;
    let (entered, block) = population.lower_block(environment);
    let wait = Breakdown::default()
        .and("switch to a lower handler", entered)
        .and("its block", block)
        .and("a run of the link scheduler after it", switch)
        .and("link scheduling in progress", counted.once);
    Ok(Charges {
        stretch: Ratio::ONE,
        per_block: switch + switch,
        per_made: counted.each,
        per_other: 0,
        per_start: 0,
        per_activation: switch + switch,
        preemptible: false,
        on_cpu: true,
        prolonged: None,
        wait,
    })
}

/// Effect of an interrupt on a run, and work of a run for another link.
pub(super) fn prolonged(
    environment: &Environment,
    population: &Population,
) -> Result<Option<Prolonged>, Impossible> {
    let interrupts = |work: &Interference| work.above == Above::Interrupt && !work.cost.is_zero();
    let any = environment.interference.iter().any(interrupts) || !environment.others.is_empty();
    let start = start(environment);
    if start == 0 || population.largest_packet.is_none() || !any {
        return Ok(None);
    }
    let shortest = ps(environment.link.apart(population.smallest_packet));
    let whole = environment.depth > 1;
    // With depth 1, what a packet's own interrupts keep of its way.
    let own = u128::from(environment.link.interrupts().beside) * ps(environment.host.interrupt);
    let apart = shortest.checked_sub(if whole { start } else { own }).filter(|apart| *apart > 0);
    apart.map(|apart| Some(Prolonged { start, apart, whole })).ok_or(INTERRUPTS)
}
