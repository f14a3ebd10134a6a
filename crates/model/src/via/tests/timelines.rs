//! Timelines worked out by hand from the costs of Table 1, in nanoseconds.
//!
//! A look takes 500 here; 1 KiB takes HDMA 9638.4 down and 9433.6 up and the network 7000, a
//! descriptor 2500, completion 1200.

use ViStep::*;

use super::*;

fn sent_alone(firmware: Firmware) -> Vec<(ViStep, u64)> {
    let mut bench = Bench::new(looks(firmware), &[PLAIN]);
    bench.ring(0, ViDoorbell::Send(message(0, 0, 1024)));
    bench.finish().steps(0, 0)
}

fn received_alone(firmware: Firmware) -> Vec<(ViStep, u64)> {
    let mut bench = Bench::new(looks(firmware), &[PLAIN]);
    bench.reach(0, message(0, 0, 1024));
    bench.finish().steps(0, 0)
}

#[test]
fn one_message_out_step_after_step() {
    // Looked for at once: 500 and 2000. Each transfer is waited for.
    let expected = [
        (SendDescriptorProgrammed, 2500),
        (SendDescriptorDown, 5000),
        (SendDataProgrammed, 7900),
        (SendDataDown, 17_538),
        (SendNetworkDone, 24_538),
        (SendStatusProgrammed, 25_938),
        (SendStatusDone, 27_138),
    ];
    assert_eq!(sent_alone(Firmware::Sequential { overlap: false }), expected);
}

#[test]
fn one_message_out_beside_looks() {
    // Looks at HDMA follow each other by 2000: at 8000 the descriptor, there at 8500, is not found
    // yet. Then 500 and 8000; the data, there at 28138, is found at 30000. It goes to NSDMA at
    // 33500, which is looked at first, and every 2000.
    let expected = [
        (SendDescriptorProgrammed, 6000),
        (SendDescriptorDown, 10_000),
        (SendDataProgrammed, 18_500),
        (SendDataDown, 30_000),
        (SendNetworkDone, 41_500),
        (SendStatusProgrammed, 47_000),
        (SendStatusDone, 52_300),
    ];
    assert_eq!(sent_alone(Firmware::Parallel), expected);
}

#[test]
fn one_message_out_with_a_stamp() {
    // Doorbell 500 and 7500; data 500 and 10500; then as under PVIA, each found at the first look
    // after it is there: NSDMA looked at from 36000 has its message out at 43000, status 500 and
    // 4500.
    let expected = [
        (SendDescriptorProgrammed, 8000),
        (SendDescriptorDown, 12_000),
        (SendDataProgrammed, 23_000),
        (SendDataDown, 34_500),
        (SendNetworkDone, 46_000),
        (SendStatusProgrammed, 51_000),
        (SendStatusDone, 55_800),
    ];
    assert_eq!(sent_alone(Firmware::QualityOfService), expected);
}

#[test]
fn one_message_in() {
    // NRDMA has it at 7000. A sequence looks there at 500, 1500, … 7500.
    let expected = [
        (ReceiveDescriptorProgrammed, 10_000),
        (ReceiveDescriptorDown, 12_500),
        (ReceiveDataProgrammed, 15_400),
        (ReceiveDataUp, 24_833),
        (ReceiveStatusProgrammed, 26_233),
        (ReceiveStatusDone, 27_433),
    ];
    assert_eq!(received_alone(Firmware::Sequential { overlap: false }), expected);
    // A round looks at NRDMA at 1500, 3500, … 7500; its descriptor is there already. Data is up at
    // 25434 and found at 26500; 500 and 5000 later its status is begun, which is there at 33200 and
    // found at 33500, three looks further on.
    let expected = [
        (ReceiveDataProgrammed, 16_000),
        (ReceiveDataUp, 26_500),
        (ReceiveStatusProgrammed, 32_000),
        (ReceiveStatusDone, 35_800),
    ];
    assert_eq!(received_alone(Firmware::Parallel), expected);
}

/// Two messages at once under SVIA: the second begins when the first is complete.
#[test]
fn two_messages_in_sequence() {
    let mut bench = Bench::new(looks(Firmware::Sequential { overlap: false }), &[PLAIN]);
    for number in 0..2 {
        bench.ring(0, ViDoorbell::Send(message(0, number, 1024)));
    }
    let second = bench.finish().steps(0, 1);
    // The first is done at 27138.4; then NRDMA is looked at, and at 27638.4 the doorbells.
    assert_eq!(second[0], (SendDescriptorProgrammed, 30_138));
    assert_eq!(second[6], (SendStatusDone, 54_776));
}

/// With overlap NSDMA sends the first while the second is fetched; its status is written when NSDMA
/// is found free.
#[test]
fn two_messages_in_sequence_with_overlap() {
    let mut bench = Bench::new(looks(Firmware::Sequential { overlap: true }), &[PLAIN]);
    for number in 0..2 {
        bench.ring(0, ViDoorbell::Send(message(0, number, 4096)));
    }
    bench.finish();
    let of = |step| [0, 1].map(|number| bench.steps(0, number).iter().find(|(s, _)| *s == step).unwrap().1);
    // Doorbell 2500, descriptor 2500, 2900 for the first KiB, and HDMA 33753.6 from 7900. Then
    // NSDMA sends for 26200, and the second doorbell is found two looks later, at 42653.6: 41653.6
    // from there its data is down. Only then NSDMA is looked at again.
    assert_eq!(of(SendDataDown), [41_653, 84_307]);
    assert_eq!(of(SendNetworkDone)[0], 84_307);
    // At once the second goes out, and the first one's status is written meanwhile. From its end at
    // 86907.2 on NSDMA is looked at every 1500, and the second is out at 110507.2.
    assert_eq!(of(SendStatusDone)[0], 84_307 + 1400 + 1200);
    assert_eq!(of(SendNetworkDone)[1], 110_907);
}

/// Three long messages of one interface and a short one of another that is due before the second of
/// them.
///
/// HDMA has the first one's data, and the second's waits, when the fourth doorbell is found. If the
/// head of the queue may be moved, its descriptor is next, and its data before that of the third.
/// If the first that waits stays where it is, the descriptor is behind the second one's data and
/// the data behind the third's: all that its stamp was for is lost. So is the completion of the
/// first two put behind data of others: four requests in all.
#[test]
fn an_earlier_stamp_overtakes_but_for_the_head_of_the_queue() {
    let in_order = [(0, 0), (0, 1), (0, 2), (1, 0)];
    for (firmware, guard, expected, displaced) in [
        (Firmware::Parallel, 0, in_order, 0),
        (Firmware::QualityOfService, 0, [(0, 0), (0, 1), (1, 0), (0, 2)], 0),
        (Firmware::QualityOfService, 1, in_order, 4),
    ] {
        let limits = ViLimits { guard, ..ViLimits::NONE };
        let config = ViaConfig { limits, ..looks(firmware) };
        let mut bench = Bench::new(config, &[reserved(10_000), reserved(100)]);
        for number in 0..3 {
            bench.ring(0, ViDoorbell::Send(message(0, number, 16_384)));
        }
        bench.ring(0, ViDoorbell::Send(message(1, 0, 1024)));
        assert_eq!(bench.finish().departures(), expected, "{firmware:?} {guard}");
        assert_eq!(bench.via.report().displaced, displaced, "{firmware:?} {guard}");
    }
}

/// Best effort under a full load of reserved messages: with VirtualClock alone it is sent when all
/// else is, with a rate set aside it has that.
#[test]
fn a_rate_set_aside_is_kept() {
    let finished = |best_effort| {
        let limits = ViLimits { guard: 0, best_effort, ..ViLimits::NONE };
        let config = ViaConfig { limits, ..looks(Firmware::QualityOfService) };
        let mut bench = Bench::new(config, &[reserved(50), PLAIN]);
        // Doorbells are noticed in the order in which they are rung, so best effort's are not the last.
        for number in 0..108 {
            let message =
                if (4..12).contains(&number) { message(1, number, 4096) } else { message(0, number, 16_384) };
            bench.ring(0, ViDoorbell::Send(message));
        }
        let departures = bench.finish().departures();
        departures.iter().rposition(|(vi, _)| *vi == 1).unwrap()
    };
    assert_eq!(finished(None), 107, "the last of all");
    // 4096 bytes in 0.512 ms: the eighth by 4.1 ms and its own way, of some 14 ms that all take.
    let last = finished(Some(Rate::from_bytes_per_sec(8_000_000)));
    assert!((20..45).contains(&last), "{last}");
}

/// NSDMA with a hardware queue goes on by itself, and not when the processor comes by.
#[test]
fn a_hardware_queue_for_the_network_saves_the_look() {
    let gap = |nsdma_queue| {
        let limits = ViLimits { nsdma_queue, ..ViLimits::NONE };
        let config = ViaConfig { limits, ..looks(Firmware::Parallel) };
        let mut bench = Bench::new(config, &[PLAIN]);
        // Small messages behind a large one all wait for NSDMA.
        bench.ring(0, ViDoorbell::Send(message(0, 0, 65_536)));
        bench.ring(0, ViDoorbell::Send(message(0, 1, 4)));
        bench.ring(0, ViDoorbell::Send(message(0, 2, 4)));
        bench.finish();
        let out = bench.told.iter().filter_map(|(at, output)| match output {
            ViaOutput::Worked(Unit::Nsdma, _, _, since) => Some((*since, *at)),
            _ => None,
        });
        let out: Vec<(Time, Time)> = out.collect();
        out[2].0.since(out[1].1)
    };
    assert_eq!(gap(true), Span::ZERO);
    assert!(gap(false) > Span::from_us(1));
}

/// A virtual interface with a raised rate is stamped by it from then on.
#[test]
fn another_rate_counts_from_the_next_doorbell() {
    let limits = ViLimits { guard: 0, ..ViLimits::NONE };
    let config = ViaConfig { limits, ..looks(Firmware::QualityOfService) };
    let order = |renegotiated: bool| {
        let mut bench = Bench::new(config, &[reserved(1000), reserved(100_000)]);
        if renegotiated {
            bench.via.renegotiate(Time::ZERO, 1, reserved(10).vtick);
        }
        for (vi, messages) in [(0, 8), (1, 1)] {
            for number in 0..messages {
                bench.ring(0, ViDoorbell::Send(message(vi, number, 16_384)));
            }
        }
        bench.finish().departures().iter().position(|(vi, _)| *vi == 1).unwrap()
    };
    assert_eq!(order(false), 8);
    assert!(order(true) < 5);
}
