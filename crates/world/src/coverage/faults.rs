//! Which faults a bound can speak about: a part of an adapter that stands still for so long, so often.
//!
//! While a resource of the adapter does nothing, whoever holds it or wants it stands still, and goes on where it was when that is over. In the second phase of a message
//! (`laxity_qos::station::window`) somebody goes on at each instant but for what is charged by itself; so a stall is charged like what comes in and keeps a resource from what goes out: with all of it, each time that it
//! may strike. Stalls that last `x` and begin `y` apart are in any time `δ` at most
//!
//! ```text
//! 1 + ⌈δ/y⌉                                                                    (1)
//! ```
//!
//! with the one in progress, and one that happens once is one. How far apart completions are is not less for it: of those that come in a time each has been served in it, or was under way before.
//!
//! Nothing is said where the stall holds up what comes in (a host would hear of frames later than its deadlines count), where a driver may take a stall for the end of the adapter, nor on a ring, whose token it
//! would keep. An adapter that stops, takes nothing, or loses interrupts does so until somebody notices, and when that is nothing bounds.

use laxity_model::adapter::{Breakdown, Description};
use laxity_qos::admission::{Above, Interference};
use laxity_units::Span;

use super::Uncovered;
use super::incoming::sources;
use crate::experiment::{Experiment, Fault, FaultSpec};

/// Whether bounds hold at `node` beside what may break there; `None` for a null device.
pub(super) fn bounded(
    experiment: &Experiment,
    node: usize,
    description: Option<&Description>,
) -> Result<(), Uncovered> {
    for fault in experiment.faults.iter().filter(|fault| fault.node == node) {
        let FaultSpec { node: _, link: _, fault, at: _, length, every: _ } = fault;
        let (Fault::Breakdown(Breakdown::Stall(resource)), Some(description), Some(_)) =
            (fault, description, length)
        else {
            return Err(Uncovered("nothing bounds what a fault keeps from happening"));
        };
        let mut comes_in = description.receive.iter().flat_map(|stage| &stage.phases);
        if !sources(experiment, node).is_empty() && comes_in.any(|phase| phase.holds.contains(resource)) {
            return Err(Uncovered("a stall holds up what comes in"));
        }
        if experiment.host(node).driver.reset_after.is_some() {
            return Err(Uncovered("the driver may reset the adapter while a part of it stands still"));
        }
    }
    Ok(())
}

/// What stalls take of the adapter of `node`, by (1).
pub(crate) fn stalls(experiment: &Experiment, node: usize) -> impl Iterator<Item = Interference> {
    let here = experiment.faults.iter().filter(move |fault| fault.node == node);
    here.filter_map(|fault| {
        let (burst, interval) = match fault.every {
            Some(every) => (1, every),
            None => (0, Span::MAX),
        };
        let adapter = fault.length?;
        Some(Interference { above: Above::Interrupt, cost: Span::ZERO, adapter, burst, interval })
    })
}
