//! Remote references (thesis §3.4.1): data crosses the bus once, in the order of link scheduling,
//! without the CPU.
//!
//! A host whose handlers copy no data (no `send_byte`) and whose driver moves none (no
//! `transfer_byte`) hands over a reference; the first stage of its adapter fetches the data over
//! the bus to the shared memory.

use laxity_model::adapter::{Delay, Phase, Resource, Stage};
use laxity_model::host::{Applications, Host};
use laxity_model::node::{DriverConfig, HostNode};
use laxity_model::told::Told;
use laxity_qos::channel::{ChannelConfig, ChannelId, LinkId, LinkParadigm};
use laxity_qos::costs::HostCosts;
use laxity_units::Span;

use super::bench::{COSTS, PACKET, at, best_effort, config, real_time};
use super::nodes::{describing, run};

/// A film of four packets from 0 on, and one urgent packet at 140. A packet crosses the bus in 12
/// us and is 50 on the link. Answers when each was fetched, and when it left, and how long the CPU
/// was busy.
fn sent(send_byte: Span) -> (Vec<String>, Vec<String>, u64) {
    let phase = |us| Phase { delay: Delay::fixed(Span::from_us(us)), ..Phase::default() };
    let adapter = describing(|description| {
        let bus = Resource {
            name: "bus".into(),
            servers: 1,
            preemptive: true,
            urgent: false,
            host: true,
            bus: None,
        };
        description.resources.push(bus);
        let stage = |name: &str, phases| Stage { name: name.into(), phases, ..Stage::default() };
        description.transmit = vec![
            stage("dma", vec![Phase { holds: vec![1], ..phase(12) }]),
            stage("out", vec![Phase { medium: true, ..phase(50) }]),
        ];
    });
    let host = Host::new(HostCosts { send_byte, ..COSTS }, config(LinkParadigm::O1), Applications::Separate);
    let mut node = Told::new(HostNode::new(host, DriverConfig::default(), adapter));
    node.record_stages();
    node.own_the_link(LinkId::FIRST);
    node.open(best_effort());
    // Where it arrives logically it is.
    node.open(ChannelConfig { message_slots: 8, ..real_time(5_000) });
    node.offer(at(0), ChannelId(0), PACKET * 4);
    let mut log = run(&mut node, 139);
    node.offer(at(140), ChannelId(1), PACKET);
    log.extend(run(&mut node, 1000));
    let with = |what: &str| log.iter().filter(|line| line.contains(what)).cloned().collect::<Vec<_>>();
    let host = node.host().expect("it has one");
    (with("Transmit 0"), with("departed"), host.uses()[0].total().as_ps() / 1_000_000)
}

/// References: the video message is made by 110, and only its first packet has crossed the bus by
/// then. The urgent packet, made by 183, is fetched at 204, before two of the video message that
/// were made 70 us earlier; each packet crosses once.
///
/// Copied, a packet takes the CPU 12 us more, and the bus for as long: the first is fetched from
/// 62, and from 74 when the second has been copied. All of the video message is copied before the urgent
/// packet is, which is made by 243, after the link has gone to the third: it leaves 101 us later.
/// The CPU is busy for 60 us more.
#[test]
fn data_crosses_the_bus_once_and_in_the_order_of_transmission() {
    // Each is alone in the adapter, so one hears of both stages when the second is over.
    let (fetched, left, busy) = sent(Span::ZERO);
    assert_eq!(
        fetched,
        [
            "112 Transmit 0: 50-50-62",
            "189 Transmit 0: 127-127-139",
            "266 Transmit 0: 204-204-216",
            "343 Transmit 0: 281-281-293",
            "420 Transmit 0: 358-358-370",
        ]
    );
    assert_eq!(
        left,
        [
            "112 departed 0.0 handed 50",
            "189 departed 0.1 handed 127",
            "266 departed 0.0 handed 204",
            "343 departed 0.2 handed 281",
            "420 departed 0.3 handed 358",
        ]
    );
    // A copy occupies the bus, so the adapter's packets are updated then.
    let (fetched, copied, with_copies) = sent(Span::from_ns(12));
    assert_eq!(fetched[0], "86 Transmit 0: 62-62-86");
    assert_eq!(
        copied,
        [
            "136 departed 0.0 handed 62",
            "213 departed 0.1 handed 151",
            "290 departed 0.2 handed 228",
            "367 departed 0.0 handed 305",
            "444 departed 0.3 handed 382",
        ]
    );
    assert_eq!(with_copies - busy, 60);
}
