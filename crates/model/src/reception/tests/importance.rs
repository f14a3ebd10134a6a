//! Order and losses: programs with a budget, classes, deadlines, partitioned buffers. Worked out by
//! hand.

use laxity_qos::reception::{Backoff, BackoffParameters, Clocked, PerCommand, TakenBuffers};

use super::*;

/// An interrupt takes 1 us, the protocol 2, a switch 5.
pub(super) const COSTS: ReceptionCosts = ReceptionCosts {
    interrupt: ActivityCost::Fixed(Span::from_us(1)),
    poll: ActivityCost::NONE,
    switch: ActivityCost::Fixed(Span::from_us(5)),
    announce: ActivityCost::NONE,
    protocol: ActivityCost::Fixed(Span::from_us(2)),
    program: ActivityCost::Fixed(Span::from_us(10)),
};

fn config(policy: Policy) -> InterfaceConfig {
    InterfaceConfig { handshake: false, early_drop: false, ..interface(policy) }
}

pub(super) fn interrupts() -> InterfaceConfig {
    config(Policy::PerCommand(PerCommand::ROUTINE))
}

/// Polled every 100 us, packets of importance first.
fn polled(quota: u32, slots: u32) -> InterfaceConfig {
    InterfaceConfig {
        ticks: Some(ClockTicks::Hard(Span::from_us(100))),
        slots,
        discard: Discard::Importance,
        ..config(Policy::Clocked(Clocked { quota }))
    }
}

fn program(work: u64, reserved: Option<(u64, u64)>) -> ProgramConfig {
    let reservation =
        |(budget, period)| CpuReservation { budget: Span::from_us(budget), period: Span::from_us(period) };
    ProgramConfig {
        reserved: reserved.map(reservation),
        ..ProgramConfig::of(ActivityCost::Fixed(Span::from_us(work)))
    }
}

/// A bench with program `n` for stream `n`.
fn with_programs(interfaces: Vec<InterfaceConfig>, programs: Vec<ProgramConfig>) -> Bench {
    let mut bench = Bench::new(COSTS, interfaces);
    let of = (0..programs.len()).collect();
    bench.receiver = bench.receiver.with_programs(programs, of);
    bench
}

impl Bench {
    /// A packet of `stream` that has to be delivered by `due`, in microseconds; of best effort without.
    fn comes(&mut self, at: u64, stream: u32, due: Option<u64>) {
        self.run_to(us(at));
        let class = if due.is_some() { Class::RealTime } else { Class::BestEffort };
        let due = due.map_or(Time::MAX, us);
        self.receiver.arrive(us(at), 0, Arrived { class, due, ..packet(stream, us(at)) });
        self.collect();
    }

    /// Losses: stream, time and reason.
    fn lost(&self) -> Vec<(u32, u64, Dropped)> {
        let lost = self.seen.iter().filter_map(|(at, output)| match output {
            Reception { packet, lost: Some(why) } => Some((packet.stream, at.as_ps() / 1_000_000, *why)),
            Reception { lost: None, .. } => None,
        });
        lost.collect()
    }
}

#[test]
fn a_program_goes_first_until_it_has_had_its_budget() {
    let mut bench = with_programs(vec![interrupts()], vec![program(20, None), program(10, Some((15, 1000)))]);
    for stream in [0, 0, 1, 1, 1] {
        bench.arrive(us(0), 0, stream);
    }
    bench.run_to(us(5000));
    // Five interrupts to 15. Program 1 has a switch and a packet, which is its budget; then they take turns.
    assert_eq!(bench.delivered(), [(1, 30), (0, 55), (1, 70), (0, 95), (1, 110)]);
}

#[test]
fn a_budget_comes_back_with_its_period() {
    let mut bench = with_programs(vec![interrupts()], vec![program(20, None), program(10, Some((10, 50)))]);
    for stream in [0, 0, 0, 1, 1, 1] {
        bench.arrive(us(0), 0, stream);
    }
    bench.run_to(us(5000));
    // From 18: 1 to 33, 0 to 58; the second period has begun: 1 to 73. Its turn again, without a
    // switch: 83. Then 0, twice.
    assert_eq!(bench.delivered(), [(1, 33), (0, 58), (1, 73), (1, 83), (0, 108), (0, 128)]);
}

#[test]
fn what_was_begun_before_a_period_counts_for_its_part_in_it() {
    // Received by 28, a switch and 40 for packet 1, stopped from 30 to 36: it ends at 79, 29 into
    // the period from 50 on.
    for (budget, after) in [(29, [(1, 79), (0, 94), (1, 139)]), (30, [(1, 79), (1, 119), (0, 134)])] {
        let mut bench =
            with_programs(vec![interrupts()], vec![program(10, None), program(40, Some((budget, 50)))]);
        bench.arrive(us(25), 0, 1);
        bench.arrive(us(30), 0, 1);
        bench.arrive(us(30), 0, 0);
        bench.run_to(us(5000));
        assert_eq!(bench.delivered(), after, "{budget}");
    }
}

#[test]
fn of_several_budgets_the_shortest_period_goes_first() {
    let programs = vec![program(10, Some((100, 2000))), program(10, Some((100, 1000))), program(10, None)];
    let mut bench = with_programs(vec![interrupts()], programs);
    for stream in [2, 0, 1, 0, 1] {
        bench.arrive(us(0), 0, stream);
    }
    bench.run_to(us(5000));
    assert_eq!(bench.delivered(), [(1, 30), (1, 40), (0, 55), (0, 65), (2, 80)]);
}

#[test]
fn a_program_by_class_does_real_time_first() {
    for (real_time_first, place) in [(false, 2), (true, 0)] {
        let programs = vec![ProgramConfig { real_time_first, ..program(10, None) }];
        let mut bench = with_programs(vec![interrupts()], programs);
        bench.comes(0, 0, None);
        bench.comes(0, 0, None);
        bench.comes(0, 0, Some(9000));
        bench.run_to(us(5000));
        // Three interrupts to 9, then 10 each.
        assert_eq!(bench.delivered(), [(0, 19), (0, 29), (0, 39)]);
        let first = bench
            .seen
            .iter()
            .position(|(_, output)| output.lost.is_none() && output.packet.class == Class::RealTime);
        assert_eq!(first, Some(place));
    }
}

#[test]
fn a_full_ring_loses_what_is_late_then_what_is_due_last() {
    let mut bench = Bench::new(COSTS, vec![polled(8, 2)]);
    bench.comes(0, 0, None);
    bench.comes(1, 1, Some(50));
    // Best effort is due never.
    bench.comes(2, 2, Some(500));
    // 1 is late.
    bench.comes(60, 3, Some(700));
    // 3 is due after 4, and no packet after 5.
    bench.comes(61, 4, Some(400));
    bench.comes(62, 5, Some(900));
    bench.comes(63, 6, None);
    bench.run_to(us(1000));
    use Dropped::{Displaced, Late, Ring};
    let lost = [(0, 2, Displaced), (1, 60, Late), (3, 61, Displaced), (5, 62, Ring), (6, 63, Ring)];
    assert_eq!(bench.lost(), lost);
    assert_eq!(bench.delivered(), [(2, 114), (4, 124)], "in order of arrival: 100 + 4, then 10 each");
    assert_eq!(bench.receiver.under_way(), 0);
}

#[test]
fn what_comes_newest_is_lost_where_nothing_is_more_important() {
    let mut bench = Bench::new(COSTS, vec![InterfaceConfig { discard: Discard::Newest, ..polled(8, 1) }]);
    bench.comes(0, 0, None);
    bench.comes(1, 1, Some(50));
    bench.run_to(us(1000));
    assert_eq!((bench.lost(), bench.delivered()), (vec![(1, 1, Dropped::Ring)], vec![(0, 112)]));
}

#[test]
fn nothing_is_spent_on_what_is_late() {
    let mut bench = Bench::new(COSTS, vec![polled(1, 8)]);
    bench.comes(0, 0, Some(99));
    bench.comes(0, 1, Some(105));
    bench.comes(0, 2, Some(300));
    bench.comes(0, 3, Some(190));
    bench.run_to(us(1000));
    // The quota is one packet: 0 takes none of it, 1 does, which is late only when it is done; then
    // 2. 3 is late at 300.
    assert_eq!(bench.lost(), [(0, 100, Dropped::Late), (3, 300, Dropped::Late)]);
    assert_eq!(bench.delivered(), [(1, 112), (2, 212)]);
    assert_eq!(bench.receiver.uses(us(1000)).protocol, Span::from_us(4));
}

#[test]
fn a_program_does_nothing_for_what_is_late() {
    let mut bench = Bench::new(COSTS, vec![InterfaceConfig { buffers: Some(2), ..polled(3, 8) }]);
    bench.comes(0, 0, Some(500));
    bench.comes(0, 1, Some(113));
    bench.run_to(us(1000));
    // Both are received by 104; 0 has the program to 114, when 1 has been late for a microsecond.
    // Its buffer is free again.
    assert_eq!(bench.lost(), [(1, 114, Dropped::LateForProgram)]);
    assert_eq!(bench.delivered(), [(0, 114)]);
    bench.comes(1000, 2, Some(9000));
    bench.comes(1000, 3, Some(9000));
    bench.run_to(us(2000));
    assert_eq!(bench.delivered()[1..], [(2, 1114), (3, 1124)]);
}

#[test]
fn with_two_commands_what_is_late_gives_back_slot_and_promise() {
    let slow = Delay::fixed(Span::from_us(100));
    let config = InterfaceConfig {
        handshake: true,
        early_drop: true,
        transfer: slow,
        buffers: Some(1),
        slots: 1,
        ..polled(8, 1)
    };
    let mut bench = Bench::new(COSTS, vec![config]);
    // Announced at 100, moved by 200, late at the tick of 200 at which its second command is taken.
    bench.comes(0, 0, Some(150));
    bench.run_to(us(1000));
    assert_eq!(bench.lost(), [(0, 200, Dropped::Late)]);
    // Late before it is announced.
    bench.comes(1010, 1, Some(1020));
    bench.run_to(us(2000));
    assert_eq!(bench.lost()[1], (1, 1100, Dropped::Late));
    // There are slot and buffer again.
    bench.comes(2010, 2, Some(9000));
    bench.run_to(us(3000));
    assert_eq!(bench.delivered(), [(2, 2212)]);
}

#[test]
fn buffers_of_real_time_are_kept_from_best_effort_and_a_pool_is_for_all() {
    for (pool, kept) in [(0, vec![(0, 24), (3, 34)]), (1, vec![(0, 24), (1, 34), (3, 44)])] {
        let two = InterfaceConfig { buffers: Some(2), buffers_real_time: 1, ..interrupts() };
        let mut bench = Bench::new(COSTS, vec![two]);
        bench.receiver = bench.receiver.with_pool(pool);
        for (stream, due) in [(0, None), (1, None), (2, None), (3, Some(9000))] {
            bench.comes(0, stream, due);
        }
        bench.run_to(us(1000));
        // Four interrupts to 12. One buffer is open to best effort, one for real time.
        let later = |(stream, at): &(u32, u64)| (*stream, at - 2);
        assert_eq!(bench.delivered(), kept.iter().map(later).collect::<Vec<_>>(), "{pool}");
        assert_eq!(bench.dropped(Dropped::ReceiveBuffers), 4 - kept.len());
    }
}

/// A host that counted promised buffers of the pool as taken would leave its routine with the
/// packets still to arrive, and wait for them for ever.
#[test]
fn what_is_promised_of_a_pool_does_not_stand_still() {
    let parameters = BackoffParameters {
        quota: 3,
        minimum: Span::from_us(50),
        maximum: Span::from_us(50),
        factor: 1.5,
        restore: 0.5,
        threshold: 0.6,
        taken: TakenBuffers::Filled,
    };
    let one = InterfaceConfig {
        handshake: true,
        early_drop: true,
        buffers: Some(1),
        ..config(Policy::Backoff(Backoff::new(parameters)))
    };
    let mut bench = Bench::new(COSTS, vec![one]);
    bench.receiver = bench.receiver.with_pool(2);
    for stream in 0..3 {
        bench.comes(0, stream, None);
    }
    bench.run_to(us(1000));
    let streams: Vec<u32> = bench.delivered().iter().map(|(stream, _)| *stream).collect();
    assert_eq!((streams, bench.receiver.under_way()), (vec![0, 1, 2], 0));
}

/// Three slots that are polled at 100 us. Importance 3 takes the slot of the newest packet of importance
/// 1. Importance 1 takes no slot of importance 1, and 7 takes one of 1 before one of 3.
#[test]
fn tags_decide_who_keeps_a_slot() {
    let tagged = InterfaceConfig { discard: Discard::Tag, ..polled(8, 3) };
    let mut bench = with_programs(vec![tagged], vec![program(1, None)]);
    for (number, importance) in [1, 3, 1, 1, 3, 7, 0, 3].into_iter().enumerate() {
        let at = us(10 + number as u64);
        bench.run_to(at);
        bench.receiver.arrive(at, 0, Arrived { number: number as u64, importance, ..packet(0, at) });
        bench.collect();
    }
    bench.run_to(us(5000));
    let ends: Vec<(u64, Option<Dropped>)> =
        bench.seen.iter().map(|(_, output)| (output.packet.number, output.lost)).collect();
    let (ring, displaced) = (Some(Dropped::Ring), Some(Dropped::Displaced));
    let lost = [(3, ring), (2, displaced), (0, displaced), (6, ring), (7, ring)];
    assert_eq!(ends[..5], lost);
    assert_eq!(ends[5..], [(1, None), (4, None), (5, None)]);
}
