//! Hosts that receive at interfaces: which node has which interfaces and programs.

use laxity_world::experiment::ReceiverSpec;

use super::way::Place;
use super::*;
use crate::raw::{RawInterface, RawProgram};
use crate::written::List;

/// Something at a node, and where a file says so.
pub(super) struct Placed<T> {
    pub(super) value: T,
    /// The node that it names.
    pub(super) node: Option<Spanned<Name>>,
    /// Its table.
    pub(super) whole: Range<usize>,
}

/// The names of what is at a node that receives.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    /// The node.
    pub(super) node: usize,
    /// Whether it has a name, and is the end of paths.
    pub(super) named: bool,
    /// Its interfaces.
    pub(super) interfaces: Vec<String>,
    /// Its programs; `None` where none are written.
    pub(super) programs: Option<Vec<String>>,
    /// Some of them are in error, so a name that is not among them may be right.
    pub(super) unread: Option<Reported>,
}

/// The interfaces at which the channels of a file can end.
#[derive(Debug, Clone)]
pub(super) enum Reception {
    /// At no interface.
    None,
    /// At those of the only host.
    Alone(Ends),
    /// At those of nodes; or they are in error.
    Nodes(Result<Vec<Ends>, Reported>),
}

impl Reception {
    /// Whether the only host receives.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self, Reception::Alone(_))
    }
}

/// The receivers of a file, and where each is said to be.
pub(super) struct Receivers {
    pub(super) all: Result<Vec<(ReceiverSpec, Range<usize>)>, Reported>,
    /// The names that channels may use.
    pub(super) names: Reception,
}

/// The lists of a file about reception.
pub(super) type Lists = (Option<List<Part<RawInterface>>>, Option<List<Part<RawProgram>>>);

/// The receivers of a file; `named` says whether its nodes have names.
pub(super) fn receivers(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    (interfaces, programs): Lists,
    topology: Result<&Topology, Reported>,
    named: bool,
) -> Receivers {
    let receives = interfaces.is_some();
    let interfaces = reception::interfaces(cx, library, interfaces);
    let programs = program::programs(cx, programs, receives);
    if !receives {
        return Receivers { all: programs.map(|_| Vec::new()), names: Reception::None };
    }
    match named {
        true => {
            let all = (|| at_nodes(cx, interfaces?, &programs?, topology?))();
            let names = all.as_ref().map_err(|reported| *reported).map(|(_, names)| names.clone());
            Receivers { all: all.map(|(all, _)| all), names: Reception::Nodes(names) }
        }
        false => alone(cx, interfaces, programs, topology),
    }
}

/// The only host, which receives.
fn alone(
    cx: &mut Context<'_>,
    interfaces: Result<Vec<Placed<InterfaceSpec>>, Reported>,
    programs: Result<Vec<Placed<program::Draft>>, Reported>,
    topology: Result<&Topology, Reported>,
) -> Receivers {
    let of = |names: &mut dyn Iterator<Item = &str>| names.map(String::from).collect::<Vec<String>>();
    let names = Ends {
        node: 0,
        named: false,
        interfaces: of(&mut interfaces.iter().flatten().map(|of| of.value.name.as_str())),
        programs: match &programs {
            Ok(programs) if programs.is_empty() => None,
            programs => Some(of(&mut programs.iter().flatten().map(|of| of.value.name()))),
        },
        unread: interfaces.as_ref().err().or(programs.as_ref().err()).copied(),
    };
    let nodes = interfaces.iter().flatten().map(|of| &of.node);
    let nodes: Vec<_> =
        nodes.chain(programs.iter().flatten().map(|of| &of.node)).flatten().map(Spanned::span).collect();
    let read = || {
        if let Some(span) = nodes.first() {
            let help = "remove this, or describe the nodes by name, as `[node.NAME]`";
            return Err(cx.fault(span, "the only host receives, and has no name", help));
        }
        let (interfaces, programs, topology) = (interfaces?, programs?, topology?);
        let place = interfaces.first().map_or(WHOLE, |of| of.whole.clone());
        let interfaces = interfaces.into_iter().map(|of| of.value).collect();
        let programs: Vec<&program::Draft> = programs.iter().map(|of| &of.value).collect();
        Ok(vec![(receiver(topology, 0, interfaces, &programs), place)])
    };
    Receivers { all: read(), names: Reception::Alone(names) }
}

/// The receiver of `node` with those interfaces and programs; one program if there is none.
fn receiver(
    topology: &Topology,
    node: usize,
    interfaces: Vec<InterfaceSpec>,
    programs: &[&program::Draft],
) -> ReceiverSpec {
    let host = &topology.hosts[topology.nodes[node].host].value;
    let programs = match programs {
        [] => vec![program::only(host.reception)],
        programs => programs.iter().map(|program| program.at(host.reception, host.speedup)).collect(),
    };
    ReceiverSpec { node, interfaces, programs }
}

type AtNodes = (Vec<(ReceiverSpec, Range<usize>)>, Vec<Ends>);

/// The receivers at nodes with names.
fn at_nodes(
    cx: &mut Context<'_>,
    interfaces: Vec<Placed<InterfaceSpec>>,
    programs: &[Placed<program::Draft>],
    topology: &Topology,
) -> Result<AtNodes, Reported> {
    // By node: its interfaces, and where the first of them names it.
    let mut at: std::collections::BTreeMap<usize, (Vec<InterfaceSpec>, Range<usize>)> = Default::default();
    let mut said: Vec<Spanned<Name>> = Vec::new();
    for Placed { value, node, whole } in interfaces {
        let Some(name) = node else {
            let help = "add `node` with the name of the node that receives";
            return Err(cx.fault(&whole, format!("interface `{}` is at no node", value.name), help));
        };
        if said.iter().all(|other| other.get_ref().0 != name.get_ref().0) {
            said.push(name.clone());
        }
        for node in nodes_of(cx, topology, &name)? {
            at.entry(node).or_insert_with(|| (Vec::new(), name.span())).0.push(value.clone());
        }
    }
    let mut of: std::collections::BTreeMap<usize, Vec<&program::Draft>> = Default::default();
    for Placed { value, node, whole } in programs {
        let nodes = match (node, &said[..]) {
            (Some(name), _) | (None, [name]) => nodes_of(cx, topology, name)?,
            (None, _) => {
                let help = "add `node` with the name of one that receives";
                return Err(cx.fault(whole, format!("program `{}` is at no node", value.name()), help));
            }
        };
        for place in nodes {
            if !at.contains_key(&place) {
                let place = node.as_ref().map_or_else(|| whole.clone(), Spanned::span);
                let help = "name a node with an `[[interface]]`";
                return Err(cx.fault(&place, "the node of the program receives at no interface", help));
            }
            of.entry(place).or_default().push(value);
        }
    }
    let (mut all, mut names) = (Vec::new(), Vec::new());
    for (node, (interfaces, place)) in at {
        let programs = of.remove(&node).unwrap_or_default();
        names.push(Ends {
            node,
            named: true,
            interfaces: interfaces.iter().map(|interface| interface.name.clone()).collect(),
            programs: match &programs[..] {
                [] => None,
                programs => Some(programs.iter().map(|program| program.name().into()).collect()),
            },
            unread: None,
        });
        all.push((receiver(topology, node, interfaces, &programs), place));
    }
    Ok((all, names))
}

/// The nodes of that name, none of them a switch.
fn nodes_of(cx: &mut Context<'_>, topology: &Topology, name: &Spanned<Name>) -> Result<Vec<usize>, Reported> {
    let Way::Named(graph) = &topology.way else { return Ok(vec![0]) };
    let places = graph.places(cx, &name.get_ref().0, &name.span())?;
    let nodes = places.iter().map(|place| match graph.places[*place] {
        Place::Node(node) => Ok(node),
        Place::Switch(_) => {
            let help = "name a host behind it";
            Err(cx.fault(&name.span(), "a switch receives at no interface", help))
        }
    });
    nodes.collect()
}

/// Refuses what nodes that receive at interfaces have no part of; `places` are where each is named.
pub(super) fn at_ends(
    cx: &mut Context<'_>,
    experiment: &Experiment,
    places: &[Range<usize>],
) -> Result<(), Reported> {
    if experiment.receivers().is_empty() {
        return Ok(());
    }
    let Experiment { clock, admission, task, commands, ports, .. } = experiment;
    let whole = match () {
        () if admission.formula.is_some_and(Formula::is_published) => Some((
            "the papers have no formulas for a host that receives at interfaces",
            "use the formula `\"corrected\"`, or `\"off\"`",
        )),
        () if matches!(task, Task::Fill(_)) => Some((
            "copies are counted along paths, and some of this scenario end at interfaces",
            "remove `fill` under `[admission]`, or the interfaces",
        )),
        () if !commands.is_empty() => Some((
            "commands are for the adapters of a host that receives without a network",
            "remove `[[command]]`",
        )),
        () if *clock == ClockKind::Real || !ports.is_empty() => Some((
            "in real time, a host that receives at interfaces is alone, without a network",
            "remove `[[port]]`, and `clock` under `[run]`",
        )),
        () => None,
    };
    if let Some((reason, help)) = whole {
        return Err(cx.fault(&WHOLE, reason, help));
    }
    for (receiver, place) in experiment.receivers().iter().zip(places) {
        let (node, host) = (receiver.node, experiment.host(receiver.node));
        let name = experiment.name(node);
        // Of several copies of a node some may be left without a channel.
        let alike = || experiment.receivers().iter().zip(places).filter(|(_, other)| *other == place);
        let ends =
            |channel: &ChannelSpec| alike().any(|(receiver, _)| channel.route.last() == Some(&receiver.node));
        let sends = |channel: &ChannelSpec| channel.senders().contains(&node);
        let staged = experiment
            .links_of(node)
            .any(|link| matches!(experiment.adapter_of(node, link), AdapterSpec::Described(_)));
        let (reason, help) = match () {
            () if experiment.channels.iter().any(sends) => (
                "cannot both send and receive at interfaces",
                "let its channels end or start at another node, or remove the interface",
            ),
            () if !experiment.channels.iter().any(ends) => {
                ("receives at interfaces, and no channel ends there", "let a channel end there, by `to`")
            }
            () if host.subsystem.cores > 1 => {
                ("receives at interfaces with one core", "remove `cores` of its host")
            }
            () if !host.computing.is_empty() => (
                "receives at interfaces, where programs have the CPU",
                "remove `compute` of its host, or add a `[[program]]`",
            ),
            () if staged => (
                "receives at interfaces, which are the receive side of its adapter",
                "remove the adapter's `file` there, or the interface",
            ),
            () if experiment.faults.iter().any(|fault| fault.node == node) => {
                ("receives at interfaces, and faults are of adapters that send", "remove `[[fault]]` there")
            }
            () => continue,
        };
        return Err(cx.fault(place, format!("node `{name}` {reason}"), help));
    }
    Ok(())
}
