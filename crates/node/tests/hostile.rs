//! No bytes and no commands make a node panic or hold more than it is set to.

#[path = "hostile/script.rs"]
mod script;

use std::panic::catch_unwind;

use laxity_engine::Seed;
use laxity_node::faults::Fault;
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
    for fault in [Fault::MemoryKept, Fault::FlowKept, Fault::ReservationKept] {
        let noticed = (0..50).any(|seed| catch_unwind(|| script::run(&drawn(seed), Some(fault))).is_err());
        assert!(noticed, "{fault:?}");
    }
}
