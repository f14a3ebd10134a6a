//! Who leaves, beside whom two ways of counting are to be had.

use super::*;

/// Links beside the one that is looked at: as fast as this, and with that many places for packets.
fn others() -> impl Strategy<Value = Vec<OtherLink>> {
    let other = (1u64..200, 0u64..100, prop::option::of(1u64..60));
    let other = other.prop_map(|(apart, more, buffers)| OtherLink {
        apart: Span::from_us(apart),
        longest: Span::from_us(apart + more),
        buffers,
    });
    prop::collection::vec(other, 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Beside other links, of which what seems to come to less is taken, whoever stays is still in time, and who comes and goes at once has changed nothing.
    #[test]
    fn whoever_stays_is_in_time(
        environment in environments(), others in others(), test in prop_oneof![Just(Test::DOrder), Just(Test::Demand)],
        requests in requests(), leaving in prop::collection::vec(0usize..40, 1..20),
    ) {
        let environment = Environment { others, formula: Formula::Corrected, ..environment };
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
