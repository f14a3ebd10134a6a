//! Plans at random.

use laxity_engine::{Seed, Stream};
use laxity_units::{Bytes, Span, Time};

use super::{Action, Plan};
use crate::contract::ChannelContract;
use crate::identity::NodeId;
use crate::routes::Topology;

/// The key of the first channel within a node.
const WITHIN: u32 = 1000;

/// The size of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// 2 to 8 nodes, and few requests: thousands of networks in a test run.
    Small,
    /// 2 to 20 nodes, and many requests.
    Any,
}

/// The plan of `seed`.
pub fn draw(seed: u64, mix: Mix) -> Plan {
    let mut dice = Seed::new(seed).stream("plan");
    let (most_nodes, most_requests) = match mix {
        Mix::Small => (8, 8),
        Mix::Any => (20, 40),
    };
    let nodes = 2 + u32::try_from(dice.below(most_nodes - 1)).expect("few nodes");
    let links = links(&mut dice, nodes);
    // A third of the plans have no fault but delay and duplication, a third no crash and no
    // partition.
    let severity = dice.below(3);
    let per_mille = |dice: &mut Stream, most: u64| if dice.chance(0.5) { dice.below(most) } else { 0 };
    let loss = if severity > 0 { per_mille(&mut dice, 250) } else { 0 };
    let impairments = [loss, per_mille(&mut dice, 300), per_mille(&mut dice, 300)];
    let drift = |_| if dice.chance(0.5) { i64::try_from(dice.below(400)).expect("small") - 200 } else { 0 };
    let drifts = (0..nodes).map(drift).collect();
    let topology = Topology::of(links.iter().map(|(a, b, _)| (*a, *b)));
    let mut timeline = Vec::new();
    let end = Span::from_ms(1500);
    for key in 0..3 + dice.below(most_requests - 2) {
        let (from, to) = (NodeId(below(&mut dice, nodes)), NodeId(below(&mut dice, nodes)));
        let Some(route) = topology.route(from, to).filter(|route| route.len() > 1) else { continue };
        request(&mut dice, u32::try_from(key).expect("few requests"), route, end, &mut timeline);
    }
    // A fourth of the plans has channels within nodes, by a stream of their own: the plans of seeds
    // that once broke a rule stay what they were.
    if seed % 4 == 3 {
        let mut dice = Seed::new(seed).stream("within nodes");
        for key in 0..1 + below(&mut dice, 4) {
            let node = NodeId(below(&mut dice, nodes));
            request(&mut dice, WITHIN + key, vec![node], end, &mut timeline);
        }
    }
    if severity > 0 {
        for _ in 0..dice.below(3) {
            let node = NodeId(below(&mut dice, nodes));
            let by = Span::from_ms(200 + dice.below(2000));
            timeline.push((instant(&mut dice, end), Action::Step(node, dice.chance(0.5), by)));
        }
    }
    if severity > 1 {
        faults(&mut dice, nodes, links.len(), end, &mut timeline);
    }
    let crash_at =
        (severity > 1 && dice.chance(0.4)).then(|| (1 + dice.below(200), NodeId(below(&mut dice, nodes))));
    if dice.chance(0.3) {
        let (a, b, _) = links[usize::try_from(dice.below(links.len() as u64)).expect("few links")];
        timeline.push((instant(&mut dice, end), Action::Forge { from: a, to: b }));
    }
    timeline.sort_by_key(|(at, _)| *at);
    Plan { seed, nodes, links, impairments, drifts, timeline, crash_at, fault: None }
}

/// A tree, and some links more.
fn links(dice: &mut Stream, nodes: u32) -> Vec<(NodeId, NodeId, Span)> {
    let mut links: Vec<(NodeId, NodeId, Span)> = Vec::new();
    let delay = |dice: &mut Stream| Span::from_us(20 + dice.below(2000));
    for node in 1..nodes {
        let to = if dice.chance(0.6) { node - 1 } else { below(dice, node) };
        links.push((NodeId(to), NodeId(node), delay(dice)));
    }
    for _ in 0..below(dice, nodes) {
        let (a, b) = (NodeId(below(dice, nodes)), NodeId(below(dice, nodes)));
        let known = |(x, y, _): &(NodeId, NodeId, Span)| (*x, *y) == (a, b) || (*x, *y) == (b, a);
        if a != b && !links.iter().any(known) {
            links.push((a, b, delay(dice)));
        }
    }
    links
}

fn request(dice: &mut Stream, key: u32, route: Vec<NodeId>, end: Span, timeline: &mut Vec<(Time, Action)>) {
    let (at, from) = (instant(dice, end), route[0]);
    let program = below(dice, 3);
    timeline.push((at, Action::Open { key, program, route, contract: contract(dice) }));
    let after = |dice: &mut Stream| at + Span::from_ms(5 + dice.below(700));
    if dice.chance(0.5) {
        timeline.push((after(dice), Action::Change { key, contract: contract(dice) }));
        if dice.chance(0.5) {
            timeline.push((after(dice), Action::Change { key, contract: contract(dice) }));
        }
    }
    if dice.chance(0.4) {
        timeline.push((after(dice), Action::Close { key }));
    } else if dice.chance(0.1) {
        timeline.push((after(dice), Action::Leave { key }));
    }
    if dice.chance(0.1) {
        timeline.push((after(dice), Action::Die { node: from, program }));
    }
}

fn faults(dice: &mut Stream, nodes: u32, links: usize, end: Span, timeline: &mut Vec<(Time, Action)>) {
    for _ in 0..1 + dice.below(3) {
        let node = NodeId(below(dice, nodes));
        let at = instant(dice, end);
        timeline.push((at, Action::Crash(node)));
        timeline.push((at + Span::from_ms(1 + dice.below(800)), Action::Restart(node)));
    }
    for _ in 0..dice.below(3) {
        let link = usize::try_from(dice.below(links as u64)).expect("few links");
        let at = instant(dice, end);
        timeline.push((at, Action::Cut(link)));
        timeline.push((at + Span::from_ms(1 + dice.below(1500)), Action::Mend(link)));
    }
}

fn contract(dice: &mut Stream) -> ChannelContract {
    let max_message = Bytes::new(100 + dice.below(20_000));
    ChannelContract {
        max_message,
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(5 + dice.below(100)),
        burst: 1 + below(dice, 5),
        deadline: Span::from_ms(5 + dice.below(200)),
    }
}

fn below(dice: &mut Stream, n: u32) -> u32 {
    u32::try_from(dice.below(u64::from(n))).expect("below a number of 32 bits")
}

fn instant(dice: &mut Stream, end: Span) -> Time {
    Time::ZERO + Span::from_ms(1) + Span::from_us(dice.below(end.div_floor(Span::from_us(1))))
}
