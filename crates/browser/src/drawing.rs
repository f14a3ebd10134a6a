//! An experiment as the parts of a drawing: hosts, switches, networks, channels and adapters.

use std::fmt::Display;

use laxity_model::adapter::{
    AdapterBuffers, BufferPool, Delay, Description, Overload, Own, Phase, QueueSelection, Stage, Takes, Tells,
};
use laxity_qos::discipline::Class;
use laxity_units::Bytes;
use laxity_world::experiment::{AdapterSpec, Experiment, Forwarding, MediumSpec};
use serde_json::{Value, json};

/// The parts of `experiment`.
pub(crate) fn drawing(experiment: &Experiment) -> Value {
    let nodes = (0..experiment.nodes.len()).map(|node| self::node(experiment, node));
    let switches = experiment.switches.iter().map(|switch| {
        json!({
            "name": switch.name,
            "cut_through": switch.forwarding == Forwarding::CutThrough,
            "latency": switch.latency.to_string(),
        })
    });
    let outlets = experiment.outlets.iter().map(
        |outlet| json!({ "switch": outlet.switch, "to": outlet.to, "order": outlet.config.order.short() }),
    );
    let networks = experiment.networks.iter().map(|network| {
        json!({
            "name": network.name,
            "members": network.members,
            "medium": match network.medium {
                MediumSpec::PointToPoint => "link",
                MediumSpec::TokenRing(_) => "token ring",
                MediumSpec::Csma(_) => "CSMA/CD",
            },
            "propagation": network.propagation.to_string(),
        })
    });
    let channels = experiment.channels.iter().map(|channel| {
        let route = channel.route.iter().map(|station| experiment.name(*station));
        json!({
            "name": channel.name,
            "guaranteed": channel.class == Class::RealTime,
            "route": route.collect::<Vec<_>>(),
            "received": channel.received,
            "deadline": channel.deadline.map(|deadline| deadline.as_secs_f64()),
        })
    });
    let packet = experiment.packet();
    json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "switches": switches.collect::<Vec<_>>(),
        "outlets": outlets.collect::<Vec<_>>(),
        "networks": networks.collect::<Vec<_>>(),
        "channels": channels.collect::<Vec<_>>(),
        "adapters": experiment.adapters.iter().map(|one| adapter(one, packet)).collect::<Vec<_>>(),
        "packet": packet.get(),
        "receives": experiment.lone_receiver().is_some(),
        "virtual_interfaces": experiment.virtual_interfaces().is_some(),
    })
}

fn node(experiment: &Experiment, node: usize) -> Value {
    let spec = &experiment.nodes[node];
    let host = experiment.host(node);
    let adapters = spec.adapters.iter().map(|at| json!({ "name": at.name, "adapter": at.adapter }));
    json!({
        "name": experiment.name(node),
        "profile": host.profile,
        "speedup": host.speedup,
        "cores": host.subsystem.cores,
        "adapters": adapters.collect::<Vec<_>>(),
    })
}

/// An adapter: a null one has one stage, of the time that it takes.
fn adapter(adapter: &AdapterSpec, packet: Bytes) -> Value {
    match adapter {
        AdapterSpec::Null(costs) => {
            let delay = Delay { fixed: costs.fixed(), per_byte: costs.per_byte, ..Delay::default() };
            let phases = vec![Phase { delay, medium: true, ..Phase::default() }];
            let stage = Stage { name: "link".into(), phases, ..Stage::default() };
            json!({
                "null": true, "resources": [], "receive": [], "commands": [], "responses": [],
                "transmit": [self::stage(&stage, &[], packet)],
            })
        }
        AdapterSpec::Described(description) => described(description, packet),
    }
}

fn described(description: &Description, packet: Bytes) -> Value {
    let names: Vec<&str> = description.resources.iter().map(|one| one.name.as_str()).collect();
    let stages = |stages: &[Stage]| -> Vec<Value> {
        stages.iter().map(|stage| self::stage(stage, &names, packet)).collect()
    };
    let interface = &description.interface;
    let commands = interface.queues.iter().map(|queue| {
        json!({ "takes": takes(queue.takes), "slots": queue.slots, "spread": queue.spread, "priority": queue.priority })
    });
    let responses = interface.responses.iter().map(|queue| {
        json!({
            "takes": takes(queue.takes), "slots": queue.slots, "spread": queue.spread,
            "frames": queue.moderation.frames, "delay": queue.moderation.delay.to_string(),
        })
    });
    let resources = description.resources.iter().map(|one| {
        json!({ "name": one.name, "servers": one.servers, "preemptive": one.preemptive, "bus": one.bus })
    });
    json!({
        "null": false,
        "doorbell": interface.doorbell.to_string(),
        "poll": interface.poll.map(|every| every.to_string()),
        "commands": commands.collect::<Vec<_>>(),
        "responses": responses.collect::<Vec<_>>(),
        "resources": resources.collect::<Vec<_>>(),
        "transmit": stages(&description.transmit),
        "receive": stages(&description.receive),
        "transmit_buffers": buffers(&description.transmit_buffers),
        "receive_buffers": buffers(&description.receive_buffers),
    })
}

fn stage(stage: &Stage, resources: &[&str], packet: Bytes) -> Value {
    let queues = stage.queues.iter().map(|queue| {
        json!({
            "takes": takes(queue.takes), "order": queue.order.short(), "slots": queue.slots,
            "spread": queue.spread, "overload": overload(queue.overload), "priority": queue.priority,
        })
    });
    let phases = stage.phases.iter().map(|phase| self::phase(phase, resources, packet));
    json!({
        "name": stage.name,
        "servers": stage.servers,
        "batch": stage.batch,
        "in_turn": stage.selection == QueueSelection::RoundRobin,
        "queues": queues.collect::<Vec<_>>(),
        "phases": phases.collect::<Vec<_>>(),
        "time": stage.service(packet).as_secs_f64(),
    })
}

fn phase(phase: &Phase, resources: &[&str], packet: Bytes) -> Value {
    let delay = &phase.delay;
    let mut terms: Vec<String> = Vec::new();
    let mut term = |zero: bool, value: &dyn Display, unit: &str| {
        if !zero {
            terms.push(format!("{value}{unit}"));
        }
    };
    term(delay.fixed.is_zero(), &delay.fixed, "");
    term(delay.per_packet.is_zero(), &delay.per_packet, " each");
    term(delay.per_segment.is_zero(), &delay.per_segment, &format!(" per {}", delay.segment));
    term(delay.per_byte.is_zero(), &delay.per_byte, "");
    term(delay.knee.is_zero(), &delay.per_byte_past, &format!(" past {}", delay.knee));
    json!({
        "terms": terms,
        "time": if phase.applies(packet) { phase.time(packet).as_secs_f64() } else { 0.0 },
        "holds": phase.holds.iter().filter_map(|number| resources.get(*number)).collect::<Vec<_>>(),
        "medium": phase.medium,
        "work": phase.work,
        "notifies": phase.tells != Tells::Nothing,
        "takes": takes(phase.takes),
    })
}

fn takes(takes: Takes) -> String {
    match takes {
        Takes::All => "all".into(),
        Takes::Only(Class::RealTime) => "real time".into(),
        Takes::Only(Class::BestEffort) => "best effort".into(),
        Takes::Levels(from, to) => format!("levels {from} to {to}"),
    }
}

fn overload(overload: Overload) -> &'static str {
    match overload {
        Overload::Block => "block",
        Overload::Drop => "drop",
        Overload::Priority => "priority",
        Overload::Importance => "importance",
    }
}

fn buffers(buffers: &AdapterBuffers) -> Option<String> {
    let then = overload(buffers.overload);
    Some(match buffers.pool {
        BufferPool::Unlimited => return None,
        BufferPool::Shared(count) => format!("{count} shared, {then}"),
        BufferPool::PerChannel(count) => format!("{count} per channel, {then}"),
        BufferPool::Reserved { own: Own::Each(count), shared } => {
            format!("{count} per channel and {shared} shared, {then}")
        }
        BufferPool::Reserved { own: Own::Contract, shared } => {
            format!("a burst per contract and {shared} shared, {then}")
        }
    })
}
