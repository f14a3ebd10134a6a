//! Timers that cost something: when they fire, what waits for them, and what goes with one that is served.

use laxity_model::host::Applications;
use laxity_qos::channel::{Config, LinkConfig, LinkParadigm};
use laxity_qos::costs::HostCosts;
use laxity_qos::discipline::EarlyPolicy;
use laxity_units::Span;

use super::bench::{Bench, COSTS, Input, LINK, Offer, config, real_time};

/// Outputs for those inputs, under O1, where a timer's interrupt takes 4 us; from the first held
/// packet on.
fn late(channels: usize, inputs: Vec<(u64, Input)>) -> Vec<String> {
    let costs = HostCosts { timer: Span::from_us(4), ..COSTS };
    let channels = vec![real_time(5_000); channels];
    let mut bench =
        Bench::with_costs(costs, config(LinkParadigm::O1), Applications::Separate, &channels, LINK);
    let log = bench.run(inputs);
    let first = log.iter().position(|line| line.starts_with("10000-")).expect("a timer fires");
    log[first..].to_vec()
}

/// The second message logically arrives at 10 ms, and its handler has the CPU 4 us later.
#[test]
fn a_message_that_is_held_waits_for_its_timer() {
    assert_eq!(
        late(1, vec![(0, Offer(0, 1)), (1, Offer(0, 1))]),
        [
            "10000-10004 interrupt: interrupt",
            "10004-10044 handler 0: protocol",
            "10044-10054 handler 0: link_scheduling",
            "10054 sent 0.1.0",
            "10104-10109 interrupt: interrupt",
        ]
    );
}

/// The other's packet, sent at 9952, is complete at 10002, and is heard of when the timer has been served.
#[test]
fn a_completion_waits_for_the_timer_before_it() {
    assert_eq!(
        late(2, vec![(0, Offer(0, 1)), (1, Offer(0, 1)), (9_899, Offer(1, 1))])[..5],
        [
            "10000-10004 interrupt: interrupt",
            "10004-10009 interrupt: interrupt",
            "10009-10012 handler 0: switch",
            "10012-10052 handler 0: protocol",
            "10052-10062 handler 0: link_scheduling",
        ]
    );
}

/// A packet with logical arrival at 10002, while the timer of 10000 is served, has no timer of its
/// own.
#[test]
fn who_turns_current_meanwhile_goes_with_it() {
    assert_eq!(
        late(2, vec![(0, Offer(0, 1)), (1, Offer(0, 1)), (2, Offer(1, 1)), (3, Offer(1, 1))]),
        [
            "10000-10004 interrupt: interrupt",
            "10004-10007 handler 0: switch",
            "10007-10047 handler 0: protocol",
            "10047-10057 handler 0: link_scheduling",
            "10057 sent 0.1.0",
            "10057-10060 handler 1: switch",
            "10060-10100 handler 1: protocol",
            "10107-10112 interrupt: interrupt",
            "10112-10122 interrupt: link_scheduling",
            "10122 sent 1.1.0",
            "10172-10177 interrupt: interrupt",
        ]
    );
}

/// Two packets that were made ahead of their time turn current at 10 ms, and the adapter has places
/// for both: the one timer starts one after the other.
#[test]
fn a_timer_starts_all_that_there_are_places_for() {
    let costs = HostCosts { timer: Span::from_us(4), ..COSTS };
    let base = config(LinkParadigm::O1);
    let config = Config { early: EarlyPolicy::CONSERVE, link: LinkConfig { depth: 2, ..base.link }, ..base };
    let channels = [real_time(5_000), real_time(5_000)];
    let mut bench = Bench::with_costs(costs, config, Applications::Separate, &channels, LINK);
    let log = bench.run(vec![(0, Offer(0, 1)), (0, Offer(0, 1)), (0, Offer(1, 1)), (0, Offer(1, 1))]);
    let first = log.iter().position(|line| line.starts_with("10000-")).expect("a timer fires");
    assert_eq!(
        log[first..][..5],
        [
            "10000-10004 interrupt: interrupt",
            "10004-10014 interrupt: link_scheduling",
            "10014 sent 0.1.0",
            "10014-10024 interrupt: link_scheduling",
            "10024 sent 1.1.0",
        ]
    );
}
