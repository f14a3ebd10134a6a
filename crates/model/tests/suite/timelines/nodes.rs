//! A node instant by instant: messages between host, driver and adapter, and outputs.

use laxity_engine::Seed;
use laxity_model::adapter::{
    Adapter, AdapterBreakdown, AdapterBuffers, CommandQueue, Delay, Description, Directive, HostSide,
    MediumAccess, Moderation, Notification, Null, PROCESSOR, PacketDirection, Passage, Phase, Pipeline,
    QueueSelection, Resource, ResponseQueue, Stage,
};
use laxity_model::host::{Applications, Endless, Host, Output, Use};
use laxity_model::node::{DriverConfig, HostNode, NodeOutput};
use laxity_model::source::Sizes;
use laxity_model::told::Told;
use laxity_qos::channel::{Carried, ChannelConfig, ChannelId, LinkId, LinkParadigm, Packet};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Span, Time};

use super::bench::{COSTS, PACKET, at, best_effort, config};

fn us(at: Time) -> u64 {
    at.since(Time::ZERO).as_ps() / 1_000_000
}

/// The outputs as text with their times; of a packet, its message, its index, and its hand-over
/// time.
fn words(node: &mut Told<HostNode, NodeOutput>, now: Time) -> Vec<String> {
    let name = |packet: &Packet| format!("{}.{}", packet.message, packet.index);
    let word = |output| match output {
        NodeOutput::Departed(_, packet, more) => {
            format!(
                "departed {} handed {}{}",
                name(&packet),
                us(packet.handed),
                if more { " more" } else { "" }
            )
        }
        NodeOutput::Response(response, announced) => {
            let said = format!("{response:?}");
            let kind = said.split('(').next().unwrap_or_default();
            format!("{kind} {}", if announced { "announced" } else { "unannounced" })
        }
        NodeOutput::Host(output) => {
            let said = format!("{output:?}");
            said.split([' ', '(']).next().unwrap_or_default().to_string()
        }
        NodeOutput::Failed(packet, loss) => format!("failed {} {loss:?}", name(&packet)),
        NodeOutput::Passed(_, Passage { direction, stage, joined, began, ended, .. }) => {
            format!("{direction:?} {stage}: {}-{}-{}", us(joined), us(began), us(ended))
        }
        NodeOutput::Request(_) => "Request".into(),
        NodeOutput::Withdraw(_) => "Withdraw".into(),
        other => format!("{other:?}"),
    };
    std::iter::from_fn(|| node.poll_output()).map(word).map(|word| format!("{} {word}", us(now))).collect()
}

/// Runs the node until no event is left, or `until`.
pub(super) fn run(node: &mut Told<HostNode, NodeOutput>, until: u64) -> Vec<String> {
    let mut log = words(node, at(0));
    while let Some(now) = node.next_deadline().filter(|now| *now <= at(until)) {
        node.timer(now);
        log.extend(words(node, now));
    }
    log
}

/// A device that takes 50 us for a packet.
fn null() -> Adapter {
    Adapter::Null(Null::new(LinkCosts::new(Span::from_us(50), Span::ZERO)))
}

fn host() -> Host {
    Host::new(COSTS, config(LinkParadigm::O1), Applications::Separate)
}

pub(super) fn packet(message: u64) -> Packet {
    Packet {
        channel: ChannelId(0),
        message,
        index: 0,
        count: 1,
        size: PACKET,
        message_size: PACKET,
        tag: Tag {
            class: Class::BestEffort,
            logical_arrival: at(0),
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level: 31,
        },
        due_from: at(0),
        sent: at(0),
        created: at(0),
        handed: at(0),
        carried: Carried::NOTHING,
    }
}

/// Two packets: made 0-40 and handed over at 50, made 50-70 and handed over at 115 by the interrupt
/// of the first, which has taken 5 since 100 before it schedules the link for 10.
#[test]
fn a_packet_goes_from_host_to_adapter_and_is_announced_there() {
    let mut node = Told::new(HostNode::new(host(), DriverConfig::default(), null()));
    node.record_cpu();
    node.open(best_effort());
    node.offer(at(0), ChannelId(0), PACKET * 2);
    let log = run(&mut node, 1000);
    let busy = log.iter().filter(|line| line.contains("Busy")).count();
    assert_eq!(busy, 6, "two packets, two link calls, two interrupts: {log:?}");
    let others: Vec<_> = log.iter().filter(|line| !line.contains("Busy")).collect();
    assert_eq!(others, ["0 Answered", "100 departed 0.0 handed 50", "165 departed 0.1 handed 115"]);
    assert_eq!(node.next_deadline(), None);
}

/// Two packets, each with 10 of copying: 0-50 and, with the link's 10 between, 60-90. The adapter
/// moves one in 20 over a bus. The first is there at 60, and the CPU has the bus to 70: it is moved
/// by 90, or by 80 if the bus is the adapter's own. The second is handed over at 105 either way,
/// when no copy is in progress.
#[test]
fn a_host_that_copies_takes_the_bus_from_its_adapter() {
    let sent = |host| {
        let transfer = Phase { delay: Delay::fixed(Span::from_us(20)), holds: vec![1], ..Phase::default() };
        let adapter = describing(|description| {
            let bus =
                Resource { name: "bus".into(), servers: 1, preemptive: true, urgent: false, host, bus: None };
            description.resources.push(bus);
            description.transmit =
                vec![Stage { name: "dma".into(), phases: vec![transfer], ..Stage::default() }];
        });
        let costs = HostCosts { send_byte: Span::from_ns(10), ..COSTS };
        let copies = Host::new(costs, config(LinkParadigm::O1), Applications::Separate);
        let mut node = Told::new(HostNode::new(copies, DriverConfig::default(), adapter));
        node.open(best_effort());
        node.offer(at(0), ChannelId(0), PACKET * 2);
        run(&mut node, 1000).into_iter().filter(|line| line.contains("departed")).collect::<Vec<_>>()
    };
    assert_eq!(sent(true), ["90 departed 0.0 handed 60", "125 departed 0.1 handed 105"]);
    assert_eq!(sent(false), ["80 departed 0.0 handed 60", "125 departed 0.1 handed 105"]);
}

#[test]
fn a_source_without_end_sends_at_once() {
    let mut node = Told::new(HostNode::new(host(), DriverConfig::default(), null()));
    node.open(best_effort());
    let endless = Endless::new(Sizes::Fixed(PACKET), Seed::new(0).stream("endless"), Some(1));
    node.send_without_end(at(0), ChannelId(0), endless);
    assert_eq!(run(&mut node, 104), ["0 Answered", "100 departed 0.0 handed 50"]);
}

/// With every interrupt lost, a watchdog of 70 finds at 140 that the packet departed at 100, and
/// the driver says what it knows.
#[test]
fn a_driver_finds_what_was_not_announced() {
    let driver = DriverConfig { watchdog: Some(Span::from_us(70)), reset_after: None };
    let mut node = Told::new(HostNode::new(host(), driver, null()));
    node.open(best_effort());
    node.lose_interrupts(LinkId::FIRST, Some((1.0, Seed::new(1).stream("interrupts"))));
    node.offer(at(0), ChannelId(0), PACKET);
    assert_eq!(run(&mut node, 139), ["0 Answered", "100 departed 0.0 handed 50"]);
    let transmitted = |node: &HostNode| {
        node.host().expect("it is here").subsystem().counters(ChannelId(0)).unwrap().transmitted
    };
    assert_eq!((node.next_deadline(), transmitted(&node)), (Some(at(140)), 0));
    run(&mut node, 145);
    assert_eq!(
        (
            node.driver(LinkId::FIRST).lost_interrupts,
            node.driver(LinkId::FIRST).recovered,
            transmitted(&node)
        ),
        (1, 1, 1)
    );
}

/// Where the host is elsewhere the node says what its adapter answers, and whether an interrupt goes with it.
#[test]
fn a_host_elsewhere_is_answered() {
    let mut node = Told::new(HostNode::without_host(null()));
    node.record_cpu();
    node.command(at(5), &Directive::Transmit(packet(0)));
    node.command(at(5), &Directive::Transmit(packet(1)));
    assert_eq!(run(&mut node, 60), ["55 departed 0.0 handed 0 more", "55 Transmitted announced"]);
    node.receive(at(60), &packet(7));
    assert_eq!(words(&mut node, at(60)), ["60 Received announced"]);
    node.lose_interrupts(LinkId::FIRST, Some((1.0, Seed::new(1).stream("interrupts"))));
    node.reset_adapter(at(70));
    assert_eq!(words(&mut node, at(70)), ["70 Failed unannounced"]);
    assert_eq!(
        (node.driver(LinkId::FIRST).resets, node.driver(LinkId::FIRST).lost_interrupts, node.next_deadline()),
        (1, 1, None)
    );
}

/// Two stages, of which the second sends: it takes 10 and then 20 on the medium; one receives, in
/// 7. A handshake stands between the two of the second.
fn described() -> Adapter {
    describing(|_| {})
}

/// The same after a change.
pub(super) fn describing(change: impl FnOnce(&mut Description)) -> Adapter {
    let stage = |name: &str, phases| Stage { name: name.into(), phases, ..Stage::default() };
    let phase = |us| Phase { delay: Delay::fixed(Span::from_us(us)), ..Phase::default() };
    let mut description = Description {
        interface: HostSide {
            queues: vec![CommandQueue { slots: Some(1), ..CommandQueue::default() }],
            selection: QueueSelection::Priority,
            doorbell: Span::ZERO,
            poll: None,
            notification: Notification::Interrupt,
            responses: vec![ResponseQueue::default()],
        },
        resources: vec![Resource {
            name: "processor".into(),
            servers: 1,
            preemptive: false,
            urgent: false,
            host: false,
            bus: None,
        }],
        transmit: vec![
            stage("in", vec![Phase { holds: vec![PROCESSOR], ..phase(3) }]),
            stage("out", vec![phase(10), Phase { medium: true, ..phase(20) }]),
        ],
        receive: vec![stage("rx", vec![phase(7)]), stage("up", vec![phase(2)])],
        transmit_buffers: AdapterBuffers::default(),
        receive_buffers: AdapterBuffers::default(),
        transmit_policing: None,
        receive_policing: None,
        link: LinkCosts::default(),
    };
    change(&mut description);
    Adapter::Pipeline(Box::new(Pipeline::new(description)))
}

/// The frame is ready at 13, goes when the medium lets it, at 30, and is out at 50; on a link of
/// its own it is out at 33. Where frames are at least 25 long it takes until 55.
#[test]
fn a_frame_asks_for_the_medium_unless_the_link_is_its_own() {
    let mut node = Told::new(HostNode::without_host(described()));
    node.command(at(0), &Directive::Transmit(packet(0)));
    assert_eq!(run(&mut node, 100), ["13 Request"]);
    node.medium(at(30), MediumAccess::Granted);
    assert_eq!(run(&mut node, 100), ["50 departed 0.0 handed 0", "50 Transmitted announced"]);

    let mut node = Told::new(HostNode::without_host(described()));
    node.own_the_link(LinkId::FIRST);
    node.command(at(0), &Directive::Transmit(packet(0)));
    assert_eq!(run(&mut node, 100), ["33 departed 0.0 handed 0", "33 Transmitted announced"]);

    let mut node = Told::new(HostNode::without_host(described()));
    node.pad_frames_to(LinkId::FIRST, Span::from_us(25));
    node.command(at(0), &Directive::Transmit(packet(0)));
    run(&mut node, 29);
    node.medium(at(30), MediumAccess::Granted);
    assert_eq!(run(&mut node, 100), ["55 departed 0.0 handed 0", "55 Transmitted announced"]);
}

/// The second stage works 0-10 on the frame that is ready at 13, and sends it 30-37, when it
/// collides; it has the whole of it still to send, 50-70. Another is given up after 7, which counts
/// as work too.
#[test]
fn a_collision_costs_what_was_sent_of_a_frame() {
    let mut node = Told::new(HostNode::without_host(described()));
    let busy = |node: &HostNode| node.adapter(LinkId::FIRST).stages(at(1000))[1].busy.as_ps() / 1_000_000;
    node.command(at(0), &Directive::Transmit(packet(0)));
    assert_eq!(run(&mut node, 29), ["13 Request"]);
    node.medium(at(30), MediumAccess::Granted);
    node.medium(at(37), MediumAccess::Aborted);
    assert_eq!((run(&mut node, 100), busy(&node)), (Vec::new(), 10 + 7));
    node.medium(at(50), MediumAccess::Granted);
    assert_eq!(run(&mut node, 69), [""; 0]);
    assert_eq!(run(&mut node, 70), ["70 departed 0.0 handed 0", "70 Transmitted announced"]);
    assert_eq!(busy(&node), 10 + 7 + 20);

    node.command(at(100), &Directive::Transmit(packet(1)));
    assert_eq!(run(&mut node, 129), ["113 Request"]);
    node.medium(at(130), MediumAccess::Granted);
    node.medium(at(137), MediumAccess::Lost);
    assert_eq!(words(&mut node, at(137)), ["137 Failed announced"]);
    assert_eq!(
        (busy(&node), node.adapter(LinkId::FIRST).held(), node.next_deadline()),
        (37 + 10 + 7, 0, None)
    );
}

/// A trace numbers the stages of each way from 0.
#[test]
fn a_passage_names_its_way_and_the_stage_on_it() {
    let mut node = Told::new(HostNode::without_host(described()));
    node.record_stages();
    node.own_the_link(LinkId::FIRST);
    node.command(at(0), &Directive::Transmit(packet(0)));
    node.receive(at(1), &packet(7));
    let log = run(&mut node, 100);
    let passed: Vec<_> = log.iter().filter(|line| line.contains(':')).collect();
    assert_eq!(
        passed,
        ["8 Receive 0: 1-1-8", "10 Receive 1: 8-8-10", "33 Transmit 0: 0-0-3", "33 Transmit 1: 3-3-33"],
        "of what goes to the link unseen one hears when it is there"
    );
    assert_ne!(PacketDirection::Transmit, PacketDirection::Receive);
}

/// An adapter with full queues is offered the same packets again at the next occasion, in their
/// order.
#[test]
fn a_full_command_queue_makes_packets_wait() {
    let mut node = Told::new(HostNode::without_host(described()));
    node.own_the_link(LinkId::FIRST);
    node.break_down(at(0), AdapterBreakdown::FullQueues, true);
    for message in 0..3 {
        node.command(at(0), &Directive::Transmit(packet(message)));
    }
    assert_eq!(run(&mut node, 100), [""; 0]);
    assert_eq!(node.driver(LinkId::FIRST).longest_backlog, 3);
    node.break_down(at(100), AdapterBreakdown::FullQueues, false);
    let log = run(&mut node, 300);
    let departed: Vec<_> = log.iter().filter(|line| line.contains("departed")).collect();
    // From 100: 3, 10 and 20 of the first; the second stage takes 30 for each.
    assert_eq!(
        departed,
        ["133 departed 0.0 handed 0 more", "163 departed 1.0 handed 0 more", "193 departed 2.0 handed 0"]
    );
}

/// A stopped adapter sends no response; the driver resets it 200 after it took the packet, at 50,
/// and the packet returns as failed.
#[test]
fn a_driver_resets_an_adapter_that_keeps_a_packet() {
    let driver = DriverConfig { watchdog: None, reset_after: Some(Span::from_us(200)) };
    let mut node = Told::new(HostNode::new(host(), driver, described()));
    node.own_the_link(LinkId::FIRST);
    node.open(best_effort());
    node.offer(at(0), ChannelId(0), PACKET);
    node.break_down(at(1), AdapterBreakdown::Stop, true);
    assert_eq!(run(&mut node, 249), ["0 Answered"]);
    assert_eq!((node.next_deadline(), node.driver(LinkId::FIRST).resets), (Some(at(250)), 0));
    assert_eq!(run(&mut node, 300), ["0 failed 0.0 Reset"].map(|line| line.replacen('0', "250", 1)));
    assert_eq!((node.driver(LinkId::FIRST).resets, node.next_deadline()), (1, None));
}

/// A device like [`null`], with all responses in one queue.
fn answering(notification: Notification, queue: ResponseQueue) -> Adapter {
    let Adapter::Pipeline(described) = described() else { unreachable!("it is described") };
    let mut description = described.description().clone();
    description.interface.notification = notification;
    description.interface.responses = vec![queue];
    description.interface.queues[0].slots = None;
    description.transmit.truncate(1);
    description.transmit[0].phases =
        vec![Phase { delay: Delay::fixed(Span::from_us(50)), ..Phase::default() }];
    Adapter::Pipeline(Box::new(Pipeline::new(description)))
}

/// Runs a host with it that pays 5 for an interrupt, 2 for a poll and 1 for a response; returns its
/// activity in interrupts, and the rest.
fn paying(adapter: Adapter, packets: u64, until: u64) -> (Vec<String>, Vec<String>) {
    let costs = HostCosts { poll: Span::from_us(2), response: Span::from_us(1), ..COSTS };
    let mut config = config(LinkParadigm::O1);
    config.link.depth = packets as u32;
    let host = Host::new(costs, config, Applications::Separate);
    let mut node = Told::new(HostNode::new(host, DriverConfig::default(), adapter));
    node.record_cpu();
    node.open(best_effort());
    node.offer(at(0), ChannelId(0), PACKET * packets);
    let (mut stretches, mut others) = (Vec::new(), Vec::new());
    let mut now = at(0);
    loop {
        while let Some(output) = node.poll_output() {
            match output {
                NodeOutput::Host(Output::Busy(busy)) if busy.used == Use::Interrupt => {
                    stretches.push(format!("{}-{}", us(busy.began), us(busy.ended)));
                }
                NodeOutput::Departed(_, packet, _) => {
                    others.push(format!("{} departed, handed {}", us(now), us(packet.handed)));
                }
                _ => {}
            }
        }
        match node.next_deadline().filter(|next| *next <= at(until)) {
            Some(next) => now = next,
            None => return (stretches, others),
        }
        node.timer(now);
    }
}

/// A poll at each multiple of 40 costs 2 and each response 1; interrupts cost no 5. It preempts the
/// CPU from the first packet's end at 40; handed over at 52, that is out at 102 and found at 120.
#[test]
fn a_poll_pays_for_a_poll() {
    let polled = answering(Notification::Poll(Span::from_us(40)), ResponseQueue::default());
    let (stretches, others) = paying(polled, 1, 130);
    assert_eq!(stretches, ["40-42", "80-82", "120-123"]);
    assert_eq!(others, ["102 departed, handed 52"]);
}

/// A poll costs 2 and is due at each multiple of 1: a core that polls, or ends a poll just then,
/// need not begin again.
#[test]
fn who_is_looking_does_not_begin_again() {
    let polled = answering(Notification::Poll(Span::from_us(1)), ResponseQueue::default());
    let (stretches, _) = paying(polled, 1, 10);
    assert_eq!(stretches, ["1-3", "4-6", "7-9"]);
}

/// Packets out at 100, 150 and 200 with three outstanding: made 0-40, 50-70 and 80-100, each handed
/// over 10 later. The first two are announced at 150, once, and read in 5 + 1 and 1; the third
/// waits for the maximum delay of 60.
#[test]
fn an_interrupt_announces_what_has_gathered() {
    let moderation = Moderation { frames: Some(2), delay: Span::from_us(60), interval: Span::ZERO };
    let queue = ResponseQueue { moderation, ..ResponseQueue::default() };
    let (stretches, others) = paying(answering(Notification::Interrupt, queue), 3, 400);
    assert_eq!(others, ["100 departed, handed 50", "150 departed, handed 80", "200 departed, handed 110"]);
    assert_eq!(stretches, ["150-156", "156-157", "260-266"]);
}

/// The host reads one response at a time; the adapter has one place for them, so what is out by 150
/// is said when the first is read. That takes 6 from 100, and the next 6 from when it is said.
#[test]
fn a_place_is_free_when_its_response_is_read() {
    let moderation = Moderation { delay: Span::from_us(70), ..Moderation::default() };
    let queue = ResponseQueue { slots: Some(1), moderation, ..ResponseQueue::default() };
    let (stretches, others) = paying(answering(Notification::Interrupt, queue), 3, 600);
    // Said at 100 and announced at 170, read by 176. The second has been done since 150, and leaves
    // when it is said.
    assert_eq!(stretches, ["170-176", "246-252", "322-328"]);
    assert_eq!(others, ["100 departed, handed 50", "176 departed, handed 80", "252 departed, handed 110"]);
}

/// For a remote host responses wait in the node as well, and the last of a batch carries the
/// interrupt; a response without its interrupt is there all the same, for a host that polls.
#[test]
fn a_host_elsewhere_is_told_of_several_at_once() {
    let moderation = Moderation { frames: Some(2), delay: Span::from_us(70), ..Moderation::default() };
    let queue = ResponseQueue { moderation, slots: Some(3), ..ResponseQueue::default() };
    let mut node = Told::new(HostNode::without_host(answering(Notification::Interrupt, queue)));
    for message in 0..3 {
        node.command(at(0), &Directive::Transmit(packet(message)));
    }
    let said = |log: Vec<String>| -> Vec<String> {
        log.into_iter().filter(|line| line.contains("announced")).collect()
    };
    assert_eq!(said(run(&mut node, 110)), ["100 Transmitted unannounced", "100 Transmitted announced"]);
    node.lose_interrupts(LinkId::FIRST, Some((1.0, Seed::new(1).stream("interrupts"))));
    assert_eq!(said(run(&mut node, 300)), ["220 Transmitted unannounced"]);
    assert_eq!((node.driver(LinkId::FIRST).interrupts, node.packets(), node.next_deadline()), (2, 0, None));
}

/// A packet for each of two adapters: made 0-40 and 53-93, after 3 for the switch. The first is
/// handed over at 50 and the second at 103, long before the first is read: by one adapter it would
/// have been 115. A frame received by the second belongs to the second.
#[test]
fn adapters_share_the_cpu_only() {
    let mut node = Told::new(HostNode::new(host(), DriverConfig::default(), null()));
    let second = node.add_adapter(DriverConfig::default(), null(), LinkCosts::default());
    assert_eq!(second, LinkId(1));
    node.open(best_effort());
    node.open(ChannelConfig { link: second, ..best_effort() });
    for channel in [0, 1] {
        node.offer(at(0), ChannelId(channel), PACKET);
    }
    let log = run(&mut node, 200);
    assert_eq!(
        log,
        ["0 Answered", "0 Answered", "100 departed 0.0 handed 50", "153 departed 0.0 handed 103"]
    );
    let interrupts = |node: &HostNode| [LinkId::FIRST, second].map(|link| node.driver(link).interrupts);
    assert_eq!(interrupts(&node), [1, 1]);
    assert_eq!(node.next_deadline(), None);
}
