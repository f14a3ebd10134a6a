//! Occupancy of the buses that adapters of a host share.

use std::collections::BTreeMap;

use laxity_model::bus::BusReport;
use laxity_units::Span;

use crate::experiment::{AdapterSpec, Experiment};
use crate::results::ResourceResults;

/// The name of the CPU's share of a bus.
pub(crate) const COPIES: &str = "copy";

/// And what an adapter of that name had, if it has one.
pub(crate) fn user(name: Option<&str>) -> &str {
    name.unwrap_or("adapter")
}

/// The names of the buses of a node at which adapters of it sit, as resources of a run: in the
/// order of those.
pub(super) fn names(experiment: &Experiment, node: usize) -> Vec<String> {
    let mut names = Vec::new();
    for link in experiment.links_of(node) {
        if let AdapterSpec::Described(description) = experiment.adapter_of(node, link)
            && let Some((_, bus)) = description.bus()
        {
            let name = name(experiment, node, bus);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// No stage has this name: stage names contain a blank only after `rx`.
fn name(experiment: &Experiment, node: usize, bus: &str) -> String {
    format!("bus {bus}{}", experiment.suffix(node))
}

/// The occupancy of a node's bus between two reports, by adapters and by the CPU, as shares of the
/// window `over`.
pub(super) fn resource(
    experiment: &Experiment,
    node: usize,
    [from, to]: [&BusReport; 2],
    over: impl Fn(Span, Span) -> f64,
) -> ResourceResults {
    let mut uses = BTreeMap::new();
    let (mut before, mut after) = (from.copied, to.copied);
    for ((link, then), (_, now)) in from.held.iter().zip(&to.held) {
        let called = experiment.nodes[node].adapters[usize::from(link.0)].name.as_deref();
        uses.insert(user(called).to_string(), over(*then, *now));
        (before, after) = (before + *then, after + *now);
    }
    // An adapter may be called so, too.
    *uses.entry(COPIES.to_string()).or_default() += over(from.copied, to.copied);
    let (name, utilisation) = (name(experiment, node, &from.name), over(before, after));
    ResourceResults { name, utilisation, uses, longest_queue: None }
}
