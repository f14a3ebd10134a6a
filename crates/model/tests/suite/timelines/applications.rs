//! Applications that share the CPU: cost and time of sends, and blocking.

use laxity_model::host::{Applications, Use};
use laxity_qos::channel::{ChannelConfig, LinkParadigm, MessageOverflow};
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span};

use super::bench::{Bench, Input, Offer, PACKET, best_effort, config, real_time};

/// One message in the queue and one in hand; one packet buffer; a sender without room waits.
fn narrow() -> ChannelConfig {
    ChannelConfig {
        message_slots: 1,
        packet_slots: 1,
        message_overflow: MessageOverflow::Block,
        ..best_effort()
    }
}

/// Four messages of a packet each arrive within 3 us, while the first is being sent. The handler
/// has room for one and the queue for one; each of the others costs 15 us once, when there is room
/// for it.
///
/// The first: sent 0-15 and taken by the handler. The second: sent 15-30 and queued, and now the
/// application sleeps. The handler makes the first packet 33-73 and takes the second message, so
/// there is room: the application is ready, and has the CPU when the handler, which has no buffer,
/// stops at 83. It sends the third 86-101, and sleeps. The link returns the buffer at 83 + 50 =
/// 133; the same again from there for the fourth.
#[test]
fn a_blocked_application_sleeps_until_there_is_room_and_pays_once() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Shared, &[narrow()]);
    let log = bench.run(vec![(0, Offer(0, 1)), (1, Offer(0, 1)), (2, Offer(0, 1)), (3, Offer(0, 1))]);
    assert_eq!(
        log,
        [
            "0-15 application 0: application",
            "15 Accepted { message: 0 } 0",
            "15-30 application 0: application",
            "30 Accepted { message: 1 } 0",
            "30-33 handler 0: switch",
            "33-73 handler 0: protocol",
            "73-83 handler 0: link_scheduling",
            "83 sent 0.0.0",
            "83-86 application 0: switch",
            "86-101 application 0: application",
            "101 Accepted { message: 2 } 0",
            "133-138 interrupt: interrupt",
            "138-141 handler 0: switch",
            "141-181 handler 0: protocol",
            "181-191 handler 0: link_scheduling",
            "191 sent 0.1.0",
            "191-194 application 0: switch",
            "194-209 application 0: application",
            "209 Accepted { message: 3 } 0",
            "241-246 interrupt: interrupt",
            "246-249 handler 0: switch",
            "249-289 handler 0: protocol",
            "289-299 handler 0: link_scheduling",
            "299 sent 0.2.0",
            "349-354 interrupt: interrupt",
            "354-394 handler 0: protocol",
            "394-404 handler 0: link_scheduling",
            "404 sent 0.3.0",
            "454-459 interrupt: interrupt",
        ]
    );
    assert_eq!(bench.host.uses()[0].of(Use::Application), Span::from_us(4 * 15));
}

/// While the application sleeps, a hundred messages more neither wake it nor cost anything: between
/// 101, when it has filled the queue, and 133, when the link gives the buffer back, the CPU idles.
#[test]
fn what_is_offered_to_a_sleeper_costs_nothing() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Shared, &[narrow()]);
    let few = vec![(0, Offer(0, 1)), (1, Offer(0, 1)), (2, Offer(0, 1)), (3, Offer(0, 1))];
    bench.run_until(102, few);
    assert_eq!(bench.run_until(132, (0..100).map(|_| (103, Offer(0, 1))).collect()), [""; 0]);
    assert_eq!(bench.host.uses()[0].of(Use::Application), Span::from_us(3 * 15));
    // 103 are left, one at a time as the link takes them, and each pays 15 us.
    bench.run(Vec::new());
    assert_eq!(bench.host.uses()[0].of(Use::Application), Span::from_us(104 * 15));
    assert_eq!(bench.sent.len(), 104);
}

/// Every message of a batch costs CPU time: three arrive while the handler makes the packet of the
/// first, 18-58. When it has called the link, at 68, the application gets the CPU and sends them,
/// 71 to 71 + 3 · 15 = 116.
#[test]
fn a_batch_pays_for_each_message() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Shared, &[best_effort()]);
    let log =
        bench.run_until(117, vec![(0, Offer(0, 1)), (20, Offer(0, 1)), (21, Offer(0, 1)), (22, Offer(0, 1))]);
    assert_eq!(
        log,
        [
            "0-15 application 0: application",
            "15 Accepted { message: 0 } 0",
            "15-18 handler 0: switch",
            "18-58 handler 0: protocol",
            "58-68 handler 0: link_scheduling",
            "68 sent 0.0.0",
            "68-71 application 0: switch",
            "71-116 application 0: application",
            "116 Accepted { message: 1 } 0",
            "116 Accepted { message: 2 } 0",
            "116 Accepted { message: 3 } 0",
        ]
    );
}

/// At a preemption point a real-time application goes first though the other has waited longer.
///
/// Channel 0 is best effort, channel 1 real time. While the handler of channel 0 makes its packet,
/// 18-58, its own application is ready at 20 and the other at 30. At 68, when it has called the
/// link, application 1 sends 71-86, then 0 from 89 to 104.
#[test]
fn real_time_applications_go_first() {
    let channels = [best_effort(), real_time(5_000)];
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Shared, &channels);
    let log = bench.run_until(105, vec![(0, Offer(0, 1)), (20, Offer(0, 1)), (30, Offer(1, 1))]);
    assert_eq!(
        log[6..],
        [
            "68-71 application 1: switch",
            "71-86 application 1: application",
            "86 Accepted { message: 0 } 1",
            "86-89 application 0: switch",
            "89-104 application 0: application",
            "104 Accepted { message: 1 } 0",
        ]
    );
}

/// A send of an application on another processor happens when it is due, whatever the CPU does, at
/// no cost.
#[test]
fn separate_applications_cost_nothing() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &[best_effort()]);
    let log = bench.run(vec![(0, Offer(0, 1)), (7, Offer(0, 1))]);
    assert_eq!(log[..2], ["0 Accepted { message: 0 } 0", "7 Accepted { message: 1 } 0"]);
    assert_eq!(bench.host.uses()[0].of(Use::Application), Span::ZERO);
    // Packets 0-40 and 50-90, link calls 40-50 and 105-115 after the interrupt at 100, and the last
    // interrupt.
    assert_eq!(bench.host.uses()[0].total(), Span::from_us(40 + 10 + 40 + 5 + 10 + 5));
}

/// Blocked senders are FIFO. Channels 2, 0 and 1 want to send while the CPU is busy with channel 3;
/// when that has made its packet, at 40, all three find room, and their messages are numbered, made
/// and sent in that order.
#[test]
fn senders_that_wait_are_asked_oldest_first() {
    let one = ChannelConfig { message_slots: 1, ..best_effort() };
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &[one; 4]);
    let inputs = vec![
        (0, Offer(3, 1)),
        (10, Input::Endless(2, Some(1))),
        (11, Input::Endless(0, Some(1))),
        (12, Input::Endless(1, Some(1))),
    ];
    let log = bench.run_until(299, inputs);
    let accepted: Vec<_> = log.iter().filter(|line| line.contains("Accepted")).take(4).collect();
    assert_eq!(
        accepted,
        [
            "0 Accepted { message: 0 } 3",
            "40 Accepted { message: 0 } 2",
            "40 Accepted { message: 0 } 0",
            "40 Accepted { message: 0 } 1",
        ]
    );
    let sent: Vec<_> = bench.sent.iter().map(|packet| packet.channel.0).collect();
    assert_eq!(sent[..4], [3, 2, 0, 1]);
}

/// A closed source has at most two messages outstanding, and sends the next when one is out of the
/// adapter; its sends cost no CPU time, even where applications share it. Refused messages are not
/// outstanding.
///
/// The first is made 0-40 and handed over at 50, the second is made 50-90. The first is out at 100,
/// which an interrupt reports until 105 before it schedules the second until 115; then the third is
/// sent.
#[test]
fn a_closed_source_has_so_many_under_way() {
    for placement in [Applications::Shared, Applications::Separate] {
        let mut bench = Bench::new(config(LinkParadigm::O1), placement, &[best_effort()]);
        let log = bench.run_until(116, vec![(0, Input::Endless(0, Some(2)))]);
        assert_eq!(
            log,
            [
                "0 Accepted { message: 0 } 0",
                "0 Accepted { message: 1 } 0",
                "0-40 handler 0: protocol",
                "40-50 handler 0: link_scheduling",
                "50 sent 0.0.0",
                "50-90 handler 0: protocol",
                "100-105 interrupt: interrupt",
                "105-115 interrupt: link_scheduling",
                "115 sent 0.1.0",
                "115 Accepted { message: 2 } 0",
            ]
        );
        assert_eq!(bench.host.uses()[0].of(Use::Application), Span::ZERO);
    }
}

/// A message that arrives while the last one with room is being sent waits for room at once: the
/// application does not become ready only to find none.
#[test]
fn what_is_being_sent_takes_its_room() {
    // One slot, and the handler has the first message in hand, without a buffer for its packet.
    let full = ChannelConfig { packet_slots: 0, ..narrow() };
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Shared, &[full]);
    bench.run_until(20, vec![(0, Offer(0, 1))]);
    let log = bench.run(vec![(30, Offer(0, 1)), (35, Offer(0, 1)), (50, Offer(0, 1))]);
    assert_eq!(log, ["30-45 application 0: application", "45 Accepted { message: 1 } 0"]);
}

/// The same four messages of an application on another processor: the third and fourth wait, and
/// are taken at no cost at the instant at which there is room, 40 and 145. A later one, at 320,
/// finds room and is taken at once, though the CPU is busy.
///
/// The handler makes a packet in 40 and calls the link for 10; its only buffer returns after 50,
/// with an interrupt of 5.
#[test]
fn a_blocked_sender_elsewhere_is_taken_when_there_is_room() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &[narrow()]);
    let offers = [0, 1, 2, 3, 320].map(|us| (us, Offer(0, 1)));
    let log = bench.run(offers.into_iter().collect());
    let told = |what: &str| log.iter().filter(|line| line.contains(what)).cloned().collect::<Vec<_>>();
    let taken = [(0, 0), (1, 1), (40, 2), (145, 3), (320, 4)];
    assert_eq!(told("Accepted"), taken.map(|(us, n)| format!("{us} Accepted {{ message: {n} }} 0")));
    let sent = [(50, 0), (155, 1), (260, 2), (365, 3), (470, 4)];
    assert_eq!(told("sent"), sent.map(|(us, n)| format!("{us} sent 0.{n}.0")));
    assert_eq!(bench.host.uses()[0].total(), Span::from_us(5 * (40 + 10 + 5)));
}

/// A refused message is answered when there is room, at 40, and the messages behind it wait for the
/// sender's next turn, at 50, even if another message arrives before.
#[test]
fn who_waits_behind_a_refused_message_is_not_overtaken_by_chance() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &[narrow()]);
    let offers =
        vec![(0, Offer(0, 1)), (1, Offer(0, 1)), (2, Offer(0, 0)), (3, Offer(0, 1)), (45, Offer(0, 1))];
    let log = bench.run_until(51, offers);
    let answers: Vec<_> = log.iter().filter(|line| !line.contains('-') && !line.contains("sent")).collect();
    assert_eq!(
        answers,
        [
            "0 Accepted { message: 0 } 0",
            "1 Accepted { message: 1 } 0",
            "40 Dropped(Undersized) 0",
            "50 Accepted { message: 2 } 0",
        ]
    );
}

/// An endless source with messages too large for its channel is refused despite room, and tries
/// again each time that the core is idle: when it begins, when the other channel's message arrives
/// at 0, when that is made at 40, when the link has been called at 50, and after the interrupt at
/// 105.
#[test]
fn who_is_refused_tries_again_when_the_core_is_free() {
    let half = Bytes::new(PACKET.get() / 2);
    let spec = TrafficSpec { max_message: half, ..best_effort().spec };
    let channels = [ChannelConfig { spec, ..best_effort() }, best_effort()];
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &channels);
    let log = bench.run(vec![(0, Input::Endless(0, None)), (0, Offer(1, 1))]);
    let refused: Vec<&str> =
        log.iter().filter_map(|line| line.strip_suffix(" Dropped(Oversize) 0")).collect();
    assert_eq!(refused, ["0", "0", "40", "50", "105"]);
}
