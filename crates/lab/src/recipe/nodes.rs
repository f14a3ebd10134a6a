//! The lines of a host or a switch.

use laxity_model::source::SourceParameters;
use laxity_qos::channel::{ChannelId, LinkId, Order};
use laxity_qos::discipline::{Class, Selection};
use laxity_units::{Bytes, Span};
use laxity_world::experiment::{AdapterSpec, ChannelSpec, Experiment, Network, Placement, SourceSpec};

use super::classes::Classes;
use super::missing::Missing;
use super::port::{Limit, Port, counted};
use super::section::{Section, nanoseconds};
use super::{adapter, fair, reception};

/// The least lead of a launch time: a kernel without PREEMPT_RT is later than that now and then.
const LEAST_LEAD: Span = Span::from_us(200);
/// The default MTU of an interface.
const USUAL_MTU: u64 = 1500;
/// Rates of Ethernet that `ethtool -s` sets, in Mbit/s.
const SPEEDS: [u64; 9] = [10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 100_000];

/// The names of all hosts, then those of all switches.
pub(super) fn names(experiment: &Experiment) -> Vec<String> {
    let hosts = (0..experiment.nodes.len()).map(|node| experiment.name(node));
    hosts.chain(experiment.switches.iter().map(|switch| switch.name.clone())).collect()
}

/// The lines of the host or switch at that place of [`names`].
pub(super) fn lines(
    experiment: &Experiment,
    classes: &Classes,
    place: usize,
    missing: &mut Missing,
) -> Vec<String> {
    let mut section = Section::default();
    match place.checked_sub(experiment.nodes.len()) {
        Some(switch) => of_switch(experiment, classes, switch, &mut section, missing),
        None => match experiment.receiver_at(place) {
            Some((_, receiver)) => reception::write(receiver, &mut section, missing),
            None => of_host(experiment, classes, place, &mut section, missing),
        },
    }
    section.lines
}

fn of_host(
    experiment: &Experiment,
    classes: &Classes,
    node: usize,
    section: &mut Section,
    missing: &mut Missing,
) {
    let name = experiment.name(node);
    missing.of_host(experiment, node, &name);
    let host = experiment.host(node);
    for (number, link) in experiment.links_of(node).enumerate() {
        if number > 0 {
            section.line("");
        }
        let attached = &experiment.nodes[node].adapters[number];
        section.interface(attached.name.as_deref(), &format!("eth{number}"));
        let channels = leaving(experiment, node, link);
        let network =
            channels.first().and_then(|i| network_of(experiment, &experiment.channels[*i], node, link));
        if !channels.is_empty() {
            sizes(experiment, node, link, network, section);
        }
        adapter::write(experiment, node, link, &name, section, missing);
        if channels.is_empty() {
            section.comment("No channel leaves by this interface.");
            continue;
        }
        let early = host.subsystem.link.early.horizon < Span::MAX;
        let order = host.subsystem.link.order;
        let held = matches!(order, Order::MultiClassEdf | Order::FixedPriority | Order::RateControlled);
        let launched = launched(experiment, classes, node, &channels);
        let shaped = !host.shapers.is_empty();
        let selection = Selection { shapers: host.shapers.clone(), ..Selection::NONE };
        let port = Port {
            experiment,
            classes,
            place: &name,
            order: if shaped { Order::StrictPriority } else { order },
            selection: Some(&selection).filter(|_| shaped),
            preemptable_from: None,
            link: experiment.speed(node, link),
            network,
            channels,
            limit: Limit::Buffers,
            // A class with a shaper has no queue beside it.
            paced: host.subsystem.enforcement && held && early && !shaped,
            launched,
            programs: true,
        };
        port.write(section, missing);
        if !host.subsystem.link.order.holds() && host.subsystem.link.depth <= 64 {
            let bytes = u64::from(host.subsystem.link.depth) * port.largest(&port.channels);
            section.comment("The depth of the adapter's queue, in bytes.");
            section.line(format!(
                "for limit in /sys/class/net/\"$dev\"/queues/tx-*/byte_queue_limits/limit_max; do echo {bytes} > \"$limit\"; done"
            ));
        }
        programs(&port, node, section, missing);
        tags(&port, section, missing);
    }
    computing(experiment, node, section);
}

/// The network that `channel` enters when it leaves `node` by `link`.
fn network_of<'a>(
    experiment: &'a Experiment,
    channel: &ChannelSpec,
    node: usize,
    link: LinkId,
) -> Option<&'a Network> {
    let hop = channel.passages_from(node).find(|hop| experiment.link_out(channel, *hop) == link)?;
    match channel.ways.get(hop) {
        Some(way) => Some(&experiment.networks[*way]),
        // A host without a receiver has the only network.
        None => experiment.networks.first(),
    }
}

/// Packets of the scenario's size on the link's rate, one by one.
fn sizes(
    experiment: &Experiment,
    node: usize,
    link: LinkId,
    network: Option<&Network>,
    section: &mut Section,
) {
    let framed = network.is_some_and(|network| network.framed);
    let packet = experiment.packet().get();
    if framed && packet != USUAL_MTU && (68..=65_535).contains(&packet) {
        section.line(format!("ip link set dev \"$dev\" mtu {packet}"));
    }
    if let AdapterSpec::Null(costs) = experiment.adapter_of(node, link)
        && let Some(rate) = costs.per_byte.rate().filter(|_| framed)
        && SPEEDS.contains(&(rate.bits_per_sec() / 1_000_000))
        && rate.bits_per_sec() % 1_000_000 == 0
    {
        section.line(format!("ethtool -s \"$dev\" speed {} duplex full", rate.bits_per_sec() / 1_000_000));
    }
    section.comment("Queues see packets as they are on the link, and no larger ones.");
    section.line("ethtool -K \"$dev\" tso off gso off");
}

/// The channels that leave `node` by `link`.
fn leaving(experiment: &Experiment, node: usize, link: LinkId) -> Vec<usize> {
    let leaves = |channel: &ChannelSpec| {
        channel.passages_from(node).any(|hop| experiment.link_out(channel, hop) == link)
    };
    let all = experiment.channels.iter().enumerate();
    all.filter(|(_, channel)| leaves(channel)).map(|(i, _)| i).collect()
}

/// How long before its launch time a packet is handed on, if packets above best effort have launch
/// times: the scenario gives these, or the times of packets are known, and gates or cycles of the next
/// switch go by the same clock.
fn launched(experiment: &Experiment, classes: &Classes, node: usize, channels: &[usize]) -> Option<Span> {
    let timed = |channel: &ChannelSpec| {
        let gated = channel.route.get(1).and_then(|next| experiment.outlet(*next)).is_some_and(|outlet| {
            let timed = |selection: &Selection| selection.gates.is_some() || !selection.cyclic.is_empty();
            outlet.config.selection.as_deref().is_some_and(timed)
        });
        let SourceSpec::Timed { parameters, jitter } = &channel.source else { return false };
        let known = matches!(parameters, SourceParameters::Periodic(_) | SourceParameters::Script(_));
        gated && known && jitter.is_zero() && channel.route[0] == node
    };
    let above: Vec<&ChannelSpec> =
        channels.iter().filter(|i| classes.priority(**i) > 0).map(|i| &experiment.channels[*i]).collect();
    let launch = experiment.launch(node);
    if above.is_empty() || launch.is_none() && !above.iter().all(|channel| timed(channel)) {
        return None;
    }
    let costs = &experiment.host(node).costs;
    let lead = [costs.timer, costs.interrupt, costs.context_switch, costs.link_scheduling]
        .into_iter()
        .fold(Span::ZERO, Span::saturating_add);
    Some(lead.max(LEAST_LEAD).min(launch.unwrap_or(Span::MAX)))
}

/// The socket options of each program of the host.
fn programs(port: &Port<'_>, node: usize, section: &mut Section, missing: &mut Missing) {
    let experiment = port.experiment;
    let own: Vec<(usize, usize)> =
        port.channels.iter().copied().enumerate().filter(|(_, i)| starts(port, *i, node)).collect();
    if own.is_empty() {
        return;
    }
    let placement = (experiment.cores(node) > 1).then(|| Placement::new(experiment));
    section.comment("Programs; a priority above 6 needs CAP_NET_ADMIN.");
    for (place, i) in own {
        let channel = port.channel(i);
        let receivers = &experiment.channels[experiment.multicast(i)];
        let ends = receivers.iter().filter_map(|channel| channel.route.last());
        let ends: Vec<String> = ends.map(|last| experiment.name(*last)).collect();
        let to = if ends.is_empty() { String::new() } else { format!(" to {}", ends.join(", ")) };
        if receivers.len() > 1 {
            missing.at(port.place, "receivers of a multicast: switches learn them by IGMP, MLD or by hand");
        }
        let contract = match channel.class {
            Class::RealTime => format!(
                "{} B each {}, {} at once",
                channel.spec.max_message.get(),
                channel.spec.min_interval,
                channel.spec.burst
            ),
            Class::BestEffort => "best effort".into(),
        };
        section.comment(format!("  {}{to}: {contract}", channel.name));
        let priority = match port.by_number() {
            true if fair::has_class(port, i) => 0x10000 + fair::class(place),
            true => 0,
            false => usize::from(port.classes.priority(i)),
        };
        section.comment(format!("    SO_PRIORITY = {priority}"));
        let paced = port.paces(port.classes.priority(i));
        if channel.class == Class::RealTime && experiment.host(node).subsystem.enforcement {
            // A class of `htb` has the rate as its limit where the order holds packets.
            let by = match paced || port.order.holds() {
                true => "a program that sends more than its contract is delayed by its rate only",
                false => "no queue delays a program that sends more than its contract",
            };
            missing.at(port.place, format!("contracts of channels: {by}"));
        }
        if channel.class == Class::RealTime && paced {
            let bytes = counted(channel, experiment.packet(), port.network);
            let rate = bytes as f64 / channel.spec.min_interval.as_secs_f64().max(1e-12);
            section.comment(format!("    SO_MAX_PACING_RATE = {}  (bytes per second)", rate.ceil() as u64));
        }
        if port.launched.is_some() && port.classes.priority(i) > 0 {
            section.comment(format!(
                "    SO_TXTIME = {{ clockid = CLOCK_TAI }}, SCM_TXTIME = {}",
                times(channel, experiment.launch(node).unwrap_or_default())
            ));
        }
        if let Some(placement) = &placement {
            let core = placement.of(node, ChannelId(i as u32)).application.0;
            section.comment(format!("    taskset -c {core}"));
        }
    }
}

/// The tag in which frames carry their class to switches that have classes.
fn tags(port: &Port<'_>, section: &mut Section, missing: &mut Missing) {
    let experiment = port.experiment;
    let classed = |channel: &ChannelSpec| {
        let mut outlets = channel.route.iter().filter_map(|at| experiment.outlet(*at));
        outlets.any(|outlet| outlet.config.order != Order::Fifo)
    };
    let above = |i: &&usize| port.classes.priority(**i) > 0;
    if !port.channels.iter().filter(above).any(|i| classed(port.channel(*i))) {
        return;
    }
    if port.by_number() {
        return missing.at(port.place, "PCP of frames: SO_PRIORITY is the number of a class there");
    }
    section.comment("Switches know a class by PCP, so programs send by a VLAN whose PCP is SO_PRIORITY:");
    section.comment(
        "  ip link add link \"$dev\" name \"$dev.$vlan\" type vlan id \"$vlan\" egress-qos-map 1:1 2:2 3:3 4:4 5:5 6:6 7:7",
    );
    if port.network.is_some_and(|network| network.framed && !network.tagged) {
        missing.at(port.place, "frames without a VLAN tag: switches need it, and it has 4 B");
    }
}

fn starts(port: &Port<'_>, i: usize, node: usize) -> bool {
    port.channel(i).route[0] == node
}

/// The launch times of a channel, counted from the begin of the first cycle, or from messages of unknown
/// times; `launch` after these.
fn times(channel: &ChannelSpec, launch: Span) -> String {
    let after = |what: &str| match launch.is_zero() {
        true => what.to_string(),
        false => format!("{what} + {launch}"),
    };
    match &channel.source {
        SourceSpec::Timed { parameters: SourceParameters::Periodic(periodic), jitter }
            if jitter.is_zero() =>
        {
            let start = periodic.start.saturating_since(laxity_units::Time::ZERO);
            format!("{} + k × {}", start.saturating_add(launch), periodic.interval)
        }
        SourceSpec::Timed { parameters: SourceParameters::Script(_), jitter } if jitter.is_zero() => {
            after("the times of its script")
        }
        _ => after("the time of its message"),
    }
}

/// Applications that compute, as comments.
fn computing(experiment: &Experiment, node: usize, section: &mut Section) {
    for application in &experiment.host(node).computing {
        match application.budget {
            Some(budget) => section.comment(format!(
                "{}: chrt -d --sched-runtime {} --sched-deadline {} --sched-period {} 0 PROGRAM",
                application.name,
                nanoseconds(budget.time),
                nanoseconds(budget.deadline),
                nanoseconds(budget.period)
            )),
            None => section.comment(format!("{}: chrt -b 0 PROGRAM", application.name)),
        }
    }
}

fn of_switch(
    experiment: &Experiment,
    classes: &Classes,
    switch: usize,
    section: &mut Section,
    missing: &mut Missing,
) {
    let name = &experiment.switches[switch].name;
    if experiment.switches[switch].policing.is_some() {
        missing
            .at(name, "flow meters: `tc filter` with `action police` at each port from a host, by addresses");
    }
    section.comment("A port is a member of the bridge: ip link set dev \"$dev\" master br0.");
    let ports = experiment.outlets.iter().enumerate().filter(|(_, outlet)| outlet.switch == switch);
    for (number, (place, outlet)) in ports.enumerate() {
        let station = experiment.nodes.len() + place;
        let passes = |channel: &ChannelSpec| channel.is_at(station);
        let channels: Vec<usize> =
            experiment.channels.iter().enumerate().filter(|(_, c)| passes(c)).map(|(i, _)| i).collect();
        if channels.is_empty() {
            continue;
        }
        section.line("");
        section.interface(Some(&outlet.to), &format!("swp{}", number + 1));
        let first = &experiment.channels[channels[0]];
        let hop = first.route.iter().position(|at| *at == station);
        let network = hop.and_then(|hop| first.ways.get(hop)).map(|way| &experiment.networks[*way]);
        let port = Port {
            experiment,
            classes,
            place: name,
            order: outlet.config.order,
            selection: outlet.config.selection.as_deref(),
            preemptable_from: outlet.config.preemptable_from,
            link: outlet.config.link,
            network,
            limit: Limit::Memory(memory(experiment, &channels, outlet.config.memory)),
            channels,
            paced: false,
            launched: None,
            programs: false,
        };
        if matches!(port.order, Order::MultiClassEdf | Order::FixedPriority) {
            missing.at(name, "early frames that wait at a port for their logical arrival");
        }
        table(&port, &outlet.to, section);
        port.write(section, missing);
    }
}

/// Memory of a port with what is set aside for admitted channels.
fn memory(experiment: &Experiment, channels: &[usize], own: Bytes) -> Bytes {
    let reserved = channels.iter().map(|i| {
        let channel = &experiment.channels[*i];
        let packets = experiment.burst(channel).unwrap_or(0);
        u64::from(packets).saturating_mul(experiment.packet().get())
    });
    Bytes::new(reserved.fold(own.get(), u64::saturating_add))
}

/// The table of classes of a port: the PCP of frames, and the queue that they go to.
fn table(port: &Port<'_>, to: &str, section: &mut Section) {
    if port.order == Order::Fifo || port.by_number() {
        let queues = if port.by_number() { "a queue for each channel" } else { "one queue" };
        return section.comment(format!("Port to {to}: {queues}, whatever the PCP."));
    }
    let present = port.classes.present(&port.channels);
    section.comment(format!("Port to {to}: PCP, and queue from the most urgent."));
    for (queue, priority) in present.iter().enumerate() {
        let members = port.named(&[*priority]);
        section.comment(format!(
            "  PCP {priority} -> queue {queue}: {}",
            members.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
        ));
    }
}
