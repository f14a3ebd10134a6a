//! Requests that a manager handles in a second, and the memory of a channel.
//!
//! A relay holds 100 or 10 000 channels. Each round it handles the request, the answer and the
//! release of one channel more; a round counts as one request. Targets: 20 000 and 5000 requests a
//! second. Memory is the growth of the process's resident set.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use laxity_admission::{Environment, ResourceModel};
use laxity_qos::channel::Block;
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_signalling::Manager;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::division::{Division, Needs};
use laxity_signalling::exact::{Capacity, Exact};
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Version};
use laxity_signalling::message::{Ask, Body, ContractMessage};
use laxity_signalling::resources::Resources;
use laxity_signalling::settings::Settings;
use laxity_signalling::tables::Tables;
use laxity_units::{Bytes, Span, Time};

const ROUTE: [NodeId; 3] = [NodeId(0), NodeId(1), NodeId(2)];
const ROUNDS: u32 = 2000;

fn main() {
    // Each case has a process of its own, so that it reuses no memory of another.
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, case, channels] = &arguments[..] {
        return run(case, channels.parse().expect("a number of channels"));
    }
    for (case, channels) in [("exact", "100"), ("tables", "100"), ("exact", "10000"), ("tables", "10000")] {
        let status = Command::new(&arguments[0]).args([case, channels]).status().expect("it runs again");
        assert!(status.success());
    }
}

fn run(case: &str, channels: u32) {
    if case == "exact" {
        let links = [0, 2].map(|to| (NodeId(to), (1_000_000_000_000, Span::from_us(1)))).into();
        let exact =
            Exact::new(Capacity { links, cpu: Span::from_ps(1), buffers: u64::MAX, places: u64::MAX });
        return report("exact sums", channels, exact);
    }
    let links: BTreeMap<_, _> = [2].map(|to| (NodeId(to), (environment(), Span::from_us(1)))).into();
    report("admission tables", channels, Tables::new(links, u64::MAX).expect("in range"));
}

fn environment() -> Environment {
    let host = HostCosts {
        context_switch: Span::from_ns(100),
        cache_miss: Span::from_ns(100),
        first_packet: Span::from_ns(800),
        single_packet: Span::from_ns(800),
        packet: Span::from_ns(300),
        link_scheduling: Span::from_ns(100),
        interrupt: Span::from_ns(100),
        ..HostCosts::default()
    };
    let link = LinkCosts::new(Span::from_ns(100), Span::from_ps(100));
    let packet = Bytes::from_kib(4);
    Environment {
        block_real_time: Block::Packets(4),
        block_best_effort: Block::Packets(4),
        ..Environment::new(host, link, packet, ResourceModel::O1)
    }
}

fn report<R: Resources>(name: &str, channels: u32, resources: R) {
    let settings = Settings { entries: 1 << 20, ..Settings::default() };
    let mut manager = Manager::new(NodeId(1), Epoch(1), settings, resources, Box::new(|| 0));
    let before = resident();
    for local in 0..channels {
        establish(&mut manager, local);
    }
    assert_eq!(manager.held().filter(|held| held.deadline.is_some()).count(), channels as usize);
    let memory = resident().saturating_sub(before) / u64::from(channels);
    let begin = now();
    for local in channels..channels + ROUNDS {
        establish(&mut manager, local);
        let body = Body::Release { route: ROUTE.to_vec() };
        input(&mut manager, NodeId(0), local, 3, body);
    }
    let each = begin.elapsed().as_secs_f64() / f64::from(ROUNDS);
    println!("{name}, {channels} channels: {:.0} requests/s, {memory} B a channel", 1.0 / each);
}

fn establish<R: Resources>(manager: &mut Manager<R>, local: u32) {
    let contract = ChannelContract {
        max_message: Bytes::from_kib(4),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(100 + u64::from(local % 100)),
        burst: 1,
        deadline: Span::from_ms(150),
    };
    let least = Span::from_us(10);
    let ask = Ask {
        contract,
        owner: Owner(local % 10),
        port: Port(0),
        division: Division::Proportional,
        current: None,
        balance: contract.deadline - least,
        between: Span::ZERO,
        route: ROUTE.to_vec(),
        hops: vec![Needs { least, latest: contract.min_interval }],
    };
    input(manager, NodeId(0), local, 1, Body::Ask(ask));
    let deadline = Span::from_ms(90);
    input(
        manager,
        NodeId(2),
        local,
        1,
        Body::Commit { deadlines: vec![least, deadline, least], life: Epoch(1) },
    );
}

fn input<R: Resources>(manager: &mut Manager<R>, from: NodeId, local: u32, sequence: u32, body: Body) {
    let channel = GlobalChannelId { node: NodeId(0), epoch: Epoch(1), local };
    manager.handle(Time::ZERO, from, ContractMessage { channel, version: Version::FIRST, sequence, body });
    while let Some(output) = manager.poll_transmit() {
        black_box(output);
    }
    while let Some(changed) = manager.poll_changed() {
        black_box(changed);
    }
}

/// The resident set of this process in bytes; 0 where the system does not say.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock on the wall")]
fn now() -> Instant {
    Instant::now()
}
