//! Described adapters that have a bound, and their model in the proof.
//!
//! The proof is `laxity_admission::station::window`. With one packet in the adapter at a time most
//! descriptions are covered. With several, packets may overtake each other (`lines.rs`), be lost
//! for want of slots, or be kept from being fetched; each of these is shown to be harmless or has
//! no bound. The receive side is in `incoming.rs`.

use std::sync::Arc;

use laxity_admission::station::{Behind, Link};
use laxity_admission::{ResourceModel, Test};
use laxity_model::adapter::Description;
use laxity_qos::channel::{LinkConfig, LinkId, MessageOverflow, PacketOverflow};
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Span};

use super::at_once::{open, rated};
use super::covered::{Covered, Row};
use super::lines::{Window, kinds};
use super::reason::Uncovered;
use super::row::{own, row};
use super::sources::{largest, leaves_by};
use crate::experiment::{Experiment, HostSpec, Task};

/// The analyses that cover `node`, of which the adapter is described and of which the host goes by
/// `host`: with packets in a window, and, where the host's link queue is always empty, with each
/// packet as it is made.
pub(super) fn covered(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    host: &Covered,
) -> Result<Vec<Covered>, Uncovered> {
    // Launch times are of null adapters.
    let LinkConfig { paradigm: _, core: _, order: _, early, depth, launch: _, frame: _, speed: _ } =
        experiment.host(node).subsystem.link;
    // A host that holds no message counts packets from their arrival, so none of them is early.
    let held = early.horizon.is_zero();
    let at = (node, LinkId::FIRST);
    let window = windows(experiment, at, host);
    let at_once = |nothing_early: bool| {
        let ways = open(experiment, node, description, &window(u32::MAX, nothing_early))?;
        Ok(ways.of(&Covered { model: ResourceModel::Handed, ..host.clone() }))
    };
    let most = under_way(experiment, node, depth);
    let by_demand = experiment.admission.test == Test::Demand;
    if host.model == ResourceModel::Handed {
        without_window(experiment, node)?;
        let by_rates = rated(experiment, node, description, &window(u32::MAX, !host.ahead));
        let by_rates = by_rates.and_then(|(rated, shared)| match host.by_level {
            true => Err(Uncovered::StageRates),
            false => Ok(Row { rated, shared }),
        });
        let row = |at_once: Covered, row| Covered {
            model: ResourceModel::ApartHanded,
            levels: None,
            any_order: false,
            row: Some(row),
            ..at_once
        };
        return match (at_once(!host.ahead), by_rates) {
            // The demand test has no proof for levels, and the row has one for deadlines beyond intervals.
            (Ok(mut open), Ok(by_rates)) if by_demand && open[0].levels.is_some() => {
                Ok(vec![row(open.swap_remove(0), by_rates)])
            }
            (Ok(open), _) => Ok(open),
            (Err(_), Ok(by_rates)) => {
                let link = Link::Open(by_rates.rated.stages());
                Ok(vec![row(Covered { link, ..host.clone() }, by_rates)])
            }
            (Err(_), Err(why)) if goes_by_rates(description) => Err(why),
            (Err(why), Err(_)) => Err(why),
        };
    }
    let behind = behind(experiment, at, description, &window(most, held)).map(|(ways, alike)| {
        // If the CPU's levels do not order the link, the order of packets there does not matter.
        let any_order = host.any_order || alike && !host.is_levelled();
        let levels = if any_order { Some(1) } else { host.levels };
        let of = |behind| {
            let link = Link::Behind(Arc::new(behind));
            Covered { link, levels, any_order, depth: most, ..host.clone() }
        };
        ways.into_iter().map(of).collect::<Vec<_>>()
    });
    if host.model != ResourceModel::O1 || host.unheld || most == depth {
        return behind;
    }
    match (behind, at_once(held || !host.ahead)) {
        (Ok(behind), Ok(open)) => Ok(behind.into_iter().chain(open).collect()),
        (Err(_), Ok(open)) => Ok(open),
        (behind, Err(_)) => behind,
    }
}

/// The same of one of several adapters of a node, that of a link, with packets in a window; and whether
/// real time is one level there.
pub(super) fn beside(
    experiment: &Experiment,
    (node, link): (usize, LinkId),
    description: &Description,
    host: &Covered,
) -> Result<(Behind, bool), Uncovered> {
    let LinkConfig { early, depth, .. } = experiment.host(node).subsystem.link;
    let window = windows(experiment, (node, link), host)(depth, early.horizon.is_zero());
    let (mut ways, alike) = behind(experiment, (node, link), description, &window)?;
    Ok((ways.swap_remove(0), alike))
}

/// What is in the adapter of a link of a node, which goes by `host`: by the most packets, and by whether
/// none is early.
fn windows(experiment: &Experiment, at: (usize, LinkId), host: &Covered) -> impl Fn(u32, bool) -> Window {
    let by_level = host.by_level;
    let kinds = kinds(experiment, at, by_level || host.is_levelled());
    let (flows, floods) = flows(experiment, at);
    move |depth, nothing_early| Window { depth, by_level, nothing_early, kinds: kinds.clone(), flows, floods }
}

/// Channels that send by a link of a node, at most, and those of them that send best effort.
fn flows(experiment: &Experiment, at: (usize, LinkId)) -> (u64, u64) {
    if let Task::Fill(_) = experiment.task {
        // The number of copies is not known yet.
        return (u64::MAX, u64::MAX);
    }
    let sends = || experiment.channels.iter().filter(|channel| leaves_by(experiment, channel, at));
    (sends().count() as u64, sends().filter(|channel| channel.has_best_effort()).count() as u64)
}

/// Whether a stage goes by rates.
fn goes_by_rates(description: &Description) -> bool {
    let mut queues = description.transmit.iter().flat_map(|stage| &stage.queues);
    queues.any(|queue| queue.order.serves_rates_first())
}

/// Refuses a host whose packets wait for the adapter's window: completions then select packets, and
/// `handed` has no part for that.
pub(super) fn without_window(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    let depth = experiment.host(node).subsystem.link.depth;
    if depth < u32::MAX && under_way(experiment, node, depth) == depth {
        return Err(Uncovered::WindowBefore);
    }
    Ok(())
}

/// The analysis of `node`, of which the CPU hands each packet over as it is made, and the null adapter
/// with that `link` holds it; `host` is the analysis of its policies.
///
/// A driver with `reset_after` would take an adapter that holds packets for one that stands still.
pub(super) fn before_holding(
    experiment: &Experiment,
    node: usize,
    link: LinkCosts,
    host: &Covered,
) -> Result<Covered, Uncovered> {
    if experiment.host(node).driver.reset_after.is_some() {
        return Err(Uncovered::DriverResets);
    }
    without_window(experiment, node)?;
    let depth = under_way(experiment, node, host.depth);
    let (model, link) = (ResourceModel::ApartHanded, Link::Alone(link));
    Ok(Covered { model, link, depth, ..host.clone() })
}

/// Packets that are under way at `node`, at most: `depth`, or as many as there are buffers for,
/// each having one until it is complete.
pub(super) fn under_way(experiment: &Experiment, node: usize, depth: u32) -> u32 {
    if let Task::Fill(_) = experiment.task {
        // Copies have buffers of their own, and the number of copies is not known yet.
        return depth;
    }
    let mut all = 0u64;
    for channel in &experiment.channels {
        let mut passages = channel.passages_from(node);
        match (passages.next(), passages.next()) {
            (Some(0), None) if channel.packet_overflow != PacketOverflow::DecayDeadline => {
                let lanes = 1 + u64::from(channel.message_overflow == MessageOverflow::BestEffort);
                all = all.saturating_add(channel.packet_slots.saturating_mul(lanes));
            }
            (None, _) => {}
            _ => return depth,
        }
    }
    // With slots for all, no packet waits for the window.
    if all < u64::from(depth) { all.max(1) as u32 } else { depth }
}

/// The part behind the link scheduler of a node for a link, with that number of packets under way, by each
/// method that has an advantage; and whether real time is one level there.
fn behind(
    experiment: &Experiment,
    (node, link): (usize, LinkId),
    description: &Description,
    window: &Window,
) -> Result<(Vec<Behind>, bool), Uncovered> {
    let (mut station, passing) = row(experiment, (node, link), description, window)?;
    if passing.shared {
        return Err(Uncovered::BestEffortRate);
    }
    let own = own(experiment, node, &description.transmit_buffers);
    station.buffers = window.buffers(&description.transmit_buffers, own, passing)?;
    let releases = description.transmit.iter().flat_map(|stage| &stage.phases).any(|phase| phase.releases);
    if station.buffers.is_some() && releases {
        return Err(Uncovered::FetchedIntoOthers);
    }
    if !passing.is_none() && station.stages[0].places.is_some() {
        return Err(Uncovered::FetchedFirst);
    }
    if passing.urgent && experiment.host(node).driver.reset_after.is_some() {
        return Err(Uncovered::PassedUntilReset);
    }
    let largest = largest(experiment, node);
    let ways = Behind::all(station, window.depth, largest);
    // A driver that is patient by one of them is.
    let patient = |behind| patient(experiment.host(node), window.depth, behind, largest);
    ways.iter().map(patient).reduce(Result::or).unwrap_or(Ok(()))?;
    Ok((ways, passing.alike))
}

/// A driver that resets an adapter that is slow must not do so while it does what it was given:
/// `depth` packets at most.
fn patient(host: &HostSpec, depth: u32, behind: &Behind, largest: Bytes) -> Result<(), Uncovered> {
    let Some(after) = host.driver.reset_after else { return Ok(()) };
    let costs = host.costs.with_packets_of(largest);
    let packet = Span::from_ps(u64::try_from(behind.charge(largest)).unwrap_or(u64::MAX))
        .saturating_add(costs.interrupt.saturating_mul(u64::from(behind.interrupts().all)))
        .saturating_add(costs.link_scheduling);
    let once = behind.once().iter().fold(Span::ZERO, |sum, term| sum.saturating_add(term.cost));
    // Twice, because an incoming frame may delay an interrupt.
    let longest = packet.saturating_mul(2 * u64::from(depth)).saturating_add(once);
    match after <= longest || behind.interrupts().waited_for > 0 {
        true => Err(Uncovered::DriverResets),
        false => Ok(()),
    }
}
