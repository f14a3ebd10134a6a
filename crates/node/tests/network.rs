//! Networks of nodes: channels are opened, used, changed and closed beside floods and faults.

mod sim;

use laxity_node::faults::Fault;
use sim::run;

#[test]
fn no_rule_is_broken_in_300_networks() {
    let mut sum = [0; 5];
    for seed in 0..300 {
        let counts = run(seed, None).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    // Established, refused, changed, delivered, of these with a checked bound.
    println!("{sum:?}");
    assert!(sum[0] > 500 && sum[1] > 20 && sum[2] > 50 && sum[3] > 5000 && sum[4] > 3000, "{sum:?}");
}

#[test]
fn each_deliberate_fault_is_noticed() {
    for fault in Fault::ALL {
        let noticed = (0..60).find_map(|seed| run(seed, Some(*fault)).err().map(|broken| (seed, broken)));
        println!("{fault:?}: {noticed:?}");
        assert!(noticed.is_some(), "{fault:?} is not noticed");
    }
}
