//! `[host]`: costs, the subsystem's policies, the driver.

use laxity_model::host::Applications;
use laxity_qos::channel::{Block, LinkParadigm, Order, Oversize, Processing};
use laxity_qos::discipline::EarlyPolicy;
use laxity_units::Span;

use super::cores::core;
use super::dice::Dice;
use super::selection::shapers;
use super::sketch::{
    Drafted, Drawn, boolean, detailed, entries, factor, part, quantity, scalar, table, text, that, this,
    unsaid, when, whole, word,
};
use super::theme::{Place, Scheduling, Theme};
use crate::choice::{PreemptionWord, Resources};
use crate::leaf::{Bounded, Interval, Or};
use crate::raw::{Packets, RawBus, RawCosts, RawDriver, RawHost, RawLink, RawPreemption, RawSubsystem};
use crate::written::{Either, Written};

pub(super) fn host(dice: &mut Dice, theme: &Theme) -> Drafted<RawHost> {
    let costs = match theme.said {
        true => part(costs(theme)),
        false => unsaid(),
    };
    let subsystem = subsystem(dice, theme);
    let busy = dice
        .aside()
        .maybe(if theme.plain { 0.03 } else { 0.12 }, |dice| super::computing::computing(dice, theme));
    let watched = if theme.null() { 0.06 } else { 0.3 };
    table!(RawHost {
        // Calibrated profiles and the other one differ from this in numbers, which `costs` says.
        profile: text(if theme.said { dice.pick(&["mc68040", "hartos-np"]) } else { "mc68040" }),
        cores: match theme.cores {
            1 => dice.latest().maybe(0.02, |_| whole(1)),
            cores => whole(cores),
        },
        applications: dice.maybe(if theme.plain { 0.1 } else { 0.4 }, |dice| word(
            dice.word::<Applications>("separate", 0.3)
        )),
        costs: costs,
        // Links of a row are to be busy where its CPUs are not.
        speedup: match theme.plain {
            true => factor(dice.rows().pick(&[3.0, 12.0, 100.0])),
            false => dice.maybe(0.06, |dice| factor(dice.pick(&[0.5, 1.0, 1.5, 3.0, 12.0]))),
        },
        subsystem: part(subsystem),
        driver: dice.maybe(watched, |dice| part(driver(dice, theme))),
        compute: if theme.free || theme.ends { unsaid() } else { busy },
        bus: when(theme.bused, || entries(vec![(BUS, bus(dice.buses()))])),
        receive: when(theme.ends, || super::reception::costs(dice.ends(), theme)),
    })
}

fn driver(dice: &mut Dice, theme: &Theme) -> Drafted<RawDriver> {
    table!(RawDriver {
        watchdog: dice.maybe(0.7, |dice| quantity(dice.span(Span::from_us(50), Span::from_ms(5)))),
        // Frames that a cut-through switch has begun to send cannot be taken back.
        reset_after: match theme.place {
            Place::Nodes { switches: 1.., .. } => unsaid(),
            _ => dice.maybe(0.4, |dice| quantity(dice.span(Span::from_ms(1), Span::from_ms(50)))),
        },
    })
}

/// Name of a host's bus.
pub(super) const BUS: &str = "slot";

fn bus(dice: &mut Dice) -> Drafted<RawBus> {
    table!(RawBus {
        preemptive: dice.maybe(0.6, |dice| boolean(dice.chance(0.4))),
        urgent: dice.maybe(0.4, |dice| boolean(dice.chance(0.7))),
        cpu: dice.maybe(0.5, |dice| boolean(dice.chance(0.7))),
    })
}

pub(super) fn costs(theme: &Theme) -> Drafted<RawCosts> {
    let costs = theme.costs;
    table!(RawCosts {
        context_switch: quantity(costs.context_switch),
        cache_miss: quantity(costs.cache_miss),
        first_packet: quantity(costs.first_packet),
        single_packet: quantity(costs.single_packet),
        packet: quantity(costs.packet),
        real_time_packet: quantity(costs.real_time_packet),
        link_scheduling: quantity(costs.link_scheduling),
        hand_over: quantity(costs.hand_over),
        interrupt: quantity(costs.interrupt),
        poll: quantity(costs.poll),
        response: quantity(costs.response),
        timer: quantity(costs.timer),
        ipi: quantity(costs.ipi),
        thread_creation: quantity(costs.thread_creation),
        receive_packet: quantity(costs.receive_packet),
        receive_message: quantity(costs.receive_message),
        send_call: quantity(costs.send_call),
        send_byte: quantity(costs.send_byte),
        receive_byte: quantity(costs.receive_byte),
        transfer_byte: quantity(costs.transfer_byte),
    })
}

fn subsystem(dice: &mut Dice, theme: &Theme) -> Drafted<RawSubsystem> {
    let analysed = theme.scheduling == Scheduling::Analysed;
    let (cpu, link_order) = match analysed {
        // The demand test is about EDF.
        true if theme.demand && dice.chance(0.9) => ("multiclass_edf", "multiclass_edf"),
        true => match dice.below(25) {
            0..14 => ("multiclass_edf", "multiclass_edf"),
            14..21 if matches!(theme.paradigm, "O1" | "O2") && !theme.ideal && dice.newest().chance(0.35) => {
                ("fixed_priority", "multiclass_edf")
            }
            14..21 => ("fixed_priority", "fixed_priority"),
            // Only O1 separates the CPU from a link by rates.
            _ if theme.paradigm != "O1" || theme.ahead || theme.ideal => ("multiclass_edf", "multiclass_edf"),
            of => {
                let order = ["virtual_clock", "scfq", "sfq", "drr"][(of - 21) as usize];
                ("multiclass_edf", if order == "sfq" && dice.aside().chance(0.5) { "hsfq" } else { order })
            }
        },
        false => {
            let cpu = dice.word::<Order>("multiclass_edf", 0.3);
            // A CPU has no frames.
            let cpu = if FRAMED.contains(&cpu) { "fifo" } else { cpu };
            (cpu, dice.word::<Order>("multiclass_edf", 0.3))
        }
    };
    let (cpu, link_order) = match theme.free {
        true => (
            dice.queues().pick(&["fifo", "multiclass_edf"]),
            if theme.leveled && dice.orders().chance(0.5) { "strict_priority" } else { "fifo" },
        ),
        false if analysed && theme.cores == 1 && dice.orders().chance(0.08) => {
            (dice.orders().pick(&["multiclass_edf", "fixed_priority"]), dice.orders().pick(&IN_CLASSES))
        }
        false => (cpu, link_order),
    };
    let (cpu, link_order) = match theme.launches && dice.launches().chance(0.95) {
        true => ("multiclass_edf", dice.launches().pick(&["fifo", "fifo", "fifo", "edf", "multiclass_edf"])),
        false => (cpu, link_order),
    };
    let (cpu, link_order) = match theme.shaped && dice.shapers().chance(0.95) {
        true => ("multiclass_edf", dice.shapers().pick(&["fifo", "fifo", "fifo", "edf", "multiclass_edf"])),
        false => (cpu, link_order),
    };
    let as_it_arrives = analysed && theme.null() && theme.cores == 1 && theme.paradigm != "adapter";
    let as_it_arrives = as_it_arrives && !(theme.ideal || theme.ahead || theme.free || theme.careless);
    let orders = dice.own("host.subsystem.cpu");
    let (cpu, link_order) = match as_it_arrives && orders.chance(0.06) {
        true => (orders.pick(&AS_IT_ARRIVES), orders.pick(&AS_IT_ARRIVES)),
        false => (cpu, link_order),
    };
    let link = link(dice, theme, link_order);
    table!(RawSubsystem {
        processing: dice.any::<Processing>(0.6),
        cpu: word::<Order>(cpu),
        early: match theme.ahead {
            true => word(dice.word::<EarlyPolicy>("below_best_effort", 0.3)),
            false => dice.maybe(0.3, |_| word::<EarlyPolicy>("hold")),
        },
        preemption: preemption(dice, theme),
        resources: match theme.ideal {
            true => word::<Resources>("ideal"),
            false => dice.maybe(0.1, |_| word("real")),
        },
        enforcement: match theme.enforced {
            false => boolean(false),
            true => dice.maybe(0.1, |_| boolean(true)),
        },
        oversize: match theme.scheduling {
            Scheduling::Analysed => dice.requests().maybe(0.1, |_| word::<Oversize>("intervals")),
            Scheduling::Anything => dice.requests().any::<Oversize>(0.3),
        },
        packet: quantity(theme.packet),
        link: part(link),
    })
}

type Preemption = Drawn<Option<Either<Or<Packets, PreemptionWord>, RawPreemption>>>;

fn preemption(dice: &mut Dice, theme: &Theme) -> Preemption {
    match dice.below(10) {
        0 => unsaid(),
        1..5 => scalar(this(packets(dice))),
        // In the middle of a packet only for ideal resources is there an analysis.
        5 if theme.ideal || theme.scheduling == Scheduling::Anything => scalar(that(word("immediate"))),
        // A host that works ahead and never yields has no bound, nor one that yields less often
        // when ahead.
        5..8 if theme.ahead && dice.chance(0.7) => scalar(that(word("message"))),
        5..8 if theme.plain => scalar(that(word("message"))),
        5..8 => scalar(that(word(dice.pick(&["message", "never"])))),
        _ if theme.plain => unsaid(),
        _ if theme.ahead && dice.chance(0.7) => {
            detailed(table!(RawPreemption { best_effort: block(dice), .. }))
        }
        _ => detailed(table!(RawPreemption {
            real_time: dice.maybe(0.7, block),
            early: dice.maybe(0.5, block),
            best_effort: dice.maybe(0.8, block),
        })),
    }
}

fn packets(dice: &mut Dice) -> Drawn<Option<Written<Packets>>> {
    whole(dice.pick(&[1, 1, 2, 3, 4, 8, 16, 64]))
}

fn block(dice: &mut Dice) -> Drawn<Option<Written<Or<Packets, Block>>>> {
    match dice.chance(0.6) {
        true => this(packets(dice)),
        false => that(word(dice.word::<Block>("message", 0.0))),
    }
}

/// Orders of a link in which no best effort is before real time, if none is sent by `fifo`.
const IN_CLASSES: [&str; 16] = [
    "fifo",
    "fifo",
    "fifo",
    "strict_priority",
    "strict_priority",
    "fixed_priority",
    "multiclass_edf",
    "edf",
    "fifo_plus",
    "hop_laxity",
    "virtual_clock",
    "wfq",
    "wf2q_plus",
    "scfq",
    "sfq",
    "drr",
];

/// Orders that hold no early message, and serve real time before best effort if none is beside `fifo`.
const AS_IT_ARRIVES: [&str; 16] = [
    "fifo",
    "fifo",
    "fifo",
    "edf",
    "edf",
    "strict_priority",
    "strict_priority",
    "fifo_plus",
    "hop_laxity",
    "virtual_clock",
    "wfq",
    "wf2q_plus",
    "scfq",
    "hsfq",
    "sfq",
    "drr",
];

/// Orders that are in frames of time.
const FRAMED: [&str; 2] = ["stop_and_go", "hrr"];

/// The frame of a queue in `order`, which says one if it needs to.
pub(super) fn frame(dice: &mut Dice, order: &str) -> Drawn<Option<Written<Bounded<Interval>>>> {
    when(FRAMED.contains(&order), || quantity(dice.span(Span::from_us(10), Span::from_ms(20))))
}

fn link(dice: &mut Dice, theme: &Theme, order: &str) -> Drafted<RawLink> {
    table!(RawLink {
        paradigm: word::<LinkParadigm>(theme.paradigm),
        core: core(dice, theme),
        order: word::<Order>(order),
        frame: frame(dice, order),
        horizon: match theme.excess {
            true =>
                dice.excess().maybe(0.8, |dice| quantity(dice.span(Span::from_ms(10), Span::from_secs(4)))),
            false => dice.maybe(0.3, |dice| {
                let most = dice.pick(&[1, 10, 1000]);
                quantity(dice.span(Span::from_us(100), Span::from_ms(most)))
            }),
        },
        // An adapter that schedules has all packets at once by default.
        depth: dice.maybe(if theme.paradigm == "adapter" { 0.08 } else { 0.4 }, |dice| {
            whole(dice.pick(&[1, 2, 3, 8, 64]))
        }),
        // From what the first packet takes to what many messages take.
        launch: when(theme.launches, || {
            let least = theme.work(theme.packet);
            quantity(dice.launches().span(least, least * 64))
        }),
        shapers: when(theme.shaped, || shapers(dice.shapers(), theme, 16)),
        early_above_best_effort: dice.maybe(0.25, |dice| boolean(dice.chance(0.7))),
    })
}
