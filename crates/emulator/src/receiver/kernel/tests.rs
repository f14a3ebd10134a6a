//! Order and accounting of frames handed to a real kernel, whatever it drops.

use std::collections::{BTreeMap, BTreeSet};

use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_machine::place;
use laxity_model::reception::Arrived;
use laxity_qos::channel::Dropped;
use laxity_qos::discipline::Class;
use laxity_scenario::Scenario;
use laxity_units::{Bytes, Span, Time};
use laxity_world::receiving::ReceivingHost;

use super::*;
use crate::receiver::run;
use crate::receiver::tests::alone;

/// Policies of an adapter, with their keys.
const POLICIES: [&str; 6] = [
    r#"policy = "interrupt""#,
    r#"policy = "explicit", quota = 4, interval = "1 ms""#,
    r#"policy = "limited", quota = 4, interval = "1 ms""#,
    r#"policy = "backoff", quota = 100, minimum = "1 ms", maximum = "5 ms", factor = 2.0, restore = 0.8"#,
    r#"policy = "guaranteed", quota = 4, interval = "5 ms""#,
    r#"policy = "coalescing", frames = 8, delay = "1 ms""#,
];

fn experiment(policy: &str, more: &str, rate: &str) -> Experiment {
    let text = format!(
        r#"
title = "a flood"
[host]
profile = "harts-reception"
receive = {{ program = "100 us" }}
[admission]
formula = "off"
[run]
clock = "real"
time = "120 ms"
[emulation]
host = "kernel"
[[interface]]
name = "in"
{policy}
{more}
slots = 64
buffers = 8
[[channel]]
name = "packets"
class = "best_effort"
max_message = "300 B"
burst = 1
interface = "in"
source = {{ kind = "periodic", rate = "{rate}" }}
"#,
        policy = policy.replace(", ", "\n"),
    );
    Scenario::from_text("test.toml", &text).unwrap_or_else(|why| panic!("{}", why.render(false))).first()
}

/// Result of `outcome`, or `None` if it failed for lack of permissions.
fn permitted<T>(outcome: Result<T, String>) -> Option<T> {
    match outcome {
        Err(why) if why.contains("this needs") || why.contains("/dev/net/tun") => {
            println!("skipped: {why}");
            None
        }
        outcome => Some(outcome.unwrap()),
    }
}

#[test]
fn under_every_policy_what_is_offered_is_delivered_dropped_or_under_way() {
    let Some(_alone) = alone() else { return };
    for policy in POLICIES {
        // On a busy machine the kernel may get no processor time in a run.
        let mut delivered = 0;
        for more in ["handshake = true\ntransfer = \"3 us\"\nearly_drop = true", "early_drop = true", ""] {
            let Some(ended) = permitted(run(&experiment(policy, more, "6 MB/s"), &mut |_| ())) else {
                return;
            };
            let (channel, all) = (&ended.run.channels[0], ended.account);
            let accounted = all.delivered + all.dropped + ended.under_way;
            assert_eq!(all.offered, accounted, "{policy} {more}: {all:?}, {} under way", ended.under_way);
            assert!(all.offered >= 2400, "{policy} {more}: END offered {} of 2400", all.offered);
            delivered += all.delivered;
            let dropped: u64 = channel.drops.values().sum();
            assert!(
                channel.completed <= all.delivered && dropped <= all.dropped,
                "{policy} {more}: {channel:?}"
            );
            assert_eq!(ended.run.figures["device_drops"], 0.0, "{policy} {more}");
        }
        assert!(delivered > 0, "{policy}: nothing was delivered");
    }
}

#[test]
fn every_packet_has_one_end_and_what_the_kernel_drops_is_what_is_missing() {
    let Some(_alone) = alone() else { return };
    const PACKETS: u64 = 400;
    for policy in POLICIES {
        for early in [false, true] {
            let experiment = Arc::new(experiment(policy, &format!("early_drop = {early}"), "1 kB/s"));
            let core = place::cores().first().copied();
            let Some(prepared) = permitted(Prepared::new(&experiment, core)) else { return };
            let epoch = TickEpoch::starting_in(Span::from_ms(1), Ticks::calibrate(), Dilation::NONE);
            let Started { mut adapters, bell: _, program } = prepared.start(&experiment, epoch).unwrap();
            let (mut offered, mut ends, mut last) = (0, BTreeSet::new(), None);
            let mut drops = BTreeMap::<_, u64>::new();
            let mut next = Time::ZERO;
            let patience = Time::ZERO + Span::from_ms(20_000);
            while offered < PACKETS || (ends.len() as u64) < offered {
                let now = epoch.now();
                assert!(now < patience, "{policy}: {} of {offered} packets came to an end", ends.len());
                if now >= next {
                    let class = Class::BestEffort;
                    let size = Bytes::new(40 + offered % 200);
                    let packet = Arrived {
                        stream: 0,
                        number: offered,
                        class,
                        size,
                        at: now,
                        due: Time::MAX,
                        importance: 0,
                    };
                    adapters.arrive(now, 0, packet);
                    offered += 1;
                    // Floods with pauses; then single packets until one arrives after which all
                    // others have their outcome. On a busy machine the kernel may have dropped the
                    // last, too.
                    let pause = offered % 40 == 0 || offered + 1 >= PACKETS;
                    next = now + if pause { Span::from_ms(20) } else { Span::from_us(20) };
                }
                adapters.timer(now);
                while let Some((at, output)) = adapters.next_ended() {
                    let packet = output.packet;
                    assert!(at >= packet.at && ends.insert(packet.number), "{policy}: {output:?} at {at}");
                    match output.lost {
                        None => {
                            let overtaken = last.replace(packet.number);
                            assert!(overtaken < Some(packet.number), "{policy}: {packet:?} overtook");
                        }
                        Some(cause) => *drops.entry(cause).or_default() += 1,
                    }
                }
            }
            adapters.close();
            assert_eq!(program.join().unwrap().untold + adapters.under_way(), 0, "{policy}");
            let by_kernel = drops.get(&Dropped::ReceiveBuffers).copied().unwrap_or(0);
            assert_eq!(adapters.kernel_drops(), (by_kernel, 0), "{policy}, early drop {early}: {drops:?}");
            if early {
                assert_eq!(by_kernel, 0, "{policy}: what has no buffer is dropped before the kernel has it");
            }
            if policy == POLICIES[0] {
                let cause = if early { Dropped::Early } else { Dropped::ReceiveBuffers };
                assert!(drops.contains_key(&cause), "{policy}: nothing was a flood, {drops:?}");
            }
        }
    }
}
