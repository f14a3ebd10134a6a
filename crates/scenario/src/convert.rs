//! From the raw form of one point to an [`Experiment`].

mod adapter;
mod admission;
mod asks;
mod bus;
mod carried;
mod channel;
mod checks;
mod command;
mod computing;
mod contract;
mod core;
mod emulation;
mod group;
mod host;
mod length;
mod network;
mod program;
mod receiver;
mod reception;
mod selection;
mod signalling;
mod source;
mod topology;
mod via;
mod way;

use std::ops::Range;

use laxity_admission::{Formula, Test};
use laxity_model::host::Applications;
use laxity_model::reception::{Discard, ProgramConfig};
use laxity_model::via::{Doorbells, Firmware, ViaConfig};
use laxity_qos::channel::{Oversize, PacketOverflow, Processing};
use laxity_qos::discipline::{Class, EarlyPolicy};
use laxity_units::Span;
use laxity_world::experiment::{
    AdapterSpec, Admission, Attached, ChannelSpec, ClockKind, Experiment, FaultSpec, HostPlace, HostSpec,
    InterfaceSpec, KindOfFault, LocalDeadline, MediumSpec, MissesEffect, Network, NodeSpec, RefusalEffect,
    RunLength, SignallingSpec, SourceSpec, System, Task, ViaSpec,
};
use serde_spanned::Spanned;

use super::choice::FormulaWord;
use super::context::{Context, Reported, WHOLE};
use super::leaf::{Bounded, Length, Name, Or, Whole};
use super::library::Library;
use super::raw::{
    Amount, RawAdapter, RawAdmission, RawHost, RawNetworks, RawNode, RawPath, RawRun, RawScenario,
    ScenarioKeys,
};
use super::section::{Section, first};
use super::written::{Leaf, Part, Scalar, Written};
use crate::diagnostic::{list, nearest};
use admission::{admission, fill};
use length::run;
use receiver::{Receivers, Reception};
use topology::Topology;
use way::Way;

/// Channels of an experiment, copies included, at most.
const MOST_CHANNELS: usize = 10_000;

/// Facts about the rest of the file that every channel's conversion needs.
struct Surroundings {
    packet: laxity_units::Bytes,
    /// Effect of a refused channel on the run, unless the channel says so itself.
    refusal: RefusalEffect,
    /// Whether contracts are enforced.
    enforced: bool,
    /// Whether admission analyses the channels.
    analysed: bool,
    /// Whether deadlines may be beyond the interval.
    beyond: bool,
    /// Whether a message that has a thread may wait for an application on the same CPU.
    delayed: bool,
    way: Way,
    /// The interfaces at which channels may end.
    reception: Reception,
    /// Names of the groups that they may be in.
    groups: Result<Vec<String>, Reported>,
    /// Whether channels are virtual interfaces.
    cluster: bool,
    /// The nodes that admit channels during the run, if they do.
    managed: Result<Option<SignallingSpec>, Reported>,
    /// Whether those are served by stamps.
    stamped: Result<bool, Reported>,
    /// Whether the doorbells of different processes are told apart.
    apart: Result<bool, Reported>,
    /// Number of cores of the host at each node, and the name of the host; empty while the nodes
    /// are in error.
    cores: Vec<(u8, String)>,
    /// Per network, whether its packets are framed.
    framed: Vec<bool>,
}

impl Surroundings {
    /// Whether nodes admit channels during the run, also where they are in error.
    fn is_managed(&self) -> bool {
        !matches!(self.managed, Ok(None))
    }
}

/// The experiment that `raw` describes; only the parts that make an experiment are looked at.
pub(crate) fn experiment(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    raw: RawScenario,
) -> Result<Experiment, Reported> {
    let ScenarioKeys {
        format,
        seed,
        host,
        adapter,
        path,
        node,
        network,
        emulation,
        port,
        fault,
        admission,
        run,
        interface,
        program,
        command,
        via,
        signalling,
        group,
        channel,
    } = raw.read(cx, &WHOLE, "");
    let named = node.is_some();
    let receives = interface.is_some() && !named;
    let cluster = via.is_some();
    let via = via.map(|part| via::via(cx, part)).transpose();
    let managed = signalling.is_some();
    let place = signalling.as_ref().map_or(WHOLE, |part| part.span.clone());
    let spread = path.is_some() || network.is_some();
    let mut spec = Ok(None);
    let topology = match (signalling, node) {
        (Some(signalling), node) => {
            let hosts = first([&host, &adapter, &path, &interface]);
            let other = first([&hosts, &command, &program, &group]);
            signalling::beside(cx, &signalling.span, &other, cluster)?;
            let read = signalling::signalling(cx, signalling, node, network);
            spec = read.as_ref().map(|(read, _)| Some(read.clone())).map_err(|reported| *reported);
            read.map(|(_, topology)| topology)
        }
        (None, node) if cluster => {
            if let Some(span) = first([&host, &adapter, &path, &interface, &node]) {
                let help = "remove this, or `[via]`, which says all of its nodes";
                return Err(cx.fault(
                    &span,
                    "virtual interfaces take the place of hosts that schedule",
                    help,
                ));
            }
            if let Some(networks) = network {
                let help = "remove this; `latency` of `[via]` is the way from one adapter to another";
                return Err(cx.fault(&networks.span(), "virtual interfaces have no other network", help));
            }
            via.as_ref().map_err(|reported| *reported).and_then(|via| {
                let nodes = via.as_ref().map_or(1, |(_, nodes, _)| *nodes);
                topology::of_virtual_interfaces(cx, nodes)
            })
        }
        (None, Some(nodes)) => {
            if let Some(path) = path {
                let help =
                    "remove this; named nodes are joined by `[network.NAME]`, and receive by themselves";
                return Err(cx.fault(&path.span, "this is of nodes without names", help));
            }
            topology::topology(cx, library, host, adapter, nodes, network)
        }
        (None, None) => alike(cx, library, (host, adapter), path, network, receives),
    };
    let topology = topology.and_then(|mut topology| bus::seat(cx, &mut topology).map(|()| topology));
    let admission = self::admission(cx, admission);
    let host = topology.as_ref().map(|topology| &topology.hosts[topology.nodes[0].host].value);
    let groups = group::groups(cx, group);
    let of_cluster = |is: fn(&ViaConfig) -> bool| match &via {
        Ok(via) => Ok(via.as_ref().is_some_and(|(spec, ..)| is(&spec.adapter))),
        Err(reported) => Err(*reported),
    };
    let around = Surroundings {
        // Where the host is in error, so as to say what is wrong with the channels all the same.
        packet: host.as_ref().map_or(host::DEFAULT_PACKET, |host| host.subsystem.packet),
        // A host that is wrong itself has no further errors.
        enforced: host.as_ref().map_or(true, |host| host.subsystem.enforcement),
        analysed: admission.as_ref().is_ok_and(|(admission, _)| admission.formula.is_some()),
        refusal: admission.as_ref().map_or(RefusalEffect::Fails, |(admission, _)| admission.refusal),
        // Several cores are admitted by demand, whatever the test.
        beyond: admission.as_ref().is_ok_and(|(admission, _)| admission.reaches_beyond_interval())
            // A host that is wrong itself could have several.
            || topology
                .as_ref()
                .map_or(true, |topology| topology.hosts.iter().any(|host| host.value.subsystem.cores > 1)),
        delayed: topology.iter().flat_map(|topology| &topology.hosts).any(|host| {
            let host = &host.value;
            host.subsystem.processing == Processing::PerMessage && host.applications == Applications::Shared
        }),
        way: match &topology {
            Ok(topology) => topology.way.clone(),
            Err(reported) if named || cluster || managed || spread => Way::Unknown(*reported),
            Err(_) => Way::ALONE,
        },
        reception: Reception::None,
        groups: match &groups {
            Ok(groups) => Ok(groups.iter().map(|group| group.name.clone()).collect()),
            Err(reported) => Err(*reported),
        },
        cluster,
        managed: spec.clone(),
        apart: of_cluster(|adapter| adapter.limits.doorbells != Doorbells::Merged),
        stamped: of_cluster(|adapter| adapter.firmware == Firmware::QualityOfService),
        framed: topology.iter().flat_map(|topology| topology.networks.iter().map(|n| n.framed)).collect(),
        cores: match &topology {
            Ok(Topology { hosts, nodes, .. }) => {
                let called = |(number, node): (usize, &NodeSpec)| match &node.name {
                    Some(name) => format!("`{name}`"),
                    None if nodes.len() == 1 => "the host".into(),
                    None => format!("host {number}"),
                };
                let each = nodes.iter().enumerate();
                each.map(|node| (hosts[node.1.host].value.subsystem.cores, called(node))).collect()
            }
            Err(_) => Vec::new(),
        },
    };
    let whose = topology.as_ref().map_err(|reported| *reported);
    let Receivers { all: receivers, names } =
        receiver::receivers(cx, library, (interface, program), whose, named);
    let beyond = around.beyond || receives || cluster || managed;
    let around = Surroundings { reception: names, beyond, cluster, ..around };
    let keys = carried::Keys::of(channel.as_ref(), port.as_ref());
    let channels = channel::channels(cx, library, channel, &around);
    let commands = match (&receivers, &channels) {
        (Ok(receivers), Ok(channels)) => {
            let interfaces = receivers.first().map_or(&[][..], |(receiver, _)| &receiver.interfaces);
            command::commands(cx, command, interfaces, channels)
        }
        (Err(reported), _) | (_, Err(reported)) => Err(*reported),
    };
    let via = match (via, &channels) {
        (Ok(Some((spec, _, list))), Ok(channels)) => via::renegotiations(cx, list, channels)
            .map(|renegotiations| Some(ViaSpec { renegotiations, ..spec })),
        (Ok(None), _) => Ok(None),
        (Err(reported), _) => Err(reported),
        (_, Err(reported)) => Err(*reported),
    };
    let fill = match (&admission, &channels) {
        (Ok((_, Some(fill))), Ok(channels)) => self::fill(cx, fill, channels, around.analysed).map(Some),
        (Ok((_, None)), _) => Ok(None),
        (Err(reported), _) | (_, Err(reported)) => Err(*reported),
    };
    let mut clock = ClockKind::Virtual;
    let mut misses = MissesEffect::Fail;
    let task = match (&fill, run) {
        (Err(reported), None) => Err(*reported),
        (Ok(Some(channel)), None) => Ok(Task::Fill(*channel)),
        (Ok(Some(channel)), Some(run)) => {
            self::run(cx, run, (&mut clock, &mut misses)).map(|_| Task::Fill(*channel))
        }
        (Ok(None) | Err(_), Some(run)) => self::run(cx, run, (&mut clock, &mut misses)).map(Task::Simulate),
        (Ok(None), None) => {
            let help = "add `[run]` with `packets = 32768` or `time = \"10 s\"`";
            Err(cx.fault(&WHOLE, "the scenario has no `[run]`, which says when a run ends", help))
        }
    };
    let (faults, outages) = match &topology {
        Ok(topology) if managed => (Ok(Vec::new()), signalling::outages(cx, fault, topology)),
        Err(reported) if managed => (Ok(Vec::new()), Err(*reported)),
        topology => (network::faults(cx, fault, topology.as_ref().ok(), &around.way), Ok(Vec::new())),
    };
    let emulation = emulation::emulation(cx, emulation);
    let ports = emulation::ports(cx, port, &around.way);
    let (Topology { mut hosts, mut adapters, nodes, switches, outlets, networks, way: _ }, (admission, _)) =
        (topology?, admission?);
    // The papers' spacing does not keep bounds, so it is for hosts that have none.
    let unproved = admission.formula.is_none();
    for host in hosts.iter_mut().filter(|host| unproved && host.spans.unsaid.oversize) {
        host.value.subsystem.oversize = Oversize::Packets;
    }
    if let Ok(channels) = &channels {
        for host in &mut hosts {
            let_early_frames_pass(&mut host.value, host.spans.unsaid, channels);
        }
    }
    for (host, Attached { adapter, .. }) in
        nodes.iter().flat_map(|node| node.adapters.iter().map(|adapter| (node.host, adapter)))
    {
        let (host, adapter) = (&hosts[host].value, &mut adapters[*adapter]);
        if let AdapterSpec::Described(description) = &mut adapter.value {
            crate::adapter::within_reason(cx, description, host.subsystem.packet, &adapter.spans.whole)?;
        }
    }
    let hosts = hosts.into_iter().map(|host| host.value).collect();
    let adapters = adapters.into_iter().map(|adapter| adapter.value).collect();
    let (mut receivers, places): (Vec<_>, Vec<_>) = receivers?.into_iter().unzip();
    let experiment = Experiment {
        seed: seed.value?.get(),
        hosts,
        adapters,
        nodes,
        switches,
        outlets,
        networks,
        faults: faults?,
        admission,
        clock,
        emulation: emulation?,
        ports: ports?,
        task: task?,
        system: match (spec?, via?) {
            (Some(spec), _) => System::Signalled(SignallingSpec { outages: outages?, ..spec }),
            (None, Some(via)) => System::VirtualInterfaces(via),
            (None, None) if receives => System::Receiver(receivers.remove(0)),
            (None, None) => System::Hosts { receivers },
        },
        commands: commands?,
        groups: groups?,
        channels: channels?,
        curves: false,
        misses,
    };
    let silent =
        |channel: &ChannelSpec| matches!(channel.source, SourceSpec::None) && channel.carries.is_none();
    if matches!(experiment.task, Task::Simulate(_)) && experiment.channels.iter().all(silent) {
        let help = "give a channel a source other than `none`, or say what to `fill` under `[admission]`";
        return Err(cx.fault(&WHOLE, "no channel sends anything, so there is nothing to run", help));
    }
    format.value?;
    checks::of_system(cx, &experiment, &places, &place)?;
    checks::have_ports(cx, &experiment)?;
    carried::fits(cx, &experiment, &keys)?;
    checks::cut_through(cx, &experiment)?;
    checks::adapters_of_links(cx, &experiment)?;
    checks::host_in_thread(cx, &experiment)?;
    Ok(experiment)
}

/// Equal hosts, by their numbers: one, or those of `[path]` or `[network]`.
fn alike(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    (host, adapter): (Option<Part<RawHost>>, Option<Part<RawAdapter>>),
    path: Option<Part<RawPath>>,
    networks: Option<RawNetworks>,
    receives: bool,
) -> Result<Topology, Reported> {
    let host = match host {
        Some(host) => host::host(cx, library, host),
        None => {
            let help = "add `[host]` with `profile = \"mc68040\"` or another";
            Err(cx.fault(&WHOLE, "the scenario has no `[host]`", help))
        }
    };
    let mut interrupts = Ok(None);
    let adapter = match adapter {
        Some(mut adapter) => {
            interrupts = adapter::interrupts(cx, &mut adapter);
            adapter::adapter(cx, library, adapter)
        }
        // A host that only receives has no packets to send.
        None if receives => {
            Ok(Located { value: AdapterSpec::Null(Default::default()), spans: AdapterSpans::of(WHOLE) })
        }
        None => {
            let help = "add `[adapter]` with its `kind`, or with the `file` of one";
            Err(cx.fault(&WHOLE, "the scenario has no `[adapter]`", help))
        }
    };
    let path = path.map_or(Ok(network::Chain::default()), |path| self::path(cx, path));
    let speedup = host.as_ref().map_or(1.0, |host| host.value.speedup);
    let built = adapter.as_ref().ok().map(|adapter| &adapter.value);
    let net = network::network(cx, networks, &path, built, speedup);
    let (host, mut adapter, (network, way)) = (host?, adapter?, net?);
    sped_up(&mut adapter.value, speedup);
    let mut spec = NodeSpec::with_one(None, 0, 0);
    spec.adapters[0].interrupts = adapter::steered(cx, &interrupts?, host.value.subsystem.cores)?;
    Ok(Topology {
        hosts: vec![host],
        adapters: vec![adapter],
        nodes: vec![spec; network.members.len()],
        switches: Vec::new(),
        outlets: Vec::new(),
        networks: vec![network],
        way,
    })
}

/// Divides what an adapter's processors take.
fn sped_up(adapter: &mut AdapterSpec, speedup: f64) {
    if let AdapterSpec::Described(description) = adapter
        && speedup != 1.0
    {
        **description = description.as_ref().clone().with_speedup(speedup);
    }
}

/// A value with the places that later checks point to.
struct Located<T, S> {
    value: T,
    spans: S,
}

/// Places of an adapter.
#[derive(Clone)]
struct AdapterSpans {
    /// Place of the whole adapter.
    whole: Range<usize>,
    /// Which bus it is at, if it is.
    bus: Range<usize>,
}

impl AdapterSpans {
    fn of(place: Range<usize>) -> Self {
        Self { whole: place.clone(), bus: place }
    }
}

/// Places in `[host]`.
struct HostSpans {
    /// The core of the link scheduler's thread.
    core: Range<usize>,
    unsaid: Unsaid,
    /// If the file says how large packets are.
    packet: Option<Range<usize>>,
    /// Where each bus is named.
    buses: Vec<Range<usize>>,
}

/// Keys on early work and oversize messages that `[host]` leaves out.
#[derive(Clone, Copy)]
struct Unsaid {
    early: bool,
    oversize: bool,
    /// Nor whether it goes before best effort.
    horizon: bool,
}

/// How far ahead of its contract the host lets the frames of a program be: as much as the platform
/// may stand still for at a time, and several times what it usually does.
const AHEAD: EarlyPolicy = EarlyPolicy { horizon: Span::from_ms(250), above_best_effort: true };

/// Lets frames of programs pass that are early by their contract.
///
/// A message is early when those before it were late. A program that sends at its contract's rate
/// is early for ever after one stall of the platform. A wait for the logical arrival time would
/// then last as long as the stall, message by message. No channel that is on time waits longer for
/// early work (see `promise.rs`). Best effort does, and for a source that sends more than its
/// contract, for 250 ms of its rate, once.
fn let_early_frames_pass(host: &mut HostSpec, unsaid: Unsaid, channels: &[ChannelSpec]) {
    if channels.iter().all(|channel| channel.carries.is_none()) {
        return;
    }
    if unsaid.early {
        host.subsystem.early = AHEAD;
    }
    if unsaid.horizon {
        host.subsystem.link.early = AHEAD;
    }
}

fn path(cx: &mut Context<'_>, part: Part<RawPath>) -> Result<network::Chain, Reported> {
    let (_, keys) = cx.keys(part, "")?;
    let (relays, receive) = (keys.relays.value?.small(), keys.receive.placed()?);
    let propagation = keys.propagation.value?;
    let receive = match receive {
        Some(receive) if relays > 0 && !*receive.get_ref() => {
            let reason = "relays need a host at the end";
            return Err(cx.fault(&receive.span(), reason, "remove this, or the relays"));
        }
        receive => receive.map_or(relays > 0, Spanned::into_inner),
    };
    Ok(network::Chain { relays, receive, propagation })
}
