//! Interrupts: what they stop, what keeps them out, and what they bring.

use laxity_model::host::{Applications, Interrupt};
use laxity_qos::channel::{ChannelConfig, ChannelId, LinkParadigm, Packet, Role};
use laxity_qos::discipline::{Class, Tag};
use laxity_units::Time;

use super::bench::{Bench, Input, PACKET, best_effort, config};

/// Packet `index` of the `count` of message 0, as it comes in from the network.
fn incoming(index: u32, count: u32) -> Input {
    let packet = Packet {
        channel: ChannelId(0),
        message: 0,
        index,
        count,
        size: PACKET,
        message_size: PACKET * u64::from(count),
        tag: Tag { class: Class::BestEffort, logical_arrival: Time::ZERO, deadline: Time::MAX, level: 31 },
        due_from: Time::ZERO,
        sent: Time::ZERO,
        created: Time::ZERO,
        handed: Time::ZERO,
    };
    Input::Interrupt(Interrupt::Received(ChannelId(0), packet))
}

/// Two packets of a message come in at 0 and 20. The first is processed from 5; the interrupt of the second stops that for
/// 5 us. The second completes the message, which costs 8 us more: 40 + 30 + 8 = 78.
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
