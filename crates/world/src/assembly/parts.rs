//! From an experiment to its parts: nodes with their channels open, a medium, the way between.

use laxity_model::adapter::{self, AdapterContract, Null, Pipeline};
use laxity_model::host::Host;
use laxity_model::network::{Csma, Impairments, Medium, PointToPoint, TokenRing};
use laxity_model::node::HostNode;
use laxity_model::switch::{PortFlow, Switch};
use laxity_qos::channel::{ChannelConfig, ChannelId, CoreId, Reader, Role, Way};
use laxity_qos::discipline::{Class, Group, Groups, LOWEST};
use laxity_units::{Span, Time};

use super::alike::Templates;
use crate::experiment::{
    AdapterSpec, Chance, Experiment, HostSpec, Laps, MediumSpec, Network, Placement, Regulators, System,
};
use crate::promise::{Promise, held};

/// A node of the experiment, without channels; without a host if that is elsewhere.
pub(super) fn node(
    experiment: &Experiment,
    (placement, laps): (&Placement, &Laps),
    number: usize,
    host_is_here: bool,
    alike: &mut Templates,
) -> HostNode {
    let host = experiment.host(number);
    let first = adapter(experiment.adapter(number), host);
    let mut node = match host_is_here {
        true => HostNode::new(
            Host::new(
                alike.costs.of(host.costs),
                alike.subsystems.of(experiment.subsystem(number)),
                host.applications,
            ),
            host.driver,
            first,
        ),
        false => HostNode::without_host(first),
    };
    if host_is_here {
        for link in experiment.links_of(number).skip(1) {
            let further = adapter(experiment.adapter_of(number, link), host);
            node.add_adapter(host.driver, further, experiment.speed(number, link));
        }
        for (link, attached) in experiment.links_of(number).zip(&experiment.nodes[number].adapters) {
            node.steer(link, &attached.interrupts);
        }
        for (i, application) in host.computing.iter().enumerate() {
            let flow = ChannelId((laps.len() + i) as u32);
            node.compute(application.config(flow, placement.of_computing(number, i)));
        }
    }
    node.record_stages();
    node
}

/// The groups of the experiment's channels.
pub fn groups(experiment: &Experiment) -> Groups {
    let laps = Laps::new(experiment);
    let numbers = (0..laps.len()).map(|number| ChannelId(number as u32));
    let members =
        numbers.filter_map(|number| Some((number, experiment.channels[laps.channel(number)].group?)));
    Groups::new(experiment.groups.iter().map(Group::from).collect(), members)
}

/// An adapter of `host`.
fn adapter(spec: &AdapterSpec, host: &HostSpec) -> adapter::Adapter {
    match spec {
        AdapterSpec::Null(costs) => {
            let null = Null::new(*costs);
            adapter::Adapter::Null(match host.subsystem.link.launch {
                Some(offset) => null.launching(offset),
                None if !host.shapers.is_empty() => null.shaping(host.shapers.clone()),
                None => null,
            })
        }
        AdapterSpec::Described(description) => {
            adapter::Adapter::Pipeline(Box::new(Pipeline::new((**description).clone())))
        }
    }
}

/// The names of all resources of a run: CPUs, stages of adapters, and buses that these share.
pub(crate) fn resource_names(experiment: &Experiment) -> Vec<String> {
    match &experiment.system {
        System::Hosts { .. } | System::Receiver(_) => {}
        System::Signalled(spec) => return super::managed::resource_names(experiment, spec),
        System::VirtualInterfaces(_) => return super::via::resource_names(experiment),
    }
    let mut names = Vec::new();
    for number in 0..experiment.nodes.len() {
        names.extend(cpu_names(experiment, number));
        for link in experiment.links_of(number) {
            let suffix = experiment.suffix_of(number, link);
            let stages =
                adapter(experiment.adapter_of(number, link), experiment.host(number)).stages(Time::ZERO);
            names.extend(stages.iter().map(|stage| format!("{}{suffix}", stage.name)));
        }
        names.extend(super::buses::names(experiment, number));
    }
    let ports = experiment.nodes.len()..experiment.stations();
    names.extend(ports.map(|port| format!("link{}", experiment.suffix(port))));
    names
}

/// The names of the cores of a node: `cpu` where there is one, else `cpu0` and so on.
pub(super) fn cpu_names(experiment: &Experiment, node: usize) -> Vec<String> {
    let suffix = experiment.suffix(node);
    match experiment.cores(node) {
        1 => vec![format!("cpu{suffix}")],
        cores => (0..cores).map(|core| format!("cpu{core}{suffix}")).collect(),
    }
}

/// The medium access of `network`.
pub(super) fn medium(experiment: &Experiment, network: &Network) -> Medium {
    match &network.medium {
        MediumSpec::PointToPoint => Medium::PointToPoint(PointToPoint::new(network.members.len())),
        MediumSpec::TokenRing(ring) => Medium::TokenRing(
            TokenRing::new(ring.clone()).expect("a scenario's network is checked when it is read"),
        ),
        MediumSpec::Csma(csma) => {
            let random = experiment.chance(Chance::Medium(network));
            Medium::Csma(Csma::new(*csma, random).expect("a scenario's network is checked when it is read"))
        }
    }
}

/// The impairments of frames on `network`, on the link between `ends` if each link has its own.
pub(super) fn impairments(
    experiment: &Experiment,
    network: &Network,
    ends: Option<(usize, usize)>,
) -> Impairments {
    let random = experiment.chance(Chance::Impairments(network, ends));
    Impairments::new(network.impairments, random).expect("a scenario's network is checked when it is read")
}

/// Channel `i` as its sender opens it, given what admission promised.
pub fn channel_config(experiment: &Experiment, i: usize, promise: &Promise) -> ChannelConfig {
    config_at(experiment, i, promise, 0)
}

/// The same where it is at that hop of its way.
fn config_at(experiment: &Experiment, i: usize, promise: &Promise, hop: usize) -> ChannelConfig {
    let spec = &experiment.channels[i];
    let promised = promise.at(hop);
    let level = match promised.and_then(|hop| hop.bound.level) {
        Some(level) => level as u8,
        None if spec.class == Class::BestEffort => LOWEST,
        None => 0,
    };
    ChannelConfig {
        class: spec.class,
        link: experiment.link_out(spec, hop),
        role: Role::Send,
        core: CoreId::FIRST,
        application: CoreId::FIRST,
        spec: spec.spec,
        deadline: local_deadline(experiment, i, promise, hop),
        level: spec.level.unwrap_or(level),
        share: spec.share,
        way: Way {
            links: u8::try_from(spec.senders().len()).unwrap_or(u8::MAX),
            deadline: spec.deadline.unwrap_or(Span::MAX),
        },
        message_slots: spec.message_slots,
        packet_slots: spec.packet_slots,
        message_overflow: spec.message_overflow,
        packet_overflow: spec.packet_overflow,
        reader: None,
    }
}

/// The deadline by which EDF orders channel `i` at `hop`: that of admission, else an equal part of
/// the whole.
fn local_deadline(experiment: &Experiment, i: usize, promise: &Promise, hop: usize) -> Span {
    let found = promise.at(hop).map(|hop| hop.local_deadline);
    found.or_else(|| experiment.equal_part(&experiment.channels[i])).unwrap_or(Span::MAX)
}

/// Packets of channel `i` that a station past the first may have to hold: see there.
fn held_packets(experiment: &Experiment, i: usize, promise: &Promise, hop: usize, notice: Span) -> u64 {
    let local = |hop| local_deadline(experiment, i, promise, hop).saturating_add(promise.beyond(hop));
    held(experiment, i, hop, notice, local)
}

/// The contract of channel `i` for adapters, if it has one.
fn contract(experiment: &Experiment, i: usize) -> Option<AdapterContract> {
    let channel = &experiment.channels[i];
    let packets = experiment.burst(channel)?;
    channel.deadline?;
    Some(AdapterContract { spec: channel.spec, packets })
}

/// Opens channel `i` at every node that it passes, once for each time; the nodes number their
/// channels alike.
///
/// `notices` says how late each hears of a frame.
pub(super) fn open(
    nodes: &mut [HostNode],
    experiment: &Experiment,
    (placement, laps): (&Placement, &Laps),
    i: usize,
    promise: &Promise,
    notices: &[Span],
) {
    let contract = contract(experiment, i);
    let channel = &experiment.channels[i];
    for (hop, (number, role)) in experiment.hops(channel).enumerate().skip(channel.begins()) {
        let Some(node) = nodes.get_mut(number) else { continue };
        let id = laps.at(i, hop);
        if let Some(contract) = &contract {
            for link in experiment.links_at(&experiment.channels[i], hop) {
                node.establish(link, id, contract);
            }
        }
        if node.host().is_none() {
            continue;
        }
        let config = config_at(experiment, i, promise, hop);
        let packet_slots = match role {
            Role::Send => config.packet_slots,
            Role::Relay | Role::Receive => {
                config.packet_slots.max(held_packets(experiment, i, promise, hop, notices[number]))
            }
        };
        let ends_here = role == Role::Receive;
        let reader = experiment.channels[i].reader_at(experiment.host(number).speedup).filter(|_| ends_here);
        let placed = placement.of(number, ChannelId(i as u32));
        let reader = reader.map(|reader| Reader { core: placed.reader, ..reader });
        let (core, application) = (placed.handler, placed.application);
        node.open_as(id, ChannelConfig { role, core, application, packet_slots, reader, ..config });
    }
}

/// The switches of the experiment with the channels open that are established, and for each port
/// its switch and its place there.
pub(super) fn switches(
    experiment: &Experiment,
    laps: &Laps,
    promises: &[Promise],
) -> (Vec<Switch>, Vec<(usize, usize)>) {
    let mut configs = vec![Vec::new(); experiment.switches.len()];
    let mut places = Vec::new();
    for outlet in &experiment.outlets {
        places.push((outlet.switch, configs[outlet.switch].len()));
        configs[outlet.switch].push(outlet.config.clone());
    }
    let switches = configs.into_iter().zip(&experiment.switches);
    let mut switches: Vec<Switch> = switches.map(|(ports, spec)| Switch::new(ports, spec.shared)).collect();
    let groups = groups(experiment);
    switches.iter_mut().for_each(|switch| switch.group(&groups));
    let mut regulators = Regulators::default();
    for (i, (channel, promise)) in experiment.channels.iter().zip(promises).enumerate() {
        let ports = channel.route.iter().map(|station| station.checked_sub(experiment.nodes.len()));
        for (hop, port) in
            ports.enumerate().skip(channel.begins()).filter_map(|(hop, port)| Some((hop, port?)))
        {
            let (switch, port) = places[port];
            let config = config_at(experiment, i, promise, hop);
            // Channels without a promise use the shared buffer slots.
            let reserved = match promise {
                Promise::Admitted(_) | Promise::Unbounded(..) if promise.at(hop).is_some() => {
                    held_packets(experiment, i, promise, hop, Span::ZERO)
                }
                _ => 0,
            };
            let (tick, level) = (config.share, config.level);
            let flow = PortFlow { class: config.class, deadline: config.deadline, tick, level, reserved };
            switches[switch].open(port, laps.at(i, hop), flow);
            if let Some(committed) = regulators.committed(experiment, laps, (i, hop)) {
                switches[switch].regulate(port, laps.at(i, hop), committed);
            }
            if let Some(bucket) = experiment.meter(channel, hop) {
                switches[switch].meter(port, laps.at(i, hop), bucket);
            }
        }
    }
    (switches, places)
}
