//! Faults that a bound can cover: a part of an adapter that stalls for a given time, at given
//! intervals.
//!
//! While a resource of the adapter stalls, the packets that hold or need it stand still, and go on
//! afterwards where they were. In the second phase of a message
//! (`laxity_admission::station::window`) some packet makes progress at each instant that is not
//! charged by itself. A stall is therefore charged like an incoming frame that keeps a resource
//! from outgoing packets. Stalls that last `x` and begin `y` apart take of any time `δ` at most
//!
//! ```text
//! x ⌈δ/y⌉                                                                      (1)
//! ```
//!
//! since a time `y` has `x` of them whenever it begins, and a shorter time has no more than that.
//! Of a stall in progress at the beginning only the rest counts, and as much as that is missing
//! from the last. A stall that happens once takes `x`. The distance of completions is not shorter
//! for it: each of the completions in an interval has been served in it, or was under way before.
//!
//! *Where the adapter has each packet as it is made* (`laxity_admission::station::open`) there is
//! no window, and the argument follows the path of a level backwards instead, with no further
//! condition. Each instant of `(τ, x)` is charged there to one stage, of which the queue or server
//! has something of the level. Remove the instants at which the resource is stalled: they are at
//! most (1), and are charged to the resource. At each other instant that stage's server works, or
//! it waits for a resource or a slot of which the holder works, as without a stall and on the rest
//! of its previous work: a stall neither repeats nor creates work. The packet that a server had
//! when `y` arrived, and for which a stage before has a resource, is a length of work too, so
//! `once` and `L(n)` are unchanged. The stalled stage may meanwhile gather packets below the level;
//! they were below before, and the server takes packets of the level first when it goes on. The
//! packets of the level in the stage were handed over in `(τ, x)` and are charged for themselves,
//! or were there at `τ_k`, which its choice excludes.
//!
//! The method *fed* in `open.rs`, for an adapter that is faster than its host, is different. It
//! assumes that each packet finds the stages as if it were alone, but behind a stall they are full
//! until they catch up, however long ago the stall was. So *fed* is not used beside a fault.
//!
//! Faults belong to an adapter, and a host may have several. A fault in one adapter does not affect
//! the links of the others, to which its packets are interrupts at any time
//! (`laxity_admission::Beside`).
//!
//! A station has no bound where the stall delays incoming frames (a host would notice frames later
//! than its deadlines count), where a driver may take a stall for a failure of the adapter, or on a
//! ring, of which the token the stall would keep. An adapter that stops, accepts no packets, or
//! loses interrupts does so until this is noticed, and that time has no bound.

use laxity_admission::{Above, Interference};
use laxity_model::adapter::AdapterBreakdown;
use laxity_qos::channel::LinkId;
use laxity_units::Span;

use super::reason::Uncovered;
use super::sources::sources_by;
use crate::experiment::{AdapterSpec, Experiment, FaultSpec, KindOfFault};

/// Whether bounds hold at `node` beside what may break there.
pub(super) fn bounded(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    for fault in experiment.faults.iter().filter(|fault| fault.node == node) {
        let FaultSpec { node: _, link, fault, at: _, length, every: _ } = fault;
        let (
            KindOfFault::Breakdown(AdapterBreakdown::Stall(resource)),
            AdapterSpec::Described(description),
            Some(_),
        ) = (fault, experiment.adapter_of(node, *link), length)
        else {
            return Err(Uncovered::FaultKeeps);
        };
        let mut comes_in = description.receive.iter().flat_map(|stage| &stage.phases);
        if !sources_by(experiment, node, *link).is_empty()
            && comes_in.any(|phase| phase.holds.contains(resource))
        {
            return Err(Uncovered::StallIncoming);
        }
        if experiment.host(node).driver.reset_after.is_some() {
            return Err(Uncovered::StallReset);
        }
    }
    Ok(())
}

/// Faults in the adapter of a link of a node.
pub(super) fn faults_at(experiment: &Experiment, at: (usize, LinkId)) -> impl Iterator<Item = &FaultSpec> {
    experiment.faults.iter().filter(move |fault| (fault.node, fault.link) == at)
}

/// The time that stalls take from the adapter of a link of a node, by (1).
pub(crate) fn stalls(experiment: &Experiment, at: (usize, LinkId)) -> impl Iterator<Item = Interference> {
    faults_at(experiment, at).filter_map(|fault| {
        let interval = fault.every.unwrap_or(Span::MAX);
        let adapter = fault.length?;
        Some(Interference { above: Above::Interrupt, cost: Span::ZERO, adapter, burst: 0, interval })
    })
}
