//! Keys that are each valid by themselves, and not together.

use laxity_qos::reception::{Context as Routine, Operations};
use laxity_units::Bytes;

use laxity_world::experiment::{ForEver, ReceiverSpec};

use super::*;

/// Refuses drivers that may take back what a cut-through switch has begun to send on.
pub(super) fn cut_through(cx: &mut Context<'_>, experiment: &Experiment) -> Result<(), Reported> {
    for (node, link) in experiment.feeders_of_cut_through() {
        let (reason, help) = match experiment.adapter_of(node, link) {
            AdapterSpec::Described(_) => (
                "an adapter of stages does not know when a frame will have left, and a cut-through switch begins before",
                "use `forwarding = \"store_and_forward\"`, or a null adapter",
            ),
            AdapterSpec::Null(_) if experiment.host(node).driver.reset_after.is_some() => (
                "a driver that resets its adapter may take back a frame that a cut-through switch has begun to send",
                "remove `reset_after`, or use `forwarding = \"store_and_forward\"`",
            ),
            AdapterSpec::Null(_) => continue,
        };
        return Err(cx.fault(&WHOLE, format!("node `{}`: {reason}", experiment.name(node)), help));
    }
    Ok(())
}

/// Refuses launch times and shapers before adapters that have none.
pub(super) fn adapters_of_links(cx: &mut Context<'_>, experiment: &Experiment) -> Result<(), Reported> {
    let described = |node: &usize| {
        let mut links = experiment.links_of(*node);
        links.any(|link| matches!(experiment.adapter_of(*node, link), AdapterSpec::Described(_)))
    };
    for node in (0..experiment.nodes.len()).filter(described) {
        let keys = [
            (experiment.launch(node).is_some(), "launch times", "launch"),
            (!experiment.shapers(node).is_empty(), "shapers", "shapers"),
        ];
        if let Some((_, what, key)) = keys.into_iter().find(|(said, _, _)| *said) {
            let reason = format!("{}: an adapter of stages has no {what}", experiment.place(node));
            let help = format!("use an adapter of `kind = \"null\"`, or remove `{key}`");
            return Err(cx.fault(&WHOLE, reason, help));
        }
    }
    Ok(())
}

/// Refuses a host in a thread with several adapters: the rings between lead to one.
pub(super) fn host_in_thread(cx: &mut Context<'_>, experiment: &Experiment) -> Result<(), Reported> {
    match &experiment.nodes[..] {
        [node, ..] if experiment.emulation.host == HostPlace::Thread && node.adapters.len() > 1 => {
            let reason = format!("host `{}` in a thread has one adapter", experiment.name(0));
            Err(cx.fault(&WHOLE, reason, "say `host = \"model\"` under `[emulation]`, or give it one"))
        }
        _ => Ok(()),
    }
}

/// Refuses what the kind of system has no part of. `receivers` are the places of receivers, and
/// `signalling` is that of nodes with signalling.
pub(super) fn of_system(
    cx: &mut Context<'_>,
    experiment: &Experiment,
    receivers: &[Range<usize>],
    signalling: &Range<usize>,
) -> Result<(), Reported> {
    if experiment.emulation.host == HostPlace::Kernel && experiment.lone_receiver().is_none() {
        let reason = "a kernel is a host for what comes in at interfaces";
        let help = "say `host = \"thread\"` or `\"model\"`, or add an `[[interface]]`";
        return Err(cx.fault(&WHOLE, reason, help));
    }
    match &experiment.system {
        System::Hosts { .. } => {
            receiver::at_ends(cx, experiment, receivers)?;
            super::channel::of_rounds(cx, experiment)?;
            takes_time(cx, experiment)
        }
        System::Receiver(receiver) => only_receives(cx, experiment, receiver),
        System::Signalled(_) => signalling::only_nodes(cx, experiment, signalling),
        System::VirtualInterfaces(via) => via::only_virtual_interfaces(cx, experiment, via),
    }
}

/// Refuses what a host that receives at interfaces, without a network, has no part of.
fn only_receives(
    cx: &mut Context<'_>,
    experiment: &Experiment,
    receiver: &ReceiverSpec,
) -> Result<(), Reported> {
    let Experiment { nodes, networks, faults, ports, clock, admission, task, .. } = experiment;
    let network = &networks[0];
    let plain = nodes.len() == 1 && matches!(network.medium, MediumSpec::PointToPoint);
    let (reason, help) = match () {
        () if admission.formula.is_some_and(Formula::is_published) => (
            "the papers have no formulas for a host that receives",
            "use the formula `\"corrected\"`, or `\"off\"`",
        ),
        () if matches!(task, Task::Fill(_)) => (
            "copies are counted of channels that are sent, and those of this scenario come in",
            "remove `fill` under `[admission]`",
        ),
        () if experiment.hosts.iter().any(|host| host.subsystem.cores > 1) => {
            ("a host that receives at interfaces has one core", "remove `cores` under `[host]`")
        }
        () if experiment.hosts.iter().any(|host| !host.computing.is_empty()) => (
            "at a host that receives, programs have the CPU, and what they leave is its figure",
            "remove `[host.compute]`, or add a `[[program]]`",
        ),
        () if !plain || network.impairments != Default::default() => (
            "what comes in at an interface comes from its source, and from no network",
            "remove `[path]` and `[network]`, or give the nodes names, as `[node.NAME]`",
        ),
        () if experiment.channels.iter().any(|channel| channel.source.is_untimed()) => (
            "a source without times of its own waits for what becomes of its messages, and the network does not",
            "use a source such as `periodic`, `bursty` or `poisson`",
        ),
        () if experiment.channels.iter().any(|channel| channel.carries.is_some()) => {
            ("frames of programs come through ports, of hosts that send", "remove `carries`")
        }
        () if !faults.is_empty() => ("faults are of adapters that send", "remove `[[fault]]`"),
        () if !ports.is_empty() => ("ports are of hosts that send", "remove `[[port]]`"),
        () if *clock == ClockKind::Real && experiment.emulation.host == HostPlace::Model => (
            "in real time, a host that receives at interfaces is a thread or the kernel",
            "say `host = \"thread\"` under `[emulation]`, or remove `clock` under `[run]`",
        ),
        () if *clock == ClockKind::Real && !is_plain(experiment, receiver) => (
            "in real time a host that receives has one program, buffers of each interface alone and no commands, and discards what is \
             newest",
            "remove `[[program]]`, `[[command]]`, `pool`, `buffers_real_time` and `discard`, or `clock` under `[run]`",
        ),
        () if *clock == ClockKind::Real && experiment.emulation.host == HostPlace::Kernel => {
            match of_kernel(experiment, receiver) {
                Ok(()) => return Ok(()),
                Err(fault) => fault,
            }
        }
        () => return Ok(()),
    };
    Err(cx.fault(&WHOLE, reason, help))
}

/// The longest frame that a device takes, without its check sequence.
const LONGEST_FRAME: Bytes = Bytes::new(9014);

/// Whether a kernel can be the host of `experiment`, or else why not and what then.
fn of_kernel(experiment: &Experiment, receiver: &ReceiverSpec) -> Result<(), (&'static str, &'static str)> {
    let by_adapter = |interface: &InterfaceSpec| {
        let policy = &interface.config.policy;
        policy.context() == Routine::Routine && !policy.defers_protocol()
    };
    let interfaces = &receiver.interfaces;
    if !interfaces.iter().all(by_adapter) {
        return Err((
            "a kernel polls as it likes, and only what its adapter does can be chosen",
            "use `interrupt`, `explicit`, `limited`, `backoff`, `guaranteed` or `coalescing`, or `host = \"thread\"`",
        ));
    }
    if interfaces.iter().any(|interface| interface.config.buffers.is_none()) {
        return Err(("a kernel's program has buffers", "remove `buffers = \"none\"`"));
    }
    if interfaces.len() > 256 {
        return Err((
            "there are addresses for 256 interfaces",
            "have fewer interfaces, or `host = \"thread\"`",
        ));
    }
    match experiment.channels.iter().any(|channel| channel.spec.max_message > LONGEST_FRAME) {
        true => Err(("a packet is one frame, of 9014 bytes at most", "reduce `max_message`")),
        false => Ok(()),
    }
}

/// Whether a receiving host does only work that a host in a thread can do.
fn is_plain(experiment: &Experiment, receiver: &ReceiverSpec) -> bool {
    let ReceiverSpec { node: _, interfaces, programs } = receiver;
    let one = matches!(&programs[..], [one] if one.config == ProgramConfig::of(one.config.work));
    let plain = |interface: &InterfaceSpec| {
        interface.config.discard == Discard::Newest && interface.config.buffers_real_time == 0
    };
    let own = experiment.hosts.iter().all(|host| host.pool == 0);
    one && own && experiment.commands.is_empty() && interfaces.iter().all(plain)
}

/// Refuses channels that carry the frames of a missing port: an emulation would carry none.
pub(super) fn have_ports(cx: &mut Context<'_>, experiment: &Experiment) -> Result<(), Reported> {
    let mut outcome = Ok(());
    for channel in experiment.channels.iter().filter(|channel| channel.carries.is_some()) {
        let node = channel.route[0];
        if !experiment.ports.iter().any(|port| port.node == node) {
            let reason = format!(
                "channel `{}` carries frames of the port at node {node}, and there is none",
                channel.name
            );
            let help = format!("add `[[port]]` with `node = {node}`, or leave out `carries`");
            outcome = Err(cx.fault(&WHOLE, reason, help));
        }
    }
    outcome
}

/// Refuses endless sources without a limit of rate: they would send for ever at one instant.
fn takes_time(cx: &mut Context<'_>, experiment: &Experiment) -> Result<(), Reported> {
    for channel in experiment.channels.iter().filter(|channel| channel.source.is_endless()) {
        let (reason, help) = match experiment.sends_for_ever(channel) {
            Some(ForEver::Decays) => (
                "makes packets for ever, for its handler never waits for a buffer",
                "say `packet_overflow = \"block\"` on the channel, or give it a source with a rate",
            ),
            Some(ForEver::Drops) => (
                "drops messages for ever at one instant: making a packet takes the host no time",
                "say `packet_overflow = \"block\"` on the channel, or give `first_packet` and `single_packet` a cost",
            ),
            Some(ForEver::Free) => (
                "sends for ever at one instant: neither host nor adapter take any time",
                "give `first_packet` or the adapter a cost, or the channel a source with a rate",
            ),
            Some(ForEver::Loses) => (
                "loses packets for ever at one instant: its adapter drops what it fetches, and the host takes no time",
                "give `first_packet` a cost, or say `overload = \"block\"` where the adapter fetches packets",
            ),
            None => continue,
        };
        return Err(cx.fault(&WHOLE, format!("channel `{}` {reason}", channel.name), help));
    }
    Ok(())
}
