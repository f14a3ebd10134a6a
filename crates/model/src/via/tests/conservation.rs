//! Whatever is rung and whatever comes: everything ends once, in order within its virtual
//! interface, and no engine does two things at a time.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Send(u32, u64),
    Receive(u32),
    Arrive(u32, u64),
}

fn acts() -> impl Strategy<Value = Vec<(u64, Act)>> {
    let size = prop_oneof![Just(1u64), Just(1024), Just(4096), 1u64..20_000];
    let act = (0u8..6, 0u32..3, size).prop_map(|(kind, vi, size)| match kind {
        0..3 => Act::Send(vi, size),
        3..5 => Act::Arrive(vi, size),
        _ => Act::Receive(vi),
    });
    prop::collection::vec((0u64..60_000, act), 1..40)
}

fn configs() -> impl Strategy<Value = ViaConfig> {
    let firmware = prop_oneof![
        any::<bool>().prop_map(|overlap| Firmware::Sequential { overlap }),
        Just(Firmware::Parallel),
        Just(Firmware::QualityOfService),
    ];
    let few = || prop_oneof![Just(None), (1u32..4).prop_map(Some)];
    let share = prop_oneof![Just(None), Just(Some(Rate::from_bytes_per_sec(3_000_000)))];
    let poll = prop_oneof![Just(0u64), Just(500), Just(1300)];
    let doorbells = super::at_once::doorbells();
    (firmware, few(), few(), any::<bool>(), 0u32..3, share, poll, doorbells).prop_map(
        |(firmware, send_buffers, receive_buffers, nsdma_queue, guard, best_effort, poll, doorbells)| {
            ViaConfig {
                costs: FirmwareCosts::table_1(firmware, Span::from_ns(poll)),
                limits: ViLimits {
                    send_buffers,
                    receive_buffers,
                    nsdma_queue,
                    guard,
                    best_effort,
                    doorbells,
                },
                ..ViaConfig::table_1(firmware)
            }
        },
    )
}

proptest! {
    #[test]
    fn everything_ends_once(config in configs(), acts in acts(), receives in prop_oneof![Just(None), (0u32..5).prop_map(Some)]) {
        let vis = [reserved(200), AdapterVi { receives, process: 1, ..reserved(2000) }, PLAIN];
        let mut bench = Bench::new(config, &vis);
        let (mut now, mut sent, mut came, mut room) = (0, [0u64; 3], [0u64; 3], 0);
        for (gap, act) in &acts {
            now += gap;
            match act {
                Act::Send(vi, size) => {
                    bench.ring(now, ViDoorbell::Send(message(*vi, sent[*vi as usize], *size)));
                    sent[*vi as usize] += 1;
                }
                Act::Receive(vi) => {
                    room += u64::from(*vi == 1);
                    bench.ring(now, ViDoorbell::Receive(*vi));
                }
                Act::Arrive(vi, size) => {
                    bench.reach(now, message(*vi, came[*vi as usize], *size));
                    came[*vi as usize] += 1;
                }
            }
        }
        bench.finish();
        prop_assert_eq!(bench.via.backlog(), 0);
        let all = |of: &dyn Fn(&ViaOutput) -> Option<ViMessage>| -> Vec<ViMessage> {
            bench.told.iter().filter_map(|(_, output)| of(output)).collect()
        };
        let departed = all(&|output| match output { ViaOutput::Departs(m) => Some(*m), _ => None });
        let done = all(&|output| match output { ViaOutput::Sent(m) => Some(*m), _ => None });
        let received = all(&|output| match output { ViaOutput::Received(m) => Some(*m), _ => None });
        let ended = all(&|output| match output {
            ViaOutput::Received(m) | ViaOutput::Dropped(m) => Some(*m),
            _ => None,
        });
        for vi in 0..3u32 {
            let numbers = |list: &[ViMessage]| -> Vec<u64> {
                list.iter().filter(|m| m.vi == vi).map(|m| m.number).collect()
            };
            let sent: Vec<u64> = (0..sent[vi as usize]).collect();
            prop_assert_eq!(&numbers(&departed), &sent, "messages of one interface leave in their order");
            prop_assert_eq!(&numbers(&done), &sent);
            let came = came[vi as usize];
            let mut all = numbers(&ended);
            all.sort_unstable();
            prop_assert_eq!(all, (0..came).collect::<Vec<_>>());
            prop_assert!(numbers(&received).is_sorted());
            match vis[vi as usize].receives {
                None => prop_assert_eq!(numbers(&received).len() as u64, came),
                Some(at_first) => prop_assert!(numbers(&received).len() as u64 <= u64::from(at_first) + room),
            }
        }
        // No unit is at two things at once.
        let mut free: std::collections::HashMap<Unit, Time> = Default::default();
        for (at, output) in &bench.told {
            if let ViaOutput::Worked(unit, _, _, since) = output {
                let free = free.entry(*unit).or_insert(Time::ZERO);
                prop_assert!(*free <= *since && since <= at);
                *free = *at;
            }
        }
        let busy = |unit| -> Span {
            let spans = bench.told.iter().filter_map(|(at, output)| match output {
                ViaOutput::Worked(other, _, _, since) if *other == unit => Some(at.since(*since)),
                _ => None,
            });
            spans.fold(Span::ZERO, |all, span| all + span)
        };
        let report = bench.via.report();
        prop_assert_eq!(busy(Unit::Hdma), report.units[Unit::Hdma as usize].busy);
        prop_assert_eq!(busy(Unit::Processor), report.units[Unit::Processor as usize].busy);
        // HDMA moved each message's descriptor, data and status, and nothing else.
        let engines = config.engines;
        let out = departed.iter().map(|m| engines.down.takes(m.size) + engines.descriptor + engines.status);
        let fetched = if matches!(config.firmware, Firmware::Sequential { .. }) { received.len() as u64 } else {
            acts.iter().filter(|(_, act)| matches!(act, Act::Receive(_))).count() as u64
        };
        let inward = received.iter().map(|m| engines.up.takes(m.size) + engines.status);
        let moved = out.chain(inward).fold(engines.descriptor * fetched, |all, span| all + span);
        prop_assert_eq!(report.units[Unit::Hdma as usize].busy, moved);
    }

    /// Called more often, it does the same: nothing depends on when it is asked.
    #[test]
    fn calls_in_between_change_nothing(config in configs(), acts in acts()) {
        let run = |step: Option<u64>| {
            let vis = [reserved(200), AdapterVi { process: 1, ..reserved(2000) }, AdapterVi { process: 2, ..PLAIN }];
            let mut bench = Bench::new(config, &vis);
            let mut now = 0;
            for (number, (gap, act)) in (0..).zip(&acts) {
                if let Some(step) = step {
                    for at in (now..now + gap).step_by(step as usize) {
                        bench.via.timer(ns(at));
                    }
                }
                now += gap;
                match act {
                    Act::Send(vi, size) => bench.ring(now, ViDoorbell::Send(message(*vi, number, *size))),
                    Act::Receive(vi) => bench.ring(now, ViDoorbell::Receive(*vi)),
                    Act::Arrive(vi, size) => bench.reach(now, message(*vi, number, *size)),
                }
            }
            bench.finish();
            bench.told
        };
        prop_assert_eq!(run(None), run(Some(777)));
    }
}
