//! The host and its null adapter, step by step and in accounts.

use crate::common::{Arrival, run};
use laxity_qos::channel::{
    Block, ChannelConfig, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize, Preemption, Processing,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::EarlyPolicy;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{ByteTime, Bytes, Span, Time};

const HOST: HostCosts = HostCosts {
    context_switch: Span::from_us(55),
    cache_miss: Span::from_us(90),
    first_packet: Span::from_us(420),
    single_packet: Span::from_us(420),
    packet: Span::from_us(170),
    link_scheduling: Span::from_us(160),
    hand_over: Span::ZERO,
    interrupt: Span::ZERO,
    poll: Span::ZERO,
    response: Span::ZERO,
    timer: Span::ZERO,
    ipi: Span::ZERO,
    thread_creation: Span::ZERO,
    receive_packet: Span::ZERO,
    receive_message: Span::ZERO,
    send_call: Span::ZERO,
    send_byte: Span::ZERO,
    receive_byte: Span::ZERO,
    transfer_byte: Span::ZERO,
    real_time_packet: Span::ZERO,
};
const LINK: LinkCosts = LinkCosts::new(Span::from_us(40), Span::from_ns(50));
const PACKET: Bytes = Bytes::from_kib(4);

fn config(paradigm: LinkParadigm, p: u32) -> Config {
    let block = Block::Packets(p);
    Config {
        cores: 1,
        processing: Processing::PerChannel,
        order: Order::MultiClassEdf,
        early: EarlyPolicy::HOLD,
        preemption: Preemption { real_time: block, early: block, best_effort: block, immediate: false },
        link: LinkConfig {
            core: CoreId::FIRST,
            paradigm,
            order: Order::MultiClassEdf,
            early: EarlyPolicy::HOLD,
            depth: 1,
            launch: None,
            speed: LinkCosts::default(),
            frame: Span::ZERO,
        },
        packet: PACKET,
        enforcement: true,
        oversize: Oversize::Intervals,
    }
}

fn one_message(paradigm: LinkParadigm, p: u32, size: Bytes) -> Span {
    let spec =
        TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: Span::from_ms(50) };
    let channel = ChannelConfig::real_time(spec, Span::from_ms(50), PACKET);
    let arrivals = [Arrival { at: Time::ZERO, channel: 0, size }];
    run(HOST, LINK, config(paradigm, p), &[channel], &arrivals, &[], Time::MAX).worst(0).unwrap()
}

#[test]
fn one_packet_takes_its_costs() {
    let lone = Span::from_us(420 + 160) + LINK.transmit(PACKET);
    assert_eq!(one_message(LinkParadigm::O1, 4, PACKET), lone);
    assert_eq!(one_message(LinkParadigm::O2, 4, PACKET), lone + HOST.switch());
}

/// With O1 and `C_p < L_x` the link is the bottleneck and never waits for the CPU after the first packet:
/// `C_p^1st + N (C_l + L_x)`, the papers' service time without its preemption.
#[test]
fn a_link_bound_message_streams() {
    let size = Bytes::from_kib(60);
    let expected = HOST.first_packet + (HOST.link_scheduling + LINK.transmit(PACKET)) * 15;
    assert_eq!(one_message(LinkParadigm::O1, 4, size), expected);
}

/// Endless best effort on four channels: what resource Figure 2(a) measures.
fn throughput(paradigm: LinkParadigm, p: u32, packet: Bytes, message: Bytes, per_byte: Span) -> f64 {
    let channel = ChannelConfig::best_effort(message, 10, packet);
    let link = LinkCosts { per_byte: ByteTime::of(per_byte), ..LINK };
    let config = Config { packet, ..config(paradigm, p) };
    let endless: Vec<_> = (0..4).map(|i| (i, message)).collect();
    let until = Time::ZERO + Span::from_secs(2);
    let trace = run(HOST, link, config, &[channel; 4], &[], &endless, until);
    trace.departed.iter().map(|(_, p)| p.size.get()).sum::<u64>() as f64 / 1024.0 / 2.0
}

#[test]
#[ignore = "prints figures to look at"]
fn look_at_throughput() {
    for paradigm in [LinkParadigm::O1, LinkParadigm::O2] {
        for n in [1u64, 2, 4, 8, 16] {
            let row: Vec<String> = [1, 2, 3, 4, 6, 8, 12, 16]
                .iter()
                .map(|p| format!("{:7.0}", throughput(paradigm, *p, PACKET, PACKET * n, Span::ZERO)))
                .collect();
            println!("{paradigm:?} N={n:2} {}", row.join(" "));
        }
        for ns in [0, 50, 100] {
            for p in [1, 4] {
                let row: Vec<String> = [2, 3, 4, 6, 8, 10, 12]
                    .iter()
                    .map(|k| {
                        let t = throughput(
                            paradigm,
                            p,
                            Bytes::from_kib(*k),
                            Bytes::from_kib(32),
                            Span::from_ns(ns),
                        );
                        format!("{t:7.0}")
                    })
                    .collect();
                println!("{paradigm:?} {ns:3} ns P={p} {}", row.join(" "));
            }
        }
    }
}

#[test]
fn every_packet_is_accounted_for() {
    let spec = TrafficSpec {
        max_message: Bytes::from_kib(60),
        min_message: Bytes::from_kib(60),
        burst: 12,
        min_interval: Span::from_ms(50),
    };
    let rt = ChannelConfig::real_time(spec, Span::from_ms(40), PACKET);
    let be = ChannelConfig::best_effort(Bytes::from_kib(60), 10, PACKET);
    let arrivals: Vec<_> = (0..400u64)
        .map(|i| Arrival {
            at: Time::ZERO + Span::from_ms(7) * i,
            channel: (i % 2) as usize,
            size: Bytes::from_kib(60),
        })
        .collect();
    for paradigm in [LinkParadigm::O1, LinkParadigm::O2, LinkParadigm::O3] {
        for processing in [Processing::PerChannel, Processing::PerMessage] {
            let config = Config { processing, ..config(paradigm, 4) };
            let trace = run(HOST, LINK, config, &[rt, be], &arrivals, &[], Time::MAX);
            let host = trace.node.host().expect("it has one");
            let mut offered = 0;
            for id in [0, 1] {
                let counters = host.subsystem().counters(laxity_qos::channel::ChannelId(id)).unwrap();
                assert_eq!(counters.created, counters.transmitted, "{paradigm:?} {processing:?}");
                offered += counters.transmitted + counters.dropped_packets;
            }
            assert_eq!(offered, 400 * 15);
            assert!(host.uses()[0].total() <= trace.end.since(Time::ZERO));
        }
    }
}
