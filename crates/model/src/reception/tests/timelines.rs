//! Each policy's way through the CPU, microsecond by microsecond, with the costs of thesis Table 7.2.

use laxity_qos::reception::{Clocked, Continuous, Explicit, Lazy, Napi, PerCommand, Timed};

use super::*;

fn bench(policy: Policy) -> Bench {
    Bench::new(THESIS, vec![interface(policy)])
}

#[test]
fn a_packet_alone_costs_two_interrupts_the_protocol_and_the_program() {
    let mut bench = bench(Policy::PerCommand(PerCommand::ROUTINE));
    bench.arrive(us(100), 0, 7);
    bench.run_to(us(5000));
    // 100 + 28 + 28 + 400 + 347.
    assert_eq!(bench.delivered(), [(7, 903)]);
    let uses = bench.receiver.uses(us(5000));
    assert_eq!((uses.signals, uses.protocol, uses.program), (56, 400, 347).map_us());
    assert_eq!(bench.receiver.report(0).interrupts, 2);
}

#[test]
fn an_interrupt_stops_the_program_which_resumes() {
    let mut bench = bench(Policy::PerCommand(PerCommand::ROUTINE));
    bench.arrive(us(0), 0, 1);
    // The program has packet 1 from 456; at 500 the second arrives: 456 of reception go before the
    // remaining 303.
    bench.arrive(us(500), 0, 2);
    bench.run_to(us(5000));
    assert_eq!(bench.delivered(), [(1, 500 + 456 + 303), (2, 500 + 456 + 303 + 347)]);
}

#[test]
fn continuous_polling_switches_once_for_each_turn_of_the_program() {
    let mut bench = bench(Policy::Continuous(Continuous { quota: 1 }));
    bench.arrive(us(0), 0, 1);
    bench.run_to(us(5000));
    // One switch; the second poll follows the first without one.
    assert_eq!(bench.delivered(), [(1, 20 + 400 + 347)]);
    assert_eq!(bench.receiver.uses(us(5000)).switches, Span::from_us(20));
    assert_eq!(bench.receiver.report(0).batches, 2);
}

#[test]
fn a_tick_makes_a_thread_ready_and_one_at_work_misses_the_next() {
    let ticks = Some(ClockTicks::Hard(Span::from_ms(1)));
    let policy = Policy::Timed(Timed { quota: 6 });
    let mut bench = Bench::new(THESIS, vec![InterfaceConfig { ticks, ..interface(policy) }]);
    for stream in 1..=4 {
        bench.arrive(us(10), 0, stream);
    }
    bench.run_to(us(6000));
    // At 1000: 28 + 20, four announcements, two protocols to 1848; the program has 1 until the tick
    // at 2000. That one costs 28, and its thread waits for packet 1: 2223. Then 20, two protocols
    // to 3043; the tick at 3000 is missed, since the thread is at work. Then 2, 3, 4.
    assert_eq!(bench.delivered(), [(1, 2223), (2, 3043 + 347), (3, 3043 + 694), (4, 3043 + 3 * 347 + 28)]);
    assert_eq!(bench.receiver.report(0).missed_ticks, 1);
}

#[test]
fn explicit_interrupts_come_back_when_the_host_is_idle() {
    let mut bench = bench(Policy::Explicit(Explicit::new(2, Span::from_ms(50))));
    bench.arrive(us(0), 0, 1);
    bench.arrive(us(0), 0, 2);
    bench.run_to(us(5000));
    // The first interrupt had one command posted: 28. It takes the announcements of 1 and 2; their
    // last commands wait. The CPU is otherwise idle, so they interrupt at once: 28 + 800, then 694
    // of program.
    assert_eq!(bench.delivered(), [(1, 28 + 28 + 800 + 347), (2, 28 + 28 + 800 + 694)]);
    assert_eq!(bench.receiver.report(0).interrupts, 2);
}

#[test]
fn a_kernel_poll_is_begun_anew_by_a_tick_and_finishes_what_it_had_in_hand() {
    let costs = ReceptionCosts {
        poll: ActivityCost::Fixed(Span::from_us(2)),
        protocol: ActivityCost::Fixed(Span::from_us(6)),
        ..THESIS
    };
    let config = InterfaceConfig {
        handshake: false,
        buffers: None,
        early_drop: false,
        ticks: Some(ClockTicks::Hard(Span::from_us(10))),
        ..interface(Policy::Clocked(Clocked { quota: 2 }))
    };
    let mut bench = Bench::new(costs, vec![config]);
    for stream in 1..=5 {
        bench.arrive(us(1), 0, stream);
    }
    bench.run_to(us(60));
    // Tick at 10, 1 from 12 to 18; 2 from 18, stopped at 20 by the tick until 22, done at 26; two
    // more: 3 from 26, stopped at 30 until 32, done at 34. 4 from 34 to 40, where it is done before
    // the tick is heard: 5 from 42 to 48.
    assert_eq!(bench.delivered(), [(1, 18), (2, 26), (3, 34), (4, 40), (5, 48)]);
}

#[test]
fn a_quota_leaves_the_rest_of_a_period_to_others() {
    let costs = ReceptionCosts {
        poll: ActivityCost::NONE,
        protocol: ActivityCost::Fixed(Span::from_us(3)),
        ..THESIS
    };
    let config = InterfaceConfig {
        handshake: false,
        buffers: None,
        early_drop: false,
        ticks: Some(ClockTicks::Hard(Span::from_us(20))),
        ..interface(Policy::Clocked(Clocked { quota: 2 }))
    };
    let mut bench = Bench::new(costs, vec![config]);
    for stream in 1..=5 {
        bench.arrive(us(1), 0, stream);
    }
    bench.run_to(us(70));
    assert_eq!(bench.delivered(), [(1, 23), (2, 26), (3, 43), (4, 46), (5, 63)]);
    assert_eq!(bench.receiver.uses(us(70)).reception(), Span::from_us(15));
}

/// An idle host is not called for a packet that only waits; but an arrival at the instant of a tick
/// precedes other events of that instant.
#[test]
fn a_packet_for_a_host_at_rest_waits_for_the_tick_and_one_at_its_instant_begins_it() {
    let costs = ReceptionCosts {
        poll: ActivityCost::NONE,
        protocol: ActivityCost::Fixed(Span::from_us(3)),
        ..THESIS
    };
    let config = InterfaceConfig {
        sharing: BatchSharing::Weighted { real_time: 1, best_effort: 1 },
        slots_best_effort: 2,
        handshake: false,
        buffers: None,
        early_drop: false,
        ticks: Some(ClockTicks::Hard(Span::from_us(20))),
        ..interface(Policy::Clocked(Clocked { quota: 2 }))
    };
    let comes = |stream, class, at| Arrived { class, ..packet(stream, us(at)) };
    let mut bench = Bench::new(costs, vec![config]);
    assert!(!bench.receiver.arrive(us(1), 0, comes(1, Class::BestEffort, 1)), "nothing came of it");
    assert!(!bench.receiver.arrive(us(1), 0, comes(2, Class::RealTime, 1)));
    bench.run_to(us(30));
    assert_eq!(bench.delivered(), [(2, 23), (1, 26)]);
    // The tick at 40 is taken at the first arrival: real time arrives a moment later, in a batch
    // that has begun.
    assert!(bench.receiver.arrive(us(40), 0, comes(3, Class::BestEffort, 40)));
    bench.receiver.arrive(us(40), 0, comes(4, Class::RealTime, 40));
    bench.run_to(us(60));
    assert_eq!(bench.delivered()[2..], [(3, 43), (4, 46)]);
}

#[test]
fn without_a_buffer_a_packet_is_refused_at_its_first_command_or_wasted_at_its_last() {
    for (early_drop, early, wasted) in [(true, 1, 0), (false, 0, 1)] {
        let policy = Policy::PerCommand(PerCommand::ROUTINE);
        let config = InterfaceConfig { early_drop, buffers: Some(1), ..interface(policy) };
        let mut bench = Bench::new(THESIS, vec![config]);
        bench.arrive(us(0), 0, 1);
        bench.arrive(us(460), 0, 2);
        bench.run_to(us(5000));
        assert_eq!((bench.dropped(Dropped::Early), bench.dropped(Dropped::ReceiveBuffers)), (early, wasted));
        let uses = bench.receiver.uses(us(5000));
        assert_eq!(uses.wasted, Span::from_us(400 * wasted as u64));
        assert_eq!(uses.protocol, Span::from_us(400));
    }
}

#[test]
fn napi_polls_while_anything_waits_and_shares_with_the_program() {
    let config =
        InterfaceConfig { handshake: false, early_drop: false, ..interface(Policy::Napi(Napi::new(2, 0))) };
    let mut bench = Bench::new(THESIS, vec![config]);
    for stream in 1..=4 {
        bench.arrive(us(0), 0, stream);
    }
    bench.run_to(us(5000));
    // 28, protocols of 1 and 2 to 828. The program has at least 800 then: packets 1, 2 to 1522 and,
    // the backlog being empty, the next poll: 3 and 4 to 2322. Then they.
    assert_eq!(bench.delivered(), [(1, 1175), (2, 1522), (3, 2669), (4, 3016)]);
    assert_eq!(bench.receiver.report(0).interrupts, 1);
}

#[test]
fn a_sleeping_program_is_interrupted_once_and_does_the_protocol_itself() {
    let config = InterfaceConfig {
        handshake: false,
        early_drop: false,
        slots: 2,
        buffers: Some(2),
        ..interface(Policy::Lazy(Lazy::BY_ADAPTER))
    };
    let mut bench = Bench::new(THESIS, vec![config]);
    for (stream, at) in [(1, 0), (2, 100), (3, 200), (4, 300)] {
        bench.arrive(us(at), 0, stream);
    }
    bench.run_to(us(5000));
    // 28, then 747 each; 2 and 3 wait with the adapter, which has no slot for 4.
    assert_eq!(bench.delivered(), [(1, 775), (2, 1522), (3, 2269)]);
    assert_eq!((bench.dropped(Dropped::Ring), bench.receiver.report(0).interrupts), (1, 1));
}

#[test]
fn transfers_go_one_at_a_time() {
    let transfer = Delay::fixed(Span::from_us(100));
    let policy = Policy::PerCommand(PerCommand::ROUTINE);
    let mut bench = Bench::new(THESIS, vec![InterfaceConfig { transfer, ..interface(policy) }]);
    bench.arrive(us(0), 0, 1);
    bench.arrive(us(0), 0, 2);
    bench.run_to(us(5000));
    // Announced at 28 and 56; moved at 128 and 228; 28 + 400 each, the second after the first: 556
    // and 984. The program gets the CPU then.
    assert_eq!(bench.delivered(), [(1, 984 + 347), (2, 984 + 694)]);
}

/// Three numbers as spans.
trait Micros {
    fn map_us(self) -> (Span, Span, Span);
}

impl Micros for (u64, u64, u64) {
    fn map_us(self) -> (Span, Span, Span) {
        (Span::from_us(self.0), Span::from_us(self.1), Span::from_us(self.2))
    }
}
