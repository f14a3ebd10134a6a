//! Links alone: each channel waits for a packet below it only, and what ends there waits for nothing.

use proptest::prelude::*;

use super::*;

/// A port of 100 Mbit/s with classes of best effort, and more levels than there are channels.
fn port(classes: u64) -> Environment {
    let class = |n: u64| BestEffort {
        max_message: Bytes::from_kib(2 * n + 1),
        min_message: Bytes::from_kib(1),
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    Environment {
        host: HostCosts::default(),
        link: LinkCosts::new(Span::from_us(3), Span::from_ns(800)).into(),
        levels: Some(64),
        best_effort: (0..classes).map(class).collect(),
        ..mc68040(ResourceModel::Ideal, 1, Formula::Corrected)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// At a port with a level for each channel: the decision has one `W` for all, and the bound no more than
    /// the packet below.
    #[test]
    fn a_port_decides_by_the_packet_below(environment in (0u64..3).prop_map(port), requests in requests()) {
        let mut naive = Naive { environment: environment.clone(), admitted: Vec::new() };
        let mut table = table(environment);
        for request in requests {
            let request = request.at(Role::Send);
            let before = table.bounds();
            let least = table.least_deadline(&request).ok().map(|least| u128::from(least.as_ps()));
            match (table.request(request), naive.request(request, 0)) {
                (Decision::Admitted { id, priority, bound }, Some((place, r))) => {
                    prop_assert_eq!(priority, place);
                    prop_assert!(u128::from(bound.as_ps()) <= r, "{} {}", bound, r);
                    prop_assert_eq!(least, Some(r));
                    prop_assert_eq!(table.bounds()[place].bound, bound);
                    let mut left = table.clone();
                    prop_assert!(left.release(id));
                    prop_assert_eq!(left.bounds(), before);
                }
                (Decision::Refused(_), None) => prop_assert_eq!(table.bounds(), before),
                (ours, reference) => prop_assert!(false, "{:?} against {:?}", ours, reference),
            }
            let shared = naive.shared(&naive.admitted);
            for (place, bound) in table.bounds().iter().enumerate() {
                let r = naive.response(shared.as_ref().unwrap(), &naive.admitted, place);
                let below = naive.admitted[place + 1..].iter().map(|request| request.spec().max_message);
                let best_effort = table.environment().best_effort.iter().map(|class| class.max_message);
                let packet = below.chain(best_effort).map(|size| size.min(table.environment().packet)).max();
                let wait = packet.map_or(Span::ZERO, |size| table.environment().link.transmit(size));
                prop_assert_eq!(bound.wait, wait);
                prop_assert!(r.is_some_and(|r| u128::from(bound.bound.as_ps()) <= r));
                prop_assert_eq!(bound.bound, bound.wait + bound.service + bound.higher + bound.interference);
            }
        }
    }
}

/// Frames of 1 KiB take 822.2 us. Both hosts of a pair send and receive: one that arrives is with its
/// program, whatever the link does, and asks for no place in the order of those that leave.
#[test]
fn what_ends_at_a_host_without_costs_is_through() {
    for test in [Test::DOrder, Test::Demand] {
        let mut environment = port(0);
        environment.levels = environment.levels.filter(|_| test == Test::DOrder);
        let mut table = AdmissionTable::with_test(environment, test).unwrap();
        let ms = Span::from_ms;
        let sent = Request::new(spec(1, ms(4)), ms(4)).unwrap();
        let us = Span::from_us;
        let received = Request::new(spec(4, ms(4)), us(1)).unwrap().at(Role::Receive);
        decided::admitted(table.request(sent));
        let before = table.environment().link.transmit(Bytes::from_kib(1));
        assert_eq!(table.bounds()[0].bound, before);
        assert_eq!(table.least_deadline(&received), Ok(Span::from_ps(1)));
        let (id, _) = decided::admitted(table.request(received));
        assert_eq!(table.len(), 2);
        assert_eq!(table.admitted(id), Some(&received));
        let of =
            |table: &AdmissionTable, id| table.bounds().into_iter().find(|b| b.id == id).map(|b| b.bound);
        assert_eq!((of(&table, id), table.bounds()[0].bound), (Some(Span::ZERO), before));
        assert!(table.relax(id, us(2)) && !table.relax(id, us(1)));

        // A program that takes 1.5 us for each message of another channel keeps messages waiting; 2 us are
        // then too little beside a packet on the link.
        let read = Request::new(spec(1, ms(4)), ms(4)).unwrap().at(Role::Receive);
        let read = read.read_by(ReceivingProgram { work: Span::from_ns(1500), slots: 1 });
        let refusal = decided::refused(table.request(read));
        assert_eq!(refusal.claimant, Claimant::Channel(id));
        assert!(table.relax(id, ms(4)));
        decided::admitted(table.request(read));
        assert!(of(&table, id).is_some_and(|bound| bound > before));
        assert!(table.release(id) && !table.release(id) && table.len() == 2);
    }
}
