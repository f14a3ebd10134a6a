//! A crash of each node at each step: establishment, renegotiation and release over four nodes.

use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::NodeId;
use laxity_signalling::simulation::{Action, Plan, run};
use laxity_units::{Bytes, Span, Time};

fn plan() -> Plan {
    let contract = ChannelContract {
        max_message: Bytes::new(2000),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(40),
        burst: 1,
        deadline: Span::from_ms(150),
    };
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    let route = (0..4).map(NodeId).collect();
    let link = |node| (NodeId(node), NodeId(node + 1), Span::from_ms(1));
    let timeline = vec![
        (at(10), Action::Open { key: 0, program: 0, route, contract }),
        (at(100), Action::Change { key: 0, contract: ChannelContract { burst: 2, ..contract } }),
        (at(600), Action::Close { key: 0 }),
    ];
    Plan {
        seed: 1,
        nodes: 4,
        links: (0..3).map(link).collect(),
        impairments: [0; 3],
        drifts: vec![0; 4],
        timeline,
        crash_at: None,
        fault: None,
    }
}

/// Whichever node crashes after whichever message, no invariant is broken.
#[test]
fn a_crash_at_each_step_leaves_nothing_behind() {
    let whole = run(&plan()).unwrap();
    assert_eq!((whole.established, whole.changed), (2, 1));
    // The request, the answer and the confirmation, of the channel and of the change, and the
    // release: six messages each.
    assert!(whole.delivered > 40);
    let mut lost = 0;
    for deliveries in 1..=whole.delivered {
        for node in 0..4 {
            let plan = Plan { crash_at: Some((deliveries, NodeId(node))), ..plan() };
            match run(&plan) {
                Ok(outcome) => lost += outcome.lost,
                Err(violation) => panic!("{violation}\n{plan}"),
            }
        }
    }
    assert!(lost > 20, "{lost}");
}
