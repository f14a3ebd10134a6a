//! A channel that leaves, where two ways of counting are available.

use super::*;

/// Links beside the one that is looked at: as fast as this, and with that many places for packets.
fn others() -> impl Strategy<Value = Vec<OtherLink>> {
    let other = (1u64..200, 0u64..100, prop::option::of(1u64..60));
    let other = other.prop_map(|(apart, more, buffers)| OtherLink {
        apart: Span::from_us(apart),
        longest: Some(Span::from_us(apart + more)),
        interrupts: 1,
        buffers,
    });
    prop::collection::vec(other, 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Beside other links, counted in either way, the remaining channels are still
    /// in time, and a channel that joins and leaves at once has no effect.
    #[test]
    fn whoever_stays_is_in_time(
        environment in environments(), others in others(),
        counting_others in prop_oneof![Just(CountingOthers::Expected), Just(CountingOthers::Packets)], test in prop_oneof![Just(Test::DOrder), Just(Test::Demand)],
        requests in requests(), leaving in prop::collection::vec(0usize..40, 1..20),
    ) {
        let environment = Environment { others, counting_others, formula: Formula::Corrected, ..environment };
        let mut table = AdmissionTable::with_test(environment, test).unwrap();
        for request in requests {
            let before = table.bounds();
            let Decision::Admitted { id, .. } = table.request(request) else { continue };
            let mut left = table.clone();
            prop_assert!(left.release(id));
            prop_assert_eq!(left.bounds(), before);
        }
        for leaves in leaving {
            let bounds = table.bounds();
            prop_assert!(bounds.iter().all(|bound| bound.bound <= bound.deadline));
            let Some(gone) = bounds.get(leaves % bounds.len().max(1)) else { break };
            prop_assert!(table.release(gone.id));
        }
        table.bounds();
    }
}

/// Another link's packets cost 15 us of the CPU. By time they are 20 apart, and leave a quarter of
/// it; beside a message of ten packets, by 25 for each and `15 (4 + 2 + 1 + 1)`, it is less by
/// packets, and one message is in time after another. Without it that seems to be less by time, by
/// which either of the others is in time, at 11.12 and 13.72 ms, and both on one level are not if
/// one is due in 12. So what was known stays.
#[test]
fn who_stays_has_levels_enough() {
    let us = Span::from_us;
    let environment = Environment {
        host: HostCosts {
            first_packet: us(40),
            single_packet: us(40),
            packet: us(40),
            link_scheduling: us(10),
            interrupt: us(5),
            ..HostCosts::default()
        },
        link: LinkCosts::new(us(50), Span::ZERO).into(),
        packet: Bytes::new(1000),
        makes: Some(us(40)),
        others: vec![OtherLink { apart: us(20), longest: Some(us(60)), interrupts: 1, buffers: Some(4) }],
        ..mc68040(ResourceModel::O1, 1, Formula::Corrected)
    };
    let left = |levels: Option<u32>| {
        let mut table = table(Environment { levels, ..environment.clone() });
        let asked = [(10, 90_000), (1, 90_000), (1, 12_000)].map(|(packets, due)| {
            let size = Bytes::new(1000 * packets);
            let interval = Span::from_ms(100);
            let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval };
            match table.request(Request::new(spec, us(due)).unwrap()) {
                Decision::Admitted { id, .. } => id,
                refused => panic!("{refused:?}"),
            }
        });
        assert!(table.release(asked[0]));
        table.bounds().iter().map(|bound| bound.bound).collect::<Vec<_>>()
    };
    assert_eq!(left(Some(1)), [us(565), us(565)]);
    assert_eq!(left(None), left(Some(2)));
    assert!(left(None).iter().all(|bound| *bound > us(11_000)));
}
