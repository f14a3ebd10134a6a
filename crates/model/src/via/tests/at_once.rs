//! In one go, an adapter that takes no time does what it does step by step.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Ring(ViDoorbell),
    Reach(ViMessage),
    Flush(u32),
    Renegotiate(u32, Option<u64>),
}

fn acts() -> impl Strategy<Value = Vec<(u64, Act)>> {
    let any_message = (0u32..3, 0u64..20_000, any::<bool>()).prop_map(|(vi, size, directed)| ViMessage {
        in_turn: size % 3 == 0,
        vi,
        number: 0,
        size: Bytes::new(size),
        directed,
    });
    let act = prop_oneof![
        4 => any_message.clone().prop_map(|message| Act::Ring(ViDoorbell::Send(message))),
        3 => (0u32..3).prop_map(|vi| Act::Ring(ViDoorbell::Receive(vi))),
        4 => any_message.prop_map(Act::Reach),
        1 => (0u32..3).prop_map(Act::Flush),
        1 => (0u32..3, any::<bool>()).prop_map(|(vi, has)| Act::Renegotiate(vi, has.then_some(50))),
    ];
    prop::collection::vec((prop_oneof![Just(0u64), 0u64..60_000], act), 1..60)
}

fn configs() -> impl Strategy<Value = ViaConfig> {
    let firmware = prop_oneof![
        any::<bool>().prop_map(|overlap| Firmware::Sequential { overlap }),
        Just(Firmware::Parallel),
        Just(Firmware::QualityOfService),
    ];
    let few = || prop_oneof![Just(None), (0u32..4).prop_map(Some)];
    let share = prop_oneof![4 => Just(None), 1 => Just(Some(Rate::from_bytes_per_sec(3_000_000)))];
    (firmware, few(), few(), any::<bool>(), 0u32..3, share, doorbells()).prop_map(
        |(firmware, send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells)| ViaConfig {
            firmware,
            costs: FirmwareCosts::FREE,
            engines: Engines::FREE,
            limits: ViLimits { send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells },
        },
    )
}

pub(super) fn doorbells() -> impl Strategy<Value = Doorbells> {
    prop_oneof![Just(Doorbells::Merged), (1u32..4).prop_map(|ahead| Doorbells::Apart { ahead })]
}

/// Outputs of an adapter, in order, and its final state; on the fast path if it can and `may`.
fn run(config: ViaConfig, acts: &[(u64, Act)], may: bool) -> (Vec<(Time, ViaOutput)>, Via) {
    let vis = [reserved(200), AdapterVi { receives: Some(2), process: 1, ..reserved(2000) }, PLAIN];
    let mut via = Via::new(config, vis);
    via.at_once &= may;
    let (mut now, mut told) = (0, Vec::new());
    for (number, (gap, act)) in (0..).zip(acts) {
        now += gap;
        let (at, named) = (ns(now), |message: ViMessage| ViMessage { number, ..message });
        match act {
            Act::Ring(ViDoorbell::Send(message)) => via.ring(at, ViDoorbell::Send(named(*message))),
            Act::Ring(doorbell) => via.ring(at, *doorbell),
            Act::Reach(message) => via.reach(at, named(*message)),
            Act::Flush(vi) => via.flush(at, *vi),
            Act::Renegotiate(vi, us) => via.renegotiate(at, *vi, us.and_then(|us| reserved(us).vtick)),
        }
        told.extend(std::iter::from_fn(|| via.next_output()));
    }
    (told, via)
}

proptest! {
    #[test]
    fn it_is_the_same_in_one_go(config in configs(), acts in acts()) {
        let (at_once, one) = run(config, &acts, true);
        let (stepped, other) = run(config, &acts, false);
        prop_assert_eq!(at_once, stepped);
        prop_assert_eq!(one.report(), other.report());
        prop_assert_eq!(one.next_deadline(), other.next_deadline());
        prop_assert_eq!((one.buffers, one.freed), (other.buffers, other.freed));
        for (one, other) in one.endpoints.iter().zip(&other.endpoints) {
            prop_assert_eq!(one.descriptors, other.descriptors);
            prop_assert_eq!((one.sends, one.receives), (other.sends, other.receives));
        }
    }
}

/// The property above says nothing of adapters that go step by step anyhow.
#[test]
fn who_goes_in_one_go() {
    let free = |firmware, limits| {
        let (costs, engines) = (FirmwareCosts::FREE, Engines::FREE);
        Via::new(ViaConfig { firmware, costs, engines, limits }, []).at_once
    };
    let stamped = Firmware::QualityOfService;
    assert!(free(stamped, ViLimits::NONE) && free(Firmware::Parallel, ViLimits::NONE));
    assert!(free(stamped, ViLimits { send_buffers: Some(1), receive_buffers: Some(1), ..ViLimits::NONE }));
    assert!(!free(Firmware::Sequential { overlap: true }, ViLimits::NONE));
    assert!(!free(stamped, ViLimits { best_effort: Some(Rate::from_bytes_per_sec(1)), ..ViLimits::NONE }));
    assert!(!free(stamped, ViLimits { send_buffers: Some(0), ..ViLimits::NONE }));
    assert!(!Via::new(ViaConfig::table_1(stamped), []).at_once);
}
