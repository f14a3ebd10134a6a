//! The same with a host and its driver: interrupts get lost, an adapter breaks and never mends, and
//! the driver recovers.

use std::collections::BTreeMap;

use laxity_engine::Seed;
use laxity_model::adapter::{Adapter, AdapterBreakdown, Description, Notification, Pipeline};
use laxity_model::host::{Applications, Host, Output};
use laxity_model::network::Medium;
use laxity_model::node::{DriverConfig, HostNode, NodeOutput};
use laxity_model::told::Told;
use laxity_qos::channel::{
    Block, ChannelConfig, ChannelId, Config, CoreId, Dropped, LinkConfig, LinkId, LinkParadigm,
    MessageOverflow, Order, Oversize, Packet, PacketOverflow, Preemption, Processing, Reader, Role, Way,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{Class, EarlyPolicy};
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use super::cases::{Dice, LARGEST, description, keeps_order, packet};
use super::cores::Placement;
use super::medium;

/// Channels 0 and 2 send, 1 and 3 receive; the first two are real-time.
const SENDS: [bool; 4] = [true, false, true, false];

/// A program that is slow enough to lose messages now and then.
const READER: Reader =
    Reader { core: CoreId::FIRST, slots: 2, work: Span::from_us(150), per_byte: Span::ZERO };

#[derive(Debug, Clone, Copy)]
enum Act {
    Offer(ChannelId, Bytes),
    Frame(Packet),
    Break(AdapterBreakdown),
    Mend(AdapterBreakdown),
    LoseInterrupts,
    KeepInterrupts,
}

fn config(dice: &mut Dice, placement: &Placement) -> Config {
    let block = Block::Packets(1 + dice.below(4) as u32);
    let paradigms = [LinkParadigm::O1, LinkParadigm::O2, LinkParadigm::O3, LinkParadigm::Adapter];
    Config {
        cores: placement.cores,
        processing: dice.pick(&[Processing::PerChannel, Processing::PerMessage]),
        order: dice.pick(&[Order::MultiClassEdf, Order::FixedPriority]),
        early: EarlyPolicy::HOLD,
        preemption: Preemption {
            real_time: block,
            early: block,
            best_effort: block,
            immediate: dice.one_in(4),
        },
        link: LinkConfig {
            core: placement.links,
            paradigm: dice.pick(&paradigms),
            order: dice.pick(Order::ALL),
            early: EarlyPolicy::HOLD,
            depth: dice.pick(&[1, 2, 5, 1000]),
            launch: None,
            speed: LinkCosts::new(Span::from_us(5), Span::from_ns(50)),
            frame: Span::from_us(1 + dice.below(400)),
        },
        packet: Bytes::new(LARGEST / 3),
        enforcement: true,
        oversize: Oversize::Intervals,
    }
}

fn channel(dice: &mut Dice, number: usize, placement: &Placement) -> ChannelConfig {
    let size = Bytes::new(LARGEST);
    let spec = TrafficSpec {
        max_message: size,
        min_message: Bytes::new(1),
        burst: 2,
        min_interval: Span::from_us(900),
    };
    let class = if number < 2 { Class::RealTime } else { Class::BestEffort };
    ChannelConfig {
        class,
        role: if SENDS[number] { Role::Send } else { Role::Receive },
        core: placement.channels[number].0,
        application: placement.channels[number].1,
        spec,
        deadline: if class == Class::RealTime { Span::from_ms(2) } else { Span::MAX },
        level: if class == Class::RealTime { 0 } else { 31 },
        share: if class == Class::RealTime { spec.tick() } else { dice.pick(&[spec.tick(), Vtick::NONE]) },
        link: LinkId::FIRST,
        way: Way { links: 1 + dice.below(4) as u8, deadline: Span::from_ms(2) },
        message_slots: 1 + dice.below(4) as u32,
        packet_slots: 1 + dice.below(8),
        message_overflow: dice.pick(&[
            MessageOverflow::Drop,
            MessageOverflow::Block,
            MessageOverflow::BestEffort,
        ]),
        packet_overflow: dice.pick(&[
            PacketOverflow::Drop,
            PacketOverflow::Block,
            PacketOverflow::DecayDeadline,
        ]),
        // It draws no random number, so that earlier draws stay the same.
        reader: (number == 3).then_some(Reader { core: placement.reader, ..READER }),
    }
}

struct Bench {
    node: Told<HostNode, NodeOutput>,
    medium: Medium,
    log: Vec<(Time, NodeOutput)>,
}

impl Bench {
    fn settle(&mut self, now: Time) {
        loop {
            let mut any = false;
            while let Some(output) = self.node.poll_output() {
                any = true;
                match &output {
                    NodeOutput::Request(_) => self.medium.request(now, 0),
                    NodeOutput::Withdraw(_) => self.medium.withdraw(now, 0),
                    NodeOutput::Departed(_, _, more)
                        if self.node.adapter(LinkId::FIRST).asks_for_medium() =>
                    {
                        self.medium.sent(now, 0, *more);
                    }
                    _ => {}
                }
                self.log.push((now, output));
            }
            while let Some(output) = self.medium.poll_output() {
                any = true;
                self.node.medium(now, output.into());
            }
            if !any {
                return;
            }
        }
    }
}

pub(crate) struct Outcome {
    pub(crate) node: Told<HostNode, NodeOutput>,
    pub(crate) log: Vec<(Time, NodeOutput)>,
    offered: BTreeMap<ChannelId, u64>,
    frames: u64,
    /// Whether frames reach the host in the order in which they came.
    in_order: bool,
}

pub(crate) fn run(seed: u64, placement: &Placement) -> Outcome {
    run_beside(seed, placement, None, |adapter| adapter)
}

/// As `run`, with an adapter derived from that one, and perhaps another idle one beside it.
pub(crate) fn run_beside(
    seed: u64,
    placement: &Placement,
    idle: Option<Description>,
    made: impl FnOnce(Description) -> Description,
) -> Outcome {
    let mut dice = Dice::new(seed, "node");
    let described = made(description(&mut dice));
    let in_order = keeps_order(&described.receive, &described.receive_buffers);
    let resources = described.resources.len() as u64;
    let polls = described.interface.notification != Notification::Interrupt;
    let (medium, access) = medium(&mut dice, seed);
    let mut adapter = Adapter::Pipeline(Box::new(Pipeline::new(described)));
    if idle.is_some() {
        adapter.step_through();
    }
    adapter.pad_frames_to(medium.shortest_frame());
    let us = |dice: &mut Dice, below| Span::from_us(dice.below(below));
    let costs = HostCosts {
        context_switch: us(&mut dice, 20),
        cache_miss: us(&mut dice, 20),
        first_packet: us(&mut dice, 80),
        single_packet: us(&mut dice, 80),
        packet: us(&mut dice, 40),
        link_scheduling: us(&mut dice, 30),
        hand_over: us(&mut dice, 10),
        interrupt: us(&mut dice, 20),
        // A host that pays for each poll polls for ever, and this runs until no event is left.
        poll: if polls { Span::ZERO } else { us(&mut dice, 20) },
        response: us(&mut dice, 5),
        timer: placement.timer,
        ipi: placement.ipi,
        thread_creation: us(&mut dice, 10),
        receive_packet: us(&mut dice, 40),
        receive_message: us(&mut dice, 20),
        send_call: us(&mut dice, 10),
        send_byte: Span::ZERO,
        receive_byte: Span::from_ns(2),
        transfer_byte: Span::ZERO,
        real_time_packet: Span::ZERO,
    };
    let applications = dice.pick(&[Applications::Shared, Applications::Separate]);
    let host = Host::new(costs, config(&mut dice, placement), applications);
    // Usually time enough for a packet without faults.
    let driver = DriverConfig { watchdog: Some(Span::from_us(300)), reset_after: Some(Span::from_ms(20)) };
    let mut bench = Bench { node: Told::new(HostNode::new(host, driver, adapter)), medium, log: Vec::new() };
    if let Some(idle) = idle {
        let idle = Adapter::Pipeline(Box::new(Pipeline::new(idle)));
        bench.node.add_adapter(driver, idle, LinkCosts::default());
    }
    bench.node.steer(LinkId::FIRST, &placement.interrupts);
    bench.node.record_cpu();
    for number in 0..SENDS.len() {
        let config = channel(&mut dice, number, placement);
        bench.node.open(config);
    }

    let mut acts: Vec<(Time, Act)> = Vec::new();
    let (mut offered, mut frames) = (BTreeMap::new(), 0);
    let within = 1000 + dice.below(20_000);
    for number in 0..20 + dice.below(50) {
        let at = Time::ZERO + dice.us(within);
        let mut packet = packet(&mut dice, number, at);
        let act = match SENDS[packet.channel.0 as usize] {
            true => {
                *offered.entry(packet.channel).or_default() += 1;
                Act::Offer(packet.channel, packet.size)
            }
            false => {
                frames += 1;
                packet.due_from = at;
                Act::Frame(packet)
            }
        };
        acts.push((at, act));
    }
    for _ in 0..1 + dice.below(3) {
        let at = Time::ZERO + dice.us(within);
        match dice.below(4) {
            0 => acts.push((at, Act::Break(AdapterBreakdown::FullQueues))),
            1 => acts.push((at, Act::Break(AdapterBreakdown::Stop))),
            2 => {
                // Only a stage that receives may use it, and then no driver would notice.
                let stall = AdapterBreakdown::Stall(dice.below(resources) as usize);
                acts.extend([(at, Act::Break(stall)), (at + Span::from_ms(60), Act::Mend(stall))]);
            }
            _ => acts.extend([(at, Act::LoseInterrupts), (at + dice.us(5000), Act::KeepInterrupts)]),
        }
    }
    // A driver notices when it has something to send.
    for channel in [ChannelId(0), ChannelId(2)] {
        *offered.entry(channel).or_default() += 1;
        acts.push((Time::ZERO + Span::from_us(within), Act::Offer(channel, Bytes::new(100))));
    }
    acts.sort_by_key(|(at, _)| *at);
    let frames_in_order = acts.iter_mut().filter_map(|(_, act)| match act {
        Act::Frame(packet) => Some(packet),
        _ => None,
    });
    (0..).zip(frames_in_order).for_each(|(number, packet)| packet.message = number);
    // A broken adapter is reset 20 ms after it took its last packet, and packets wait for each other's turns.
    let end = Time::ZERO + Span::from_us(within) + Span::from_ms(60) + (Span::from_ms(25) + access) * 100;
    let mut acts = acts.into_iter().peekable();
    let mut now = Time::ZERO;
    loop {
        bench.settle(now);
        let act = acts.peek().map(|(at, _)| *at);
        let node = bench.node.next_deadline();
        let busy = act.is_some() || node.is_some() || bench.node.adapter(LinkId::FIRST).held() > 0;
        let medium = bench.medium.next_deadline().filter(|_| busy);
        let Some(next) = [act, node, medium].into_iter().flatten().min() else { break };
        assert!(next >= now, "{seed}: nothing asks to be called in the past");
        now = next;
        assert!(now <= end, "{seed}: it hangs, {} held at {now}", bench.node.adapter(LinkId::FIRST).held());
        if node == Some(now) {
            bench.node.timer(now);
        } else if medium == Some(now) {
            bench.medium.timer(now);
        } else if let Some((_, act)) = acts.next() {
            match act {
                Act::Offer(channel, size) => bench.node.offer(now, channel, size),
                Act::Frame(packet) => bench.node.receive(now, &packet),
                Act::Break(breakdown) => bench.node.break_down(now, breakdown, true),
                Act::Mend(breakdown) => bench.node.break_down(now, breakdown, false),
                Act::LoseInterrupts => {
                    bench
                        .node
                        .lose_interrupts(LinkId::FIRST, Some((0.7, Seed::new(seed).stream("interrupts"))));
                }
                Act::KeepInterrupts => bench.node.lose_interrupts(LinkId::FIRST, None),
            }
        }
    }
    Outcome { node: bench.node, log: bench.log, offered, frames, in_order }
}

#[test]
fn a_driver_recovers_from_whatever_breaks_and_a_host_gets_its_buffers_back() {
    let mut tally = BTreeMap::<&str, u64>::new();
    for seed in 0..3000 {
        let Outcome { node, log, offered, frames, in_order } = run(seed, &Placement::draw(seed));
        let subsystem = node.host().expect("it is here").subsystem();
        assert_eq!(
            (node.adapter(LinkId::FIRST).held(), node.adapter(LinkId::FIRST).buffers_in_use()),
            (0, 0),
            "{seed}"
        );
        assert_eq!((subsystem.link_queue().0, node.packets()), (0, 0), "{seed}");
        let count = |what: &dyn Fn(&NodeOutput) -> bool| log.iter().filter(|(_, o)| what(o)).count() as u64;
        let mut received = 0;
        for channel in (0..SENDS.len()).map(|n| ChannelId(n as u32)) {
            let counters = subsystem.counters(channel).unwrap();
            assert_eq!(subsystem.buffers_in_use(channel), Ok(0), "{seed}: {channel:?}");
            if !SENDS[channel.0 as usize] {
                received += counters.delivered;
                received += counters.dropped.get(&Dropped::PacketQueue).copied().unwrap_or_default();
                received += counters.dropped.get(&Dropped::ProgramQueue).copied().unwrap_or_default();
                continue;
            }
            let failed = count(&|o| matches!(o, NodeOutput::Failed(packet, _) if packet.channel == channel));
            assert_eq!(counters.created, counters.transmitted + failed, "{seed}: {channel:?}");
            let is_answer = |o: &NodeOutput| matches!(o, NodeOutput::Host(Output::Answered { channel: of, .. }) if *of == channel);
            let offered = offered.get(&channel).copied().unwrap_or_default();
            assert_eq!(count(&is_answer), offered, "{seed}: every send is answered");
            *tally.entry("failed").or_default() += failed;
            *tally.entry("transmitted").or_default() += counters.transmitted;
        }
        let discarded = count(&|o| matches!(o, NodeOutput::Discarded(..)));
        // A message with overtaken packets is given up.
        assert!(received + discarded <= frames, "{seed}: frames from outside");
        assert!(
            !in_order || received + discarded == frames,
            "{seed}: {received} + {discarded} of {frames} frames"
        );
        *tally.entry("in order").or_default() += u64::from(in_order);
        *tally.entry("received").or_default() += received;
        *tally.entry("resets").or_default() += node.driver(LinkId::FIRST).resets;
        *tally.entry("recovered").or_default() += node.driver(LinkId::FIRST).recovered;
        *tally.entry("lost interrupts").or_default() += node.driver(LinkId::FIRST).lost_interrupts;
    }
    for what in ["failed", "transmitted", "received", "resets", "recovered", "lost interrupts"] {
        assert!(tally.get(what).is_some_and(|n| *n > 300), "{what}: {tally:?}");
    }
}

#[test]
fn the_same_faults_give_the_same_bits() {
    for seed in 0..200 {
        let placement = Placement::draw(seed);
        assert_eq!(run(seed, &placement).log, run(seed, &placement).log, "{seed}");
    }
}
