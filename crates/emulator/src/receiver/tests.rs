//! Order and accounting of an interrupted host under any timing: no packet is lost or duplicated.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use laxity_engine::{Dilation, InputDoorbell};
use laxity_machine::place;
use laxity_model::reception::Arrived;
use laxity_qos::channel::Dropped;
use laxity_qos::discipline::Class;
use laxity_scenario::Scenario;
use laxity_units::{Bytes, Span, Time};
use laxity_world::receiving::ReceivingHost;

use super::*;

/// All policies, with their keys.
const POLICIES: [&str; 16] = [
    r#"policy = "interrupt""#,
    r#"policy = "interrupt_kernel""#,
    r#"policy = "continuous", quota = 4"#,
    r#"policy = "timed", quota = 4, interval = "1 ms""#,
    r#"policy = "hard_timer", quota = 1, interval = "1 ms""#,
    r#"policy = "soft_timer", quota = 1, intervals = "st-apache""#,
    r#"policy = "explicit", quota = 4, interval = "1 ms""#,
    r#"policy = "limited", quota = 4, interval = "1 ms""#,
    r#"policy = "backoff", quota = 100, minimum = "1 ms", maximum = "5 ms", factor = 2.0, restore = 0.8"#,
    r#"policy = "guaranteed", quota = 4, interval = "5 ms""#,
    r#"policy = "coalescing", frames = 8, delay = "1 ms""#,
    r#"policy = "adaptive""#,
    r#"policy = "napi", quota = 16"#,
    r#"policy = "cycle_limited", quota = 16, interval = "2 ms", share = 0.5"#,
    r#"policy = "lazy""#,
    r#"policy = "lazy_software""#,
];

fn experiment(policy: &str, more: &str, rate: &str) -> Experiment {
    let text = format!(
        r#"
title = "a flood"
[host]
profile = "harts-reception"
receive = {{ program = "347 us", announce = "10 us", poll = "1 us" }}
[admission]
formula = "off"
[run]
clock = "real"
time = "120 ms"
[emulation]
host = "thread"
[[interface]]
name = "in"
{policy}
{more}
slots = 16
[[channel]]
name = "packets"
class = "best_effort"
max_message = "1 KiB"
burst = 1
interface = "in"
source = {{ kind = "periodic", rate = "{rate}" }}
"#,
        policy = policy.replace(", ", "\n"),
    );
    Scenario::from_text("test.toml", &text).unwrap_or_else(|why| panic!("{}", why.render(false))).first()
}

/// Lock against two concurrent runs, which would be four spinning threads; `None` if there are too
/// few processors.
pub(super) fn alone() -> Option<impl Sized> {
    static ALONE: Mutex<()> = Mutex::new(());
    if place::cores().len() < 2 {
        println!("skipped: END and its host need two processors");
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn under_every_policy_what_is_offered_is_delivered_dropped_or_under_way() {
    let Some(_alone) = alone() else { return };
    for policy in POLICIES {
        for more in [
            "handshake = true\ntransfer = \"30 us\"\nearly_drop = true\nbuffers = 8",
            "buffers = 8",
            "buffers = \"none\"",
        ] {
            // Backoff depends on free buffers, and lazy processing on a program.
            if ["backoff", "lazy"].iter().any(|word| policy.contains(word)) && more.contains("none") {
                continue;
            }
            let ended = run(&experiment(policy, more, "4000 KiB/s"), &mut |_| ()).unwrap();
            let (channel, all) = (&ended.run.channels[0], ended.account);
            let accounted = all.delivered + all.dropped + ended.under_way;
            assert_eq!(all.offered, accounted, "{policy} {more}: {all:?}, {} under way", ended.under_way);
            assert!(all.offered >= 480, "{policy} {more}: END offered {} of 480", all.offered);
            // The results count the same packets as END, except at the instant of the window's
            // edge.
            assert!((480..=all.offered).contains(&channel.messages), "{policy} {more}: {channel:?}");
            let dropped: u64 = channel.drops.values().sum();
            assert!(
                channel.completed <= all.delivered && dropped <= all.dropped,
                "{policy} {more}: {channel:?}"
            );
            assert_eq!(dropped, channel.dropped_packets, "{policy} {more}");
        }
    }
}

#[test]
fn every_packet_has_one_end_and_those_of_the_program_keep_their_order() {
    let Some(_alone) = alone() else { return };
    const PACKETS: u64 = 400;
    for policy in POLICIES {
        let experiment =
            Arc::new(experiment(policy, "handshake = true\ntransfer = \"30 us\"\nbuffers = 8", "1 KiB/s"));
        let epoch = TickEpoch::starting_in(Span::from_ms(1), Ticks::calibrate(), Dilation::NONE);
        let (mut adapters, host) = start(&experiment, epoch, place::cores().first().copied()).unwrap();
        let mut bell = adapters.doorbell();
        let (mut offered, mut ends, mut last) = (0, BTreeSet::new(), None);
        let mut next = Time::ZERO;
        // A lost interrupt would leave packets at the adapter for ever.
        let patience = Time::ZERO + Span::from_ms(20_000);
        while (ends.len() as u64) < PACKETS {
            let now = epoch.now();
            assert!(now < patience, "{policy}: {} of {offered} packets came to an end", ends.len());
            if offered < PACKETS && now >= next {
                let class = Class::BestEffort;
                let packet = Arrived {
                    stream: 0,
                    number: offered,
                    class,
                    size: Bytes::new(900),
                    at: now,
                    due: Time::MAX,
                    importance: 0,
                };
                adapters.arrive(now, 0, packet);
                offered += 1;
                // A flood, and pauses in which the host becomes idle.
                next = now + if offered % 40 == 0 { Span::from_ms(8) } else { Span::from_us(150) };
            }
            if bell.is_rung() || adapters.next_deadline().is_some_and(|at| at <= now) {
                adapters.timer(now);
            }
            while let Some((at, output)) = adapters.next_outcome() {
                let packet = output.packet;
                assert!(at >= packet.at && ends.insert(packet.number), "{policy}: {output:?} at {at}");
                match output.lost {
                    None => {
                        assert!(
                            last.replace(packet.number) < Some(packet.number),
                            "{policy}: {packet:?} overtook"
                        );
                    }
                    Some(cause) => {
                        assert!(matches!(cause, Dropped::Ring | Dropped::Early | Dropped::ReceiveBuffers));
                    }
                }
            }
        }
        let unheard = adapters.close();
        assert_eq!(host.join().unwrap().held + unheard(), 0, "{policy}");
    }
}

#[test]
fn who_may_interrupt_does_and_who_may_not_does_not() {
    let Some(_alone) = alone() else { return };
    let figure = |policy: &str, name: &str| {
        let ended = run(&experiment(policy, "handshake = true", "1000 KiB/s"), &mut |_| ()).unwrap();
        ended.run.figures[name]
    };
    let interrupts = |policy: &str| figure(policy, "interrupts_per_second");
    assert!(interrupts(POLICIES[0]) > 0.0);
    assert_eq!(interrupts(POLICIES[3]), 0.0, "a clock polls");
    assert!(figure(POLICIES[3], "ticks_per_second") > 0.0);
    assert!(interrupts(POLICIES[6]) <= 1000.0, "explicit: once in each interval, or when idle");
    // A policy that polls without end leaves no time for a background program.
    assert_eq!(figure(POLICIES[2], "cpu_beside_share"), 0.0);
    assert!(figure(POLICIES[3], "cpu_beside_share") > 0.0);
}
