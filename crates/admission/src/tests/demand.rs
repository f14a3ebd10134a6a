//! The table under the demand test.

use proptest::prelude::*;

use super::*;

fn demand_table(environment: Environment) -> AdmissionTable {
    AdmissionTable::with_test(environment, Test::Demand).unwrap()
}

/// The requests with deadlines from a third of what they were to three times that.
fn stretched() -> impl Strategy<Value = Vec<Request>> {
    (requests(), prop::collection::vec(3u64..30, 40)).prop_map(|(requests, tenths)| {
        let stretch = |(request, tenths): (&Request, u64)| {
            Request::new(*request.spec(), request.deadline() * tenths / 10).unwrap()
        };
        requests.iter().zip(tenths).map(stretch).collect()
    })
}

fn just_below(request: &Request) -> Option<Request> {
    Request::new(*request.spec(), request.deadline() - Span::from_ps(1)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_d_order_admits_is_admitted(environment in environments(), requests in requests()) {
        let mut order = table(environment.clone());
        let mut by_demand = demand_table(environment);
        for request in requests {
            if matches!(order.request(request), Decision::Admitted { .. }) {
                let decision = by_demand.request(request);
                prop_assert!(matches!(decision, Decision::Admitted { .. }), "{:?}", decision);
            }
        }
    }

    #[test]
    fn bounds_are_kept_and_add_up(environment in environments(), requests in stretched()) {
        let mut table = demand_table(environment);
        for request in requests {
            let before = table.bounds();
            let decision = table.request(request);
            let after = table.bounds();
            let Decision::Admitted { id, priority, bound } = decision else {
                prop_assert_eq!(after, before);
                continue;
            };
            prop_assert_eq!((bound, after[priority].id), (request.deadline(), id));
            for bound in &after {
                prop_assert!(bound.bound <= bound.deadline && !bound.bound.is_zero());
                let parts = bound.wait + bound.service + bound.higher + bound.interference;
                prop_assert_eq!(bound.bound + bound.head_start, parts);
            }
            for old in &before {
                prop_assert!(after.iter().any(|new| new.id == old.id && new.bound >= old.bound));
            }
            let mut left = table.clone();
            prop_assert!(left.release(id) && !left.release(id));
            prop_assert_eq!(left.bounds(), before);
        }
    }

    #[test]
    fn no_less_than_the_least_deadline_is_promised(environment in environments(), requests in stretched()) {
        for test in [Test::DOrder, Test::Demand] {
            let mut table = AdmissionTable::with_test(environment.clone(), test).unwrap();
            for request in &requests {
                if let Ok(least) = table.least_deadline(request) {
                    let least = Request::new(*request.spec(), least).unwrap();
                    let admitted = table.clone().request(least);
                    prop_assert!(matches!(admitted, Decision::Admitted { .. }), "{:?}", admitted);
                    if let Some(less) = just_below(&least) {
                        let refused = table.clone().request(less);
                        prop_assert!(matches!(
                            refused,
                            Decision::Refused(AdmissionRefusal {
                                reason: Reason::Late,
                                deficit: Deficit::Time(by),
                                ..
                            })
                                if by == Span::from_ps(1)
                        ), "{:?}", refused);
                    }
                }
                table.request(*request);
            }
        }
    }

    #[test]
    fn the_order_of_coming_does_not_matter_to_a_set(environment in environments(), requests in stretched()) {
        let mut table = demand_table(environment.clone());
        let admitted: Vec<_> = requests
            .into_iter()
            .filter(|request| matches!(table.request(*request), Decision::Admitted { .. }))
            .collect();
        let mut again = demand_table(environment);
        for request in admitted.iter().rev() {
            let decision = again.request(*request);
            prop_assert!(matches!(decision, Decision::Admitted { .. }), "{:?}", decision);
        }
    }
}

#[test]
fn a_deadline_beyond_the_interval_is_a_matter_of_the_test() {
    let environment = mc68040(ResourceModel::O1, 4, Formula::Corrected);
    let request = Request::new(spec(4, Span::from_ms(10)), Span::from_us(25_001)).unwrap();
    assert_eq!(request.under_way(), 3);
    let Decision::Refused(refusal) = table(environment.clone()).request(request) else { panic!() };
    assert_eq!(
        (refusal.reason, refusal.deficit),
        (Reason::BeyondInterval, Deficit::Time(Span::from_us(15_001)))
    );
    assert_eq!(
        refusal.to_string(),
        "deadline: it lets several messages be under way, which this test does not cover: it exceeds I_min by 15.001 ms"
    );
    // An instant too much is too much already.
    let barely = Request::new(*request.spec(), Span::from_ms(10) + Span::from_ps(1)).unwrap();
    assert_eq!(barely.under_way(), 2);
    let Decision::Refused(refusal) = table(environment.clone()).request(barely) else { panic!() };
    assert_eq!((refusal.reason, refusal.deficit), (Reason::BeyondInterval, Deficit::Time(Span::from_ps(1))));
    let admitted = demand_table(environment.clone()).request(request);
    assert!(matches!(admitted, Decision::Admitted { bound, .. } if bound == request.deadline()));
    // A handler that drains its queue would take them all in one block.
    let drains = Environment { block_real_time: Block::Never, ..environment };
    let Decision::Refused(refusal) = demand_table(drains).request(request) else { panic!() };
    assert_eq!(refusal.reason, Reason::BeyondInterval);
}

/// A link that is busy but for a picosecond of each 100 us. The wait behind that is not searched to
/// its end. But lines admit a channel with time for the traffic on the link, its own and all
/// arrivals in the meantime.
#[test]
fn what_would_take_too_long_to_look_through_is_admitted_by_lines_or_not() {
    let service = 99_999_999;
    let flood = BestEffort {
        max_message: Bytes::new(service),
        min_message: Bytes::new(service),
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    let environment = Environment {
        host: HostCosts::default(),
        link: LinkCosts::new(Span::ZERO, Span::from_ps(1)).into(),
        packet: Bytes::new(1 << 40),
        best_effort: vec![flood],
        ..mc68040(ResourceModel::Ideal, 1, Formula::Corrected)
    };
    let asks = |size: u64, deadline: u64| {
        let (size, interval) = (Bytes::new(size), Span::from_ps(100_000_000));
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval };
        Request::new(spec, Span::from_ps(deadline)).unwrap()
    };
    // One of best effort may be on the link before it.
    let least = 2 * service;
    let decide = |request| demand_table(environment.clone()).request(request);
    assert!(
        matches!(decide(asks(service, least)), Decision::Admitted { .. }),
        "{:?}",
        decide(asks(service, least))
    );
    let Decision::Refused(refusal) = decide(asks(service, least - 1)) else { panic!("it may be late") };
    assert_eq!((refusal.reason, refusal.deficit), (Reason::Untold, Deficit::Unbounded));
    assert!(refusal.to_string().contains("too long to find out"), "{refusal}");
    // A second that would leave it no time.
    let mut table = demand_table(environment);
    assert!(matches!(table.request(asks(service, least)), Decision::Admitted { .. }));
    let Decision::Refused(refusal) = table.request(asks(1, 500_000_000)) else { panic!("nothing is left") };
    assert_eq!(refusal.reason, Reason::Overload);
}

#[test]
fn as_many_fit_as_their_demand_leaves_room_for() {
    // 32 KiB every 100 ms on the papers' host, O1, P = 4: S = α·565 + 7·404.8 us, W = α·1075 +
    // 809.6 us, so 25 of them are due and done by 100 ms and a 26th is late by W + 26 S − 100 ms.
    let count = |deadline| {
        let mut table = demand_table(mc68040(ResourceModel::O1, 4, Formula::Corrected));
        let request = Request::new(spec(32, Span::from_ms(100)), deadline).unwrap();
        let mut admitted = 0;
        loop {
            match table.request(request) {
                Decision::Admitted { .. } => admitted += 1,
                Decision::Refused(refusal) => break (admitted, refusal),
            }
        }
    };
    let (admitted, refusal) = count(Span::from_ms(100));
    assert_eq!((admitted, refusal.reason), (25, Reason::Late));
    let Deficit::Time(late) = refusal.deficit else { panic!("{refusal}") };
    // S = 934.281046 + 2833.6, W = 1777.614379 + 809.6 us.
    assert_eq!(late.as_ps().div_ceil(1_000), 552_122);
    // With twice as long, W is waited for once in two intervals; no deadline makes 27 fit into
    // every one.
    let (admitted, refusal) = count(Span::from_ms(200));
    assert_eq!((admitted, refusal.reason, refusal.resource), (26, Reason::Overload, Scarce::Cpu));
}
