//! Nodes that establish channels during the run: a tree of links, requests at random, floods,
//! clocks that differ, and what fails.

use laxity_clock::Shift;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Rate, Span};
use laxity_world::experiment::{Division, RefusalEffect, Routing};

use super::dice::Dice;
use super::names::HOSTS;
use super::sketch::{
    Drafted, Drawn, difference, drift, ends, entries, factor, name, part, parts, quantity, several, share,
    table, text, that, unsaid, when, whole, word,
};
use crate::choice::{FaultKind, SourceKind};
use crate::leaf::{Bounded, Delay, Interval};
use crate::raw::{
    RawAdmission, RawCalls, RawChange, RawChannel, RawClock, RawFault, RawImpairments, RawNetwork, RawNode,
    RawOwner, RawRun, RawScenario, RawSignalling, RawSource, RawStep, RawSynchronise,
};
use crate::written::{List, Part, Written};

/// Names of nodes.
const NODES: [&str; 7] = [HOSTS[0], HOSTS[1], HOSTS[2], HOSTS[3], "eve", "fay", "gil"];
/// Names of the networks from each node but the first to one before it.
const NETWORKS: [&str; 6] = ["n1", "n2", "n3", "n4", "n5", "n6"];
/// Names of networks that close a circle.
const CLOSING: [&str; 2] = ["n7", "n8"];
/// The owner of some channels.
const OWNER: &str = "tenant";
/// The lease of all drawn scenarios; a run is longer.
const LEASE: Span = Span::from_ms(300);

/// Values on which the tables agree.
struct Plan {
    nodes: usize,
    length: Span,
    /// Kinds of faults that are drawn: frames, outages, clocks.
    frames: bool,
    outages: bool,
    clocks: bool,
    steps: bool,
    /// An owner has a quota.
    quota: bool,
}

/// A scenario of nodes with signalling.
pub(super) fn scenario(dice: &mut Dice, title: String) -> Drafted<RawScenario> {
    let plan = Plan {
        nodes: dice.between(2, NODES.len() as u64) as usize,
        length: Span::from_ms(dice.between(400, 2500)),
        frames: dice.chance(0.3),
        outages: dice.chance(0.4),
        clocks: dice.chance(0.6),
        steps: dice.chance(0.2),
        quota: dice.rows().chance(0.3),
    };
    let widest = dice.rows().chance(0.5);
    let nodes = (0..plan.nodes).map(|node| (NODES[node], self::node(dice, &plan)));
    let nodes = entries(nodes.collect());
    let mut joined = Vec::new();
    let networks = (1..plan.nodes).map(|node| {
        let other = if dice.chance(0.6) { node - 1 } else { dice.below(node as u64) as usize };
        joined.push([other, node]);
        (NETWORKS[node - 1], network(dice, &plan, [NODES[other], NODES[node]]))
    });
    let mut networks: Vec<_> = networks.collect();
    for name in CLOSING.into_iter().filter(|_| widest) {
        let dice = dice.rows();
        let ends = [(); 2].map(|()| dice.below(plan.nodes as u64) as usize);
        let [one, other] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        if one < other && !joined.contains(&[one, other]) {
            joined.push([one, other]);
            networks.push((name, network(dice, &plan, [NODES[one], NODES[other]])));
        }
    }
    let networks = several(Drafted::new(), networks);
    let channels = dice.between(2, 8);
    let mut channels: Vec<_> = (0..channels).map(|n| channel(dice, &plan, n)).collect();
    let floods = dice.between(0, 3);
    channels.extend((0..floods).map(|n| flood(dice, &plan, n)));
    let faults = if plan.outages { dice.between(1, 3) } else { 0 };
    let faults = (0..faults).map(|_| fault(dice, &plan)).collect();
    table!(RawScenario {
        title: text(title),
        seed: dice.maybe(0.5, |dice| whole(dice.below(1 << 40))),
        node: nodes,
        network: networks,
        admission: admission(dice),
        run: part(table!(RawRun {
            time: quantity(plan.length),
            warmup: dice.maybe(0.2, |dice| that(quantity(dice.part_of(plan.length / 4)))),
            cooldown: dice.maybe(0.2, |dice| that(quantity(dice.part_of(plan.length / 4)))),
            ..
        })),
        signalling: part(table!(RawSignalling {
            packet: dice.maybe(0.3, |dice| quantity(Bytes::new(dice.between(800, 1200)))),
            spacing: dice.maybe(0.4, |dice| quantity(dice.span(Span::from_ms(2), Span::from_ms(3)))),
            lease: quantity(LEASE),
            memory: dice.maybe(0.2, |dice| quantity(Bytes::from_kib(dice.between(16, 512)))),
            routes: if widest {
                word::<Routing>("widest")
            } else {
                dice.rows().maybe(0.1, |_| word("fewest_hops"))
            },
            synchronise: when(dice.rows().chance(0.3), || part(synchronise(dice.rows(), &plan))),
            owner: when(plan.quota, || entries(vec![(OWNER, owner(dice.rows()))])),
        })),
        channel: parts(channels),
        fault: parts(faults),
        ..
    })
}

fn synchronise(dice: &mut Dice, plan: &Plan) -> Drafted<RawSynchronise> {
    table!(RawSynchronise {
        reference: that(name(NODES[dice.below(plan.nodes as u64) as usize])),
        accept: dice.maybe(0.5, |dice| quantity(dice.span(Span::from_us(100), Span::from_ms(3)))),
        period: quantity(dice.span(Span::from_ms(50), Span::from_ms(200))),
        retry: dice.maybe(0.5, |dice| quantity(dice.span(Span::from_ms(15), Span::from_ms(50)))),
    })
}

/// An owner of which a part of the requests is refused.
fn owner(dice: &mut Dice) -> Drafted<RawOwner> {
    table!(RawOwner {
        channels: dice.maybe(0.5, |dice| whole(dice.between(0, 4))),
        bandwidth: dice.maybe(0.5, |dice| quantity(Rate::from_bits_per_sec(dice.between(1, 40) * 100_000))),
        buffers: dice.maybe(0.5, |dice| whole(dice.between(0, 8))),
    })
}

fn admission(dice: &mut Dice) -> Drawn<Option<Part<RawAdmission>>> {
    part(table!(RawAdmission {
        deadlines: dice.any::<Division>(0.4),
        // A refusal is no fault of a drawn scenario.
        refusal: word::<RefusalEffect>("expected"),
        ..
    }))
}

fn node(dice: &mut Dice, plan: &Plan) -> Drafted<RawNode> {
    table!(RawNode { clock: when(plan.clocks, || dice.maybe(0.8, |dice| part(clock(dice, plan)))), .. })
}

fn clock(dice: &mut Dice, plan: &Plan) -> Drafted<RawClock> {
    let shift = |dice: &mut Dice, most: Span| {
        let size = dice.part_of(most);
        if dice.chance(0.5) { Shift::Forward(size) } else { Shift::Backward(size) }
    };
    let steps = if plan.steps && dice.chance(0.5) { dice.between(1, 2) } else { 0 };
    let steps = (0..steps).map(|_| {
        table!(RawStep {
            at: quantity(dice.part_of(plan.length)),
            by: difference(shift(dice, Span::from_ms(40))),
        })
    });
    table!(RawClock {
        step: parts(steps.collect()),
        offset: difference(shift(dice, Span::from_secs(10))),
        drift: drift(dice.pick(&[0, 50, -50, 100, -100, 10_000, -10_000])),
        grain: dice.maybe(0.5, |dice| quantity(dice.pick(&[
            Span::from_ps(1000),
            Span::from_us(1),
            Span::from_us(20)
        ]))),
    })
}

fn network(dice: &mut Dice, plan: &Plan, joined: [&str; 2]) -> Drafted<RawNetwork> {
    let impaired = plan.frames && dice.chance(0.6);
    let few = |dice: &mut Dice| dice.maybe(0.5, |dice| share(dice.pick(&[0.001, 0.01, 0.08])));
    table!(RawNetwork {
        joins: ends(joined.map(str::to_string).into()),
        propagation: dice.maybe(0.8, |dice| quantity(dice.span(Span::from_us(5), Span::from_us(500)))),
        rate: quantity(Rate::from_bits_per_sec(dice.pick(&[10, 20]) * 1_000_000)),
        framing: dice.maybe(0.1, |_| word("none")),
        impairments: when(impaired, || part(table!(RawImpairments {
            delay: dice.maybe(0.3, |dice| quantity(dice.part_of(Span::from_ms(2)))),
            jitter: dice.maybe(0.5, |dice| quantity(dice.part_of(Span::from_ms(2)))),
            loss: few(dice),
            corruption: few(dice),
            duplication: few(dice),
            reordering: few(dice),
            reorder_by: quantity(dice.part_of(Span::from_ms(3))),
            ..
        }))),
        ..
    })
}

/// A channel from any node to any other.
fn channel(dice: &mut Dice, plan: &Plan, n: u64) -> Drafted<RawChannel> {
    let from = dice.below(plan.nodes as u64) as usize;
    let to = (from + 1 + dice.below(plan.nodes as u64 - 1) as usize) % plan.nodes;
    let size = Bytes::new(dice.between(8, 4000));
    let interval = dice.span(Span::from_ms(4), Span::from_ms(40));
    let deadline = dice.span(Span::from_ms(5), Span::from_ms(80));
    let calls = dice.chance(0.3);
    let open = dice.part_of(plan.length / 2);
    let close = open + dice.span(Span::from_ms(20), plan.length) + Span::from_ms(1);
    let changes = if calls { 0 } else { dice.between(0, 2) };
    let within = close.min(plan.length).saturating_sub(open);
    let changes = (1..=changes).map(|n| {
        table!(RawChange {
            at: quantity(open + within * n / 4 + Span::from_us(1)),
            max_message: dice.maybe(0.5, |dice| quantity(Bytes::new(dice.between(8, 4000)))),
            burst: dice.maybe(0.3, |dice| whole(dice.between(1, 4))),
            min_interval: dice.maybe(0.5, |dice| quantity(dice.span(Span::from_ms(4), Span::from_ms(40)))),
            rate: unsaid(),
            deadline: dice.maybe(0.5, |dice| quantity(dice.span(Span::from_ms(5), Span::from_ms(80)))),
        })
    });
    let changes: Vec<_> = changes.collect();
    let closes = within < plan.length - open || dice.chance(0.5);
    let times = (
        if calls || open.is_zero() { unsaid() } else { quantity(open) },
        if calls || !closes && changes.is_empty() { unsaid() } else { quantity(close) },
        parts(changes),
        match calls {
            true => part(table!(RawCalls {
                every: quantity(dice.span(Span::from_ms(60), Span::from_ms(400))),
                hold: quantity(dice.span(Span::from_ms(20), Span::from_ms(200))),
            })),
            false => unsaid(),
        },
    );
    let channel = Channel {
        called: format!("c{n}"),
        class: "real_time",
        ends: [NODES[from], NODES[to]],
        size,
        burst: dice.between(1, 3),
        contract: Some((interval, deadline)),
        source: dice.pick(&["periodic", "bursty", "poisson", "adversary"]),
        multiple: dice.chance(0.2),
        owner: plan.quota && dice.rows().chance(0.6),
    };
    channel.drafted(dice, times)
}

/// Best effort that has always another datagram, or sends by a rate.
fn flood(dice: &mut Dice, plan: &Plan, n: u64) -> Drafted<RawChannel> {
    let from = dice.below(plan.nodes as u64) as usize;
    let to = if from == 0 || dice.chance(0.5) && from + 1 < plan.nodes { (from + 1) % plan.nodes } else { 0 };
    let channel = Channel {
        called: format!("flood{n}"),
        class: "best_effort",
        ends: [NODES[from], NODES[to]],
        size: Bytes::new(dice.between(1, 790)),
        burst: 16,
        contract: None,
        source: dice.pick(&["continuous", "continuous", "poisson"]),
        multiple: false,
        owner: false,
    };
    channel.drafted(dice, (unsaid(), unsaid(), unsaid(), unsaid()))
}

struct Channel {
    called: String,
    class: &'static str,
    ends: [&'static str; 2],
    size: Bytes,
    burst: u64,
    contract: Option<(Span, Span)>,
    source: &'static str,
    multiple: bool,
    owner: bool,
}

/// `open`, `close`, `change` and `calls`.
type Times = (
    Drawn<Option<Written<Bounded<Delay>>>>,
    Drawn<Option<Written<Bounded<Interval>>>>,
    Drawn<Option<List<Part<RawChange>>>>,
    Drawn<Option<Part<RawCalls>>>,
);

impl Channel {
    fn drafted(self, dice: &mut Dice, (open, close, change, calls): Times) -> Drafted<RawChannel> {
        let timed = self.source != "continuous";
        let source: Drafted<RawSource> = table!(RawSource {
            kind: word::<SourceKind>(self.source),
            interval: match (timed, self.contract) {
                (true, None) => quantity(dice.span(Span::from_us(200), Span::from_ms(5))),
                _ => unsaid(),
            },
            multiple: if self.multiple && self.source != "adversary" {
                factor(dice.pick(&[1.5, 3.0]))
            } else {
                unsaid()
            },
            ..
        });
        table!(RawChannel {
            name: name(self.called),
            class: word::<Class>(self.class),
            from: that(name(self.ends[0])),
            to: that(name(self.ends[1])),
            max_message: quantity(self.size),
            burst: whole(self.burst),
            min_interval: self.contract.map_or_else(unsaid, |(interval, _)| quantity(interval)),
            deadline: self.contract.map_or_else(unsaid, |(_, deadline)| quantity(deadline)),
            open: open,
            close: close,
            change: change,
            calls: calls,
            owner: when(self.owner, || name(OWNER)),
            source: part(source),
            ..
        })
    }
}

fn fault(dice: &mut Dice, plan: &Plan) -> Drafted<RawFault> {
    let kind = dice.pick(&["crash", "crash", "program_crash", "cut"]);
    let of_node = kind != "cut";
    let node = dice.below(plan.nodes as u64) as usize;
    table!(RawFault {
        kind: word::<FaultKind>(kind),
        at: quantity(dice.part_of(plan.length)),
        length as "for": match kind {
            "program_crash" => unsaid(),
            _ => dice.maybe(0.9, |dice| quantity(dice.part_of(plan.length / 2))),
        },
        node: when(of_node, || that(name(NODES[node]))),
        network: match of_node {
            true => unsaid(),
            false => name(NETWORKS[dice.below(plan.nodes as u64 - 1) as usize]),
        },
        ..
    })
}
