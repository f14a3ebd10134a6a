//! Scenarios of a host that only receives: interfaces under every policy, and their traffic.

use laxity_model::reception::Discard;
use laxity_model::source::Allowance;
use laxity_qos::discipline::Class;
use laxity_qos::reception::TakenBuffers;
use laxity_units::{Bytes, Span};

use super::dice::Dice;
use super::names::HOSTS;
use super::sketch::{
    Drafted, Drawn, boolean, factor, items, name, part, parts, quantity, share, table, text, that, this,
    unsaid, when, whole, word, words,
};
use super::theme::{Place, Theme};
use crate::choice::{
    CommandKind, CostKind, FormulaWord, NoProgram, PolicyKind, ProgramOrder, SharingKind, SourceKind,
};
use crate::leaf::Name;
use crate::raw::{
    RawAdmission, RawChannel, RawCommand, RawHost, RawInterface, RawProgram, RawReceive, RawRun, RawScenario,
    RawSharing, RawSource,
};
use crate::written::{Part, Written};

/// Values on which the tables of such a scenario have to agree.
pub(super) struct Plan {
    /// The node that receives; `None` for a host without a network.
    node: Option<&'static str>,
    /// Mostly values with an analysis are drawn, with capacity left for channels with a deadline.
    guarded: bool,
    /// Approximate time of a packet on the host; the load is in proportion to it.
    work: Span,
    speedup: Option<f64>,
    interfaces: Vec<(String, &'static str)>,
    programs: Vec<String>,
    /// Adapters get commands during the run.
    commanded: bool,
    careless: bool,
}

/// A name that is said or not.
pub(super) type Named = Drawn<Option<Written<Name>>>;

/// Policies with an analysis.
const GUARDED: [&str; 6] = ["hard_timer", "timed", "limited", "guaranteed", "guaranteed", "soft_timer"];

impl Plan {
    fn draw(dice: &mut Dice, theme: &Theme) -> Self {
        let guarded = dice.chance(0.7);
        let count = dice.pick(&[1, 1, 2, 3]);
        let interface = |dice: &mut Dice, n| {
            let policy = match guarded && dice.chance(0.97) {
                true => dice.pick(&GUARDED),
                false => dice.pick(&words::<PolicyKind>()),
            };
            (format!("lan{n}"), policy)
        };
        let interfaces: Vec<(String, &'static str)> = (0..count).map(|n| interface(dice, n)).collect();
        let soft = interfaces.iter().any(|(_, policy)| *policy == "soft_timer");
        // Soft timers tick every 2 us: only a host that is as quick is done with one tick before the next.
        let speedup = match guarded && soft {
            true => Some(2000.0),
            false => dice.chance(0.1).then(|| dice.pick(&[0.5, 3.0])),
        };
        let work = (theme.costs.receive_packet + theme.costs.interrupt * 2).max(Span::from_us(5));
        let work = if guarded && soft { (work / 2000).max(Span::from_ns(50)) } else { work };
        let programs = if dice.chance(if guarded { 0.9 } else { 0.3 }) { dice.between(1, 3) } else { 0 };
        let programs = (0..programs).map(|n| format!("program{n}")).collect();
        let commanded = dice.chance(0.3);
        let (node, careless) = (None, theme.careless);
        Self { node, guarded, work, speedup, interfaces, programs, commanded, careless }
    }

    /// For the node at the ends of paths, if `theme` has one.
    pub(super) fn at_ends(dice: &mut Dice, theme: &Theme) -> Option<Self> {
        let Place::Nodes { hosts, .. } = theme.place else { return None };
        let drawn = theme.ends.then(|| Self::draw(dice, theme))?;
        // As fast as the common host.
        let calm = |(name, policy)| (name, if policy == "soft_timer" { "hard_timer" } else { policy });
        let interfaces = drawn.interfaces.into_iter().map(calm).collect();
        let work = (theme.costs.receive_packet + theme.costs.interrupt * 2).max(Span::from_us(5));
        let node = Some(HOSTS[hosts as usize - 1]);
        Some(Self { node, work, speedup: None, interfaces, commanded: false, ..drawn })
    }

    /// An interface and a program for a channel that ends there.
    pub(super) fn end(&self, dice: &mut Dice) -> (Named, Named) {
        let one = dice.below(self.interfaces.len() as u64) as usize;
        let interface = match self.interfaces.len() {
            1 => dice.maybe(0.3, |_| name(self.interfaces[0].0.clone())),
            _ => name(self.interfaces[one].0.clone()),
        };
        let program = match self.programs.len() as u64 {
            0 => unsaid(),
            all => dice.maybe(0.7, |dice| name(self.programs[dice.below(all) as usize].clone())),
        };
        (interface, program)
    }

    /// Its interfaces.
    pub(super) fn interfaces(&self, dice: &mut Dice) -> Vec<Drafted<RawInterface>> {
        self.interfaces.iter().map(|(name, policy)| interface(dice, name, policy, self)).collect()
    }

    /// Its programs.
    pub(super) fn programs(&self, dice: &mut Dice) -> Vec<Drafted<RawProgram>> {
        self.programs.iter().map(|name| program(dice, name, self)).collect()
    }
}

/// A scenario with `title` that receives, for a host of `theme`.
pub(super) fn scenario(dice: &mut Dice, theme: &Theme, title: String) -> Drafted<RawScenario> {
    let plan = Plan::draw(dice, theme);
    let work = plan.work;
    let channels: Vec<Drafted<RawChannel>> =
        (0..dice.between(1, 4)).map(|n| channel(dice, n, &plan)).collect();
    let drafted = plan.interfaces(dice);
    let programs = plan.programs(dice);
    let packets = dice.between(50, 800);
    let length = dice.rounded(work * packets);
    let count = if plan.commanded { dice.between(1, 4) } else { 0 };
    let commands = (0..count).map(|_| command(dice, length, &plan)).collect();
    let off = !dice.chance(if plan.guarded { 0.95 } else { 0.3 });
    let admission: Drafted<RawAdmission> =
        table!(RawAdmission { formula: word::<FormulaWord>(if off { "off" } else { "corrected" }), .. });
    table!(RawScenario {
        title: text(title),
        seed: dice.maybe(0.5, |dice| whole(dice.below(1 << 40))),
        host: part(host(dice, theme, &plan)),
        admission: part(admission),
        run: run(dice, length),
        interface: parts(drafted),
        program: parts(programs),
        command: parts(commands),
        channel: parts(channels),
        ..
    })
}

/// `[host.receive]` of hosts of which one receives at the ends of paths.
pub(super) fn costs(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Part<RawReceive>>> {
    let work = theme.costs.receive_packet.max(Span::from_us(5));
    let cost = |dice: &mut Dice| quantity(dice.part_of(work));
    let receive: Drafted<RawReceive> = table!(RawReceive {
        program: dice.maybe(0.8, cost),
        poll: dice.maybe(0.4, cost),
        announce: dice.maybe(0.4, |dice| quantity(dice.part_of(work / 8))),
        // Drawn costs have no bound, and are drawn for hosts without a network.
        costs: dice.maybe(0.1, |_| word::<CostKind>("fixed")),
        pool: dice.maybe(0.2, |dice| whole(dice.pick(&[0, 1, 8, 64]))),
    });
    part(receive)
}

fn host(dice: &mut Dice, theme: &Theme, plan: &Plan) -> Drafted<RawHost> {
    let work = plan.work;
    let cost = |dice: &mut Dice| quantity(dice.part_of(work));
    let receive: Drafted<RawReceive> = table!(RawReceive {
        program: dice.maybe(0.8, cost),
        poll: dice.maybe(0.4, cost),
        announce: dice.maybe(0.4, |dice| quantity(dice.part_of(work / 8))),
        costs: match plan.guarded {
            true => dice.maybe(0.3, |_| word::<CostKind>("fixed")),
            false => dice.any::<CostKind>(0.4),
        },
        pool: dice.maybe(0.3, |dice| whole(dice.pick(&[0, 1, 8, 64]))),
        ..
    });
    table!(RawHost {
        profile: text(if theme.said { "hartos-np" } else { "mc68040" }),
        costs: when(theme.said, || part(super::host::costs(theme))),
        speedup: plan.speedup.map_or_else(unsaid, factor),
        // Programs have the CPU, and interfaces no adapter that would move anything.
        receive: dice.maybe(0.9, |_| part(receive)),
        ..
    })
}

/// How long the run of a receiver, or of virtual interfaces, is.
pub(super) fn run(dice: &mut Dice, length: Span) -> Drawn<Option<Part<RawRun>>> {
    let in_packets = dice.chance(0.2);
    let total = dice.between(20, 400);
    let left_out = |dice: &mut Dice| match in_packets {
        true => this(whole(dice.below(total / 4))),
        // Rounded, it may be more than there is.
        false => that(quantity(dice.part_of(length / 4).min(length / 4))),
    };
    part(table!(RawRun {
        packets: when(in_packets, || whole(total)),
        time: if in_packets { unsaid() } else { quantity(length) },
        warmup: dice.maybe(0.2, left_out),
        cooldown: dice.maybe(0.2, left_out),
        ..
    }))
}

fn channel(dice: &mut Dice, n: u64, plan: &Plan) -> Drafted<RawChannel> {
    let work = plan.work;
    let real_time = dice.chance(0.5);
    let interval = match plan.guarded {
        true if real_time => work * dice.between(10, 120),
        true => work / dice.between(1, 12),
        false => work / 2 + dice.part_of(work * 4),
    };
    let interval = dice.rounded(interval).max(Span::from_ns(50));
    let deadline = match plan.guarded {
        true => work * dice.between(100, 3000),
        false => interval * dice.between(1, 20),
    };
    let size = Bytes::new(dice.pick(&[64, 512, 1500]));
    let burst = dice.pick(&[1, 1, 3]);
    let kind = match real_time {
        true => dice.pick(&["periodic", "bursty", "poisson", "adversary", "adversary"]),
        false => dice.pick(&["periodic", "bursty", "poisson"]),
    };
    let adversary = kind == "adversary";
    let source: Drafted<RawSource> = table!(RawSource {
        // It has times of its own, whatever becomes of it.
        kind: word::<SourceKind>(kind),
        interval: quantity(interval),
        multiple: match adversary {
            true => unsaid(),
            false => dice.maybe(0.2, |dice| factor(dice.pick(&[0.5, 2.0, 4.0]))),
        },
        phase: dice.maybe(0.4, |dice| that(quantity(dice.part_of(interval)))),
        allowance: when(adversary, || dice.any::<Allowance>(0.6)),
        ..
    });
    table!(RawChannel {
        name: name(format!("in{n}")),
        class: word::<Class>(if real_time { "real_time" } else { "best_effort" }),
        count: when(n > 0, || dice.maybe(0.2, |_| whole(2))),
        max_message: quantity(size),
        burst: whole(burst),
        min_interval: when(real_time, || quantity(interval)),
        deadline: when(real_time, || quantity(dice.rounded(deadline))),
        interface: name(plan.interfaces[dice.below(plan.interfaces.len() as u64) as usize].0.clone()),
        importance: when(dice.requests().chance(0.2), || {
            let levels = dice.requests().between(1, 4);
            items((0..levels).map(|_| whole(dice.requests().below(8))).collect())
        }),
        program: match plan.programs.len() as u64 {
            0 => unsaid(),
            all => dice.maybe(0.7, |dice| name(plan.programs[dice.below(all) as usize].clone())),
        },
        source: part(source),
        ..
    })
}

/// A command to an adapter that has one, or about received packets.
fn command(dice: &mut Dice, length: Span, plan: &Plan) -> Drafted<RawCommand> {
    let mut told = plan.interfaces.iter().filter(|(_, policy)| {
        plan.careless || ["interrupt", "continuous", "timed", "explicit", "backoff"].contains(policy)
    });
    let told = told.next().filter(|_| !plan.guarded || dice.chance(0.1));
    let kind = match told {
        // It has the most parameters.
        Some(_) if dice.chance(0.3) => "backoff_enable",
        Some(_) => dice.pick(&words::<CommandKind>()),
        None => dice.pick(&["create_periodic", "clear_periodic"]),
    };
    let is = |of: &[&str]| plan.careless || of.contains(&kind);
    let about_channel = is(&["create_periodic", "clear_periodic"]);
    let backoff = is(&["backoff_enable"]);
    let period = (plan.work + dice.part_of(plan.work * 4)).max(Span::from_us(1));
    table!(RawCommand {
        kind: word::<CommandKind>(kind),
        at: quantity(dice.part_of(length)),
        interface: match told {
            Some((interface, _)) if plan.careless || !about_channel => name(interface.clone()),
            _ => unsaid(),
        },
        // The first has no copies that would be called otherwise.
        channel: when(about_channel, || name("in0")),
        quota: when(is(&["mode_poll", "host_intr_ctrl_on", "backoff_enable"]), || whole(
            dice.pick(&[1, 2, 8])
        )),
        interval: when((is(&["mode_poll"]) && dice.chance(0.5)) || is(&["host_intr_ctrl_on"]), || quantity(
            period
        )),
        minimum: when(backoff, || quantity(period)),
        maximum: when(backoff, || quantity(period * dice.between(1, 20))),
        factor: when(backoff, || factor(dice.pick(&[1.1, 2.0]))),
        restore: when(backoff, || share(dice.pick(&[0.5, 0.99]))),
        threshold: when(backoff, || dice.maybe(0.3, |dice| share(dice.pick(&[0.0, 0.5, 1.0])))),
        taken: when(backoff, || dice.any::<TakenBuffers>(0.8)),
    })
}

/// A program with a part of the CPU, mostly.
fn program(dice: &mut Dice, called: &str, plan: &Plan) -> Drafted<RawProgram> {
    let work = plan.work;
    let reserved = dice.chance(if plan.guarded { 0.9 } else { 0.5 });
    let period = work * plan.programs.len() as u64 * dice.between(10, 60);
    let period = dice.rounded(period);
    let budget = (period / (plan.programs.len() as u64 * dice.between(2, 6))).max(Span::from_ps(1));
    table!(RawProgram {
        name: name(called),
        node: match plan.node {
            Some(node) => dice.maybe(0.5, |_| name(node)),
            None => unsaid(),
        },
        work: match plan.guarded {
            true =>
                dice.maybe(0.8, |dice| quantity((work / 20 + dice.part_of(work / 2)).max(Span::from_ns(1)))),
            false => dice.maybe(0.5, |dice| quantity(dice.part_of(work))),
        },
        order: match plan.guarded && dice.chance(0.9) {
            true => word::<ProgramOrder>("class"),
            false => dice.any::<ProgramOrder>(0.5),
        },
        budget: when(reserved, || quantity(budget)),
        period: when(reserved, || quantity(period)),
    })
}

fn interface(dice: &mut Dice, called: &str, policy: &'static str, plan: &Plan) -> Drafted<RawInterface> {
    let (work, careless, guarded) = (plan.work, plan.careless, plan.guarded);
    let is = |of: &[&str]| careless || of.contains(&policy);
    let lazy = policy.starts_with("lazy");
    let quota = is(&[
        "continuous",
        "timed",
        "hard_timer",
        "soft_timer",
        "explicit",
        "limited",
        "backoff",
        "guaranteed",
        "napi",
        "cycle_limited",
    ]);
    let interval = is(&["timed", "hard_timer", "explicit", "limited", "guaranteed", "cycle_limited"]);
    let backoff = is(&["backoff"]);
    let handshake = dice.chance(if guarded { 0.02 } else { 0.4 });
    let shares = dice.chance(if guarded { 0.9 } else { 0.4 });
    let taken = if guarded { dice.between(1, 4) } else { dice.pick(&[1, 2, 3, 8, 64]) };
    let period = match guarded {
        true => work * taken * plan.interfaces.len() as u64 * dice.between(2, 9) + dice.part_of(work * 4),
        false => work / 2 + dice.part_of(work * 4),
    };
    let period = dice.rounded(period).max(Span::from_us(1));
    let room = if guarded { dice.pick(&[8, 32, 128]) } else { dice.pick(&[1, 2, 8, 128]) };
    let sharing = sharing(dice, guarded);
    let counts_buffers = lazy || policy == "backoff" || (guarded && policy == "guaranteed") || plan.commanded;
    let no_program = !counts_buffers && dice.chance(if guarded { 0.2 } else { 0.3 });
    // Some for best effort, or real time has all.
    let apart = !no_program && dice.chance(if guarded { 0.9 } else { 0.3 });
    table!(RawInterface {
        name: name(called),
        node: plan.node.map_or_else(unsaid, name),
        policy: word::<PolicyKind>(policy),
        quota: when(quota, || whole(taken)),
        interval: when(interval, || quantity(period)),
        intervals: when(is(&["soft_timer"]), || text("st-apache")),
        bound: when(is(&["soft_timer"]), || dice
            .maybe(0.7, |dice| quantity(Span::from_us(dice.between(1, 40))))),
        minimum: when(backoff, || quantity(period)),
        maximum: when(backoff, || quantity(period * dice.between(1, 20))),
        factor: when(backoff, || factor(dice.pick(&[1.1, 1.5, 2.0]))),
        restore: when(backoff, || share(dice.pick(&[0.5, 0.8, 0.99]))),
        threshold: when(backoff, || dice.maybe(0.4, |dice| share(dice.pick(&[0.0, 0.5, 1.0])))),
        taken: when(backoff, || dice.any::<TakenBuffers>(0.8)),
        spare: when(is(&["guaranteed"]), || dice.maybe(0.6, |dice| whole(dice.below(5)))),
        frames: when(is(&["coalescing"]), || whole(dice.between(1, 20))),
        delay: when(is(&["coalescing"]), || quantity(dice.part_of(work * 10))),
        restarts: when(is(&["napi"]), || dice.maybe(0.6, |dice| whole(dice.below(4)))),
        share: when(is(&["cycle_limited"]), || share(dice.pick(&[0.1, 0.5, 1.0]))),
        sharing: when(shares, || part(sharing)),
        slots: dice.maybe(0.6, |_| whole(room)),
        slots_best_effort: when(shares, || dice.maybe(0.4, |_| whole(room))),
        handshake: if handshake { boolean(true) } else { dice.maybe(0.2, |_| boolean(false)) },
        transfer: when(handshake, || dice.maybe(0.5, |dice| quantity(dice.part_of(work)))),
        early_drop: dice.maybe(0.6, |dice| boolean(dice.chance(0.5))),
        buffers: match no_program {
            true => this(word::<NoProgram>("none")),
            false => that(whole(room)),
        },
        buffers_real_time: when(apart, || whole((room * dice.between(0, 3)).div_ceil(4))),
        discard: match dice.chance(0.4).then(|| dice.pick(&["newest", "importance"])) {
            Some(_) if dice.requests().chance(0.3) => word::<Discard>("tag"),
            Some(discard) => word::<Discard>(discard),
            None => unsaid(),
        },
    })
}

fn sharing(dice: &mut Dice, guarded: bool) -> Drafted<RawSharing> {
    let kind = match guarded {
        true => dice.pick(&["weighted", "exhaustive"]),
        false => dice.word::<SharingKind>("weighted", 0.3),
    };
    let weights = kind != "exhaustive";
    table!(RawSharing {
        kind: word::<SharingKind>(kind),
        real_time: if weights { whole(dice.between(1, if guarded { 3 } else { 4 })) } else { unsaid() },
        best_effort: when(weights, || whole(dice.between(1, 4))),
    })
}
