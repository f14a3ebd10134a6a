//! Adapters of a host at one bus, and its CPU: allocation over time.

use laxity_model::adapter::{
    Adapter, AdapterBreakdown, Delay, Description, PROCESSOR, Phase, Resource, Stage,
};
use laxity_model::host::{Applications, Host};
use laxity_model::node::{DriverConfig, HostNode, NodeOutput};
use laxity_model::told::Told;
use laxity_qos::channel::{ChannelConfig, ChannelId, Config, LinkConfig, LinkId, LinkParadigm, Packet, Role};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_units::{Bytes, Span};

use super::bench::{PACKET, at, best_effort, config, real_time};
use super::nodes::{describing, packet};

/// A bus that can be taken away, by priority and in turn.
fn bus() -> Resource {
    Resource {
        name: "slot".into(),
        servers: 1,
        preemptive: true,
        urgent: false,
        host: false,
        bus: Some("pci".into()),
    }
}

fn phase(us: u64) -> Phase {
    Phase { delay: Delay::fixed(Span::from_us(us)), ..Phase::default() }
}

fn stage(name: &str, phases: Vec<Phase>) -> Stage {
    Stage { name: name.into(), phases, ..Stage::default() }
}

/// An adapter at `bus` that does no more than that phase over it, and has the processor meanwhile
/// if it says so.
fn moving(bus: &Resource, phase: Phase) -> Adapter {
    described(bus, phase, |_| {})
}

fn described(bus: &Resource, mut phase: Phase, change: impl FnOnce(&mut Description)) -> Adapter {
    phase.holds.push(1);
    describing(|description| {
        description.resources.push(bus.clone());
        description.interface.queues[0].slots = None;
        description.transmit = vec![stage("dma", vec![phase])];
        change(description);
    })
}

/// A host that takes no time for anything but copying, if for that, and hands each packet over as it is made.
fn node(adapters: Vec<Adapter>, copying: Span, driver: DriverConfig) -> Told<HostNode, NodeOutput> {
    let costs = HostCosts { send_byte: copying / PACKET.get(), ..HostCosts::default() };
    let config = config(LinkParadigm::Adapter);
    let config = Config { link: LinkConfig { depth: 8, ..config.link }, ..config };
    let host = Host::new(costs, config, Applications::Separate);
    let (mut adapters, mut links) = (adapters.into_iter(), 0);
    let mut node = HostNode::new(host, driver, adapters.next().expect("there is one"));
    for adapter in adapters {
        links = node.add_adapter(driver, adapter, LinkCosts::default()).0;
    }
    let mut node = Told::new(node);
    // A long and a short deadline, of each.
    for link in (0..=links).map(LinkId) {
        for channel in [best_effort(), real_time(5_000), real_time(500)] {
            node.open(ChannelConfig { link, message_slots: 8, ..channel });
        }
    }
    for link in (0..=links).map(LinkId) {
        node.open(ChannelConfig { link, role: Role::Receive, ..best_effort() });
    }
    node
}

fn quiet(adapters: Vec<Adapter>) -> Told<HostNode, NodeOutput> {
    node(adapters, Span::ZERO, DriverConfig::default())
}

fn words(node: &mut Told<HostNode, NodeOutput>, now: u64) -> Vec<String> {
    let who = |packet: Packet| {
        let adapter = ["a", "b", "c"][packet.channel.0 as usize / 3];
        format!("{adapter}{}", packet.message)
    };
    let word = |output| match output {
        NodeOutput::Departed(_, packet, _) => Some(who(packet)),
        NodeOutput::Failed(packet, loss) => Some(format!("{} {loss:?}", who(packet))),
        NodeOutput::Response(response, _) => Some(format!("{response:?}")),
        _ => None,
    };
    let all = std::iter::from_fn(|| node.poll_output());
    all.filter_map(word).map(|word| format!("{now} {word}")).collect()
}

/// Runs the node, with a packet offered on each of these channels at its time, until no event is
/// left before `until`.
fn run(node: &mut Told<HostNode, NodeOutput>, offers: &[(u64, u32)], until: u64) -> Vec<String> {
    let (mut offers, mut log) = (offers.iter().peekable(), Vec::new());
    loop {
        let wanted = node.next_deadline().map(|now| now.since(at(0)).as_ps() / 1_000_000);
        let offered = offers.peek().map(|(us, _)| *us);
        let Some(now) = [wanted, offered].into_iter().flatten().min().filter(|now| *now <= until) else {
            return log;
        };
        match wanted == Some(now) {
            true => node.timer(at(now)),
            false => {
                let (_, channel) = offers.next().expect("it is due");
                node.offer(at(now), ChannelId(*channel), PACKET);
            }
        }
        log.extend(words(node, now));
    }
}

const A: u32 = 0;
const B: u32 = 3;
const C: u32 = 6;

/// Three packets of the first adapter at 0, 30 each, and two of the second at 5, 20 each. From 30
/// on each waits for the other: the bus is never idle, and no adapter has it twice while another
/// waits.
#[test]
fn equals_take_turns() {
    let both = [moving(&bus(), phase(30)), moving(&bus(), phase(20))];
    let mut node = quiet(both.into());
    let log = run(&mut node, &[(0, A), (0, A), (0, A), (5, B), (5, B)], 1000);
    assert_eq!(log, ["30 a0", "50 b0", "80 a1", "100 b1", "130 a2"]);
    let held: Vec<_> = node.buses(at(110)).flat_map(|bus| bus.held).collect();
    assert_eq!(held, [(LinkId(0), Span::from_us(90)), (LinkId(1), Span::from_us(40))]);
    assert_eq!((node.packets(), node.next_deadline()), (0, None));
}

/// With two servers that both want the bus, the first adapter has no more than its turn; the third,
/// the last to arrive, waits for one packet of each.
#[test]
fn turns_are_of_adapters_however_many_packets_they_have() {
    let two = |description: &mut Description| description.transmit[0].servers = 2;
    let adapters =
        vec![described(&bus(), phase(10), two), moving(&bus(), phase(20)), moving(&bus(), phase(30))];
    let log = run(&mut quiet(adapters), &[(0, A), (0, A), (0, A), (0, A), (1, B), (1, B), (2, C)], 1000);
    assert_eq!(log, ["10 a0", "30 b0", "60 c0", "70 a1", "90 b1", "100 a2", "110 a3"]);
}

/// The second has the higher priority. Where the bus can be taken away it has it at once, and the
/// first goes on with the 20 that it had left; else it waits for the end of one packet, and then
/// goes before the next.
#[test]
fn priority_takes_the_bus_or_waits_for_a_packet() {
    let sent = |preemptive| {
        let bus = Resource { preemptive, ..bus() };
        let low = Phase { priority: 1, ..phase(30) };
        let mut node = quiet(vec![moving(&bus, low), moving(&bus, phase(25))]);
        run(&mut node, &[(0, A), (0, A), (10, B)], 1000)
    };
    assert_eq!(sent(true), ["35 b0", "55 a0", "85 a1"]);
    assert_eq!(sent(false), ["30 a0", "55 b0", "85 a1"]);
}

/// The first moves something due at 5000, the second from 10 on something due at 500: first by
/// urgency, and else in turn. Best effort of the first gives way, too.
#[test]
fn urgency_takes_the_bus() {
    let sent = |urgent, first| {
        let bus = Resource { urgent, ..bus() };
        let mut node = quiet(vec![moving(&bus, phase(30)), moving(&bus, phase(25))]);
        run(&mut node, &[(0, first), (10, B + 2)], 1000)
    };
    assert_eq!(sent(true, A + 1), ["35 b0", "55 a0"]);
    assert_eq!(sent(true, A), ["35 b0", "55 a0"]);
    assert_eq!(sent(false, A + 1), ["30 a0", "55 b0"]);
}

/// A preempted adapter keeps its turn: the first resumes at 35, before the third, which has waited
/// since 15 and not since 0.
#[test]
fn who_is_interrupted_keeps_its_turn() {
    let low = |us| Phase { priority: 1, ..phase(us) };
    let mut node = quiet(vec![moving(&bus(), low(30)), moving(&bus(), phase(25)), moving(&bus(), low(7))]);
    assert_eq!(run(&mut node, &[(0, A), (10, B), (15, C)], 1000), ["35 b0", "55 a0", "62 c0"]);
}

/// The packets of the first are moved in four bursts of 10 each, and between two of them the
/// second, which has waited, has its turn: at 10, and at 40 again.
#[test]
fn a_phase_that_yields_gives_the_bus_up_after_each_burst() {
    let delay = Delay { segment: Bytes::new(250), per_segment: Span::from_us(10), ..Delay::default() };
    let bursts = Phase { delay, yields: true, ..Phase::default() };
    let bus = Resource { preemptive: false, ..bus() };
    let mut node = quiet(vec![moving(&bus, bursts), moving(&bus, phase(20))]);
    assert_eq!(run(&mut node, &[(0, A), (5, B), (5, B)], 1000), ["30 b0", "60 b1", "80 a0"]);
}

/// Each packet is copied for 10 before it is handed over: 0-10, and at 20. The first adapter has
/// the bus 10-20 and, after the CPU, 30-50; then the second, which was idle while the CPU had the
/// bus. The CPU does not take a bus that it does not share, so the first is done at 40.
#[test]
fn a_cpu_that_copies_has_the_bus_before_all() {
    let sent = |host| {
        let bus = Resource { host, ..bus() };
        let both = vec![moving(&bus, phase(30)), moving(&bus, phase(20))];
        let mut node = node(both, Span::from_us(10), DriverConfig::default());
        let log = run(&mut node, &[(0, A), (20, B)], 1000);
        let report = node.buses(at(1000)).next().expect("there is one");
        (log, report.copied, report.held)
    };
    let held = vec![(LinkId(0), Span::from_us(30)), (LinkId(1), Span::from_us(20))];
    let strings = |words: [&str; 2]| words.map(String::from).to_vec();
    assert_eq!(sent(true), (strings(["50 a0", "70 b0"]), Span::from_us(20), held.clone()));
    assert_eq!(sent(false), (strings(["40 a0", "60 b0"]), Span::ZERO, held));
}

/// A copy 20-30 is under way at 25; of that 15 have passed, with the one before.
#[test]
fn what_is_under_way_is_accounted_for_so_far() {
    let bus = Resource { host: true, ..bus() };
    let both = vec![moving(&bus, phase(30)), moving(&bus, phase(20))];
    let mut node = node(both, Span::from_us(10), DriverConfig::default());
    run(&mut node, &[(0, A), (20, B)], 20);
    let so_far = |node: &HostNode, us| {
        let report = node.buses(at(us)).next().expect("there is one");
        (report.copied, report.held[0].1)
    };
    assert_eq!(so_far(&node, 25), (Span::from_us(15), Span::from_us(10)));
    run(&mut node, &[], 30);
    assert_eq!(so_far(&node, 34), (Span::from_us(20), Span::from_us(14)));
}

/// At 12 the first, the holder, is reset: its packets are lost, and the second has the bus at that
/// instant. Later packets wait their turn.
#[test]
fn a_reset_gives_the_bus_back() {
    let mut node = quiet(vec![moving(&bus(), phase(30)), moving(&bus(), phase(20))]);
    assert_eq!(run(&mut node, &[(0, A), (0, A), (5, B)], 12), [""; 0]);
    node.reset_adapter(at(12));
    assert_eq!(words(&mut node, 12), ["12 a0 Reset", "12 a1 Reset"]);
    assert_eq!(run(&mut node, &[(13, A)], 1000), ["32 b0", "62 a2"]);
    let held: Vec<_> = node.buses(at(100)).flat_map(|bus| bus.held).collect();
    assert_eq!(held, [(LinkId(0), Span::from_us(42)), (LinkId(1), Span::from_us(20))]);
}

/// A waiting adapter is reset, and withdraws its claim.
#[test]
fn a_reset_gives_up_what_was_waited_for() {
    let mut node =
        quiet(vec![moving(&bus(), phase(30)), moving(&bus(), phase(20)), moving(&bus(), phase(10))]);
    run(&mut node, &[(0, B), (5, A), (6, C)], 12);
    node.reset_adapter(at(12));
    assert_eq!(words(&mut node, 12), ["12 a0 Reset"]);
    assert_eq!(run(&mut node, &[], 1000), ["20 b0", "30 c0"]);
}

/// At 12 all of the first stops, or its end of the bus: the second has the bus 12-32, and the
/// first, which works again from 20 on, resumes with its remaining 18. The second has no fault.
#[test]
fn what_is_broken_lets_go_of_the_bus() {
    for breakdown in [AdapterBreakdown::Stop, AdapterBreakdown::Stall(1)] {
        let mut node = quiet(vec![moving(&bus(), phase(30)), moving(&bus(), phase(20))]);
        run(&mut node, &[(0, A), (5, B)], 12);
        node.break_down_at(at(12), LinkId(0), breakdown, true);
        run(&mut node, &[], 20);
        node.break_down_at(at(20), LinkId(0), breakdown, false);
        assert_eq!(run(&mut node, &[], 1000), ["32 b0", "50 a0"], "{breakdown:?}");
    }
}

/// A phase holds all its resources or none: the first adapter's transfer waits for the bus from 5
/// on, and its processor serves received frames meanwhile, 10-17 and 48-55. So both are free at 55,
/// and the second, which wants the bus again at 50, has it until 100.
#[test]
fn who_waits_for_the_bus_keeps_nobody_from_its_processor() {
    let mut transfer = phase(30);
    transfer.holds.push(PROCESSOR);
    let first = described(&bus(), transfer, |description| {
        let phase = Phase { holds: vec![PROCESSOR], ..phase(7) };
        description.receive = vec![stage("rx", vec![phase])];
    });
    let mut node = quiet(vec![first, moving(&bus(), phase(50))]);
    let frame = Packet { channel: ChannelId(6), ..packet(0) };
    let mut log = run(&mut node, &[(0, B), (0, B), (5, A)], 9);
    node.receive_at(at(10), LinkId(0), &frame);
    log.extend(run(&mut node, &[], 47));
    node.receive_at(at(48), LinkId(0), &frame);
    log.extend(run(&mut node, &[], 1000));
    assert_eq!(log, ["50 b0", "100 b1", "130 a0"]);
    let stages = node.adapter(LinkId(0)).stages(at(1000));
    assert_eq!((stages[1].busy, stages[1].passed), (Span::from_us(14), 2));
}

/// Work without the bus is unaffected: each adapter has a processor of its own.
#[test]
fn adapters_share_nothing_but_the_bus() {
    let own = |us| {
        let first = Phase { holds: vec![PROCESSOR], ..phase(us) };
        described(&bus(), phase(5), |description| description.transmit.insert(0, stage("work", vec![first])))
    };
    assert_eq!(run(&mut quiet(vec![own(40), own(30)]), &[(0, A), (0, B)], 1000), ["35 b0", "45 a0"]);
}

/// Adapters at two buses do not wait for each other.
#[test]
fn each_bus_is_by_itself() {
    let other = Resource { bus: Some("memory".into()), ..bus() };
    let mut node = quiet(vec![moving(&bus(), phase(30)), moving(&other, phase(20))]);
    assert_eq!(run(&mut node, &[(0, A), (0, B)], 1000), ["20 b0", "30 a0"]);
    let names: Vec<_> = node.buses(at(30)).map(|bus| bus.name).collect();
    assert_eq!(names, ["pci", "memory"]);
}
