//! Scenarios of virtual interfaces: every firmware, few and many buffers and credits, and VIs that
//! keep their rates or do not.

use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Rate, Span};
use laxity_world::experiment::RefusalEffect;

use super::dice::Dice;
use super::sketch::{
    Drafted, Drawn, boolean, detailed, entries, factor, items, name, part, parts, quantity, scalar, table,
    text, that, this, unsaid, when, whole, word, words,
};
use super::source::TRACES;
use super::theme::{GROUPS, Theme};
use crate::choice::{DoorbellsKind, FirmwareKind, FormulaWord, SourceKind};
use crate::leaf::{Bounded, Interval};
use crate::raw::{
    RawAdmission, RawChannel, RawGroup, RawRenegotiation, RawScenario, RawSizes, RawSource, RawVia,
    RawViaCosts,
};
use crate::written::{Entries, Part, Written};

/// Values on which the tables of such a scenario have to agree.
struct Plan {
    nodes: u64,
    /// A message takes an adapter about so long.
    work: Span,
    /// Reservations are for what adapters can do, so that something is left to admit.
    modest: bool,
    careless: bool,
    /// Number of groups of virtual interfaces with a common rate.
    groups: usize,
    /// Processes are told apart by their doorbells.
    apart: bool,
}

/// A scenario with `title`.
pub(super) fn scenario(dice: &mut Dice, theme: &Theme, title: String) -> Drafted<RawScenario> {
    let groups_of = match dice.aside().chance(0.3) {
        true => dice.aside().between(1, GROUPS.len() as u64) as usize,
        false => 0,
    };
    let plan = Plan {
        nodes: dice.pick(&[2, 2, 3, 5]),
        work: Span::from_us(dice.pick(&[60, 100, 250])),
        modest: dice.chance(0.7),
        careless: theme.careless,
        groups: groups_of,
        apart: groups_of == 0 && dice.latest().chance(0.4),
    };
    let rounds = dice.chance(0.2);
    // The first channel, if there is one, negotiates anew.
    let again = dice.chance(0.25);
    let others = if rounds { dice.below(3) } else { dice.between(1, 5) };
    let mut channels: Vec<Drafted<RawChannel>> =
        (0..others).map(|n| channel(dice, n, again && n == 0, &plan)).collect();
    if rounds {
        let window = dice.between(1, 5);
        let interval = plan.work * dice.between(4, 60);
        let contract = dice.chance(0.6).then(|| dice.rounded(interval));
        channels.push(round(dice, ("ping", 0, 1, "pong"), window, contract, &plan));
        channels.push(round(dice, ("pong", 1, 0, "ping"), window, contract, &plan));
    }
    let messages = dice.between(30, 400);
    let length = dice.rounded(plan.work * messages);
    let admission: Drafted<RawAdmission> = table!(RawAdmission {
        formula: match dice.chance(0.2) {
            true => word::<FormulaWord>("off"),
            false => dice.maybe(0.3, |_| word("corrected")),
        },
        refusal: dice.any::<RefusalEffect>(0.2),
        ..
    });
    table!(RawScenario {
        title: text(title),
        seed: dice.maybe(0.5, |dice| whole(dice.below(1 << 40))),
        admission: part(admission),
        run: super::reception::run(dice, length),
        via: part(via(dice, again && others > 0, length, &plan)),
        group: groups(dice.aside(), &plan),
        channel: parts(channels),
        ..
    })
}

/// Groups, of which one may be within another before it.
fn groups(dice: &mut Dice, plan: &Plan) -> Drawn<Option<Entries<Part<RawGroup>>>> {
    let mut drafted = Vec::new();
    for (n, called) in GROUPS[..plan.groups].iter().enumerate() {
        let outer = if n > 0 && dice.chance(0.4) { Some(dice.below(n as u64) as usize) } else { None };
        let rate = Rate::from_bytes_per_sec(dice.between(1_000, 60_000_000));
        let within = outer.map_or_else(unsaid, |outer| name(GROUPS[outer]));
        drafted.push((*called, table!(RawGroup { rate: quantity(rate), within: within, .. })));
    }
    if drafted.is_empty() { unsaid() } else { entries(drafted) }
}

fn via(dice: &mut Dice, again: bool, length: Span, plan: &Plan) -> Drafted<RawVia> {
    let firmware = dice.pick(&words::<FirmwareKind>());
    let firmware = if plan.groups > 0 || plan.apart { "qosvia" } else { firmware };
    let is = |of: &[&str]| plan.careless || of.contains(&firmware);
    let few = |dice: &mut Dice| dice.pick(&[1, 2, 3, 8, 64]);
    let cost = |dice: &mut Dice| quantity(dice.part_of(Span::from_us(10)));
    let aside = |dice: &mut Dice| quantity(Rate::from_bytes_per_sec(dice.between(10_000, 20_000_000)));
    let byte = |dice: &mut Dice| quantity(Span::from_ps(dice.between(1, 12_000)));
    let guarded = plan.modest && dice.chance(0.7);
    let odd = dice.chance(0.2);
    // Credits for what has no descriptor would be lost with it.
    let (limited, window) = (dice.chance(if guarded { 0.05 } else { 0.4 }), few(dice));
    let credited = dice.chance(if guarded { 0.05 } else { 0.4 });
    let credits = if limited && !plan.careless { dice.between(1, window) } else { few(dice) };
    let costs: Drafted<RawViaCosts> = table!(RawViaCosts {
        poll: dice.maybe(0.5, |dice| quantity(Span::from_ns(dice.pick(&[0, 50, 500, 1300])))),
        doorbell: when(odd, || dice.maybe(0.3, cost)),
        note: when(odd, || dice.maybe(0.3, cost)),
        data: when(odd, || dice.maybe(0.3, cost)),
        fragment: when(odd, || dice.maybe(0.3, cost)),
        queue: when(odd, || dice.maybe(0.3, cost)),
        start: when(odd, || dice.maybe(0.3, cost)),
        status: when(odd, || dice.maybe(0.3, cost)),
        finish: when(odd, || dice.maybe(0.3, cost)),
        scan: dice.maybe(0.2, |dice| quantity(Span::from_ns(dice.below(1000)))),
        descriptor: when(odd, || dice.maybe(0.3, cost)),
        completion: when(odd, || dice.maybe(0.3, cost)),
        hdma: when(odd, || dice.maybe(0.3, cost)),
        down: when(odd, || dice.maybe(0.3, byte)),
        up: when(odd, || dice.maybe(0.3, byte)),
        frame: when(odd, || dice.maybe(0.3, cost)),
        byte: when(odd, || dice.maybe(0.3, byte)),
    });
    table!(RawVia {
        firmware: word::<FirmwareKind>(firmware),
        overlap: when(is(&["svia"]), || dice.maybe(0.6, |dice| boolean(dice.chance(0.6)))),
        nodes: match plan.nodes {
            2 => dice.maybe(0.3, |_| whole(2)),
            nodes => whole(nodes),
        },
        latency: dice.maybe(0.4, |dice| quantity(dice.part_of(Span::from_us(20)))),
        post: dice.maybe(0.4, cost),
        reap: dice.maybe(0.4, cost),
        receives: when(limited, || whole(window)),
        credits: when(credited, || whole(credits)),
        depth: dice.maybe(if guarded { 0.9 } else { 0.3 }, |dice| whole(dice.pick(&[1, 1, 2, 8]))),
        send_buffers: when(is(&["pvia", "qosvia"]), || dice
            .maybe(if guarded { 0.05 } else { 0.4 }, |dice| whole(few(dice)))),
        receive_buffers: dice.maybe(if guarded { 0.05 } else { 0.4 }, |dice| whole(few(dice))),
        nsdma_queue: when(is(&["pvia", "qosvia"]), || dice.maybe(0.4, |dice| boolean(dice.chance(0.7)))),
        guard: when(is(&["qosvia"]), || dice.maybe(0.4, |dice| whole(dice.below(4)))),
        best_effort: match plan.apart {
            true => dice.latest().maybe(0.4, aside),
            false if is(&["qosvia"]) => dice.maybe(0.4, aside),
            false => unsaid(),
        },
        doorbells: match plan.apart {
            true => word::<DoorbellsKind>("apart"),
            false if firmware == "qosvia" => dice.latest().maybe(0.2, |_| word::<DoorbellsKind>("merged")),
            false => unsaid(),
        },
        ahead: when(plan.apart, || dice.latest().maybe(0.5, |dice| whole(dice.pick(&[1, 2, 3, 8])))),
        speedup: dice.maybe(0.1, |dice| factor(dice.pick(&[0.5, 3.0]))),
        costs: part(costs),
        renegotiate: when(again, || parts(
            (0..dice.between(1, 3)).map(|_| renegotiation(dice, length, plan)).collect()
        )),
    })
}

/// Another bandwidth of the first channel.
fn renegotiation(dice: &mut Dice, length: Span, plan: &Plan) -> Drafted<RawRenegotiation> {
    let interval = plan.work * if plan.modest { dice.between(4, 60) } else { dice.between(1, 8) };
    table!(RawRenegotiation {
        channel: name("vi0"),
        at: quantity(dice.part_of(length)),
        rate: quantity(Rate::from_bytes_per_sec((4096.0 / interval.as_secs_f64()) as u64 + 1)),
    })
}

fn ends(dice: &mut Dice, plan: &Plan) -> (u64, u64) {
    let from = if dice.chance(0.6) { 0 } else { dice.below(plan.nodes) };
    (from, (from + dice.between(1, plan.nodes - 1)) % plan.nodes)
}

fn channel(dice: &mut Dice, n: u64, again: bool, plan: &Plan) -> Drafted<RawChannel> {
    let (from, to) = ends(dice, plan);
    let real_time = again || dice.chance(0.6);
    let small = dice.chance(0.3);
    let interval = match plan.modest {
        true => plan.work * dice.between(4, 60),
        false => plan.work / 2 + dice.part_of(plan.work * 6),
    };
    let interval = dice.rounded(interval).max(Span::from_us(1));
    let burst = dice.pick(&[1, 1, 3]);
    let grouped = plan.groups > 0 && dice.aside().chance(0.6);
    let kind = match real_time {
        true => dice.pick(&["periodic", "periodic", "bursty", "adversary", "poisson", "recorded"]),
        false => dice.pick(&["periodic", "poisson", "closed", "bursty"]),
    };
    let own = !["closed"].contains(&kind);
    let streams = if own && kind != "adversary" { dice.pick(&[1, 1, 1, 2, 3]) } else { 1 };
    let traced = kind == "recorded";
    // A trace has frames of 20 kB, which are sent in pieces.
    let sizes: &[u64] = if small && !traced { &[4, 64] } else { &[1024, 4096, 16_384] };
    let size = Bytes::new(dice.pick(sizes));
    let source: Drafted<RawSource> = table!(RawSource {
        kind: word::<SourceKind>(kind),
        interval: when(own, || quantity(interval * streams)),
        multiple: match kind {
            "periodic" | "bursty" => dice.maybe(0.2, |dice| factor(dice.pick(&[0.5, 2.0, 4.0]))),
            _ => unsaid(),
        },
        size: match kind {
            "closed" | "periodic" => dice.maybe(0.3, |dice| match dice.chance(0.5) {
                true => scalar(quantity(Bytes::new(size.get() * dice.between(1, 3)))),
                false => detailed(table!(RawSizes {
                    uniform: items(vec![quantity(Bytes::new(1)), quantity(size)]),
                    ..
                })),
            }),
            _ => unsaid(),
        },
        outstanding: if own { unsaid() } else { dice.maybe(0.7, |dice| whole(dice.between(1, 6))) },
        phase: match own {
            true => dice.maybe(0.5, |dice| match dice.chance(0.5) {
                true => this(word("random")),
                false if dice.excess().chance(0.3) => that(quantity(interval * dice.excess().between(1, 3))),
                false => that(quantity(dice.part_of(interval))),
            }),
            false => unsaid(),
        },
        trace: when(traced, || text(dice.pick(&TRACES).0)),
        stagger: when(traced, || dice.maybe(0.4, |dice| quantity(dice.part_of(interval * 5)))),
        ..
    });
    table!(RawChannel {
        name: name(format!("vi{n}")),
        class: word::<Class>(if real_time { "real_time" } else { "best_effort" }),
        from: dice.maybe(if from == 0 { 0.5 } else { 1.0 }, |_| this(whole(from))),
        to: this(whole(to)),
        count: if again { unsaid() } else { dice.maybe(0.2, |_| whole(2)) },
        max_message: quantity(size),
        burst: whole(burst),
        min_interval: when(real_time, || quantity(interval)),
        deadline: when(real_time, || dice.maybe(0.3, |dice| quantity(plan.work * dice.between(2, 200)))),
        share: when(grouped && !real_time, || quantity(Rate::from_bytes_per_sec(
            dice.aside().between(10_000, 40_000_000)
        ))),
        group: when(grouped, || name(dice.aside().pick(&GROUPS[..plan.groups]))),
        process: when(plan.apart && dice.latest().chance(0.4), || name(
            dice.latest().pick(&["one", "other"])
        )),
        streams: if streams == 1 { unsaid() } else { whole(streams) },
        playout: playout(dice, plan),
        source: part(source),
        ..
    })
}

/// How long a message is held: mostly not, else from less to more than it takes.
fn playout(dice: &mut Dice, plan: &Plan) -> Drawn<Option<Written<Bounded<Interval>>>> {
    let work = plan.work;
    dice.newest().maybe(0.2, |dice| quantity(work / 2 + dice.part_of(work * 40)))
}

/// One side of a ping-pong, with a contract for messages so far apart or with none.
fn round(
    dice: &mut Dice,
    (called, from, to, back): (&str, u64, u64, &str),
    window: u64,
    contract: Option<Span>,
    plan: &Plan,
) -> Drafted<RawChannel> {
    let source: Drafted<RawSource> = table!(RawSource {
        kind: word::<SourceKind>("rounds"),
        outstanding: whole(window),
        after: name(back),
        ..
    });
    table!(RawChannel {
        name: name(called),
        class: word::<Class>(if contract.is_some() { "real_time" } else { "best_effort" }),
        from: this(whole(from)),
        to: this(whole(to)),
        max_message: quantity(Bytes::new(dice.pick(&[4, 1024, 4096]))),
        burst: whole(1),
        min_interval: contract.map_or(unsaid(), quantity),
        playout: playout(dice, plan),
        source: part(source),
        ..
    })
}
