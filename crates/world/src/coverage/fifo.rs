//! Stations with FIFO queues before a link, which hold no early packet: a port or the link of a host, in
//! order of arrival or by strict priority. Below, both are called FIFO queues.
//!
//! A burst grows from hop to hop behind such a queue, so no table of a station alone has a bound.
//! The network calculus of `laxity_curves` has one for the whole network, if everything that joins
//! the queue has an arrival curve and the link serves it at a rate. [`queue`] decides this for a
//! station by itself, and `promise/fifo.rs` for the paths of channels through it.
//!
//! A *port* is such a server. Its latency is constant, so it is part of the path. A *host* is one
//! if its CPU takes no time: then each packet is in the queue of the link when its message is
//! released. The message is released on arrival under a FIFO CPU, and at its logical arrival, or a
//! horizon before that, under multi-class EDF. A FIFO CPU passes on whatever its application sends,
//! so the source itself has to keep the contract there.

use laxity_model::network::{ImpairmentParameters, Probability};
use laxity_model::switch::PortConfig;
use laxity_qos::channel::{Config, LinkConfig, LinkParadigm, Order};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{Class, CyclicClass, LOWEST, Selection};
use laxity_units::Span;

use super::faults::faults_at;
use super::host::{clock_of_host, patient};
use super::reason::Uncovered;
use crate::experiment::{
    AdapterSpec, ChannelSpec, Experiment, Forwarding, HostPlace, HostSpec, MediumSpec, Network, SwitchSpec,
};

/// Whether `station` is a link behind a FIFO queue that network calculus can bound, or why not;
/// `None` if it is another station.
pub(crate) fn queue(experiment: &Experiment, station: usize) -> Option<Result<(), Uncovered>> {
    is_queue(experiment, station).then(|| match experiment.outlet(station) {
        Some(_) => port(experiment, station),
        None => host(experiment, station),
    })
}

/// Whether `station` is a link behind a FIFO queue, which may have a bound or not.
pub(crate) fn is_queue(experiment: &Experiment, station: usize) -> bool {
    match experiment.outlet(station) {
        Some(outlet) => outlet.config.order.keeps_arrivals(),
        None => keeps_order_of_arrival(experiment, station) && is_free(experiment, station),
    }
}

/// Whether packets of a level leave the host at `node` in the order in which they came, and wait for one
/// packet below it. An adapter with several packets does not know their levels.
fn keeps_order_of_arrival(experiment: &Experiment, node: usize) -> bool {
    let LinkConfig { order, depth, .. } = &experiment.host(node).subsystem.link;
    order.keeps_arrivals() && (*order == Order::Fifo || *depth == 1)
}

/// Whether the host at `node` takes no time for what it does, and has one null adapter.
fn is_free(experiment: &Experiment, node: usize) -> bool {
    let HostSpec {
        profile: _,
        costs,
        speedup: _,
        applications: _,
        subsystem,
        // Of another paradigm, as launch times are.
        shapers: _,
        ideal: _,
        computing,
        // Of adapters of stages.
        buses: _,
        // See `host`.
        driver: _,
        reception: _,
        pool: _,
    } = experiment.host(node);
    // Work that takes no time is not preempted, and no thread waits for another.
    let Config {
        cores,
        processing: _,
        order: cpu,
        early: _,
        preemption: _,
        link,
        packet: _,
        enforcement: _,
        oversize: _,
    } = subsystem;
    let LinkConfig { paradigm, core: _, order: _, early: _, depth: _, launch: _, frame: _, speed: _ } = link;
    let null = |adapter: usize| matches!(experiment.adapters[adapter], AdapterSpec::Null(_));
    let adapters = &experiment.nodes[node].adapters;
    *costs == HostCosts::default()
        && computing.is_empty()
        && *cores == 1
        && matches!(cpu, Order::Fifo | Order::MultiClassEdf)
        && *paradigm == LinkParadigm::O1
        && matches!(&adapters[..], [attached] if null(attached.adapter))
}

/// Whether messages that end at `node` are delivered when they are there, or at their logical
/// arrival if that is later.
pub(crate) fn delivers_at_once(experiment: &Experiment, node: usize) -> bool {
    let subsystem = &experiment.host(node).subsystem;
    let program = |channel: &ChannelSpec| channel.reader.is_some() && ends_at(channel, node);
    subsystem.enforcement
        && is_free(experiment, node)
        && experiment.emulation.host == HostPlace::Model
        && experiment.faults.iter().all(|fault| fault.node != node)
        && !experiment.channels.iter().any(program)
}

fn ends_at(channel: &ChannelSpec, node: usize) -> bool {
    channel.received && channel.route.last() == Some(&node)
}

fn port(experiment: &Experiment, station: usize) -> Result<(), Uncovered> {
    let outlet = experiment.outlet(station).expect("a port");
    // Flow meters are conditions on paths as well.
    let SwitchSpec { name: _, forwarding, latency: _, shared: _, policing: _ } =
        &experiment.switches[outlet.switch];
    // Memory is reserved for what has a bound, and no packet is early or late in this order.
    let PortConfig { link, order, frame: _, selection, preemptable_from: _, early: _, memory: _ } =
        &outlet.config;
    // Shapers, gates, regulators and preemption are part of the server. Conditions on the flows of a
    // regulator are those of a path (`promise/fifo.rs`).
    if let Some(Selection { shapers: _, gates: _, cyclic, ats: _ }) = selection.as_deref() {
        cycles(experiment, station, cyclic)?;
    }
    if *forwarding == Forwarding::CutThrough {
        return Err(Uncovered::FifoForwarding);
    }
    served(experiment, station, link, *order)
}

/// Whether the cyclic classes of a port are above all others and have one cycle.
fn cycles(experiment: &Experiment, station: usize, cyclic: &[CyclicClass]) -> Result<(), Uncovered> {
    let Some(lowest) = cyclic.iter().map(|class| class.level).max() else { return Ok(()) };
    let other = |channel: &ChannelSpec| {
        let level = channel.level.unwrap_or(0);
        let passes = channel.class == Class::RealTime && channel.leaves(station);
        passes && level < lowest && cyclic.iter().all(|class| class.level != level)
    };
    if experiment.channels.iter().any(other) {
        return Err(Uncovered::CyclicOthers);
    }
    match cyclic.iter().all(|class| class.cycle == cyclic[0].cycle) {
        true => Ok(()),
        false => Err(Uncovered::CyclicCycle),
    }
}

fn host(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    clock_of_host(&experiment.emulation)?;
    let host = experiment.host(node);
    let AdapterSpec::Null(link) = experiment.adapter(node) else {
        return Err(Uncovered::FifoAdapter);
    };
    patient(host, *link)?;
    if experiment.links_of(node).any(|link| faults_at(experiment, (node, link)).next().is_some()) {
        return Err(Uncovered::FaultKeeps);
    }
    if !host.subsystem.enforcement {
        return Err(Uncovered::Enforcement);
    }
    let program = |channel: &ChannelSpec| {
        channel.reader.is_some_and(|it| !it.takes(channel.spec.max_message).is_zero())
    };
    if experiment.channels.iter().any(|channel| program(channel) && ends_at(channel, node)) {
        return Err(Uncovered::FifoReader);
    }
    if experiment.channels.iter().any(|channel| channel.comes_to(node) && !ends_at(channel, node)) {
        return Err(Uncovered::FifoRelay);
    }
    served(experiment, node, link, host.subsystem.link.order)
}

/// Whether the link of `station` serves FIFO queues that only contracts fill, at a rate. By strict
/// priority the lowest of them can hold best effort.
fn served(experiment: &Experiment, station: usize, link: &LinkCosts, order: Order) -> Result<(), Uncovered> {
    let LinkCosts { startup, per_byte, shortest: _, around: _, gap: _ } = link;
    if !startup.is_zero() || per_byte.is_zero() {
        return Err(Uncovered::FifoStartup);
    }
    for channel in &experiment.channels {
        for hop in channel.passages_from(station) {
            let guaranteed = channel.class == Class::RealTime;
            if channel.has_best_effort() && order == Order::Fifo || guaranteed && channel.deadline.is_none() {
                return Err(match experiment.outlet(station) {
                    Some(_) => Uncovered::FifoBestEffort,
                    None => Uncovered::LinkBestEffort,
                });
            }
            if guaranteed && order == Order::StrictPriority && channel.level == Some(LOWEST) {
                return Err(Uncovered::LowestLevel);
            }
            if let Some(way) = channel.ways.get(hop) {
                self::way(&experiment.networks[*way])?;
            }
        }
    }
    Ok(())
}

/// Whether frames leave over `network` one after the other, and each arrives after the same time.
pub(crate) fn way(network: &Network) -> Result<(), Uncovered> {
    let Network { name: _, members: _, medium, framed: _, tagged: _, propagation: _, impairments } = network;
    // Lost or damaged frames leave less work for the next stations.
    let ImpairmentParameters { delay: _, jitter, loss: _, corruption: _, duplication, reordering } =
        impairments;
    if *medium != MediumSpec::PointToPoint {
        return Err(Uncovered::Contended);
    }
    let varies = *jitter > Span::ZERO || reordering.probability > Probability::NEVER;
    match varies || *duplication > Probability::NEVER {
        true => Err(Uncovered::FifoImpairments),
        false => Ok(()),
    }
}

/// Whether a real-time channel passes a queue that [`queue`] finds.
pub(crate) fn passes(experiment: &Experiment, channel: &ChannelSpec) -> bool {
    channel.class == Class::RealTime && channel.senders().iter().any(|station| is_queue(experiment, *station))
}
