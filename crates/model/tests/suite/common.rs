//! A node driven by a list of arrivals: the shortest way from a channel set to its worst case.

use laxity_model::adapter::{Adapter, Null};
use laxity_model::host::{Applications, Endless, Host, Output};
use laxity_model::node::{DriverConfig, HostNode, NodeOutput};
use laxity_model::source::Sizes;
use laxity_model::told::Told;
use laxity_qos::channel::{
    ChannelConfig, ChannelId, Computed, Computing, Config, CoreId, LinkId, Packet, Sent,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_units::{Bytes, Span, Time};

/// A message to send.
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) channel: usize,
    pub(crate) size: Bytes,
}

/// Outputs of a run.
pub(crate) struct Trace {
    pub(crate) departed: Vec<(Time, Packet)>,
    pub(crate) answers: Vec<(ChannelId, Sent)>,
    pub(crate) computed: Vec<(Time, Computed)>,
    pub(crate) node: Told<HostNode, NodeOutput>,
    pub(crate) end: Time,
}

impl Trace {
    /// Longest time from logical arrival to completion of a message of `channel`.
    pub(crate) fn worst(&self, channel: usize) -> Option<Span> {
        self.departed
            .iter()
            .filter(|(_, p)| p.channel.0 as usize == channel && p.is_last())
            .map(|(at, p)| at.saturating_since(p.due_from))
            .max()
    }
}

/// Runs until nothing is left to do.
pub(crate) fn run(
    host: HostCosts,
    link: LinkCosts,
    config: Config,
    channels: &[ChannelConfig],
    arrivals: &[Arrival],
    endless: &[(usize, Bytes)],
    until: Time,
) -> Trace {
    run_beside(host, &[(link, CoreId::FIRST)], config, channels, arrivals, endless, &[], until)
}

/// The same with several links, at least one, each with the core that its adapter interrupts; and
/// beside applications that compute.
#[allow(clippy::too_many_arguments, reason = "each is another part of a case")]
pub(crate) fn run_beside(
    host: HostCosts,
    links: &[(LinkCosts, CoreId)],
    config: Config,
    channels: &[ChannelConfig],
    arrivals: &[Arrival],
    endless: &[(usize, Bytes)],
    computing: &[Computing],
    until: Time,
) -> Trace {
    let host = Host::new(host, config, Applications::Separate);
    let adapter = |link: LinkCosts| Adapter::Null(Null::new(link));
    let mut node = HostNode::new(host, DriverConfig::default(), adapter(links[0].0));
    for (link, _) in &links[1..] {
        node.add_adapter(DriverConfig::default(), adapter(*link), *link);
    }
    for (number, (_, hears)) in (0..).zip(links) {
        node.steer(LinkId(number), &[*hears]);
    }
    for channel in channels {
        node.open(*channel);
    }
    for application in computing {
        node.compute(*application);
    }
    let mut node = Told::new(node);
    let (mut departed, mut answers, mut computed) = (Vec::new(), Vec::new(), Vec::new());
    for (channel, size) in endless {
        let random = laxity_engine::Seed::new(0).stream("endless");
        let endless = Endless::new(Sizes::Fixed(*size), random, None);
        node.send_without_end(Time::ZERO, ChannelId(*channel as u32), endless);
    }
    let mut arrivals = arrivals.iter().peekable();
    let mut now = Time::ZERO;
    loop {
        let next = [arrivals.peek().map(|a| a.at), node.next_deadline()].into_iter().flatten().min();
        let Some(next) = next.filter(|at| *at <= until) else { break };
        assert!(next >= now, "time goes forward");
        now = next;
        if node.next_deadline().is_some_and(|at| at <= now) {
            node.timer(now);
        } else {
            let a = arrivals.next().expect("an arrival was due");
            node.offer(now, ChannelId(a.channel as u32), a.size);
        }
        while let Some(output) = node.poll_output() {
            match output {
                NodeOutput::Departed(_, packet, _) => departed.push((now, packet)),
                NodeOutput::Host(Output::Answered { channel, answer, .. }) => answers.push((channel, answer)),
                NodeOutput::Host(Output::Computed(done)) => computed.push((now, done)),
                _ => {}
            }
        }
    }
    Trace { departed, answers, computed, node, end: now }
}
