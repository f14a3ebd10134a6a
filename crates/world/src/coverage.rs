//! Whether an analysis covers an experiment, and which.
//!
//! A bound that might not hold is worse than none. This module is one decision over everything that
//! a scenario can say: each policy, path, size and buffer is covered by a proof, which is named
//! here, or has no bound, with the reason. All types are destructured field by field, without `..`:
//! a new setting does not compile until its effect on the bounds is decided.
//!
//! *Stations are decided one by one.* A station that no analysis covers takes the bound only from
//! channels that pass it or that it can disturb. A station depends little on its neighbours, since
//! traffic is held to its contract at every hop (see [`crate::promise`]). A bound at station `v`
//! needs
//!
//! * of a guaranteed channel that starts at `v`: its contract, and that it is admitted at `v`. The
//!   rest of its path does not matter: no station has back-pressure on the one before it;
//! * of a guaranteed channel that arrives at `v` from `u`: that it arrives in time, by its local
//!   deadline at `u` and the longest path delay. Where `u` keeps no bound, several late messages
//!   may arrive at once, all of them current, and exceed the contract. So if `u` is not covered,
//!   `v` is not covered either, and so on ([`spread`](Coverage::spread));
//! * of best effort, which `v` accepts in any amount: the declared sizes, and the number of frames
//!   that interrupt, which the last link limits by the time of the shortest frame. This follows
//!   from the costs of the adapter and the link, and not from `u`. If they are not known, or the
//!   path duplicates or delays at random, `v` is not covered.
//!
//! A channel without a bound is still admitted as far as its path is covered, and reserves capacity
//! there, which protects the other channels.
//!
//! The proofs are in `laxity_admission`. `trajectory.rs` has the common part. `o1.rs`, `o2.rs` and
//! `ideal.rs` prove how CPU and link are shared, `table.rs` EDF against fixed priorities, and
//! `demand.rs` EDF by the requested deadlines. `rates.rs` and `rated_host.rs` are for rate-based
//! links and stages. `levelled_host.rs` is for a CPU by fixed priorities before a link by EDF,
//! `levels.rs` for too few priorities, and `buffers.rs` for buffers. `laxity_admission::station` has
//! the adapter of several stages; `coverage/station.rs` and `row.rs` say which adapters it covers. A
//! host that receives at interfaces has a proof and a decision of its own: see
//! `coverage/receiving.rs`.
//!
//! *Early work* is always covered. An early handler or packet is below everything current. To a
//! message on time it is one more lower block, or one more lower packet in the adapter, which `W`
//! includes for any channel; work that was done early is not repeated when it is due. Two
//! conditions remain: the block is not longer than others, and the release time of early work is
//! not missed (`Subsystem::next_wakeup`).

mod again;
mod at_once;
mod by_hand;
mod cores;
mod covered;
mod faults;
mod fifo;
mod host;
mod incoming;
mod launched;
mod lines;
mod medium;
mod policing;
mod reason;
mod receiving;
mod row;
mod shaped;
mod sources;
mod stage;
mod station;
mod unheld;
mod via;

use std::sync::Arc;

use laxity_admission::ResourceModel;
use laxity_admission::station::Link;
use laxity_model::host::Applications;
use laxity_model::network::{ImpairmentParameters, Probability};
use laxity_model::switch::PortConfig;
use laxity_qos::channel::{LinkId, MessageOverflow, PacketOverflow};
use laxity_qos::discipline::Class;

use crate::experiment::{
    AdapterSpec, Admission, Attached, ChannelSpec, Experiment, HostSpec, MediumSpec, Network, NodeSpec,
    Outlet, SourceSpec, SwitchSpec, System, Task,
};

pub use covered::CoveredBy;
pub(crate) use covered::{Coverage, Covered, Holding, Row};
pub(crate) use faults::stalls;
pub(crate) use fifo::{delivers_at_once, is_queue, passes, queue, way as keeps_order};
use host::{by_level, clock_of_host, host_policies, patient};
pub(crate) use host::{spaced, thread_per_message};
pub(crate) use incoming::{Frames, Incoming, frames_apart, incoming, notice, notices};
pub use reason::Uncovered;
pub(crate) use receiving::receiving;
pub(crate) use sources::sources;
pub(crate) use via::{Cluster, Taken, cluster, server_name};

/// The analysis that covers each station of `experiment`, or the reason why none does; or why the
/// experiment has no bound at all.
pub(crate) fn coverage(experiment: &Experiment) -> Result<Coverage, Uncovered> {
    let Experiment {
        // Any seed: bounds hold for whatever is drawn.
        seed: _,
        hosts,
        adapters,
        nodes,
        switches,
        outlets,
        networks,
        // See `faults.rs`.
        faults: _,
        admission: Admission { formula: _, test: _, local_deadline: _, division: _, refusal: _ },
        // A slow clock and a host that its platform stops are not part of the model: lateness is a
        // result.
        clock: _,
        emulation,
        // Frames from outside are policed like messages of a source.
        ports: _,
        // However long: a bound admits no exception.
        task: _,
        system,
        commands: _,
        // The capacity of a port for groups: see `promise/table.rs`.
        groups: _,
        channels,
        // Curves of measurements.
        curves: _,
        misses: _,
    } = experiment;
    let receivers = match system {
        // Those at the ends of paths: see `receiving.rs` and `promise/arriving.rs`.
        System::Hosts { receivers } => receivers,
        System::Receiver(_) => return Err(Uncovered::Receiver),
        System::Signalled(_) => return Err(Uncovered::Signalled),
        System::VirtualInterfaces(_) => return Err(Uncovered::Interfaces),
    };
    clock_of_host(emulation)?;
    let covered = |(node, spec): (usize, &NodeSpec)| {
        let NodeSpec { name: _, host, adapters: attached } = spec;
        // Its channels have a bound to their last transmission, and another behind that.
        if receivers.iter().any(|receiver| receiver.node == node) {
            return Err(Uncovered::Receiver);
        }
        faults::bounded(experiment, node)?;
        let covered = host_policies(experiment, node)?;
        if experiment.cores(node) > 1 {
            cores::covered(experiment, node, &covered)?;
        }
        let [attached] = &attached[..] else {
            return Ok(vec![several(experiment, node, &covered)?]);
        };
        let link = match &adapters[attached.adapter] {
            AdapterSpec::Null(link) => {
                medium(experiment, (node, LinkId::FIRST))?;
                if let Some(launch) = experiment.launch(node) {
                    return Ok(vec![launched::covered(experiment, node, (*link, launch), &covered)?]);
                }
                if !experiment.shapers(node).is_empty() {
                    return Ok(vec![shaped::covered(experiment, node, *link, &covered)?]);
                }
                patient(&hosts[*host], *link)?;
                if covered.model == ResourceModel::Handed {
                    station::without_window(experiment, node)?;
                    let depth = station::under_way(experiment, node, covered.depth);
                    let covered = Covered { depth, ..covered };
                    return Ok(at_once::at_a_link(experiment, node, *link)?.of(&covered));
                }
                Link::Alone(*link)
            }
            AdapterSpec::Described(_) if covered.rates.is_some() => {
                return Err(Uncovered::Sharing);
            }
            AdapterSpec::Described(described) => {
                return station::covered(experiment, node, described, &covered);
            }
        };
        Ok(vec![Covered { link, ..covered }])
    };
    let ports = outlets.iter().map(|outlet| Ok(vec![port(outlet, &switches[outlet.switch])?]));
    let stations = nodes.iter().enumerate().map(covered).chain(ports).collect();
    let mut coverage = Coverage { stations, networks: networks.iter().map(way).collect() };
    let passed_again = again::stations(experiment);
    for station in 0..experiment.stations() {
        if passed_again.contains(&station) {
            coverage.keep(station, |covered| again::counted(experiment, station, covered));
        }
        coverage.keep(station, |covered| by_hand::levels(experiment, station, covered));
    }
    for channel in channels {
        // Where it ends too: its handler there has the level that was chosen.
        for (hop, &node) in channel.route.iter().enumerate() {
            coverage.keep(node, |covered| policies_at(channel, channel.goes_on_from(hop), covered));
        }
        let sender = channel.route[0];
        coverage.keep(sender, |_| self::channel(channel, experiment.host(sender)));
    }
    Ok(coverage)
}

/// A host with several adapters: each of its links has a table, and to that the packets of the
/// others are interrupts. If the adapter of one takes real time in any order, all tables do.
fn several(experiment: &Experiment, node: usize, covered: &Covered) -> Result<Covered, Uncovered> {
    match covered.model {
        ResourceModel::O1
        | ResourceModel::O2
        | ResourceModel::O3
        | ResourceModel::Ideal
        | ResourceModel::Core => {}
        ResourceModel::Handed | ResourceModel::ApartHanded => {
            return Err(Uncovered::HandOverEach);
        }
        ResourceModel::Apart | ResourceModel::ApartByThread => {
            return Err(Uncovered::SeveralLinks);
        }
    }
    apart(experiment, node)?;
    let (mut links, mut any_order) = (Vec::new(), covered.any_order);
    for (link, attached) in (0..).map(LinkId).zip(&experiment.nodes[node].adapters) {
        // Which core hears of what: see `promise/cores.rs`.
        let Attached { name: _, adapter, networks: _, interrupts: _ } = attached;
        links.push(match &experiment.adapters[*adapter] {
            AdapterSpec::Null(costs) => {
                medium(experiment, (node, link))?;
                patient(experiment.host(node), *costs)?;
                Link::Alone(*costs)
            }
            AdapterSpec::Described(description) => {
                let (behind, alike) = station::beside(experiment, (node, link), description, covered)?;
                any_order |= alike;
                Link::Behind(Arc::new(behind))
            }
        });
    }
    let levels = if any_order { Some(1) } else { covered.levels };
    if let Some(levels) = levels.filter(|_| !any_order) {
        agree(experiment, node, levels)?;
    }
    let further = links.split_off(1);
    Ok(Covered { link: links.remove(0), further, levels, any_order, ..covered.clone() })
}

/// Whether no two adapters of a host share a bus. The wait of a packet there depends on the number
/// and order of packets in the other adapters; the window of an adapter limits only its own
/// packets.
fn apart(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    let of = |attached: &Attached| match &experiment.adapters[attached.adapter] {
        AdapterSpec::Null(_) => None,
        AdapterSpec::Described(description) => description.bus().map(|(_, name)| name.to_string()),
    };
    let mut buses: Vec<_> = experiment.nodes[node].adapters.iter().filter_map(of).collect();
    let seats = buses.len();
    buses.sort_unstable();
    buses.dedup();
    match buses.len() == seats {
        true => Ok(()),
        false => Err(Uncovered::HostBus),
    }
}

/// Whether the tables of several links, which have the same channels in the same order, give each
/// channel the same level: a channel has one level, and by hand it is the same in all tables. With
/// too few levels, the channels that share one depend on their bounds, and each table has its own
/// bounds.
fn agree(experiment: &Experiment, node: usize, levels: u32) -> Result<(), Uncovered> {
    let real_time = || experiment.channels.iter().filter(|channel| channel.class == Class::RealTime);
    let here = || real_time().filter(|channel| channel.is_at(node));
    let by_hand = here().all(|channel| channel.level.is_some());
    let asking: usize = real_time().map(|channel| channel.passages(node).count()).sum();
    // The number of copies is not known yet.
    let known = !matches!(experiment.task, Task::Fill(_));
    match by_hand || known && asking <= levels as usize {
        true => Ok(()),
        false => Err(Uncovered::SeveralLevels),
    }
}

/// Whether frames of a node by its null adapter of a link have that link to themselves, wherever its
/// channels go.
fn medium(experiment: &Experiment, (node, link): (usize, LinkId)) -> Result<(), Uncovered> {
    for (network, Network { medium, .. }) in experiment.networks_at((node, link)) {
        let sends = |channel: &ChannelSpec| {
            channel.passages_from(node).any(|hop| channel.ways.get(hop).is_none_or(|way| *way == network))
        };
        match medium {
            MediumSpec::PointToPoint => {}
            MediumSpec::TokenRing(_) | MediumSpec::Csma(_) if experiment.channels.iter().any(sends) => {
                return Err(Uncovered::Contended);
            }
            MediumSpec::TokenRing(_) | MediumSpec::Csma(_) => {}
        }
    }
    Ok(())
}

/// Whether frames over `network` are bounded for a host that receives them.
pub(crate) fn way(network: &Network) -> Result<(), Uncovered> {
    // The longest way is part of the deadline that the next host goes by; for the medium see there.
    let Network { name: _, members: _, medium: _, framed: _, tagged: _, propagation: _, impairments } =
        network;
    // Lost or damaged frames leave less work for the next stations, and delay only their receiver.
    let ImpairmentParameters { delay: _, jitter: _, loss: _, corruption: _, duplication, reordering } =
        impairments;
    if *duplication > Probability::NEVER {
        return Err(Uncovered::Duplication);
    }
    if reordering.probability > Probability::NEVER {
        return Err(Uncovered::Reordering);
    }
    Ok(())
}

/// A port is the link of a host of which the CPU takes no time: its frames are in the queue on
/// arrival, and the last of [`ResourceModel`]'s costs is the link's. An early packet is one more
/// lower packet. The buffers reserved for a channel are those that `held_packets` counts, so the
/// channel loses no packet. A rate-based link does not hold packets until they are on time, and an
/// early packet delays no other channel: a table of rates is enough.
fn port(outlet: &Outlet, switch: &SwitchSpec) -> Result<Covered, Uncovered> {
    let Outlet { switch: _, to: _, config } = outlet;
    // A cut-through switch has a frame earlier, never later; its latency is part of the way; memory
    // is for what has no guarantee. Flow meters are before FIFO queues.
    let SwitchSpec { name: _, forwarding: _, latency: _, shared: _, policing: _ } = switch;
    // Shapers, gates and preemption are of strict priority, see `fifo`.
    let PortConfig { link, order, frame: _, selection: _, preemptable_from: _, early: _, memory: _ } = config;
    let rates = Some(*order).filter(|order| order.has_latency());
    let by_level = match (by_level(*order), rates) {
        (Some(by_level), _) => by_level,
        (None, Some(_)) => false,
        (None, None) => {
            return Err(Uncovered::PortOrders);
        }
    };
    Ok(Covered { rates, ..Covered::of(ResourceModel::Ideal, *link, by_level) })
}

/// Whether a station that is so covered covers the channel's policies; `leaves` says whether the
/// channel leaves the station again.
fn policies_at(channel: &ChannelSpec, leaves: bool, at: &Covered) -> Result<(), Uncovered> {
    match channel.packet_overflow {
        PacketOverflow::DecayDeadline if leaves && (at.ahead || at.unheld) => Err(Uncovered::AheadDecay),
        PacketOverflow::Block | PacketOverflow::Drop | PacketOverflow::DecayDeadline => Ok(()),
    }
}

fn channel(channel: &ChannelSpec, host: &HostSpec) -> Result<(), Uncovered> {
    let ChannelSpec {
        name: _,
        route: _,
        ways: _,
        received: _,
        // See `experiment/multicast.rs`.
        copy: _,
        class: _,
        // Whether it fits is what admission answers; sizes outside it are refused or carried in its
        // pieces.
        spec: _,
        // A bound uses them only where the source keeps them: see `promise/fifo.rs`.
        limits: _,
        deadline: _,
        // See `promise/asks.rs` and `promise/chances.rs`.
        asks: _,
        // The effect of a refusal on the run is decided after the run.
        refusal: _,
        // The run is judged by it after its end.
        misses: _,
        // The capacity of its port for the share: see `promise/table.rs`.
        share: _,
        group: _,
        // Of virtual interfaces.
        process: _,
        // See `by_hand.rs`.
        level: _,
        // See `policies_at`.
        packet_overflow: _,
        // Too few are refused by admission.
        message_slots: _,
        packet_slots: _,
        by_contract: _,
        message_overflow,
        carries,
        // Part of what a message takes where it ends, and of what it waits for
        // (`promise/table.rs`).
        reader: _,
        // See `cores.rs`.
        cores: _,
        // See `receiving.rs`.
        interface: _,
        importance: _,
        streams: _,
        // Of nodes with signalling.
        asked: _,
        owner: _,
        routed: _,
        // Of virtual interfaces.
        playout: _,
        stagger: _,
        program: _,
        source,
    } = channel;
    match (host.applications, source) {
        (Applications::Separate, _) => Ok(()),
        (Applications::Shared, _) if carries.is_some() => Err(Uncovered::Outside),
        (Applications::Shared, SourceSpec::Timed { .. }) if *message_overflow == MessageOverflow::Block => {
            Err(Uncovered::WaitedForRoom)
        }
        // Endless messages are sent whenever there is a free slot, by an application that needs no
        // CPU.
        (Applications::Shared, SourceSpec::Continuous(_) | SourceSpec::Closed { .. } | SourceSpec::None) => {
            Ok(())
        }
        (Applications::Shared, SourceSpec::Rounds { .. }) => Err(Uncovered::Answers),
        // Whether its times are bounded is seen where they are counted.
        (Applications::Shared, SourceSpec::Timed { parameters: _, jitter: _ }) => Ok(()),
    }
}
