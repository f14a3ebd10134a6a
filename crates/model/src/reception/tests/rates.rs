//! Throughput of a steady stream, against thesis Eqs. 7.1–7.4.

use laxity_admission::reception::ReceivingCosts;
use laxity_qos::reception::{
    Backoff, BackoffParameters, Clocked, Continuous, Explicit, Limited, PerCommand, TakenBuffers, Timed,
};

use super::*;

const SECONDS: u64 = 4;

const CAPACITY: ReceivingCosts = ReceivingCosts {
    commands: 2,
    interrupt: Span::from_us(28),
    switch: Span::from_us(20),
    protocol: Span::from_us(400),
    program: Span::from_us(347),
};

/// Packets a second that are delivered of `offered`, after the first second.
fn delivered(config: InterfaceConfig, costs: ReceptionCosts, offered: u64) -> f64 {
    let mut bench = Bench::new(costs, vec![config]);
    let gap = Span::from_ps(1_000_000_000_000 / offered);
    for n in 0..offered * SECONDS {
        bench.arrive(Time::ZERO + gap * n, 0, 0);
    }
    let after = Time::ZERO + Span::from_secs(1);
    let counted = |(at, output): &&(Time, Reception)| *at > after && output.lost.is_none();
    bench.seen.iter().filter(counted).count() as f64 / (SECONDS - 1) as f64
}

#[track_caller]
fn near(measured: f64, predicted: f64, share: f64) {
    assert!((measured - predicted).abs() <= share * predicted + 2.0, "{measured} is not {predicted}");
}

#[test]
fn interrupts_deliver_what_equation_7_2_leaves() {
    let config =
        || InterfaceConfig { early_drop: false, ..interface(Policy::PerCommand(PerCommand::ROUTINE)) };
    for offered in [800, 1200, 1500, 1800, 2100] {
        near(delivered(config(), THESIS, offered), CAPACITY.per_command_delivered(offered as f64), 0.01);
    }
    assert!(delivered(config(), THESIS, 2300) < 1.0, "nothing is delivered at livelock");
}

#[test]
fn early_drop_delays_livelock() {
    let policy = Policy::PerCommand(PerCommand::ROUTINE);
    for offered in [1200, 2300, 5500] {
        let predicted = CAPACITY.early_drop_delivered(offered as f64);
        near(delivered(interface(policy.clone()), THESIS, offered), predicted, 0.02);
    }
}

#[test]
fn continuous_polling_is_flat_at_equation_7_3() {
    // A quota of commands is as many packets at most and half as many on average.
    for quota in [1, 2, 4, 8] {
        let policy = Policy::Continuous(Continuous { quota });
        let measured = delivered(interface(policy), THESIS, 4000);
        let (least, most) = (CAPACITY.continuous(quota.div_ceil(2)), CAPACITY.continuous(quota));
        assert!(measured >= least - 3.0 && measured <= most + 3.0, "{quota}: {measured}");
    }
}

#[test]
fn timed_polling_is_what_its_quota_or_the_cpu_allows() {
    let config = |quota, ms| InterfaceConfig {
        ticks: Some(ClockTicks::Hard(Span::from_ms(ms))),
        ..interface(Policy::Timed(Timed { quota }))
    };
    for (quota, ms) in [(1, 1), (2, 1), (1, 2), (3, 2), (5, 2)] {
        let predicted = CAPACITY.timed(Span::from_ms(ms), quota);
        near(delivered(config(quota, ms), THESIS, 4000), predicted, 0.01);
    }
    // Past the quota the CPU is the limit, and ticks that a thread at work misses cost nothing.
    for (quota, ms) in [(3, 1), (6, 1), (8, 1), (6, 2), (8, 2)] {
        let predicted = CAPACITY.timed(Span::from_ms(ms), quota);
        let measured = delivered(config(quota, ms), THESIS, 4000);
        assert!(measured >= 0.97 * predicted && measured <= 1340.0, "{quota}, {ms}: {measured}");
    }
}

#[test]
fn what_switches_interrupts_off_is_near_what_the_cpu_can_do() {
    let parameters = BackoffParameters {
        quota: 24,
        minimum: Span::from_ms(1),
        maximum: Span::from_ms(10),
        factor: 1.5,
        restore: 0.8,
        threshold: 0.25,
        taken: TakenBuffers::Filled,
    };
    for offered in [1000, 1300, 2000, 5500] {
        let most = (offered as f64).min(1.0 / 747e-6);
        let backoff = delivered(interface(Policy::Backoff(Backoff::new(parameters))), THESIS, offered);
        assert!(backoff > 0.93 * most, "backoff at {offered}: {backoff}");
        let explicit = Policy::Explicit(Explicit::new(8, Span::from_ms(2)));
        let explicit = delivered(interface(explicit), THESIS, offered);
        assert!(explicit > 0.9 * most, "explicit at {offered}: {explicit}");
    }
    let limited = Policy::Limited(Limited::new(2, Span::from_ms(2)));
    near(delivered(interface(limited), THESIS, 5500), 500.0, 0.01);
}

#[test]
fn a_kernel_poll_serves_its_quota() {
    let costs = ReceptionCosts {
        poll: ActivityCost::Exponential(Span::from_ns(1590)),
        protocol: ActivityCost::Exponential(Span::from_ns(5600)),
        ..THESIS
    };
    let capacity = ReceivingCosts {
        commands: 1,
        interrupt: Span::ZERO,
        switch: Span::ZERO,
        protocol: Span::from_ns(5600),
        program: Span::ZERO,
    };
    for quota in [1, 2, 3, 4] {
        let config = InterfaceConfig {
            slots: 1000,
            handshake: false,
            buffers: None,
            ticks: Some(ClockTicks::Hard(Span::from_us(20))),
            ..interface(Policy::Clocked(Clocked { quota }))
        };
        let mut bench = Bench::new(costs, vec![config]);
        for n in 0..120_000 {
            bench.arrive(us(2 * n), 0, 0);
        }
        let rate = bench.delivered().len() as f64 / 0.24;
        let predicted = capacity.clocked(Span::from_us(20), Span::from_ns(1590), quota);
        // Services that outlast a period lose what is left of their quota: most of all near saturation.
        assert!(rate > 0.87 * predicted && rate < 1.01 * predicted, "{quota}: {rate} against {predicted}");
    }
}

#[test]
fn moments_of_intervals_are_those_of_their_distribution() {
    let us = Span::from_us;
    let near = |found: [f64; 3], expected: [f64; 3]| {
        // In microseconds to the first, second and third power.
        let scaled = [found[0] * 1e6, found[1] * 1e12, found[2] * 1e18];
        assert!(scaled.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3 * b), "{scaled:?}");
    };
    near(ClockTicks::Hard(us(20)).moments(), [20.0, 400.0, 8000.0]);
    let soft = |points: &[(Span, f64)]| ClockTicks::Soft(Intervals::new(points, None).unwrap()).moments();
    // Evenly from 10 to 30: (30² − 10²) / 40, (30³ − 10³) / 60, (30⁴ − 10⁴) / 80.
    near(soft(&[(us(10), 0.0), (us(30), 1.0)]), [20.0, 26000.0 / 60.0, 800_000.0 / 80.0]);
    // Half of them 10 us, the others 30 us at the end of a line as good as upright.
    near(soft(&[(us(10), 0.5), (us(30) - Span::from_ps(1), 0.5), (us(30), 1.0)]), [20.0, 500.0, 14000.0]);
}
