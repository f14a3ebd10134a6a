//! Scenarios drawn at random over the whole format.
//!
//! [`scenario`] draws a file, table by table, from the raw types that reading it fills. [`shrink`]
//! cuts a failing file down to the cause. The callers that run the files decide which properties
//! must hold.
//!
//! The drawing is biased. Half of the scenarios have all their times on one grid, so that events
//! coincide to the picosecond. Half have all channels start at once. Contracts are for loads that a
//! host can take, with deadlines near the promise of admission. Beside channels that keep their
//! contracts others break them, and floods.

mod adapter;
mod answers;
mod channel;
mod computing;
mod cores;
mod dice;
mod host;
mod names;
mod network;
mod nodes;
mod receivers;
mod reception;
mod row;
mod selection;
mod shrink;
mod signalling;
pub(crate) mod sketch;
mod source;
mod theme;
mod via;

use std::collections::BTreeMap;
use std::path::PathBuf;

use laxity_admission::Test;
use laxity_units::Span;
use laxity_world::experiment::{ClockKind, Division, LocalDeadline, RefusalEffect};

use crate::choice::FormulaWord;
use crate::raw::{FORMAT, RawAdmission, RawRun, RawScenario};
use channel::Channels;
pub(crate) use dice::Dice;
pub use shrink::shrink;
use sketch::{
    Drafted, Drawn, name, one, part, parts, quantity, table, text, that, this, unsaid, when, whole, word,
};
pub use sketch::{SketchNode, Table};
use theme::Theme;

/// Packets that a run transmits at most, about.
const PACKETS: f64 = 1500.0;

/// One in this number of scenarios is of a host that only receives.
const RECEIVING: u64 = 8;

/// Half as many are of virtual interfaces: those of this number among twice as many.
const VIRTUAL: u64 = 3;

/// And as many are of nodes with signalling.
const SIGNALLING: u64 = 13;

/// The number of the `n`th scenario of nodes with signalling, of those that [`scenario`] draws.
pub fn network(n: u64) -> u64 {
    n * 2 * RECEIVING + SIGNALLING
}

/// A drawn scenario.
#[derive(Debug, Clone)]
pub struct DrawnScenario {
    /// The file.
    pub file: Table,
    /// Whether keys were left as they came, or no channel was given anything to send, so that it
    /// need not be valid.
    pub careless: bool,
}

/// Scenario `number` of those that `seed` draws.
pub fn scenario(seed: u64, number: u64) -> DrawnScenario {
    let mut dice = Dice::new(seed, number);
    let dice = &mut dice;
    let theme = Theme::draw(dice);
    let title = format!("Drawn as number {number} of seed {seed}");
    if number % RECEIVING == RECEIVING - 1 {
        let careless = theme.careless;
        return DrawnScenario { file: reception::scenario(dice, &theme, title).table, careless };
    }
    if number % (2 * RECEIVING) == VIRTUAL {
        let careless = theme.careless;
        return DrawnScenario { file: via::scenario(dice, &theme, title).table, careless };
    }
    if number % (2 * RECEIVING) == SIGNALLING {
        return DrawnScenario { file: signalling::scenario(dice, title).table, careless: false };
    }
    let plan = reception::Plan::at_ends(dice.ends(), &theme);
    let channels = channel::channels(dice, &theme, plan.as_ref());
    let length = length(dice, &theme, &channels);
    let host = host::host(dice, &theme);
    let adapter = adapter::adapter(dice, &theme);
    let fills = !theme.off && dice.chance(0.01) && !theme.ends;
    let admission = admission(dice, &theme, channels.guaranteed.as_deref().filter(|_| fills));
    let run = run(dice, &theme, length, &channels);
    let (node, networks) = nodes::nodes(dice, &theme);
    let network = networks.unwrap_or_else(|| one(network::network(dice, &theme)));
    let scenario = table!(RawScenario {
        format: whole(FORMAT),
        title: text(title),
        about: unsaid(),
        seed: dice.maybe(0.5, |dice| whole(dice.below(1 << 40))),
        draws: unsaid(),
        host: part(host),
        adapter: part(adapter),
        path: network::path(dice, &theme),
        node: node,
        network: network,
        admission: admission,
        run: run,
        interface: plan.as_ref().map_or_else(unsaid, |plan| parts(plan.interfaces(dice.ends()))),
        program: plan.as_ref().map_or_else(unsaid, |plan| parts(plan.programs(dice.ends()))),
        command: unsaid(),
        via: unsaid(),
        signalling: unsaid(),
        group: nodes::groups(dice.aside(), &theme),
        channel: parts(channels.drafted),
        // Real time and real software have tests of their own; no drawn scenario waits for a clock.
        emulation: unsaid(),
        port: unsaid(),
        fault: match network::faults(dice, &theme, length) {
            // One may be at the node that receives.
            _ if theme.ends && !theme.careless => unsaid(),
            faults => parts(faults),
        },
        // These say what is done with several runs, or with the results of one.
        sweep: unsaid(),
        claim: unsaid(),
        figure: unsaid(),
        tune: unsaid(),
    });
    DrawnScenario { file: scenario.table, careless: theme.careless || !channels.sends }
}

/// The files that drawn scenarios name, by their paths beside them.
pub fn files() -> BTreeMap<PathBuf, Vec<u8>> {
    let traces = source::TRACES.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()));
    traces.collect()
}

/// A few of the longest intervals, as long as that is not too many packets.
fn length(dice: &mut Dice, theme: &Theme, channels: &Channels<'_>) -> Span {
    let longest = channels.intervals.iter().copied().max().unwrap_or(Span::from_ms(10));
    let shortest = channels.intervals.iter().copied().min().unwrap_or(Span::from_ms(10));
    let flood = if channels.floods { 1.0 / theme.pace().as_secs_f64() } else { 0.0 };
    // It takes many intervals until what is ahead at the end of a row is no more than that, and few
    // channels go all along it.
    let nodes = if theme.row.is_some() { 1 } else { theme.nodes() };
    let rate = (channels.rate + flood) * nodes as f64;
    let affordable = Span::from_secs_f64(PACKETS / rate).unwrap_or(Span::from_secs(1));
    let wanted = longest * if theme.row.is_some() { dice.between(20, 60) } else { dice.between(2, 8) };
    let length = wanted.min(affordable).max(shortest * 2);
    dice.rounded(length).max(Span::from_us(10))
}

fn admission(
    dice: &mut Dice,
    theme: &Theme,
    fill: Option<&str>,
) -> Drawn<Option<crate::written::Part<RawAdmission>>> {
    let formula = match (theme.off, dice.below(20)) {
        (true, _) => word::<FormulaWord>("off"),
        (false, 0) if !(theme.demand || theme.ends) || theme.careless => {
            word(dice.pick(&["papers", "papers_each", "printed"]))
        }
        (false, 1..4) => word("corrected"),
        _ => unsaid(),
    };
    let by_request = theme.off || theme.demand;
    let local_deadline = match by_request && !theme.careless {
        true => dice.maybe(0.2, |_| word::<LocalDeadline>("requested")),
        false => dice.any::<LocalDeadline>(0.4),
    };
    let test = match theme.demand {
        true => word::<Test>("demand"),
        // By default admission is by processor demand.
        false => dice.maybe(0.6, |_| word("d_order")),
    };
    let deadlines = match theme.nodes() {
        1 => dice.maybe(0.05, |_| word::<Division>("alike")),
        _ => dice.any::<Division>(0.4),
    };
    let quiet = test.node.is_none() && fill.is_none() && deadlines.node.is_none();
    if quiet && formula.node.is_none() && local_deadline.node.is_none() {
        return unsaid();
    }
    let admission: Drafted<RawAdmission> = table!(RawAdmission {
        formula: formula,
        test: test,
        local_deadline: local_deadline,
        deadlines: deadlines,
        refusal: dice.any::<RefusalEffect>(0.2),
        fill: fill.map_or_else(unsaid, name),
    });
    part(admission)
}

fn run(
    dice: &mut Dice,
    theme: &Theme,
    length: Span,
    channels: &Channels<'_>,
) -> Drawn<Option<crate::written::Part<RawRun>>> {
    let in_packets = dice.chance(0.08);
    let most = if theme.careless { 2 } else { 5 };
    let packets = ((channels.rate * length.as_secs_f64()) as u64).clamp(20, PACKETS as u64);
    let left_out = |dice: &mut Dice| match in_packets {
        true => this(whole(dice.below(packets / most))),
        false => that(quantity(dice.part_of(length / (most + 1)))),
    };
    part(table!(RawRun {
        clock: dice.maybe(0.05, |_| word::<ClockKind>("virtual")),
        packets: when(in_packets, || whole(packets)),
        time: if in_packets { unsaid() } else { quantity(length) },
        warmup: dice.maybe(0.1, left_out),
        cooldown: dice.maybe(0.1, left_out),
        ..plain(dice, ())
    }))
}
