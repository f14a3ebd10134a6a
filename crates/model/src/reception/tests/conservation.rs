//! Whatever the policy and the load: a packet that came is delivered, dropped or under way, and the
//! CPU is used once.

use laxity_qos::reception::{
    Adaptive, Backoff, BackoffParameters, Clocked, Coalescing, Continuous, CycleLimited, Explicit,
    Guaranteed, Lazy, Limited, Napi, PerCommand, TakenBuffers, Timed,
};
use proptest::prelude::*;

use super::*;

fn policies() -> impl Strategy<Value = (Policy, bool)> {
    let quota = 1..9u32;
    let interval = (100..3000u64).prop_map(Span::from_us);
    prop_oneof![
        Just((Policy::PerCommand(PerCommand::ROUTINE), false)),
        Just((Policy::PerCommand(PerCommand::KERNEL), false)),
        quota.clone().prop_map(|quota| (Policy::Continuous(Continuous { quota }), false)),
        quota.clone().prop_map(|quota| (Policy::Timed(Timed { quota }), true)),
        quota.clone().prop_map(|quota| (Policy::Clocked(Clocked { quota }), true)),
        (quota.clone(), interval.clone()).prop_map(|(q, i)| (Policy::Explicit(Explicit::new(q, i)), false)),
        (quota.clone(), interval.clone()).prop_map(|(q, i)| (Policy::Limited(Limited::new(q, i)), false)),
        (quota.clone(), interval.clone(), 1.1..3.0f64, 0.3..0.99f64).prop_map(
            |(quota, minimum, factor, restore)| {
                let maximum = minimum * 8;
                let parameters = BackoffParameters {
                    quota,
                    minimum,
                    maximum,
                    factor,
                    restore,
                    threshold: 0.25,
                    taken: if quota % 2 == 0 { TakenBuffers::Filled } else { TakenBuffers::Promised },
                };
                (Policy::Backoff(Backoff::new(parameters)), false)
            }
        ),
        (quota.clone(), interval.clone())
            .prop_map(|(q, i)| (Policy::Coalescing(Coalescing::new(q, i)), false)),
        Just((Policy::Adaptive(Adaptive::default()), false)),
        (quota.clone(), 0..4u32).prop_map(|(q, restarts)| (Policy::Napi(Napi::new(q, restarts)), false)),
        (quota, interval, 10..100u64).prop_map(|(q, i, share)| {
            (Policy::CycleLimited(CycleLimited::new(q, i, i.scale_ceil(share, 100))), false)
        }),
        (1..9u32, 100..3000u64, 0..5u32).prop_map(|(quota, period, spare)| {
            (Policy::Guaranteed(Guaranteed::new(quota, Span::from_us(period), spare)), false)
        }),
        Just((Policy::Lazy(Lazy::BY_ADAPTER), false)),
        Just((Policy::Lazy(Lazy::IN_SOFTWARE), false)),
    ]
}

fn sharings() -> impl Strategy<Value = BatchSharing> {
    prop_oneof![
        Just(BatchSharing::Common),
        Just(BatchSharing::Exhaustive),
        (1..4u32, 1..4u32)
            .prop_map(|(real_time, best_effort)| BatchSharing::Weighted { real_time, best_effort }),
        (1..3u32, 1..3u32)
            .prop_map(|(real_time, best_effort)| BatchSharing::Turns { real_time, best_effort }),
    ]
}

fn interfaces() -> impl Strategy<Value = InterfaceConfig> {
    let buffers = prop_oneof![Just(None), (1..20u32).prop_map(Some)];
    let kept = (any::<bool>(), 0..10u32);
    (policies(), sharings(), 1..20u32, (any::<bool>(), any::<bool>()), buffers, kept, 0..300u64, 50..2000u64)
        .prop_map(
            |((policy, ticks), sharing, slots, (handshake, early_drop), buffers, kept, transfer, period)| {
                // A deferred protocol needs a program.
                let buffers = if policy.defers_protocol() { buffers.or(Some(4)) } else { buffers };
                InterfaceConfig {
                    policy,
                    sharing,
                    slots,
                    slots_best_effort: slots,
                    handshake,
                    transfer: Delay::fixed(Span::from_us(transfer)),
                    early_drop,
                    buffers,
                    buffers_real_time: buffers.map_or(0, |buffers| kept.1.min(buffers)),
                    discard: if kept.0 { Discard::Importance } else { Discard::Newest },
                    ticks: ticks.then_some(ClockTicks::Hard(Span::from_us(period))),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn nothing_is_lost_and_the_cpu_is_used_once(
        configs in prop::collection::vec(interfaces(), 1..4),
        arrivals in prop::collection::vec((0..4usize, 0..1500u64, any::<bool>()), 1..120),
        exponential in any::<bool>(),
        (pool, budgets) in (0..5u32, prop::collection::vec(0..3000u64, 1..4)),
    ) {
        let mut costs = THESIS;
        if exponential {
            costs.protocol = ActivityCost::Exponential(costs.protocol.mean());
            costs.program = ActivityCost::Exponential(costs.program.mean());
        }
        let count = configs.len();
        let drains = configs.iter().all(|config| !matches!(config.sharing, BatchSharing::Turns { .. }));
        let mut bench = Bench::new(costs, configs);
        let programs = budgets.iter().map(|budget| ProgramConfig {
            work: costs.program,
            real_time_first: budget % 2 == 0,
            reserved: (*budget > 1000).then(|| CpuReservation {
                budget: Span::from_us(*budget - 1000),
                period: Span::from_us(5000 - *budget),
            }),
        });
        let of = (0..arrivals.len()).map(|n| n % budgets.len()).collect();
        bench.receiver = bench.receiver.with_programs(programs.collect(), of).with_pool(pool);
        let mut at = Time::ZERO;
        for (n, (interface, gap, real_time)) in arrivals.iter().enumerate() {
            at += Span::from_us(*gap);
            bench.run_to(at);
            let class = if *real_time { Class::RealTime } else { Class::BestEffort };
            let due = if n % 3 == 0 { at + Span::from_us(*gap * 4) } else { Time::MAX };
            bench.receiver.arrive(at, interface % count, Arrived { class, due, ..packet(n as u32, at) });
            bench.collect();
            prop_assert_eq!(bench.seen.len() + bench.receiver.under_way(), n + 1);
        }
        let end = at + Span::from_secs(5);
        bench.run_to(end);
        prop_assert_eq!(bench.seen.len() + bench.receiver.under_way(), arrivals.len());
        if drains {
            prop_assert_eq!(bench.receiver.under_way(), 0, "what came is done with, given time");
        }
        let uses = bench.receiver.uses(end);
        prop_assert!(uses.reception() + uses.program <= end.since(Time::ZERO));
        let mut streams: Vec<u32> = bench.seen.iter().map(|(_, output)| output.packet.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        prop_assert_eq!(streams.len(), bench.seen.len(), "no packet twice");
    }
}
