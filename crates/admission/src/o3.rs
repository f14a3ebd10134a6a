//! Corrected bound for option O3: handlers call the link scheduler, and a completion creates a
//! thread that does.
//!
//! Of O1 it has the calls, of O2 the wait: a thread runs when a block ends or the CPU is idle, and
//! each is created anew, which costs `C_th`. The adapter is a null one or a row of stages behind a
//! window, and may be one of several.
//!
//! # First phase: the CPU, in `(s, τ]` of [`super::trajectory`]
//!
//! A packet is started by a call, `C_l`, or by a thread, `C_sw + C_cm + C_th + C_l`; a thread that
//! finds its packet gone, or no slot, ends at once at no cost. Either follows the completion that
//! freed the slot, and precedes the transmission that it starts. So these are the bursts of
//! [`super::o1`] with
//!
//! ```text
//! c = C_i + C_l + C_sw + C_cm + C_th,
//! ```
//!
//! as far apart as there, whichever block has the CPU when they arrive: a level block, or the lower
//! one that was in progress at `s`. A block takes the CPU back after a thread, and begins with a
//! switch of its own.
//!
//! *Counted by packets*, these starts are no more than (2) of [`super::counted`] has, with the buffers as its
//! `Q`: its (1) requires that a packet at the link is started when there is a slot. Each takes `c`.
//!
//! # Second phase: the link, in `(τ, f)`
//!
//! A level packet waits throughout, and *while there is a slot for one, too, there is a thread or a
//! handler that is going to call*. A completion that finds one waiting creates a thread, and a
//! handler that makes one calls. Where several turn current at one instant a thread that has
//! started one leaves another behind if there is more to start. So let there be a place from `t`
//! on. At `t` the CPU is
//!
//! * idle, or between two blocks: a thread runs, and starts a level packet `C_sw + C_cm + C_th +
//!   C_l` later;
//! * in a packet of any handler, which has begun with a switch. All handlers call after each
//!   packet, received ones and dropped ones included, *wherever that is in their block*. So after
//!   `p`, the longest work on one packet, a level packet is started by that call, `C_l`, and not
//!   only when the block ends;
//! * in a block of work that does not call, an application that computes or a program, of `b` at
//!   most. When it ends, a thread runs;
//! * in the switch to a handler that makes no packet. One that works ahead keeps the place of the
//!   message that it is done with, until it has the CPU again and finds that its next one is early.
//!   It does not call, and when it has found that, a thread runs: `b = 0`. (32 channels with an early
//!   message each took 9808 us of 9795.)
//!
//! Work above the handlers delays all of that, and is counted in the trajectory's interference.
//! Every such gap ends with the start of a level packet, and each such start ends one gap, so it
//! and the packet's interrupts are charged as
//!
//! ```text
//! per_start = max(C_sw + C_cm + p,  [C_sw + C_cm + b] + C_sw + C_cm + C_th) + C_l + C_i
//! ```
//!
//! (`b` where there is such a block, or a handler works ahead). A host with several links has handlers
//! that call for another than ours: there the first of these is a thread's too, after the longest block of any handler.
//! With several places the time up to a start is charged to that, and from there to the next. That
//! is all that [`crate::station::window`] asks of the host that hands packets over: (1) there
//! charges an instant to `per_start` if a packet and a slot for it wait, and the window is closed
//! otherwise. The host is no stage there.
//!
//! All else is [`super::o1`]'s: at `τ` a handler has made a packet, and calls; the packets that the
//! adapter had then take `D L(S)`, and the stages have the cost charged once.

use super::counted::by_buffers;
use super::decision::Impossible;
use super::environment::{Counting, Environment};
use super::o1::{INTERRUPTS, stolen};
use super::population::Population;
use super::terms::{Breakdown, Ratio, ps, span};
use super::trajectory::Charges;
use super::transmission::{crossing, in_adapter, once_behind, start};
use laxity_qos::costs::HostCosts;

/// A thread that a completion creates, before it calls.
pub(super) fn thread(environment: &Environment) -> u128 {
    ps(environment.host.switch()) + ps(environment.host.thread_creation)
}

/// The charges of O3.
pub(super) fn charges(environment: &Environment, population: &Population) -> Result<Charges, Impossible> {
    let host = &environment.host;
    let thread = thread(environment);
    let call = span(ps(host.link_scheduling).saturating_add(thread));
    let by_thread = Environment { host: HostCosts { link_scheduling: call, ..*host }, ..environment.clone() };
    let switch = ps(host.switch());
    let (stretch, per_made, once) = match environment.counting {
        Counting::Packets if population.largest_packet.is_some() => {
            let announced = ps(host.interrupt) * u128::from(environment.link.interrupts().all);
            let counted = by_buffers(environment, population, announced + ps(call));
            counted.map(|counted| (Ratio::ONE, counted.each, counted.once)).ok_or(INTERRUPTS)?
        }
        _ => stolen(&by_thread, population).map(|(stretch, once)| (stretch, 0, once))?,
    };
    let is_silent = population.silent > 0 || environment.ahead;
    let silent = if is_silent { switch + population.silent } else { 0 };
    let called = match environment.others.is_empty() {
        true => switch + population.step,
        false => switch + population.block + thread,
    };
    let per_start = called.max(silent + thread) + start(environment);
    let (entered, block) = population.lower_block(environment);
    let lower = entered + block;
    let (occupied, completions) = in_adapter(environment, population);
    let wait = Breakdown::default()
        .and("switch to a lower handler", entered)
        .and("its block", block)
        .and("CPU time stolen from it by transmissions", stretch.scale(lower).saturating_sub(lower))
        .and("link scheduling in progress", once)
        .and("packets already with the adapter", occupied)
        .and("their completions", completions)
        .with(once_behind(environment, population))
        .and(
            "the crossing packet's second share",
            crossing(environment, population, stretch, switch + per_made, per_start),
        );
    Ok(Charges {
        stretch,
        per_block: switch,
        per_made,
        per_other: 0,
        per_start,
        per_activation: switch,
        preemptible: false,
        on_cpu: false,
        prolonged: None,
        wait,
    })
}
