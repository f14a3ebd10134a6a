//! Preemption: order, times, and remaining work.

use laxity_model::host::Applications;
use laxity_qos::channel::{Block, Config, LinkParadigm, Preemption};

use super::bench::{Bench, Offer, config, real_time};

fn immediate() -> Config {
    let base = config(LinkParadigm::O1);
    Config { preemption: Preemption { immediate: true, ..base.preemption }, ..base }
}

/// The ideal: the second handler, of the earlier deadline, takes the CPU at 10, in the middle of
/// the first's packet, of which 30 are left. They are done when it is chosen again, at 66, after a
/// switch.
#[test]
fn immediate_preemption_resumes_what_was_left() {
    let channels = [real_time(5_000), real_time(500)];
    let mut bench = Bench::new(immediate(), Applications::Separate, &channels);
    assert_eq!(
        bench.run(vec![(0, Offer(0, 1)), (10, Offer(1, 1))]),
        [
            "0 Accepted { message: 0 } 0",
            "10 Accepted { message: 0 } 1",
            "0-10 handler 0: protocol",
            "10-13 handler 1: switch",
            "13-53 handler 1: protocol",
            "53-63 handler 1: link_scheduling",
            "63 sent 1.0.0",
            "63-66 handler 0: switch",
            "66-96 handler 0: protocol",
            "113-118 interrupt: interrupt",
            "118-128 interrupt: link_scheduling",
            "128 sent 0.0.0",
            "178-183 interrupt: interrupt",
        ]
    );
}

/// A switch that is preempted at 12 after 2 of its 3 us was in vain: all 40 of the packet are left,
/// and another switch is due.
#[test]
fn a_preempted_switch_starts_again() {
    let channels = [real_time(5_000), real_time(500), real_time(100)];
    let mut bench = Bench::new(immediate(), Applications::Separate, &channels);
    let log = bench.run_until(112, vec![(0, Offer(0, 1)), (10, Offer(1, 1)), (12, Offer(2, 1))]);
    assert_eq!(
        log[2..],
        [
            "0-10 handler 0: protocol",
            "12 Accepted { message: 0 } 2",
            "10-12 handler 1: switch",
            "12-15 handler 2: switch",
            "15-55 handler 2: protocol",
            "55-65 handler 2: link_scheduling",
            "65 sent 2.0.0",
            "65-68 handler 1: switch",
            "68-108 handler 1: protocol",
        ]
    );
}

/// An equal or later deadline does not preempt.
#[test]
fn only_the_more_urgent_preempts() {
    let channels = [real_time(500), real_time(490), real_time(5_000)];
    let mut bench = Bench::new(immediate(), Applications::Separate, &channels);
    let log = bench.run_until(40, vec![(0, Offer(0, 1)), (10, Offer(1, 1)), (11, Offer(2, 1))]);
    assert_eq!(log[3], "0-40 handler 0: protocol");
}

/// Without preemption the more urgent message, at 10, waits for the end of the block: one packet,
/// two, or the message's three, with a link call after the first at 40-50, and the completion at
/// 100 interrupting the CPU.
#[test]
fn a_block_is_finished_first() {
    for (block, switched) in [
        (Block::Packets(1), "50-53"),
        (Block::Packets(2), "70-73"),
        (Block::Message, "90-93"),
        (Block::Never, "90-93"),
    ] {
        let preemption = Preemption { real_time: block, early: block, best_effort: block, immediate: false };
        let config = Config { preemption, ..config(LinkParadigm::O1) };
        let mut bench = Bench::new(config, Applications::Separate, &[real_time(5_000), real_time(500)]);
        let log = bench.run(vec![(0, Offer(0, 3)), (10, Offer(1, 1))]);
        let first = log.iter().find(|line| line.contains("switch")).expect("the other has its turn");
        assert_eq!(*first, format!("{switched} handler 1: switch"), "{block:?}");
    }
}
