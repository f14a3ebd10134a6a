//! Interrupts: preemption, masking, and effects.

use laxity_model::host::{Applications, Host, Interrupt, Output};
use laxity_model::told::Told;
use laxity_qos::channel::{
    Carried, ChannelConfig, ChannelId, Config, Dropped, LinkConfig, LinkParadigm, Packet, Role,
};
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Span, Time};

use super::bench::{Bench, COSTS, Input, Offer, PACKET, best_effort, config, real_time};

/// An adapter that is not done before the test is.
const NEVER: Span = Span::from_secs(1);

/// Packet `index` of the `count` of message 0, as it arrives from the network.
pub(super) fn incoming(index: u32, count: u32) -> Input {
    let packet = Packet {
        channel: ChannelId(0),
        message: 0,
        index,
        count,
        size: PACKET,
        message_size: PACKET * u64::from(count),
        tag: Tag {
            class: Class::BestEffort,
            logical_arrival: Time::ZERO,
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level: 31,
        },
        due_from: Time::ZERO,
        sent: Time::ZERO,
        created: Time::ZERO,
        handed: Time::ZERO,
        carried: Carried::NOTHING,
    };
    Input::Interrupt(Interrupt::Received(packet))
}

/// Two packets of a message arrive at 0 and 20. The first is processed from 5; the interrupt of the
/// second stops that for 5 us. The second completes the message, which costs 8 us more: 40 + 30 + 8
/// = 78.
#[test]
fn the_last_packet_pays_for_the_message() {
    let receives = ChannelConfig { role: Role::Receive, ..best_effort() };
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &[receives]);
    assert_eq!(
        bench.run(vec![(0, incoming(0, 2)), (20, incoming(1, 2))]),
        [
            "0-5 interrupt: interrupt",
            "5-20 handler 0: protocol",
            "20-25 interrupt: interrupt",
            "25-40 handler 0: protocol",
            "40-78 handler 0: protocol",
            "78 delivered 0.0",
        ]
    );
}

/// Interrupts are served one after the other, and take effect at their end.
#[test]
fn interrupts_queue_and_a_handshake_is_answered_at_the_end() {
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &[best_effort()]);
    bench.run_until(51, vec![(0, Offer(0, 1))]);
    let packet = bench.sent[0];
    let interrupt = |us, interrupt| (us, Input::Interrupt(interrupt));
    assert_eq!(
        bench.run_until(
            99,
            vec![
                interrupt(60, Interrupt::Progress(packet)),
                interrupt(62, Interrupt::Handshake(packet)),
                interrupt(63, Interrupt::Timer),
            ]
        ),
        ["60-65 interrupt: interrupt", "65-70 interrupt: interrupt", "70 proceed 0.0"]
    );
}

/// An adapter that loses a packet gives its buffer back: with one buffer, the second packet can be
/// made from 65 on.
#[test]
fn a_failed_packet_frees_its_buffer() {
    let narrow = ChannelConfig { packet_slots: 1, ..best_effort() };
    let mut bench = Bench::with_link(config(LinkParadigm::O1), Applications::Separate, &[narrow], NEVER);
    bench.run_until(51, vec![(0, Offer(0, 2))]);
    let lost = bench.sent[0];
    assert_eq!(
        bench.run_until(100, vec![(60, Input::Interrupt(Interrupt::Failed(lost, Dropped::Adapter)))]),
        [
            "60-65 interrupt: interrupt",
            "65-85 handler 0: protocol",
            "85-95 handler 0: link_scheduling",
            "95 sent 0.0.1",
        ]
    );
    let counters = bench.host.subsystem().counters(ChannelId(0)).unwrap();
    assert_eq!((counters.dropped_packets, counters.transmitted, counters.created), (1, 0, 2));
}

/// The link scheduler masks interrupts, and has handed its packet over before they are served: its
/// first choice leaves first.
///
/// Two packets fit the adapter, which needs 25. The first is handed over at 50 and done at 75,
/// while the handler schedules the second, 70-80. The interrupt waits until 80 and the packet does
/// not wait for it.
#[test]
fn the_link_scheduler_masks_interrupts() {
    let base = config(LinkParadigm::O1);
    let config = Config { link: LinkConfig { depth: 2, ..base.link }, ..base };
    let link = Span::from_us(25);
    let mut bench = Bench::with_link(config, Applications::Separate, &[best_effort()], link);
    assert_eq!(
        bench.run(vec![(0, Offer(0, 2))]),
        [
            "0 Accepted { message: 0 } 0",
            "0-40 handler 0: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "50-70 handler 0: protocol",
            "70-80 handler 0: link_scheduling",
            "80 sent 0.0.1",
            "80-85 interrupt: interrupt",
            "105-110 interrupt: interrupt",
        ]
    );
}

/// A wake-up that falls due behind a masked interrupt is served when interrupts are unmasked,
/// whatever else happens meanwhile.
///
/// The second real-time message is held until 10 000. Best effort makes a packet 9958-9998, after a
/// switch, and schedules the link until 10 008; a message at 10 003 has no effect. Its next packet
/// is not made before the eligible one.
#[test]
fn a_wake_up_waits_behind_a_masked_interrupt() {
    let channels = [real_time(5_000), best_effort()];
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &channels);
    let log = bench.run_until(
        10_053,
        vec![(0, Offer(0, 1)), (0, Offer(0, 1)), (9_955, Offer(1, 1)), (10_003, Offer(1, 1))],
    );
    assert_eq!(
        log[6..],
        [
            "9955 Accepted { message: 0 } 1",
            "9955-9958 handler 1: switch",
            "9958-9998 handler 1: protocol",
            "10003 Accepted { message: 1 } 1",
            "9998-10008 handler 1: link_scheduling",
            "10008 sent 1.0.0",
            "10008-10011 handler 0: switch",
            "10011-10051 handler 0: protocol",
        ]
    );
}

/// A trace names the channel that the CPU was busy for, where there is one.
#[test]
fn a_trace_names_the_channel() {
    let receives = ChannelConfig { role: Role::Receive, ..best_effort() };
    let mut host = Told::new(Host::new(COSTS, config(LinkParadigm::O1), Applications::Shared));
    host.record();
    host.open(best_effort());
    let to = host.open(receives);
    let Input::Interrupt(Interrupt::Received(packet)) = incoming(0, 1) else { unreachable!("it is one") };
    let at = |us| Time::ZERO + Span::from_us(us);
    host.interrupt(at(0), Interrupt::Received(Packet { channel: to, ..packet }));
    host.offer(at(0), ChannelId(0), PACKET);
    let mut seen = Vec::new();
    while let Some(now) = host.next_deadline() {
        host.timer(now);
        while let Some(output) = host.poll_output() {
            match output {
                Output::Busy(busy) => seen.push((busy.used.name(), busy.channel.map(|channel| channel.0))),
                Output::Transmit(_, packet) => host.interrupt(now, Interrupt::Transmitted(packet)),
                _ => {}
            }
        }
    }
    assert_eq!(
        seen,
        [
            ("interrupt", Some(1)),
            ("application", Some(0)),
            ("switch", Some(1)),
            ("protocol", Some(1)),
            ("switch", Some(0)),
            ("protocol", Some(0)),
            ("link_scheduling", Some(0)),
            ("interrupt", Some(0)),
        ]
    );
}
