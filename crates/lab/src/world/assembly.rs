//! From an experiment to its parts: nodes with their channels open, a medium, the way between.

use laxity_engine::{Seed, Stream};
use laxity_model::adapter::{self, Null, Pipeline};
use laxity_model::host::Host;
use laxity_model::network::{Csma, Impairments, Medium, PointToPoint, TokenRing};
use laxity_model::node::Node;
use laxity_qos::channel::{ChannelConfig, Role};
use laxity_qos::discipline::{Class, LEVELS};
use laxity_units::Span;

use crate::promise::Promise;
use crate::scenario::{Adapter, Experiment, LocalDeadline, MediumSpec};

/// A node of the experiment, without channels; without a host if that is elsewhere.
pub(super) fn node(experiment: &Experiment, host_is_here: bool) -> Node {
    let host = &experiment.host;
    let adapter = match &experiment.adapter {
        Adapter::Null(costs) => adapter::Adapter::Null(Null::new(*costs)),
        Adapter::Described(description) => {
            adapter::Adapter::Pipeline(Box::new(Pipeline::new((**description).clone())))
        }
    };
    let mut node = match host_is_here {
        true => Node::new(Host::new(host.costs, host.subsystem, host.applications), host.driver, adapter),
        false => Node::without_host(adapter),
    };
    node.record_stages();
    node
}

/// The medium that the nodes share.
pub(super) fn medium(experiment: &Experiment) -> Medium {
    match &experiment.network.medium {
        MediumSpec::PointToPoint => Medium::PointToPoint(PointToPoint::new(experiment.network.stations)),
        MediumSpec::TokenRing(ring) => Medium::TokenRing(
            TokenRing::new(ring.clone()).expect("a scenario's network is checked when it is read"),
        ),
        MediumSpec::Csma(csma) => {
            let random = Seed::new(experiment.seed).stream("medium");
            Medium::Csma(Csma::new(*csma, random).expect("a scenario's network is checked when it is read"))
        }
    }
}

/// What happens to frames on their way, if anything does.
pub(super) fn impairments(experiment: &Experiment) -> Option<Impairments> {
    let parameters = experiment.network.impairments;
    let random = Seed::new(experiment.seed).stream("impairments");
    (parameters != Default::default()).then(|| {
        Impairments::new(parameters, random).expect("a scenario's network is checked when it is read")
    })
}

/// The random stream of a channel's source, from its beginning: whatever the clock and whoever sends, the same messages.
pub fn source_stream(experiment: &Experiment, channel: usize) -> Stream {
    Seed::new(experiment.seed).stream(&format!("source {}", experiment.channels[channel].name))
}

/// Channel `i` as its sender opens it, given what admission promised.
pub fn channel_config(experiment: &Experiment, i: usize, promise: &Promise) -> ChannelConfig {
    let spec = &experiment.channels[i];
    let by_bound = experiment.admission.local_deadline == LocalDeadline::Bound;
    let level = match promise {
        Promise::Admitted { level, .. } => *level,
        _ if spec.class == Class::BestEffort => LEVELS as u8 - 1,
        _ => 0,
    };
    ChannelConfig {
        class: spec.class,
        role: Role::Send,
        spec: spec.spec,
        deadline: promise.bound().filter(|_| by_bound).or(spec.deadline).unwrap_or(Span::MAX),
        level: spec.level.unwrap_or(level),
        message_slots: spec.message_slots,
        packet_slots: spec.packet_slots,
        message_overflow: spec.message_overflow,
        packet_overflow: spec.packet_overflow,
    }
}

/// Opens channel `i` at every node: the nodes number their channels alike, and use those that pass them.
pub(super) fn open(nodes: &mut [Node], experiment: &Experiment, i: usize, promise: &Promise) {
    let config = channel_config(experiment, i, promise);
    let route = &experiment.channels[i].route;
    for (number, node) in nodes.iter_mut().enumerate().filter(|(_, node)| node.host().is_some()) {
        let hop = route.iter().position(|station| *station == number);
        let role = match hop {
            Some(0) | None => Role::Send,
            Some(hop) if hop + 1 == route.len() && experiment.path.receive => Role::Receive,
            Some(_) => Role::Relay,
        };
        let packet_slots = match role {
            Role::Send => config.packet_slots,
            Role::Relay | Role::Receive => config.packet_slots.max(held_packets(experiment, &config)),
        };
        node.open(ChannelConfig { role, packet_slots, ..config });
    }
}

/// Packets of a channel that a host past the first may have to hold.
///
/// A message may come ahead of its time by as much as the host before could be early, its local deadline
/// and the link's horizon, and stays until its deadline here; messages are `I_min` apart, but for a burst that was
/// sent ahead (Kandlur, Shin and Ferrari 1994 count buffers alike).
fn held_packets(experiment: &Experiment, config: &ChannelConfig) -> u64 {
    if config.class == Class::BestEffort {
        return 0;
    }
    let subsystem = &experiment.host.subsystem;
    let stay = config.deadline.saturating_mul(2).saturating_add(subsystem.link.early.horizon);
    let messages = stay.div_ceil(config.spec.min_interval).min(u64::from(config.spec.burst) + 2) + 1;
    messages * config.spec.fragmentation(subsystem.packet).packets()
}
