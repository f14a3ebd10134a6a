//! Programs that take what came in: when they have their turn, what they take, and what finds no place.

use laxity_model::host::{Applications, Interrupt, Use};
use laxity_qos::channel::{
    Carried, ChannelConfig, ChannelId, Config, CoreId, Dropped, LinkParadigm, Packet, Preemption, Reader,
    Role,
};
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use super::bench::{Bench, Input, PACKET, best_effort, config, real_time};

/// 50 us and 10 ns a byte: 60 us for a packet's worth.
fn read(channel: ChannelConfig, slots: u32) -> ChannelConfig {
    let reader = Reader { core: CoreId::FIRST, slots, work: Span::from_us(50), per_byte: Span::from_ns(10) };
    ChannelConfig { role: Role::Receive, reader: Some(reader), ..channel }
}

/// Message `message` of `channel`, of one packet, as it arrives from the network.
fn incoming(channel: u32, message: u64) -> Input {
    let packet = Packet {
        channel: ChannelId(channel),
        message,
        index: 0,
        count: 1,
        size: PACKET,
        message_size: PACKET,
        tag: Tag::real_time(Time::ZERO, Span::ZERO, Vtick::NONE, 0),
        due_from: Time::ZERO,
        sent: Time::ZERO,
        created: Time::ZERO,
        handed: Time::ZERO,
        carried: Carried::NOTHING,
    };
    Input::Interrupt(Interrupt::Received(packet))
}

fn bench(config: Config, channels: &[ChannelConfig]) -> Bench {
    Bench::new(config, Applications::Separate, channels)
}

/// The handler is done at 5 + 30 + 8; the message is delivered when the program is, to which is
/// switched first.
#[test]
fn a_message_is_delivered_when_its_program_is_done_with_it() {
    let mut bench = bench(config(LinkParadigm::O1), &[read(best_effort(), 2)]);
    assert_eq!(
        bench.run(vec![(0, incoming(0, 0))]),
        [
            "0-5 interrupt: interrupt",
            "5-43 handler 0: protocol",
            "43-46 program 0: switch",
            "46-106 program 0: program",
            "106 delivered 0.0",
        ]
    );
    assert_eq!(bench.host.uses()[0].of(Use::Program), Span::from_us(60));
}

/// Four messages, a handler that makes two in a block, and one place. The first is whole at 58 and
/// has the place until 159; the second is whole at 96 and finds none. The same again: the third is
/// whole at 200, the fourth at 238.
#[test]
fn what_finds_no_place_is_dropped_and_told_by_it() {
    let mut bench = bench(config(LinkParadigm::O1), &[read(best_effort(), 1)]);
    let log = bench.run((0..4).map(|message| (0, incoming(0, message))).collect());
    assert_eq!(
        log[4..],
        [
            "20-58 handler 0: protocol",
            "58-96 handler 0: protocol",
            "96 lost 0.1",
            "96-99 program 0: switch",
            "99-159 program 0: program",
            "159 delivered 0.0",
            "159-162 handler 0: switch",
            "162-200 handler 0: protocol",
            "200-238 handler 0: protocol",
            "238 lost 0.3",
            "238-241 program 0: switch",
            "241-301 program 0: program",
            "301 delivered 0.2",
        ]
    );
    let counters = bench.host.subsystem().counters(ChannelId(0)).unwrap();
    assert_eq!(counters.dropped, [(Dropped::ProgramQueue, 2)].into());
    assert_eq!((counters.delivered, counters.dropped_packets), (2, 0));
    // With two the fourth finds none, with three all do.
    for (slots, delivered) in [(2, 3), (3, 4)] {
        let mut wide = self::bench(config(LinkParadigm::O1), &[read(best_effort(), slots)]);
        let all = wide.run((0..4).map(|message| (0, incoming(0, message))).collect());
        assert_eq!(all.iter().filter(|line| line.contains("delivered")).count(), delivered);
    }
}

/// A message of two and a half times the contract's size arrives in three packets, each a piece,
/// which are there at 45, 75 and 179. The program takes the first two for 60 us and the last for
/// 55, each as a separate request: never more at once than a message of the contract. It is
/// delivered with the last. With one buffer the second piece finds none, and the message is lost,
/// once.
#[test]
fn a_large_message_is_taken_piece_by_piece() {
    let half = Bytes::new(PACKET.get() / 2);
    let packet = |index: u32| match incoming(0, 0) {
        Input::Interrupt(Interrupt::Received(packet)) => {
            let size = if index == 2 { half } else { PACKET };
            let message_size = PACKET * 2 + half;
            let tag = Tag { class: Class::RealTime, ..packet.tag };
            let packet = Packet { index, count: 3, size, message_size, tag, ..packet };
            (0, Input::Interrupt(Interrupt::Received(packet)))
        }
        _ => unreachable!("it comes in"),
    };
    let log = |slots| {
        let of = real_time(1_000);
        let spec = TrafficSpec { max_message: PACKET, min_message: half, ..of.spec };
        let mut bench = bench(config(LinkParadigm::O1), &[read(ChannelConfig { spec, ..of }, slots)]);
        let log = bench.run((0..3).map(packet).collect());
        (log, bench.host.subsystem().counters(ChannelId(0)).unwrap().clone())
    };
    let (taken, counters) = log(2);
    assert_eq!(
        taken[3..],
        [
            "15-45 handler 0: protocol",
            "45-75 handler 0: protocol",
            "75-78 program 0: switch",
            "78-138 program 0: program",
            "138-141 handler 0: switch",
            "141-179 handler 0: protocol",
            "179-182 program 0: switch",
            "182-242 program 0: program",
            "242-297 program 0: program",
            "297 delivered 0.0",
        ]
    );
    assert_eq!((counters.delivered, counters.dropped.len()), (1, 0));
    let (lost, counters) = log(1);
    assert!(lost.iter().all(|line| !line.contains("delivered")), "{lost:?}");
    assert_eq!(lost.iter().filter(|line| line.ends_with(" lost 0.0")).count(), 1, "{lost:?}");
    assert_eq!((counters.delivered, counters.dropped), (0, [(Dropped::ProgramQueue, 1)].into()));
}

/// The program of a message that is due at 1000 waits for the handler of one that is due at 100,
/// with its interrupt at 40.
#[test]
fn a_program_waits_for_what_is_due_sooner() {
    let receives = ChannelConfig { role: Role::Receive, ..real_time(100) };
    let mut bench = bench(config(LinkParadigm::O1), &[read(real_time(1_000), 1), receives]);
    assert_eq!(
        bench.run(vec![(0, incoming(0, 0)), (40, incoming(1, 0))])[1..],
        [
            "5-40 handler 0: protocol",
            "40-45 interrupt: interrupt",
            "45-48 handler 0: protocol",
            "48-51 handler 1: switch",
            "51-89 handler 1: protocol",
            "89 delivered 1.0",
            "89-92 program 0: switch",
            "92-152 program 0: program",
            "152 delivered 0.0",
        ]
    );
}

/// On an ideal CPU the handler takes it from the program at 61, which has 50 left.
#[test]
fn immediate_preemption_takes_the_cpu_from_a_program() {
    let base = config(LinkParadigm::O1);
    let immediate = Config { preemption: Preemption { immediate: true, ..base.preemption }, ..base };
    let receives = ChannelConfig { role: Role::Receive, ..real_time(100) };
    let mut bench = bench(immediate, &[read(real_time(1_000), 1), receives]);
    assert_eq!(
        bench.run(vec![(0, incoming(0, 0)), (56, incoming(1, 0))])[2..],
        [
            "43-46 program 0: switch",
            "46-56 program 0: program",
            "56-61 interrupt: interrupt",
            "61-64 handler 1: switch",
            "64-102 handler 1: protocol",
            "102 delivered 1.0",
            "102-105 program 0: switch",
            "105-155 program 0: program",
            "155 delivered 0.0",
        ]
    );
}
