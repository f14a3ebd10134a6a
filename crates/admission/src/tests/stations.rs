//! `W` and `S` of hosts with adapters of stages, added up by hand: those of `exact.rs`, with an
//! adapter that is a delay of 400 us.

use std::sync::Arc;

use super::exact::{packets, round};
use super::*;
use crate::station::{Behind, Link, Open, Station, StationPhase, StationStage, StationTells};
use laxity_qos::costs::Delay;

/// Stages of the given microseconds, with a notification at their end.
fn station(stages: &[(u64, StationTells)]) -> Station {
    let phase =
        |us, tells| StationPhase { delay: Delay::fixed(Span::from_us(us)), tells, ..StationPhase::default() };
    let stage = |&(us, tells): &(u64, StationTells)| StationStage {
        name: "s".into(),
        phases: vec![phase(us, tells)],
        ..StationStage::default()
    };
    Station::of_stages(stages.iter().map(stage).collect())
}

fn behind(stages: &[(u64, StationTells)], depth: u32, model: ResourceModel) -> Environment {
    let largest = round(model).packet;
    let link = Link::Behind(Arc::new(Behind::new(station(stages), depth, largest)));
    Environment { link, depth, ..round(model) }
}

/// Microseconds of `W` and `S` of a message of one packet.
fn terms(environment: Environment) -> (u64, u64) {
    let table = table(environment);
    let us = |breakdown: Breakdown| breakdown.total().as_ps() / 1_000_000;
    (us(table.wait_time(&packets(1)).unwrap()), us(table.service_time(&packets(1)).unwrap()))
}

const NOTHING: StationTells = StationTells::Nothing;

/// For one packet at a time two stages are as one, whatever the model.
#[test]
fn stages_of_one_packet_are_a_delay() {
    for model in [ResourceModel::Ideal, ResourceModel::O1, ResourceModel::O2] {
        let two = behind(&[(150, NOTHING), (250, NOTHING)], 1, model);
        assert_eq!(terms(two), terms(round(model)), "{model:?}");
    }
}

/// Of 400 us one is interrupted for 40 beside the adapter: 240 of work in 360 that are free, so α
/// is 5/3. W: 5/3·520 + 5/3·2·240 + 400 + 80 + min(5/3·520, 400 + 240).
#[test]
fn what_an_adapter_tells_interrupts_as_well() {
    let told = behind(&[(150, StationTells::Progress), (250, NOTHING)], 1, ResourceModel::O1);
    assert_eq!(terms(told), (2786, 866));
    // Waited for, all 400 are free: α is 640/400. W: 1.6·520 + 1.6·480 + 400 + 80 + 40 + 40 + 160 +
    // 640.
    let asked = behind(&[(150, StationTells::Handshake), (250, NOTHING)], 1, ResourceModel::O1);
    assert_eq!(terms(asked), (832 + 768 + 400 + 80 + 240 + 640, 832));
    // 40 us of work for each 40 of the adapter's.
    let busy = behind(&[(20, StationTells::Progress), (20, NOTHING)], 1, ResourceModel::O1);
    assert_eq!(table(busy).wait_time(&packets(1)).unwrap_err().reason, Reason::InterruptsTakeAll);
}

/// 400 and 100: completions are 400 apart in the long run, and two at once. α = 2. W: 2·520 +
/// 2·(2·200 + 40 + 2·160) + 2·400 + 2·40 + 100 to fill the stages + 600.
#[test]
fn a_window_of_two_pays_for_the_slowest_stage() {
    let two = |model| behind(&[(400, NOTHING), (100, NOTHING)], 2, model);
    assert_eq!(terms(two(ResourceModel::O1)), (1040 + 1520 + 800 + 80 + 100 + 600, 1040));
    // A run starts (2 + 2)·2 packets: 100 + 8·200. A block costs 100 and a run, a start 100 + 420 +
    // 100 + 200.
    let wait = 100 + 420 + 1700 + 800 + 80 + 100 + (400 + 820);
    assert_eq!(terms(two(ResourceModel::O2)), (wait, 420 + 1800));
}

/// α = 400/360; three completions may be in progress, of which one in the 160 of a hand-over. W:
/// α·520 + α·120 + 400 that the server had + min(α·520, 400).
#[test]
fn a_host_that_hands_over_is_interrupted_by_completions_alone() {
    let open = |hears| {
        let station = Station { hears: Span::from_us(hears), ..station(&[(400, NOTHING)]) };
        let link = Link::Open(Arc::new(Open::new(station, round(ResourceModel::Handed).packet).unwrap()));
        Environment { link, ..round(ResourceModel::Handed) }
    };
    assert_eq!(terms(open(0)), (1511, 577));
    // Two more in what the host has not looked at.
    assert_eq!(terms(open(1000)), (1511 + 89, 577));
    let free = |mut environment: Environment| {
        environment.host.interrupt = Span::ZERO;
        environment
    };
    assert_eq!(terms(free(open(0))), (520 + 400 + 400, 520));
    let mut swamped = open(0);
    swamped.host.interrupt = Span::from_us(400);
    assert_eq!(table(swamped.clone()).wait_time(&packets(1)).unwrap_err().reason, Reason::InterruptsTakeAll);
    // By packets one was under way, one is heard of, and a block makes two. W: 520 + 40·4 + 400 + 400.
    let by_packets = |environment| Environment { counting: Counting::Packets, ..environment };
    assert_eq!(terms(by_packets(open(0))), (520 + 160 + 800, 560));
    assert_eq!(terms(by_packets(swamped)), (520 + 1600 + 800, 920));
}

/// Beside a fast link, counted by packets.
fn beside(environment: Environment) -> (u64, u64) {
    let other = OtherLink { apart: Span::from_us(1), longest: None, interrupts: 1, buffers: Some(4) };
    terms(Environment { others: vec![other], ..environment })
}

/// A packet of the other link is 200 us of the CPU, and 200 (4 + 2 + 2 + 1) may be there already, twice
/// for α. Each of ours, and both with the adapter, wait for 160 + 2 (40 + 2 · 160) = 880. So 600 of the
/// crossing packet are 1040.
///
/// Where the host is a stage, it is not the slowest. 100 and 200 fill the stages, and 200 start the
/// first packet.
///
/// Under O2 two of ours pass in what prolongs a run: 160 of a start there and 40 of an interrupt are
/// one more start each, 600 us in all, and the wait is 4 · 40 + 2 · 160.
#[test]
fn a_window_beside_another_link_waits_for_its_interrupts() {
    let stages = [(400, NOTHING), (100, NOTHING)];
    let wait = 1040 + 1520 + 800 + 80 + 100;
    assert_eq!(beside(behind(&stages, 2, ResourceModel::O1)), (wait + 3600 + 1760 + 1040, 400 + 200 + 880));
    let largest = round(ResourceModel::O1).packet;
    let host = Station { host: Some(Span::from_us(200)), ..station(&stages) };
    let link = Link::Behind(Arc::new(Behind::new(host, 2, largest)));
    assert!(link.has_starts());
    let first = Environment { link, depth: 2, ..round(ResourceModel::O1) };
    let wait = 1040 + 1520 + 800 + 100 + 200 + 200;
    assert_eq!(beside(first), (wait + 3600 + 1760 + 1040, 400 + 880));
    let wait = 100 + 420 + 1700 + 800 + 80 + 100 + 600 * 9;
    let service = 400 + 820 + 480;
    assert_eq!(beside(behind(&stages, 2, ResourceModel::O2)), (wait + service, 420 + 1800));
}

/// An adapter that waits for the host at two stages has three waits of 160 + 40 + 2 · 160 for each packet,
/// beside 400 of the adapter and 160 + 3 · 40 of the host. An adapter that only reports has one.
#[test]
fn an_adapter_that_waits_for_the_host_waits_for_other_links_as_often() {
    let service = |tells| beside(behind(&[(150, tells), (250, tells)], 1, ResourceModel::O1)).1;
    assert_eq!(service(StationTells::Handshake), 400 + 280 + 3 * 520);
    assert_eq!(service(StationTells::Progress), 400 + 280 + 520);
}
