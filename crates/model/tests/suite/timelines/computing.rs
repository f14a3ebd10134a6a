//! Applications that compute beside the handlers: mutual delays.

use laxity_model::host::{Applications, Use};
use laxity_qos::channel::{
    Budget, ChannelConfig, ChannelId, Computing, Config, CoreId, LinkParadigm, Order, Preemption,
};
use laxity_units::Span;

use super::bench::{Bench, Offer, at, best_effort, config, real_time};

/// `time` in each `period`, due within `deadline`, from `start` on.
fn budget(time: u64, period: u64, start: u64, deadline: u64) -> Budget {
    let (time, period, deadline) = (Span::from_us(time), Span::from_us(period), Span::from_us(deadline));
    Budget { time, period, start: at(start), deadline, level: 0 }
}

/// An application that asks others every `slice`.
fn application(number: u32, slice: u64, budget: Option<Budget>) -> Computing {
    Computing { flow: ChannelId(100 + number), core: CoreId::FIRST, slice: Span::from_us(slice), budget }
}

fn bench(config: Config, channels: &[ChannelConfig], all: &[Computing]) -> Bench {
    let mut bench = Bench::new(config, Applications::Separate, channels);
    for application in all {
        bench.host.compute(*application);
    }
    bench
}

/// 100 us from 20 on, due at 520, in slices of 30; a message arrives at 35. If that is due at 135
/// it goes first from the end of the slice on, at 50, and the rest follows with an interrupt in its
/// middle, at 153. If it is due at 5035 it waits for all of the budget.
#[test]
fn a_budget_is_due_like_a_message_and_is_executed_in_slices() {
    let one = application(0, 30, Some(budget(100, 1000, 20, 500)));
    let mut urgent = bench(config(LinkParadigm::O1), &[real_time(100)], &[one]);
    assert_eq!(
        urgent.run_until(900, vec![(35, Offer(0, 1))]),
        [
            "35 Accepted { message: 0 } 0",
            "20-50 computing 0: computation",
            "50-53 handler 0: switch",
            "53-93 handler 0: protocol",
            "93-103 handler 0: link_scheduling",
            "103 sent 0.0.0",
            "103-106 computing 0: switch",
            "106-136 computing 0: computation",
            "136-153 computing 0: computation",
            "153-158 interrupt: interrupt",
            "158-171 computing 0: computation",
            "171-181 computing 0: computation",
            "181 computed 0: 20-520",
        ]
    );
    assert_eq!(urgent.host.computed(), [Span::from_us(100)]);
    assert_eq!(urgent.host.uses()[0].of(Use::Computation), Span::from_us(100));
    let mut lax = bench(config(LinkParadigm::O1), &[real_time(5_000)], &[one]);
    let log = lax.run_until(170, vec![(35, Offer(0, 1))]);
    assert_eq!(
        log[5..8],
        ["120 computed 0: 20-520", "120-123 handler 0: switch", "123-163 handler 0: protocol"]
    );
    // Again at 1020, for which it is switched back to.
    assert_eq!(
        lax.run_until(1060, Vec::new()).last().map(String::as_str),
        Some("1023-1053 computing 0: computation")
    );
}

/// A computation without a budget takes turns with best effort: the message of 10 has waited longer
/// than the slice that begins at 30. On-time work goes before both.
#[test]
fn what_is_left_is_shared_with_best_effort_in_turns() {
    let channels = [best_effort(), real_time(400)];
    let mut bench = bench(config(LinkParadigm::O1), &channels, &[application(0, 30, None)]);
    let log = bench.run_until(172, vec![(10, Offer(0, 1)), (75, Offer(1, 1))]);
    assert_eq!(
        log[1..],
        [
            "0-30 computing 0: computation",
            "30-33 handler 0: switch",
            "33-73 handler 0: protocol",
            "75 Accepted { message: 0 } 1",
            "73-83 handler 0: link_scheduling",
            "83 sent 0.0.0",
            "83-86 handler 1: switch",
            "86-126 handler 1: protocol",
            "126-129 computing 0: switch",
            "129-133 computing 0: computation",
            "133-138 interrupt: interrupt",
            "138-148 interrupt: link_scheduling",
            "148 sent 1.0.0",
        ]
    );
}

/// 700 us every 500: each is done in its order, later and later, and the CPU does no other work.
#[test]
fn budgets_that_are_too_large_are_late_one_after_the_other() {
    let mut bench =
        bench(config(LinkParadigm::O1), &[], &[application(0, 300, Some(budget(700, 500, 0, 500)))]);
    let log = bench.run_until(2100, Vec::new());
    let done: Vec<_> = log.iter().filter(|line| line.contains("computed")).collect();
    assert_eq!(done, ["700 computed 0: 0-500", "1400 computed 0: 500-1000", "2100 computed 0: 1000-1500"]);
    assert_eq!(
        log[..3].join(", "),
        "0-300 computing 0: computation, 300-600 computing 0: computation, 600-700 computing 0: computation"
    );
    assert_eq!(bench.host.uses()[0].of(Use::Computation), Span::from_us(2100));
}

/// On an ideal CPU a message that is due sooner takes it at 10, in the middle of a slice, of which
/// 90 are left.
#[test]
fn immediate_preemption_takes_the_cpu_within_a_slice() {
    let base = config(LinkParadigm::O1);
    let immediate = Config { preemption: Preemption { immediate: true, ..base.preemption }, ..base };
    let one = application(0, 300, Some(budget(100, 5_000, 0, 4_000)));
    let mut bench = bench(immediate, &[real_time(500)], &[one]);
    assert_eq!(
        bench.run_until(4_000, vec![(10, Offer(0, 1))])[1..],
        [
            "0-10 computing 0: computation",
            "10-13 handler 0: switch",
            "13-53 handler 0: protocol",
            "53-63 handler 0: link_scheduling",
            "63 sent 0.0.0",
            "63-66 computing 0: switch",
            "66-113 computing 0: computation",
            "113-118 interrupt: interrupt",
            "118-161 computing 0: computation",
            "161 computed 0: 0-4000",
        ]
    );
    assert_eq!(bench.host.computed(), [Span::from_us(100)]);
}

/// VirtualClock gives a fifth and three fifths: a slice of 100 is stamped 500 and 166.7 after the
/// one before. Of the second the stamps are 167, 333, 500 and a little, 667, 833, 1000 and a
/// little; of the first 500 and 1000.
#[test]
fn where_rates_are_shared_a_budget_is_one() {
    let applications = [
        application(0, 100, Some(budget(200, 1_000, 0, 1_000))),
        application(1, 100, Some(budget(600, 1_000, 0, 1_000))),
    ];
    let order = Config { order: Order::VirtualClock, ..config(LinkParadigm::O1) };
    let mut bench = bench(order, &[], &applications);
    let log = bench.run_until(900, Vec::new());
    let slices: Vec<_> = log.iter().filter(|line| line.ends_with("computation")).collect();
    assert_eq!(
        slices,
        [
            "0-100 computing 1: computation",
            "100-200 computing 1: computation",
            "203-303 computing 0: computation",
            "306-406 computing 1: computation",
            "406-506 computing 1: computation",
            "506-606 computing 1: computation",
            "609-709 computing 0: computation",
            "712-812 computing 1: computation",
        ]
    );
}

/// Fixed priorities: from the end of its first slice on level 1 waits for the message of level 0,
/// and goes before that of level 2.
#[test]
fn a_budget_has_a_level() {
    let level = |level| ChannelConfig { level, ..real_time(5_000) };
    let one = application(0, 30, Some(Budget { level: 1, ..budget(60, 1_000, 0, 500) }));
    let config = Config { order: Order::FixedPriority, ..config(LinkParadigm::O2) };
    let mut bench = bench(config, &[level(2), level(0)], &[one]);
    let log = bench.run_until(200, vec![(0, Offer(0, 1)), (0, Offer(1, 1))]);
    let who: Vec<_> =
        log.iter().filter(|line| line.ends_with("protocol") || line.ends_with("computation")).collect();
    assert_eq!(
        who,
        [
            "0-30 computing 0: computation",
            "33-73 handler 1: protocol",
            "89-119 computing 0: computation",
            "122-136 handler 0: protocol",
            "141-167 handler 0: protocol",
        ],
        "{log:?}"
    );
}
