//! Which thread does what: the ways to run the link scheduler, and a thread per message.

use laxity_model::host::Applications;
use laxity_qos::channel::{Config, LinkConfig, LinkParadigm, Processing};
use laxity_qos::discipline::EarlyPolicy;

use super::bench::{Bench, Offer, best_effort, config, real_time};

/// A message of three packets at 0, in blocks of two, one packet at the adapter.
fn three_packets(config: Config) -> Vec<String> {
    Bench::new(config, Applications::Separate, &[best_effort()]).run(vec![(0, Offer(0, 3))])
}

/// O1: the handler calls the link scheduler after each packet and finds the adapter free once, at
/// 40; from then on it is the interrupt, at 50 + 50 and every 5 + 10 + 50 after that, that
/// schedules. It makes no thread and switches to none.
#[test]
fn o1_schedules_in_handler_and_interrupt() {
    assert_eq!(
        three_packets(config(LinkParadigm::O1)),
        [
            "0 Accepted { message: 0 } 0",
            "0-40 handler 0: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "50-70 handler 0: protocol",
            "70-90 handler 0: protocol",
            "100-105 interrupt: interrupt",
            "105-115 interrupt: link_scheduling",
            "115 sent 0.0.1",
            "165-170 interrupt: interrupt",
            "170-180 interrupt: link_scheduling",
            "180 sent 0.0.2",
            "230-235 interrupt: interrupt",
        ]
    );
}

/// O2: no link scheduling before the block of two packets ends at 60. Then the link's thread has
/// the CPU first, for a switch there and one back; after a completion at 73 + 50 it has it again.
/// From 141 on it is the last that had it.
#[test]
fn o2_waits_for_a_preemption_point_and_switches() {
    assert_eq!(
        three_packets(config(LinkParadigm::O2)),
        [
            "0 Accepted { message: 0 } 0",
            "0-40 handler 0: protocol",
            "40-60 handler 0: protocol",
            "60-63 link: switch",
            "63-73 link: link_scheduling",
            "73 sent 0.0.0",
            "73-76 handler 0: switch",
            "76-96 handler 0: protocol",
            "123-128 interrupt: interrupt",
            "128-131 link: switch",
            "131-141 link: link_scheduling",
            "141 sent 0.0.1",
            "191-196 interrupt: interrupt",
            "196-206 link: link_scheduling",
            "206 sent 0.0.2",
            "256-261 interrupt: interrupt",
        ]
    );
}

/// O3: as O1 until the first completion at 100. Each completion with a packet waiting makes a
/// thread, a new one, which costs a switch of 3 and 100 before the 10 of scheduling.
#[test]
fn o3_makes_a_thread_for_each_completion() {
    assert_eq!(
        three_packets(config(LinkParadigm::O3)),
        [
            "0 Accepted { message: 0 } 0",
            "0-40 handler 0: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "50-70 handler 0: protocol",
            "70-90 handler 0: protocol",
            "100-105 interrupt: interrupt",
            "105-108 link thread 1: switch",
            "108-218 link thread 1: link_scheduling",
            "218 sent 0.0.1",
            "268-273 interrupt: interrupt",
            "273-276 link thread 2: switch",
            "276-386 link thread 2: link_scheduling",
            "386 sent 0.0.2",
            "436-441 interrupt: interrupt",
        ]
    );
}

/// The adapter schedules: the host only hands over, for 7, as long as the adapter takes packets:
/// two here, so that the third waits from 94 until the first is done at 47 + 50. The adapter needs
/// 50 for each, one after the other.
#[test]
fn an_adapter_that_schedules_is_handed_what_it_takes() {
    let base = config(LinkParadigm::Adapter);
    assert_eq!(
        three_packets(Config { link: LinkConfig { depth: 2, ..base.link }, ..base }),
        [
            "0 Accepted { message: 0 } 0",
            "0-40 handler 0: protocol",
            "40-47 handler 0: link_scheduling",
            "47 sent 0.0.0",
            "47-67 handler 0: protocol",
            "67-74 handler 0: link_scheduling",
            "74 sent 0.0.1",
            "74-94 handler 0: protocol",
            "97-102 interrupt: interrupt",
            "102-109 interrupt: link_scheduling",
            "109 sent 0.0.2",
            "147-152 interrupt: interrupt",
            "197-202 interrupt: interrupt",
        ]
    );
}

/// The CPU works ahead and the link does not: the second message's packet is ready at 96 and may
/// leave at 10 ms. A timer, at no cost, then has to create the thread of O3.
///
/// The proxy signals at 50 for the switch to it, 3, and the handler is switched to for as much.
#[test]
fn o3_makes_a_thread_when_an_early_packet_turns_current() {
    let config = Config { early: EarlyPolicy::CONSERVE, ..config(LinkParadigm::O3) };
    let mut bench = Bench::new(config, Applications::Separate, &[real_time(5_000)]);
    assert_eq!(
        bench.run(vec![(0, Offer(0, 1)), (1, Offer(0, 1))]),
        [
            "0 Accepted { message: 0 } 0",
            "1 Accepted { message: 1 } 0",
            "0-40 handler 0: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "50-53 proxy 0: switch",
            "53-56 handler 0: switch",
            "56-96 handler 0: protocol",
            "100-105 interrupt: interrupt",
            "10000-10003 link thread 1: switch",
            "10003-10113 link thread 1: link_scheduling",
            "10113 sent 0.1.0",
            "10163-10168 interrupt: interrupt",
        ]
    );
}

/// Under O1 and O2 the same packet is sent by the timer's interrupt and by the link's thread.
#[test]
fn an_early_packet_turns_current_under_o1_and_o2() {
    for (paradigm, expected) in [
        (LinkParadigm::O1, ["10000-10010 interrupt: link_scheduling", "10010 sent 0.1.0"].as_slice()),
        (
            LinkParadigm::O2,
            &["10000-10003 link: switch", "10003-10013 link: link_scheduling", "10013 sent 0.1.0"],
        ),
    ] {
        let config = Config { early: EarlyPolicy::CONSERVE, ..config(paradigm) };
        let mut bench = Bench::new(config, Applications::Separate, &[real_time(5_000)]);
        let mut log = bench.run(vec![(0, Offer(0, 1)), (1, Offer(0, 1))]);
        // Up to the last interrupt, which follows from the time of sending.
        log.pop();
        assert_eq!(log[log.len() - expected.len()..], *expected, "{paradigm:?}");
    }
}

/// A thread per message is made for 100 with its first packet and is another one each time, though
/// the slot of the first is used again by the third. The second is stopped by the completion at 200
/// and resumes.
#[test]
fn a_thread_per_message_is_made_each_time() {
    let config = Config { processing: Processing::PerMessage, ..config(LinkParadigm::O1) };
    let mut bench = Bench::new(config, Applications::Separate, &[best_effort()]);
    assert_eq!(
        bench.run(vec![(0, Offer(0, 1)), (1, Offer(0, 1)), (310, Offer(0, 2))]),
        [
            "0 Accepted { message: 0 } 0",
            "1 Accepted { message: 1 } 0",
            "0-140 handler 0: protocol",
            "140-150 handler 0: link_scheduling",
            "150 sent 0.0.0",
            "150-153 handler 1: switch",
            "153-200 handler 1: protocol",
            "200-205 interrupt: interrupt",
            "205-298 handler 1: protocol",
            "298-308 handler 1: link_scheduling",
            "308 sent 0.1.0",
            "310 Accepted { message: 2 } 0",
            "310-313 handler 2: switch",
            "313-358 handler 2: protocol",
            "358-363 interrupt: interrupt",
            "363-458 handler 2: protocol",
            "458-468 handler 2: link_scheduling",
            "468 sent 0.2.0",
            "468-488 handler 2: protocol",
            "518-523 interrupt: interrupt",
            "523-533 interrupt: link_scheduling",
            "533 sent 0.2.1",
            "583-588 interrupt: interrupt",
        ]
    );
}
