//! Which faults a bound can speak about: a part of an adapter that stands still for so long, so often.
//!
//! While a resource of the adapter does nothing, whoever holds it or wants it stands still, and goes on where it was when that is over. In the second phase of a message
//! (`laxity_admission::station::window`) somebody goes on at each instant but for what is charged by itself; so a stall is charged like what comes in and keeps a resource from what goes out: with all of it, each time that it
//! may strike. Stalls that last `x` and begin `y` apart are in any time `δ` at most
//!
//! ```text
//! 1 + ⌈δ/y⌉                                                                    (1)
//! ```
//!
//! with the one in progress, and one that happens once is one. How far apart completions are is not less for it: of those that come in a time each has been served in it, or was under way before.
//!
//! *Where the adapter has each packet as it is made* (`laxity_admission::station::open`) there is no window, and the argument goes back along the way of a level instead; but it needs no more. Each
//! instant of `(τ, x)` is charged there to one stage, in whose queue or server something of the level is. Take the instants at which the resource is stalled away: they are at most (1) times `x`, and
//! are charged to it. At each of the others that stage's server works, or it waits for a resource or a place, and then whoever has that works, word for word as without a stall, and on what is left of what it
//! had before: no work is done twice, and none is made by standing still. What a server had when `y` came, and for what a stage before has a resource, is a length of work too, so `once` and `L(n)` are the same. The stalled stage
//! may meanwhile gather packets below the level behind it; they were below before, and the server takes what is of the level first when it goes on. What it holds of the level was handed over in `(τ, x)` and is charged
//! for itself, or was there at `τ_k`, which by its choice nothing was.
//!
//! It is otherwise where the adapter is fast enough for whatever the host may make (`open.rs`, the method *fed*): that takes each packet to find the stages as it would have them alone, and behind a stall
//! they are full for as long as it takes to catch up, however long ago it was. So there it is not used beside a fault.
//!
//! Faults are of an adapter, and a host may have several: what breaks in one is nothing to the links of the others, whose packets are interrupts to it whenever they come (`laxity_admission::Beside`).
//!
//! Nothing is said where the stall holds up what comes in (a host would hear of frames later than its deadlines count), where a driver may take a stall for the end of the adapter, nor on a ring, whose token it
//! would keep. An adapter that stops, takes nothing, or loses interrupts does so until somebody notices, and when that is nothing bounds.

use laxity_admission::{Above, Interference};
use laxity_model::adapter::Breakdown;
use laxity_qos::channel::LinkId;
use laxity_units::Span;

use super::covered::Uncovered;
use super::sources::sources_by;
use crate::experiment::{Adapter, Experiment, Fault, FaultSpec};

/// Whether bounds hold at `node` beside what may break there.
pub(super) fn bounded(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    for fault in experiment.faults.iter().filter(|fault| fault.node == node) {
        let FaultSpec { node: _, link, fault, at: _, length, every: _ } = fault;
        let (Fault::Breakdown(Breakdown::Stall(resource)), Adapter::Described(description), Some(_)) =
            (fault, experiment.adapter_of(node, *link), length)
        else {
            return Err(Uncovered("nothing bounds what a fault keeps from happening"));
        };
        let mut comes_in = description.receive.iter().flat_map(|stage| &stage.phases);
        if !sources_by(experiment, node, *link).is_empty()
            && comes_in.any(|phase| phase.holds.contains(resource))
        {
            return Err(Uncovered("a stall holds up what comes in"));
        }
        if experiment.host(node).driver.reset_after.is_some() {
            return Err(Uncovered("the driver may reset the adapter while a part of it stands still"));
        }
    }
    Ok(())
}

/// What breaks in the adapter of a link of a node.
pub(super) fn faults_at(experiment: &Experiment, at: (usize, LinkId)) -> impl Iterator<Item = &FaultSpec> {
    experiment.faults.iter().filter(move |fault| (fault.node, fault.link) == at)
}

/// What stalls take of the adapter of a link of a node, by (1).
pub(crate) fn stalls(experiment: &Experiment, at: (usize, LinkId)) -> impl Iterator<Item = Interference> {
    faults_at(experiment, at).filter_map(|fault| {
        let (burst, interval) = match fault.every {
            Some(every) => (1, every),
            None => (0, Span::MAX),
        };
        let adapter = fault.length?;
        Some(Interference { above: Above::Interrupt, cost: Span::ZERO, adapter, burst, interval })
    })
}
