//! Random adapters at one bus, under any load and with any fault: one at a time has the bus, no
//! packet is lost silently, and an adapter alone at it behaves as without it.

use std::collections::BTreeMap;

use laxity_model::adapter::{Adapter, AdapterBreakdown, Description, Notification, Pipeline};
use laxity_model::host::{Applications, Host};
use laxity_model::node::{DriverConfig, HostNode, NodeOutput};
use laxity_model::told::Told;
use laxity_qos::channel::{
    Block, ChannelConfig, ChannelId, Config, CoreId, LinkConfig, LinkId, LinkParadigm, Order, Oversize,
    Packet, Preemption, Processing, Role,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::EarlyPolicy;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span, Time};

use super::cases::{Dice, LARGEST, description, packet};
use super::cores::Placement;
use super::nodes::run_beside;

/// The same adapter with a bus of its host as first resource.
fn seated(mut description: Description) -> Description {
    description.resources[0].bus = Some("bus".into());
    description
}

/// One without spontaneous outputs.
fn quiet(seed: u64) -> Description {
    let mut description = description(&mut Dice::new(seed, "quiet"));
    description.interface.notification = Notification::Interrupt;
    description
}

#[test]
fn who_is_alone_at_a_bus_has_it_as_a_resource_of_its_own() {
    for seed in 0..1500 {
        let placement = Placement::draw(seed);
        let own = run_beside(seed, &placement, Some(quiet(seed)), |adapter| adapter);
        let shared = run_beside(seed, &placement, Some(seated(quiet(seed))), seated);
        assert_eq!(own.log, shared.log, "{seed}");
        let stages = |node: &HostNode| node.adapter(LinkId::FIRST).stages(Time::ZERO + Span::from_secs(100));
        assert_eq!(stages(&own.node), stages(&shared.node), "{seed}");
    }
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Offer(ChannelId, Bytes),
    Frame(LinkId, Packet),
    Break(LinkId, AdapterBreakdown, bool),
    Reset,
}

fn config() -> Config {
    let block = Block::Packets(1);
    Config {
        cores: 1,
        processing: Processing::PerChannel,
        order: Order::MultiClassEdf,
        early: EarlyPolicy::HOLD,
        preemption: Preemption { real_time: block, early: block, best_effort: block, immediate: false },
        link: LinkConfig {
            core: CoreId::FIRST,
            paradigm: LinkParadigm::Adapter,
            order: Order::MultiClassEdf,
            early: EarlyPolicy::HOLD,
            depth: 4,
            launch: None,
            speed: LinkCosts::default(),
            frame: Span::ZERO,
        },
        packet: Bytes::new(LARGEST),
        enforcement: true,
        oversize: Oversize::Intervals,
    }
}

/// Two or three adapters at a bus, or each at one of its own; returns the node's outputs, and for
/// how long each had the bus.
fn run(seed: u64, shared: bool) -> (Vec<(Time, NodeOutput)>, BTreeMap<&'static str, u64>) {
    let mut dice = Dice::new(seed, "bus");
    let (preemptive, urgent, host) = (dice.one_in(2), dice.one_in(2), dice.one_in(2));
    let links = 2 + dice.below(2) as u8;
    let mut adapters = Vec::new();
    for link in 0..links {
        let mut adapter = description(&mut dice);
        adapter.interface.notification = Notification::Interrupt;
        let bus = &mut adapter.resources[0];
        (bus.servers, bus.preemptive, bus.urgent, bus.host) = (1, preemptive, urgent, host);
        bus.bus = Some(if shared { "bus".into() } else { format!("bus {link}") });
        // Otherwise few packets would use the bus.
        for stage in adapter.transmit.iter_mut().chain(&mut adapter.receive) {
            for phase in stage.phases.iter_mut().filter(|phase| !phase.medium && dice.one_in(2)) {
                phase.holds = vec![0];
            }
        }
        adapters.push(adapter);
    }
    let descriptions = adapters.clone();
    let costs =
        HostCosts { receive_byte: Span::from_ns(2), send_byte: Span::from_ns(4), ..HostCosts::default() };
    let driver = DriverConfig { watchdog: Some(Span::from_us(300)), reset_after: Some(Span::from_ms(50)) };
    let made = |adapter| Adapter::Pipeline(Box::new(Pipeline::new(adapter)));
    let mut adapters = adapters.into_iter().map(made);
    let host = Host::new(costs, config(), Applications::Separate);
    let mut node = HostNode::new(host, driver, adapters.next().expect("there are two"));
    for adapter in adapters {
        node.add_adapter(driver, adapter, LinkCosts::default());
    }
    let mut node = Told::new(node);
    // By link: best effort, real time, and received frames.
    let spec = TrafficSpec {
        max_message: Bytes::new(LARGEST),
        min_message: Bytes::new(1),
        burst: 8,
        min_interval: Span::from_us(400),
    };
    for link in (0..links).map(LinkId) {
        node.own_the_link(link);
        let sends = ChannelConfig::best_effort(spec.max_message, 64, spec.max_message);
        let urgent = ChannelConfig::real_time(spec, Span::from_us(1 + dice.below(3000)), spec.max_message);
        for channel in [sends, urgent, ChannelConfig { role: Role::Receive, ..sends }] {
            let spec = TrafficSpec { min_message: Bytes::new(1), ..channel.spec };
            node.open(ChannelConfig { link, spec, packet_slots: 64, ..channel });
        }
    }

    let mut acts: Vec<(Time, Act)> = Vec::new();
    let within = 1000 + dice.below(10_000);
    for number in 0..40 + dice.below(40) {
        let at = Time::ZERO + dice.us(within);
        let drawn = packet(&mut dice, number, at);
        let link = dice.below(u64::from(links)) as u32;
        let act = match dice.below(3) {
            2 => Act::Frame(
                LinkId(link as u8),
                Packet { channel: ChannelId(3 * link + 2), due_from: at, count: 1, index: 0, ..drawn },
            ),
            kind => Act::Offer(ChannelId(3 * link + kind as u32), drawn.size),
        };
        acts.push((at, act));
    }
    for _ in 0..dice.below(3) {
        let at = Time::ZERO + dice.us(within);
        let link = LinkId(dice.below(u64::from(links)) as u8);
        let resources = descriptions[usize::from(link.0)].resources.len() as u64;
        match dice.below(4) {
            0 => acts.push((at, Act::Reset)),
            1 => {
                let until = at + dice.us(3000);
                acts.extend(
                    [(at, true), (until, false)]
                        .map(|(at, broken)| (at, Act::Break(link, AdapterBreakdown::Stop, broken))),
                );
            }
            _ => {
                let (stall, until) =
                    (AdapterBreakdown::Stall(dice.below(resources) as usize), at + dice.us(3000));
                acts.extend(
                    [(at, true), (until, false)].map(|(at, broken)| (at, Act::Break(link, stall, broken))),
                );
            }
        }
    }
    acts.sort_by_key(|(at, _)| *at);
    let mut acts = acts.into_iter().peekable();
    let (mut log, mut now) = (Vec::new(), Time::ZERO);
    // Time of phases on the bus alone, by the stages' statistics.
    let over_bus = |node: &HostNode, now| {
        let mut busy = Span::ZERO;
        for (adapter, description) in node.adapters().zip(&descriptions) {
            let stages = description.transmit.iter().chain(&description.receive);
            for (stage, report) in stages.zip(adapter.stages(now)) {
                if stage.phases.iter().all(|phase| phase.holds.contains(&0)) {
                    busy += report.busy;
                }
            }
        }
        busy
    };
    let mut moved = Span::ZERO;
    loop {
        while let Some(output) = node.poll_output() {
            log.push((now, output));
        }
        let act = acts.peek().map(|(at, _)| *at);
        let Some(next) = [act, node.next_deadline()].into_iter().flatten().min() else { break };
        assert!(next >= now, "{seed}: nothing asks to be called in the past");
        if shared {
            let then = over_bus(&node, next);
            assert!(then <= moved + next.since(now), "{seed}: two have the bus between {now} and {next}");
            moved = then;
            for report in node.buses(next) {
                let held: Span = report.held.iter().map(|(_, held)| *held).sum();
                assert!(held + report.copied <= next.since(Time::ZERO), "{seed}: {report:?} at {next}");
            }
        }
        now = next;
        assert!(now < Time::ZERO + Span::from_secs(20), "{seed}: it hangs");
        match acts.next_if(|(at, _)| *at == now && node.next_deadline() != Some(now)) {
            None => node.timer(now),
            Some((_, Act::Offer(channel, size))) => node.offer(now, channel, size),
            Some((_, Act::Frame(link, packet))) => node.receive_at(now, link, &packet),
            Some((_, Act::Break(link, breakdown, broken))) => {
                node.break_down_at(now, link, breakdown, broken);
            }
            Some((_, Act::Reset)) => node.reset_adapter(now),
        }
    }
    for (link, adapter) in node.adapters().enumerate() {
        assert_eq!((adapter.held(), adapter.buffers_in_use()), (0, 0), "{seed}: adapter {link}");
    }
    assert_eq!(node.packets(), 0, "{seed}");
    let reports: Vec<_> = node.buses(now).collect();
    let held =
        |report: &laxity_model::bus::BusReport| report.held.iter().map(|(_, held)| *held).sum::<Span>();
    let mut tally = BTreeMap::new();
    tally.insert("us held", reports.iter().map(|report| held(report).as_ps() / 1_000_000).sum());
    tally.insert("us copied", reports.iter().map(|report| report.copied.as_ps() / 1_000_000).sum());
    let departed = log.iter().filter(|(_, output)| matches!(output, NodeOutput::Departed(..))).count();
    tally.insert("departed", departed as u64);
    (log, tally)
}

#[test]
fn one_at_a_time_has_the_bus_and_nothing_is_lost() {
    let (mut tally, mut differ) = (BTreeMap::<_, u64>::new(), 0);
    for seed in 0..1500 {
        let (log, had) = run(seed, true);
        had.into_iter().for_each(|(what, n)| *tally.entry(what).or_default() += n);
        differ += u64::from(seed < 300 && run(seed, false).0 != log);
    }
    assert!(tally.values().all(|n| *n > 10_000), "{tally:?}");
    assert!(differ > 150, "of 300, {differ} wait for each other");
}

#[test]
fn the_same_packets_wait_for_each_other_the_same_way() {
    for seed in 0..200 {
        assert_eq!(run(seed, true), run(seed, true), "{seed}");
    }
}
