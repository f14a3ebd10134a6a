//! `[adapter]`: the null device that admission analyses, the built-in adapters, and descriptions.

use laxity_model::adapter::cim250::{BufferMemory, HostInterface};
use laxity_model::adapter::{Answers, Excess, LatePolicy, Overload, QueueSelection, Release, Takes, Tells};
use laxity_qos::channel::Order;
use laxity_units::{Bytes, Rate, Span};

use super::dice::Dice;
use super::host::{BUS, frame};
use super::sketch::{
    Drafted, Drawn, boolean, detailed, name, names, part, parts, quantity, scalar, table, text, that, this,
    unsaid, when, whole, word,
};
use super::theme::{AdapterTheme, Place, Theme};
use crate::choice::{AdapterKind, AdapterQueueKind, AsContract, FullAnswers, Interrupt, PhaseKind};
use crate::leaf::{Bounded, Bounds};
use crate::raw::{
    Cited, RawAdapter, RawBuffers, RawCited, RawCommandQueue, RawLevels, RawPhase, RawPolicing, RawQueue,
    RawResource, RawResponseQueue, RawStage, Spread, TakesWord,
};
use crate::written::{List, Part, Written};

/// The keys of one kind of adapter; the keys of others are left out.
struct Choice {
    null: bool,
    generic: bool,
    cim: bool,
}

pub(super) fn adapter(dice: &mut Dice, theme: &Theme) -> Drafted<RawAdapter> {
    let choice = Choice {
        null: theme.adapter == AdapterTheme::Null,
        generic: theme.adapter == AdapterTheme::Generic,
        cim: theme.adapter == AdapterTheme::Cim250,
    };
    let kind = match theme.adapter {
        AdapterTheme::Null => Some("null"),
        AdapterTheme::Generic => Some("generic"),
        AdapterTheme::Cim250 => Some("cim250"),
        AdapterTheme::Named(_) => None,
    };
    let as_rate = choice.null && !theme.link.per_byte.is_zero() && dice.chance(0.2);
    let wild = if theme.tidy { 0.2 } else { 1.0 };
    // Buffers are freed only where they are counted.
    let counted = [wild * 0.3, 0.3].map(|chance| choice.generic && dice.chance(chance));
    let (transmit, receive) = match choice.generic {
        true => {
            let transmit = transmit(dice, theme, counted[0]);
            let plain = theme.tidy && dice.chance(0.5);
            (transmit, if plain { Vec::new() } else { receive(dice, theme, counted[1]) })
        }
        false => (Vec::new(), Vec::new()),
    };
    let cim = choice.cim;
    let polls = dice.chance(0.2);
    let looks = choice.generic && dice.chance(0.25);
    let rings = choice.generic && !looks;
    let overhead = Span::from_us(dice.between(200, 900));
    table!(RawAdapter {
        file: match theme.adapter {
            AdapterTheme::Named(file) => text(file),
            _ => unsaid(),
        },
        kind: kind.map_or_else(unsaid, word::<AdapterKind>),
        interrupts: super::cores::interrupts(dice, theme),
        // Sources are adapter files' business, which have tests of their own.
        source: unsaid(),
        startup: when(choice.null && !theme.link.startup.is_zero(), || quantity(theme.link.startup)),
        per_byte: when(choice.null && !as_rate, || quantity(theme.link.per_byte.ceil())),
        rate: when(as_rate, || { quantity(theme.link.per_byte.rate().expect("a byte takes a time")) }),
        poll: when(looks, || quantity(Span::from_us(dice.between(1, 40)))),
        doorbell: when(rings && dice.chance(0.2), || quantity(Span::from_us(dice.below(10)))),
        selection: when(choice.generic && dice.chance(0.3), || word::<QueueSelection>(
            dice.pick(&["priority", "round_robin"])
        )),
        notification: when(choice.generic && (polls || dice.chance(0.1)), || match polls {
            true => that(quantity(Span::from_us(dice.between(1, 200)))),
            false => this(word::<Interrupt>("interrupt")),
        }),
        queue: when(choice.generic && dice.chance(wild * 0.6), || parts(command_queues(dice))),
        response_queue: when(choice.generic && dice.chance(0.25), || {
            parts(response_queues(dice, polls, receive.is_empty()))
        }),
        transmit_buffers: when(counted[0], || {
            let overload = dice.pick(&["block", "block", "drop", "priority"]);
            part(buffers(dice, overload))
        }),
        receive_buffers: when(counted[1], || {
            let overload = dice.pick(&["drop", "priority"]);
            part(buffers(dice, overload))
        }),
        transmit_policing: when(choice.generic && dice.chance(0.15), || part(policing(dice))),
        receive_policing: when(choice.generic && dice.chance(0.15), || part(policing(dice))),
        resource: resources(dice, &choice, theme),
        transmit: parts(transmit),
        receive: parts(receive),
        command: when(cim, || cited(dice, Span::from_us(28))),
        response: when(cim, || cited(dice, Span::from_us(28))),
        dma_segment: when(cim, || cited(dice, Bytes::new(256))),
        dma_overhead: when(cim, || cited(dice, Span::from_us(4))),
        dma_byte_small: when(cim, || cited(dice, Span::from_ns(500))),
        small: when(cim, || cited(dice, Bytes::new(512))),
        dma_byte_large: when(cim, || cited(dice, Span::from_ns(250))),
        fc_overhead: when(cim, || cited(dice, overhead)),
        fc_overlap: when(cim, || cited(dice, overhead / 2)),
        fc_frame: when(cim, || cited(dice, Bytes::new(2048))),
        fc_frame_delay: when(cim, || cited(dice, Span::from_us(50))),
        interface: when(cim, || dice.any::<HostInterface>(0.7)),
        memory: when(cim, || dice.any::<BufferMemory>(0.7)),
    })
}

/// The processor, and the bus that phases hold, if it is the host's.
fn resources(dice: &mut Dice, choice: &Choice, theme: &Theme) -> Drawn<Option<List<Part<RawResource>>>> {
    let mut all = Vec::new();
    if choice.generic && dice.chance(0.3) {
        all.push(table!(RawResource {
            name: name("processor"),
            servers: dice.maybe(0.5, |dice| whole(dice.between(1, 2))),
            preemptive: dice.maybe(0.5, |dice| boolean(dice.chance(0.5))),
            urgent: dice.maybe(0.3, |dice| boolean(dice.chance(0.7))),
            host: dice.maybe(0.3, |dice| boolean(dice.chance(0.7))),
            bus: unsaid(),
            source: unsaid(),
        }));
    }
    if choice.generic && theme.bused {
        all.push(table!(RawResource { name: name("bus"), bus: name(BUS), .. }));
    }
    when(!all.is_empty(), || parts(all))
}

fn cited<B: Bounds>(dice: &mut Dice, value: B::Quantity) -> Drawn<Option<Cited<Bounded<B>>>>
where
    B::Quantity: Into<super::sketch::SketchNode>,
{
    match dice.chance(0.8) {
        true => scalar(quantity(value)),
        false => detailed(table!(Numbered<B> {
            value: quantity(value),
            source: dice.maybe(0.5, |_| text("own choice: drawn")),
        })),
    }
}

type Numbered<B> = RawCited<Bounded<B>>;

/// Which packets each of some queues takes, so that together they take all.
fn lines(dice: &mut Dice) -> &'static [&'static str] {
    if dice.chance(0.1) {
        return dice.pick(&[&["0..7", "8..31"], &["3..9", "all"]]);
    }
    dice.pick(&[&["all"], &["all"], &["real_time", "best_effort"], &["real_time", "all"]])
}

/// A word, or levels.
fn takes_of(dice: &mut Dice, takes: &str) -> Drawn<Option<TakesWord>> {
    let Some((from, to)) = takes.split_once("..") else { return scalar(word::<Takes>(takes)) };
    let (from, to): (u64, u64) = (from.parse().unwrap_or(0), to.parse().unwrap_or(31));
    detailed(table!(RawLevels {
        from: when(from > 0 || dice.chance(0.5), || whole(from)),
        to: when(to < 31 || dice.chance(0.5), || whole(to)),
    }))
}

/// One queue, or several by flow.
fn spread(dice: &mut Dice) -> Drawn<Option<Written<Spread>>> {
    dice.maybe(0.08, |dice| whole(dice.between(1, 4)))
}

fn command_queues(dice: &mut Dice) -> Vec<Drafted<RawCommandQueue>> {
    lines(dice)
        .iter()
        .map(|takes| {
            let kind = dice.word::<AdapterQueueKind>("fifo", 0.6);
            let ends = kind == "fifo" && dice.chance(0.5);
            table!(RawCommandQueue {
                takes: takes_of(dice, takes),
                spread: spread(dice),
                release: when(ends || kind == "mailbox", || dice.any::<Release>(0.5)),
                kind: dice.maybe(if kind == "mailbox" { 1.0 } else { 0.7 }, |_| word(kind)),
                slots: when(ends, || whole(dice.between(1, 6))),
                priority: dice.maybe(0.6, |dice| whole(dice.below(3))),
                source: unsaid(),
            })
        })
        .collect()
}

/// Queues that together take all responses; a response without a queue could not wait.
fn response_queues(dice: &mut Dice, polls: bool, at_once: bool) -> Vec<Drafted<RawResponseQueue>> {
    let about: &[&str] = dice.pick(&[&["all"], &["all"], &["received", "sent"], &["received", "all"]]);
    let mut queues = Vec::new();
    for answers in about {
        for takes in lines(dice) {
            let drops = *answers == "received" && dice.chance(0.5);
            let waits = at_once && *answers != "sent" && !drops;
            let ends = !waits && dice.chance(0.5);
            let delayed = !polls && dice.chance(0.5);
            queues.push(table!(RawResponseQueue {
                answers: when(*answers != "all" || dice.chance(0.3), || word::<Answers>(answers)),
                takes: takes_of(dice, takes),
                spread: spread(dice),
                slots: when(ends, || whole(dice.between(1, 6))),
                overload: when(ends && (drops || dice.chance(0.3)), || {
                    word::<FullAnswers>(if drops { "drop" } else { "block" })
                }),
                frames: when(delayed && dice.chance(0.5), || whole(dice.between(1, 6))),
                delay: when(delayed, || quantity(Span::from_us(dice.between(1, 400)))),
                interval: when(!polls && dice.chance(0.3), || quantity(Span::from_us(dice.between(1, 200)))),
                source: unsaid(),
            }));
        }
    }
    queues
}

fn buffers(dice: &mut Dice, overload: &'static str) -> Drafted<RawBuffers> {
    let (shared, own) = dice.pick(&[(true, false), (true, false), (false, true), (true, true)]);
    let by_contract = shared && own && dice.chance(0.5);
    let room = if dice.chance(0.5) { dice.between(16, 64) } else { dice.between(1, 6) };
    let overload = if shared && own && overload == "priority" { "drop" } else { overload };
    table!(RawBuffers {
        shared: when(shared, || whole(room)),
        per_channel: when(own, || match by_contract {
            true => this(word::<AsContract>("contract")),
            false => that(whole(if shared { dice.between(1, 8) } else { room })),
        }),
        overload: word::<Overload>(overload),
        source: unsaid(),
    })
}

/// A policer, mostly with a tolerance that drops no packet within its contract.
fn policing(dice: &mut Dice) -> Drafted<RawPolicing> {
    let generous = dice.chance(0.7);
    table!(RawPolicing {
        excess: dice.any::<Excess>(0.7),
        tolerance: when(generous || dice.chance(0.7), || match generous {
            true => quantity(Span::from_secs(dice.between(1, 5))),
            false => quantity(Span::from_us(dice.between(1, 3000))),
        }),
        source: unsaid(),
    })
}

fn transmit(dice: &mut Dice, theme: &Theme, counted: bool) -> Vec<Drafted<RawStage>> {
    let stages = dice.between(1, 3);
    let shared = matches!(theme.place, Place::Ring(_) | Place::Ethernet(_)) || dice.chance(0.6);
    if theme.tidy {
        return (0..stages).map(|n| tidy(dice, theme, n, n + 1 == stages, shared)).collect();
    }
    let bus = |n| Bus { is_there: theme.bused, first: n == 0 };
    let at = |n| Spot { first_received: false, last: n + 1 == stages, counted, bus: bus(n) };
    (0..stages).map(|n| stage(dice, format!("t{n}"), shared && n + 1 == stages, at(n))).collect()
}

/// Orders that separate real time from best effort without a rate, and are no host's.
const OTHERWISE: [&str; 9] =
    ["virtual_clock", "wfq", "wf2q_plus", "scfq", "sfq", "hsfq", "drr", "fifo_plus", "hop_laxity"];

/// A stage with priorities, perhaps with a prefetch before the last one, so that it may hold any
/// number of packets.
fn tidy(dice: &mut Dice, theme: &Theme, n: u64, last: bool, shared: bool) -> Drafted<RawStage> {
    let plain = |takes: &str, order: &'static str, priority: u64, slots: Option<u64>| {
        table!(RawQueue {
            takes: scalar(word::<Takes>(takes)),
            order: word::<Order>(order),
            priority: whole(priority),
            slots: slots.map_or_else(unsaid, whole),
            overload: when(slots.is_some(), || word::<Overload>("block")),
            ..
        })
    };
    let prefetched = last && n > 0 && dice.chance(0.5);
    let otherwise = theme.rated && dice.further().chance(0.7);
    let otherwise = otherwise.then(|| dice.further().pick(&OTHERWISE));
    let queues = match (prefetched, dice.below(3)) {
        (true, _) => vec![plain("all", otherwise.unwrap_or("fifo"), 0, Some(dice.between(1, 3)))],
        (false, 0) => {
            let order = dice.pick(&["edf", "multiclass_edf"]);
            vec![plain("all", otherwise.unwrap_or(order), 0, None)]
        }
        (false, _) => {
            let order = dice.pick(&["fifo", "fifo", "edf", "multiclass_edf", "edf", "fixed_priority"]);
            let order = otherwise.unwrap_or(order);
            vec![plain("real_time", order, 0, None), plain("best_effort", "fifo", 1, None)]
        }
    };
    let medium = last && shared;
    let bus = Bus { is_there: theme.bused, first: n == 0 };
    let mut phases: Vec<_> =
        (0..dice.between(1, 2)).map(|n| phase(dice, false, false, false, bus.chance(n))).collect();
    if medium {
        phases.push(phase(dice, true, true, false, 0.0));
    }
    table!(RawStage {
        name: name(format!("t{n}")),
        ahead: when(!last && dice.chance(0.15), || whole(dice.below(3))),
        queue: parts(queues),
        phase: parts(phases),
        ..
    })
}

fn receive(dice: &mut Dice, theme: &Theme, counted: bool) -> Vec<Drafted<RawStage>> {
    let stages = dice.below(3);
    let bus = Bus { is_there: theme.bused, first: false };
    let at = |n| Spot { first_received: n == 0, last: n + 1 == stages, counted, bus };
    (0..stages).map(|n| stage(dice, format!("r{n}"), false, at(n))).collect()
}

/// Where a stage stands.
#[derive(Clone, Copy)]
struct Spot {
    /// It has to accept received packets.
    first_received: bool,
    /// It has none behind it.
    last: bool,
    /// Buffers of its way have an end.
    counted: bool,
    bus: Bus,
}

/// Whether phases of a stage hold the host's bus: those of the first stage do if there is a bus,
/// since some phase has to.
#[derive(Clone, Copy)]
struct Bus {
    is_there: bool,
    /// The stage is the first.
    first: bool,
}

impl Bus {
    /// How likely phase `n` holds it.
    fn chance(self, n: u64) -> f64 {
        match self {
            Self { is_there: false, .. } => 0.0,
            Self { first: true, .. } if n == 0 => 1.0,
            _ => 0.5,
        }
    }
}

/// A stage, with the phase on the medium if it is that one's.
fn stage(dice: &mut Dice, called: String, medium: bool, at: Spot) -> Drafted<RawStage> {
    let Spot { first_received, last, counted, bus } = at;
    let queues = if dice.chance(0.7) { lines(dice) } else { &[] };
    let queues = queues.iter().map(|takes| queue(dice, takes, first_received)).collect();
    let batch = if !medium && dice.chance(0.12) { dice.between(2, 5) } else { 1 };
    let mut phases: Vec<_> =
        (0..dice.between(1, 2)).map(|n| phase(dice, false, batch > 1, counted, bus.chance(n))).collect();
    if medium {
        phases.push(phase(dice, true, true, counted, 0.0));
    }
    table!(RawStage {
        name: name(called),
        servers: when(!medium && dice.chance(0.3), || whole(dice.between(1, 3))),
        batch: when(batch > 1 || dice.chance(0.1), || whole(batch)),
        linger: when(batch > 1 && dice.chance(0.4), || quantity(Span::from_us(dice.between(1, 100)))),
        ahead: when(!last && batch == 1 && dice.chance(0.2), || whole(dice.below(4))),
        selection: dice.any::<QueueSelection>(0.5),
        queue: parts(queues),
        phase: parts(phases),
        source: unsaid(),
    })
}

fn queue(dice: &mut Dice, takes: &str, first_received: bool) -> Drafted<RawQueue> {
    let overload = match first_received {
        true => dice.pick(&["drop", "priority", "importance"]),
        false => dice.word::<Overload>("block", 0.3),
    };
    let ends = dice.chance(0.5);
    let (takes, spread) = (takes_of(dice, takes), spread(dice));
    // An analysis covers hardly any of those that share by rates, hold or look further, so one in
    // five is enough.
    let picked = dice.pick(&["multiclass_edf", "fixed_priority", "edf", "virtual_clock", "fifo"]);
    let order = match (dice.chance(0.7), picked) {
        (false, _) => None,
        (true, "virtual_clock") => Some(dice.word::<Order>("virtual_clock", 0.0)),
        (true, known) => Some(known),
    };
    // Frequent enough that each order is drawn for received frames, too.
    let order = match dice.newest().chance(0.1) {
        true => Some(dice.newest().word::<Order>("virtual_clock", 0.0)),
        false => order,
    };
    let displaces =
        order.is_none_or(|order| matches!(order, "fifo" | "edf" | "multiclass_edf" | "fixed_priority"));
    let overload = if overload == "importance" && !displaces { "drop" } else { overload };
    let late = dice.chance(0.2).then(|| dice.word::<LatePolicy>("drop", 0.5));
    table!(RawQueue {
        takes: takes,
        spread: spread,
        order: order.map_or_else(unsaid, word::<Order>),
        frame: order.map_or_else(unsaid, |order| frame(dice, order)),
        priority: dice.maybe(0.6, |dice| whole(dice.below(3))),
        slots: when(ends, || whole(dice.between(1, 6))),
        overload: when(ends, || word::<Overload>(overload)),
        late: late.map_or_else(unsaid, word::<LatePolicy>),
        margin: when(late == Some("drop") && dice.chance(0.2), || {
            quantity(Span::from_us(dice.between(1, 500)))
        }),
        source: unsaid(),
    })
}

/// A phase, which holds the bus with no less than that likelihood.
fn phase(dice: &mut Dice, medium: bool, alike: bool, counted: bool, bus: f64) -> Drafted<RawPhase> {
    let (segmented, bent) = (dice.chance(0.2), dice.chance(0.15));
    let chosen = !alike && dice.chance(0.2);
    let as_rate = dice.chance(0.3);
    let kind = if medium { "delay" } else { dice.word::<PhaseKind>("delay", 0.4) };
    let moves = !medium && dice.chance(0.3) | dice.buses().chance(bus);
    let held = when(moves, || names(vec!["bus".into()]));
    let ranked = kind != "delay" || held.node.is_some();
    table!(RawPhase {
        fixed: quantity(Span::from_us(dice.between(1, 60))),
        per_packet: dice.maybe(0.2, |dice| quantity(Span::from_us(dice.below(10)))),
        takes: when(!alike && dice.chance(0.1), || {
            let takes = dice.pick(&["all", "real_time", "best_effort", "2..20"]);
            takes_of(dice, takes)
        }),
        segment: when(segmented, || quantity(Bytes::new(dice.pick(&[256, 2048])))),
        per_segment: when(segmented, || quantity(Span::from_ns(dice.below(3000)))),
        per_byte: when(!as_rate, || quantity(Span::from_ns(dice.below(60)))),
        rate: when(as_rate, || quantity(Rate::from_bits_per_sec(dice.pick(&[
            10_000_000,
            30_000_000,
            1_000_000_000
        ])))),
        knee: when(bent, || quantity(Bytes::new(1024))),
        per_byte_past: when(bent, || quantity(Span::from_ns(dice.below(40)))),
        from: when(chosen, || quantity(Bytes::new(dice.between(1, 600)))),
        up_to: when(chosen && dice.chance(0.5), || quantity(Bytes::new(dice.between(600, 9000)))),
        kind: word::<PhaseKind>(kind),
        trailer: when(!alike && dice.chance(0.06), || quantity(Bytes::new(dice.pick(&[8, 40])))),
        yields: when(segmented && ranked && !alike && dice.chance(0.5), || boolean(dice.chance(0.8))),
        holds: held,
        priority: when(ranked && dice.chance(0.5), || whole(dice.below(3))),
        medium: when(medium || dice.chance(0.1), || boolean(medium)),
        releases: when(counted && dice.chance(0.2), || boolean(dice.chance(0.8))),
        tells: when(!alike, || dice.any::<Tells>(0.1)),
        source: unsaid(),
    })
}
