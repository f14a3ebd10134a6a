//! A CPU is never busy for longer than it was there, and each microsecond of it counts once.

use laxity_model::host::{Applications, Use, use_of};
use laxity_qos::channel::{Config, LinkParadigm, Order, Preemption, Processing, Work};
use laxity_units::Span;
use proptest::prelude::*;

use super::bench::{Bench, Input, Offer, best_effort, config, real_time};

/// A packet, then the link scheduler's thread: 40 of protocol, 3 of switch, 10 of link scheduling,
/// and an interrupt at 53 + 50 that takes 5. The switch counts as a switch and nothing else.
#[test]
fn a_switch_counts_once() {
    let mut bench = Bench::new(config(LinkParadigm::O2), Applications::Separate, &[best_effort()]);
    bench.run(vec![(0, Offer(0, 1))]);
    let uses = Use::ALL.map(|used| bench.host.uses()[0].of(used));
    assert_eq!(uses, [40, 10, 3, 5, 0, 0, 0, 0].map(Span::from_us));
}

/// Telling another thread is what a switch is for; all else is protocol.
#[test]
fn a_signal_counts_as_a_switch() {
    assert_eq!(use_of(Work::Signal), Use::Switch);
    assert_eq!((use_of(Work::Packet), use_of(Work::Relay)), (Use::Protocol, Use::Protocol));
}

/// An interrupt in the middle of a switch parts it, and both parts count as switch.
///
/// The first packet is made 0-40, handed over at 50 and done at 100; the second is made 50-70. At
/// 98 channel 1 has something to do: its handler is switched to 98-100, interrupted until 105 and
/// for the link call until 115, and switched to for 1 us more.
#[test]
fn an_interrupted_switch_goes_on() {
    let channels = [best_effort(), best_effort()];
    let mut bench = Bench::new(config(LinkParadigm::O1), Applications::Separate, &channels);
    let log = bench.run_until(157, vec![(0, Offer(0, 2)), (98, Offer(1, 1))]);
    assert_eq!(
        log[3..],
        [
            "50 sent 0.0.0",
            "50-70 handler 0: protocol",
            "98 Accepted { message: 0 } 1",
            "98-100 handler 1: switch",
            "100-105 interrupt: interrupt",
            "105-115 interrupt: link_scheduling",
            "115 sent 0.0.1",
            "115-116 handler 1: switch",
            "116-156 handler 1: protocol",
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is offered, to whatever policies: the sum of the uses never exceeds the time that
    /// has passed, at any instant. The bench looks at every event.
    #[test]
    fn uses_never_exceed_the_time(
        paradigm in prop::sample::select(vec![LinkParadigm::O1, LinkParadigm::O2, LinkParadigm::O3, LinkParadigm::Adapter]),
        order in prop::sample::select(vec![Order::MultiClassEdf, Order::FixedPriority, Order::Fifo]),
        shared: bool,
        per_message: bool,
        immediate: bool,
        offers in prop::collection::vec((0u64..400, 0u32..3, 1u64..5), 1..40),
    ) {
        let base = config(paradigm);
        let processing = if per_message { Processing::PerMessage } else { Processing::PerChannel };
        let preemption = Preemption { immediate, ..base.preemption };
        let config = Config { processing, order, preemption, ..base };
        let placement = if shared { Applications::Shared } else { Applications::Separate };
        let mut bench = Bench::new(config, placement, &[real_time(2_000), real_time(500), best_effort()]);
        let mut offers = offers;
        offers.sort_by_key(|(us, ..)| *us);
        let mut inputs: Vec<_> = offers.into_iter().map(|(us, channel, n)| (us, Offer(channel, n))).collect();
        inputs.push((400, Input::Endless(2, Some(2))));
        bench.run_until(20_000, inputs);
        prop_assert!(bench.host.uses()[0].total() <= Span::from_us(20_000));
    }
}
