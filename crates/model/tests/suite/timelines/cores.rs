//! Several cores: parallel work, and waiting for each other.

use laxity_model::host::{Applications, Interrupt, Use};
use laxity_qos::channel::{
    ChannelConfig, ChannelId, Computing, Config, CoreId, LinkConfig, LinkId, LinkParadigm, Reader, Role,
};
use laxity_qos::costs::HostCosts;
use laxity_units::Span;

use super::bench::{Bench, COSTS, Input, LINK, Offer, best_effort, config, real_time};
use super::interrupts::incoming;

/// A configuration with that many cores and that adapter depth.
fn cores(cores: u8, paradigm: LinkParadigm, depth: u32) -> Config {
    let base = config(paradigm);
    Config { cores, link: LinkConfig { depth, ..base.link }, ..base }
}

/// `channel`, all of it on core `core`.
fn on(core: u8, channel: ChannelConfig) -> ChannelConfig {
    ChannelConfig { core: CoreId(core), application: CoreId(core), ..channel }
}

fn bench(config: Config, channels: &[ChannelConfig]) -> Bench {
    Bench::new(config, Applications::Separate, channels)
}

/// Two packets are made at once, 0-40. The first core by number takes the adapter's slot, 40-50,
/// and the other sees that there is none: it leaves its packet to the completion at 100, which
/// interrupts core 0.
#[test]
fn two_cores_work_at_once() {
    let mut bench = bench(cores(2, LinkParadigm::O1, 1), &[on(0, best_effort()), on(1, best_effort())]);
    assert_eq!(
        bench.run_until(116, vec![(0, Offer(0, 1)), (0, Offer(1, 1))]),
        [
            "0 Accepted { message: 0 } 0",
            "0 Accepted { message: 0 } 1",
            "0-40 handler 0: protocol",
            "0-40 core 1, handler 1: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "100-105 interrupt: interrupt",
            "105-115 interrupt: link_scheduling",
            "115 sent 1.0.0",
        ]
    );
}

/// The adapter has room for all. Core 0 is in the link scheduler 40-50; core 2 arrives at 43 and
/// core 1 at 45: FIFO.
#[test]
fn who_comes_first_to_the_link_scheduler_is_let_in_first() {
    let channels = [on(0, best_effort()), on(1, best_effort()), on(2, best_effort())];
    let mut bench = bench(cores(3, LinkParadigm::O1, 3), &channels);
    let log = bench.run_until(75, vec![(0, Offer(0, 1)), (3, Offer(2, 1)), (5, Offer(1, 1))]);
    assert_eq!(
        log[3..],
        [
            "0-40 handler 0: protocol",
            "3-43 core 2, handler 2: protocol",
            "5-45 core 1, handler 1: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "43-50 core 2, handler 2: spin",
            "50-60 core 2, handler 2: link_scheduling",
            "60 sent 2.0.0",
            "45-60 core 1, handler 1: spin",
            "60-70 core 1, handler 1: link_scheduling",
            "70 sent 1.0.0",
        ]
    );
    let spun = [0, 1, 2].map(|core| bench.host.uses()[core].of(Use::Spin));
    assert_eq!(spun, [0, 15, 7].map(Span::from_us));
}

/// Interrupts go to core 1, and core 0 works through: six packets 0-40, 50-70, 70-90 and so on. At
/// 100 and 165 packets have left, and core 1 sees to the next, 105-115 and 170-180.
#[test]
fn an_interrupt_stops_its_own_core_and_no_other() {
    let mut bench = bench(cores(2, LinkParadigm::O1, 1), &[on(0, best_effort())]);
    bench.host.steer(LinkId::FIRST, &[CoreId(1)]);
    let log = bench.run_until(181, vec![(0, Offer(0, 6))]);
    assert_eq!(
        log[1..],
        [
            "0-40 handler 0: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "50-70 handler 0: protocol",
            "70-90 handler 0: protocol",
            "100-105 core 1, interrupt: interrupt",
            "90-110 handler 0: protocol",
            "105-115 core 1, interrupt: link_scheduling",
            "115 sent 0.0.1",
            "110-130 handler 0: protocol",
            "130-150 handler 0: protocol",
            "165-170 core 1, interrupt: interrupt",
            "170-180 core 1, interrupt: link_scheduling",
            "180 sent 0.0.2",
        ]
    );
}

/// Core 2 has waited since 40 for core 0 to leave at 50. The timer interrupts core 1 at 41 to
/// schedule the link, so that waits behind it until 60, when the adapter is full. The wait was in
/// vain, and still costs CPU time.
#[test]
fn an_interrupt_waits_for_the_link_scheduler_too() {
    let mut bench = bench(cores(3, LinkParadigm::O1, 2), &[on(0, best_effort()), on(2, best_effort())]);
    bench.host.steer(LinkId::FIRST, &[CoreId(1)]);
    let timer = (41, Input::Interrupt(Interrupt::Timer));
    let log = bench.run_until(62, vec![(0, Offer(0, 1)), (0, Offer(1, 1)), timer]);
    assert_eq!(
        log[2..],
        [
            "0-40 handler 0: protocol",
            "0-40 core 2, handler 1: protocol",
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "40-50 core 2, handler 1: spin",
            "50-60 core 2, handler 1: link_scheduling",
            "60 sent 1.0.0",
            "41-60 core 1, interrupt: spin",
        ]
    );
}

/// An interrupt at a core that spins waits until the core has left the link scheduler: it enters at
/// 50 and is interrupted at 60, though the timer was at 45.
#[test]
fn who_spins_takes_no_interrupt() {
    let costs = HostCosts { timer: Span::from_us(3), ..COSTS };
    let channels = [on(0, best_effort()), on(1, best_effort())];
    let config = cores(2, LinkParadigm::O1, 2);
    let mut bench = Bench::with_costs(costs, config, Applications::Separate, &channels, LINK);
    bench.host.steer(LinkId::FIRST, &[CoreId(1)]);
    let timer = (45, Input::Interrupt(Interrupt::Timer));
    let log = bench.run_until(64, vec![(0, Offer(0, 1)), (0, Offer(1, 1)), timer]);
    assert_eq!(
        log[4..],
        [
            "40-50 handler 0: link_scheduling",
            "50 sent 0.0.0",
            "40-50 core 1, handler 1: spin",
            "50-60 core 1, handler 1: link_scheduling",
            "60 sent 1.0.0",
            "60-63 core 1, interrupt: interrupt",
        ]
    );
}

/// The link scheduler's thread has core 1, and what is made on core 0 is sent while the next is
/// made: no switch, and 10 us of core 1 for each.
#[test]
fn a_link_scheduler_on_a_core_of_its_own_takes_nothing_from_the_handlers() {
    let base = cores(2, LinkParadigm::O2, 2);
    let config = Config { link: LinkConfig { core: CoreId(1), ..base.link }, ..base };
    let mut bench = bench(config, &[on(0, best_effort())]);
    bench.host.steer(LinkId::FIRST, &[CoreId(1)]);
    let log = bench.run_until(130, vec![(0, Offer(0, 3))]);
    assert_eq!(
        log[1..],
        [
            "0-40 handler 0: protocol",
            "40-50 core 1, link: link_scheduling",
            "50 sent 0.0.0",
            "40-60 handler 0: protocol",
            "60-70 core 1, link: link_scheduling",
            "70 sent 0.0.1",
            "60-80 handler 0: protocol",
            "100-105 core 1, interrupt: interrupt",
            "105-115 core 1, link: link_scheduling",
            "115 sent 0.0.2",
        ]
    );
}

/// A packet arrives at core 1, 0-5, for a handler of core 0, which is idle and is called, 5-7. The
/// second finds it busy, and makes no call. A program on core 1 then has the message, for which
/// that core has to be called.
#[test]
fn a_core_that_sleeps_is_called_and_one_that_works_is_not() {
    let costs = HostCosts { ipi: Span::from_us(2), ..COSTS };
    let receives = on(0, ChannelConfig { role: Role::Receive, ..best_effort() });
    let reader = Reader { core: CoreId(1), slots: 1, work: Span::from_us(50), per_byte: Span::ZERO };
    let receives = ChannelConfig { reader: Some(reader), ..receives };
    let config = cores(2, LinkParadigm::O1, 1);
    let mut bench = Bench::with_costs(costs, config, Applications::Separate, &[receives], LINK);
    bench.host.steer(LinkId::FIRST, &[CoreId(1)]);
    assert_eq!(
        bench.run(vec![(0, incoming(0, 2)), (20, incoming(1, 2))]),
        [
            "0-5 core 1, interrupt: interrupt",
            "5-7 interrupt: interrupt",
            "20-25 core 1, interrupt: interrupt",
            "7-37 handler 0: protocol",
            "37-75 handler 0: protocol",
            "75-77 core 1, interrupt: interrupt",
            "77-127 core 1, program 0: program",
            "127 delivered 0.0",
        ]
    );
}

/// An input from outside costs no call: core 1 begins at once. Work that a core finds at its own
/// timer makes no call either: that takes the timer's 3 us, at 10 000 when the second message is on
/// time.
#[test]
fn a_timer_costs_what_it_costs_and_what_comes_from_outside_no_call() {
    let costs = HostCosts { ipi: Span::from_us(2), timer: Span::from_us(3), ..COSTS };
    let config = cores(2, LinkParadigm::O1, 1);
    let channels = [on(1, real_time(5000))];
    let mut bench = Bench::with_costs(costs, config, Applications::Separate, &channels, LINK);
    bench.host.steer(LinkId::FIRST, &[CoreId(1)]);
    let log = bench.run_until(10_060, vec![(0, Offer(0, 1)), (0, Offer(0, 1))]);
    assert_eq!(
        log[2..],
        [
            "0-40 core 1, handler 0: protocol",
            "40-50 core 1, handler 0: link_scheduling",
            "50 sent 0.0.0",
            "100-105 core 1, interrupt: interrupt",
            "10000-10003 core 1, interrupt: interrupt",
            "10003-10043 core 1, handler 0: protocol",
            "10043-10053 core 1, handler 0: link_scheduling",
            "10053 sent 0.1.0",
        ]
    );
}

/// An application that shares core 0 sends on a channel of core 1: 15 us of the one, then 40 of the
/// other, while the application already sends the next.
#[test]
fn an_application_and_its_handler_may_have_a_core_each() {
    let channel = ChannelConfig { core: CoreId(1), application: CoreId(0), ..best_effort() };
    let mut bench = Bench::new(cores(2, LinkParadigm::O1, 1), Applications::Shared, &[channel]);
    let log = bench.run_until(51, vec![(0, Offer(0, 1)), (2, Offer(0, 1))]);
    assert_eq!(
        log,
        [
            "0-15 application 0: application",
            "15 Accepted { message: 0 } 0",
            "15-30 application 0: application",
            "30 Accepted { message: 1 } 0",
            "15-55 core 1, handler 0: protocol",
        ][..4]
    );
}

/// A computation on core 1 is independent of core 0: it has all of that core, slice after slice.
#[test]
fn who_computes_on_a_core_of_its_own_has_all_of_it() {
    let mut bench = bench(cores(2, LinkParadigm::O1, 1), &[on(0, best_effort())]);
    let computing = |core: u8| Computing {
        flow: ChannelId(100 + u32::from(core)),
        core: CoreId(core),
        slice: Span::from_us(100),
        budget: None,
    };
    bench.host.compute(computing(0));
    bench.host.compute(computing(1));
    bench.run_until(1000, (0..5).map(|n| (n * 150, Offer(0, 2))).collect());
    assert_eq!(bench.host.uses()[1].total(), Span::from_us(1000));
    assert_eq!(bench.host.computed()[1], Span::from_us(1000));
    assert!(bench.host.computed()[0] < Span::from_us(600), "{}", bench.host.computed()[0]);
}
