//! Random networks keep the invariants of the protocol, and each deliberate fault breaks one.

use laxity_signalling::contract::ChannelContract;
use laxity_signalling::faults::Fault;
use laxity_signalling::identity::NodeId;
use laxity_signalling::simulation::{Action, Mix, Plan, SimulationOutcome, draw, run, shrink};
use laxity_units::{Bytes, Span, Time};

/// Plans that broke an invariant once, found by a long search.
const FOUND: [u64; 6] = [106_169, 116_326, 217_328, 223_934, 236_324, 248_073];

/// A destination that restarts after the confirmation, while a copy of the request is still on its
/// way.
fn reborn(seed: u64) -> Plan {
    let (a, b) = (NodeId(0), NodeId(1));
    let contract = ChannelContract {
        max_message: Bytes::new(1000),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(40),
        burst: 1,
        deadline: Span::from_ms(150),
    };
    let open = Action::Open { key: 0, program: 0, route: vec![a, b], contract };
    Plan {
        seed,
        nodes: 2,
        links: vec![(a, b, Span::from_ms(1))],
        impairments: [0, 600, 600],
        drifts: vec![0; 2],
        timeline: vec![(Time::ZERO + Span::from_ms(1), open)],
        crash_at: Some((3 + seed % 3, b)),
        fault: None,
    }
}

/// 2000 small networks, and some of any size: no invariant is broken, and the runs are not idle.
#[test]
fn random_networks_keep_the_invariants() {
    let mut sum = SimulationOutcome::default();
    let small = (0..2000).map(|seed| draw(seed, Mix::Small));
    let any = (0..200).chain(FOUND).map(|seed| draw(seed, Mix::Any));
    for plan in small.chain(any).chain((0..40).map(reborn)) {
        match run(&plan) {
            Ok(outcome) => {
                sum.established += outcome.established;
                sum.refused += outcome.refused;
                sum.changed += outcome.changed;
                sum.lost += outcome.lost;
                sum.delivered += outcome.delivered;
            }
            Err(_) => {
                let (least, violation) = shrink(&plan, 500).expect("the plan fails");
                panic!("{violation}\n{least}");
            }
        }
    }
    assert!(sum.established > 5000 && sum.refused > 3000, "{sum:?}");
    assert!(sum.changed > 500 && sum.lost > 200 && sum.delivered > 200_000, "{sum:?}");
}

/// Each fault of the protocol is noticed within a few hundred networks.
#[test]
fn each_fault_is_noticed() {
    assert!(Fault::ALL.len() >= 25);
    let noticed = |fault: Fault| {
        let small = (0..600).map(|seed| draw(seed, Mix::Small));
        let plans = small.chain(FOUND.map(|seed| draw(seed, Mix::Any)));
        plans.chain((0..40).map(reborn)).any(|plan| run(&Plan { fault: Some(fault), ..plan }).is_err())
    };
    let unnoticed: Vec<Fault> = Fault::ALL.iter().copied().filter(|fault| !noticed(*fault)).collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}

/// The same plan gives the same run.
#[test]
fn a_run_is_a_function_of_its_plan() {
    for seed in 0..20 {
        let plan = draw(seed, Mix::Any);
        assert_eq!(run(&plan), run(&plan));
    }
}

/// A failing plan is cut to what it fails by: a lost release needs one request.
#[test]
fn a_failing_plan_shrinks_to_a_minimal_timeline() {
    let plan = Plan { fault: Some(Fault::ReleaseLost), ..draw(3, Mix::Any) };
    let (least, violation) = shrink(&plan, 2000).expect("the fault is noticed");
    assert_eq!(run(&least), Err(violation));
    assert!(least.timeline.len() <= 2 && least.impairments == [0; 3] && least.crash_at.is_none(), "{least}");
}
