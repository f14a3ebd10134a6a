//! No bytes and no commands make a node panic or hold more than it is set to.

#[path = "hostile/script.rs"]
mod script;

use std::panic::catch_unwind;

use laxity_engine::Seed;
use laxity_node::Node;
use laxity_node::faults::NodeFault;
use laxity_qos::discipline::Class;
use laxity_signalling::codec;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::division::{Division, Needs};
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Version};
use laxity_signalling::message::{Ask, Body, ContractMessage};
use laxity_transport::{HEADER_LEN, Timing, TransportHeader, WireChannelId as Wire};
use laxity_units::{Bytes, Span, Time};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn neighbours_and_programs_do_no_harm(bytes in vec(any::<u8>(), 0..3000)) {
        script::run(&bytes, None);
    }
}

fn drawn(seed: u64) -> Vec<u8> {
    let mut stream = Seed::new(seed).stream("script");
    (0..2000 + stream.below(4000)).map(|_| stream.next_u64() as u8).collect()
}

/// Scripts get past the first checks: channels are committed, and frames leave.
#[test]
fn scripts_open_channels_and_send() {
    let mut sum = [0; 3];
    for seed in 0..200 {
        let counts = script::run(&drawn(seed), None);
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum[0] > 200 && sum[1] > 2000 && sum[2] > 200, "{sum:?}");
}

#[test]
fn a_node_that_keeps_memory_is_noticed() {
    for fault in [NodeFault::MemoryKept, NodeFault::FlowKept, NodeFault::ReservationKept] {
        let noticed = (0..50).any(|seed| catch_unwind(|| script::run(&drawn(seed), Some(fault))).is_err());
        assert!(noticed, "{fault:?}");
    }
}

fn frame(local: u32, message: u64, timing: Timing, payload: &[u8]) -> Vec<u8> {
    let length = Bytes::new(payload.len() as u64);
    let header = TransportHeader {
        class: Class::RealTime,
        channel: Wire { node: 0, local },
        epoch: 1,
        message,
        fragment: 0,
        fragments: 1,
        message_length: length,
        payload_length: length,
        timing,
        tag: None,
        age: Span::ZERO,
    };
    let mut bytes = vec![0; HEADER_LEN + payload.len()];
    header.encode(&mut bytes).expect("the space is there").copy_from_slice(payload);
    bytes
}

/// The packets that wait after a neighbour opened 50 channels one after the other, sent on each all
/// that is accepted ahead of time, and released it at once.
fn hoarded(fault: Option<NodeFault>) -> usize {
    let mut node = Node::with_fault(script::config(), Box::new(|| 0), fault).expect("a node");
    let now = Time::ZERO + Span::from_secs(1);
    let contract = ChannelContract {
        max_message: Bytes::new(500),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(10),
        burst: 1,
        deadline: Span::from_secs(1),
    };
    let (least, latest) = (Span::from_us(10), Span::from_ms(5));
    let route = [0, 1, 2].map(NodeId).to_vec();
    let ask = Ask {
        contract,
        owner: Owner(1),
        port: Port(1),
        division: Division::Proportional,
        current: None,
        balance: contract.deadline - least,
        between: Span::ZERO,
        route: route.clone(),
        hops: vec![Needs { least, latest }],
    };
    let signal = |node: &mut Node, from, local, sequence, body| {
        let channel = GlobalChannelId { node: NodeId(0), epoch: Epoch(1), local };
        let message = ContractMessage { channel, version: Version::FIRST, sequence, body };
        let mut payload = [0; codec::LONGEST];
        let length = codec::encode(&message, &mut payload).expect("a message");
        node.handle_frame(now, NodeId(from), &frame(u32::MAX, 0, Timing::None, &payload[..length]));
    };
    for local in 0..50 {
        signal(&mut node, 0, local, 1, Body::Ask(ask.clone()));
        signal(&mut node, 2, local, 1, Body::Commit { deadlines: vec![latest; 3], life: Epoch(1) });
        for number in 0..20 {
            let left = Timing::Remaining(Span::from_ms(905));
            node.handle_frame(now, NodeId(0), &frame(local, 1 << 32 | number, left, &[7; 500]));
        }
        signal(&mut node, 0, local, 2, Body::Release { route: route.clone() });
    }
    node.waiting(NodeId(2))
}

/// A channel needs 103 messages of 572 bytes, and the neighbour has 64 KiB. Ten messages from 905 ms
/// to 1 s ahead are accepted. Beside them 64 signalling messages may wait.
#[test]
fn packets_of_channels_that_ended_keep_their_memory() {
    let waiting = hoarded(None);
    assert!((10..=10 + 64).contains(&waiting), "{waiting}");
    let waiting = hoarded(Some(NodeFault::MemoryFreedEarly));
    assert!(waiting >= 500, "{waiting}");
}
