//! `[node.NAME]` and `[network.NAME]`: a few unlike hosts in a line, around a switch, around two,
//! or at a ring.

use laxity_qos::channel::Order;
use laxity_units::{Bytes, Rate, Span};
use laxity_world::experiment::Forwarding;

use super::adapter::adapter;
use super::dice::Dice;
use super::host::{frame, host};
use super::names::{ADAPTERS, HOSTS, HUB, SWITCHES};
use super::network::impairments;
use super::selection::Said;
use super::sketch::{
    Drafted, Drawn, boolean, ends, entries, name, one, part, quantity, several, table, unsaid, when, whole,
    word,
};
use super::theme::{AdapterTheme, GROUPS, Place, Scheduling, Theme};
use crate::choice::{Framing, NetworkKind, NodeKind};
use crate::raw::{RawGroup, RawImpairments, RawNetwork, RawNetworks, RawNode};
use crate::written::{Entries, Part};

/// Kinds of adapter that one host may have beside the common one.
const OTHERS: [AdapterTheme; 4] = [
    AdapterTheme::Generic,
    AdapterTheme::Generic,
    AdapterTheme::Named("end-edd"),
    AdapterTheme::Named("null"),
];

/// `[node]`.
type Nodes = Drawn<Option<Entries<Part<RawNode>>>>;

/// The nodes and their links; none where nodes go by their numbers.
pub(super) fn nodes(dice: &mut Dice, theme: &Theme) -> (Nodes, Option<Drawn<Option<RawNetworks>>>) {
    let Place::Nodes { hosts, switches, ring } = theme.place else { return (unsaid(), None) };
    let hosts = &HOSTS[..hosts as usize];
    let switches = &SWITCHES[..switches as usize];
    let of_hosts = hosts.iter().map(|name| (*name, host_node(dice, theme, name)));
    let mut drafted: Vec<_> = of_hosts.collect();
    drafted.extend(switches.iter().map(|name| (*name, switch(dice, theme))));
    let own = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let mut drawn = Vec::new();
    if ring {
        let rotation = dice.span(Span::from_ms(2), Span::from_ms(10));
        drawn.push(("loop", token_ring(dice, own(hosts), rotation)));
    } else if let Some(row) = theme.row {
        drawn.extend(row.joins().into_iter().map(|(name, ends)| (name, links(dice, theme, ends))));
    } else {
        match switches {
            [] if theme.hub => {
                for (n, (name, adapter)) in ["n0", "n1", "n2"].iter().zip(ADAPTERS).enumerate() {
                    let ends = vec![format!("{}.{adapter}", HOSTS[HUB]), HOSTS[[0, 2, 3][n]].to_owned()];
                    drawn.push((*name, links(dice, theme, ends)));
                }
            }
            [] => {
                for (name, pair) in ["n0", "n1", "n2"].iter().zip(hosts.windows(2)) {
                    let mut ends = own(pair);
                    for (end, adapter) in ends.iter_mut().zip([ADAPTERS[1], ADAPTERS[0]]) {
                        if theme.divided && end == HOSTS[HUB] {
                            *end = format!("{end}.{adapter}");
                        }
                    }
                    drawn.push((*name, links(dice, theme, ends)));
                }
            }
            [one] => drawn.push(("star", links(dice, theme, [own(&[one]), own(hosts)].concat()))),
            [one, other, ..] => {
                let (near, far) = hosts.split_at(hosts.len() / 2);
                drawn.push(("near", links(dice, theme, [own(&[one]), own(near)].concat())));
                drawn.push(("far", links(dice, theme, [own(&[other]), own(far)].concat())));
                drawn.push(("trunk", links(dice, theme, own(&[one, other]))));
            }
        }
    }
    // All links are of one rate: a host in the middle of a line has two, and one adapter.
    let common = common(dice, theme, !ring && !switches.is_empty());
    (entries(drafted), Some(several(common, drawn)))
}

/// The switches that frames from one host to another pass, by their places in [`HOSTS`].
pub(super) fn switches_between((hosts, switches): (u64, u64), from: usize, to: usize) -> Vec<&'static str> {
    let at = |host: usize| SWITCHES[usize::from(switches > 1 && host >= hosts as usize / 2)];
    match switches {
        0 => Vec::new(),
        _ if at(from) == at(to) => vec![at(from)],
        _ => vec![at(from), at(to)],
    }
}

fn host_node(dice: &mut Dice, theme: &Theme, name: &str) -> Drafted<RawNode> {
    let copied = name == HOSTS[3];
    // A node uses the common part: else a word without a bound would stand in a file with one.
    let own = match theme.row {
        _ if name == HOSTS[0] => 0.0,
        Some(_) => 0.1,
        None => 0.4,
    };
    table!(RawNode {
        kind: dice.maybe(0.1, |_| word::<NodeKind>("host")),
        count: when(copied, || dice.maybe(0.4, |dice| whole(dice.between(1, 3)))),
        host: dice.maybe(own, |dice| part(host(dice, theme))),
        adapter: match (name == HOSTS[HUB], theme.divided) {
            (true, true) => {
                let other = if theme.mixed { dice.pick(&OTHERS) } else { theme.adapter };
                let [left, right, up] = ADAPTERS;
                let left = (left, adapter(dice, theme));
                let right = (right, adapter(dice, &Theme { adapter: other, ..*theme }));
                let third = theme.hub.then(|| (up, adapter(dice, theme)));
                several(Drafted::new(), [left, right].into_iter().chain(third).collect())
            }
            (true, false) if theme.mixed => {
                let other = dice.pick(&OTHERS);
                one(part(adapter(dice, &Theme { adapter: other, ..*theme })))
            }
            _ if theme.row.is_some_and(|row| row.is_told_late(name)) => {
                one(part(adapter(dice, &Theme { adapter: AdapterTheme::Generic, ..*theme })))
            }
            _ => one(dice.maybe(own, |dice| part(adapter(dice, theme)))),
        },
        ..
    })
}

/// Orders at ports that keep rates apart, but for `hsfq`.
const BY_RATE: [&str; 8] = ["virtual_clock", "wfq", "wf2q_plus", "scfq", "sfq", "drr", "hrr", "rcsp"];

/// Orders at ports that have a bound behind which no packet is held.
const WITH_A_BOUND: [&str; 9] =
    ["virtual_clock", "wfq", "wf2q_plus", "scfq", "sfq", "hsfq", "drr", "multiclass_edf", "fixed_priority"];

fn switch(dice: &mut Dice, theme: &Theme) -> Drafted<RawNode> {
    let told_late = theme.row.is_some_and(|row| row.tells_late);
    let forwarding = match theme.null() && !theme.mixed && !told_late {
        true => dice.any::<Forwarding>(0.6),
        false => dice.maybe(0.3, |_| word::<Forwarding>("store_and_forward")),
    };
    let latency = dice.maybe(0.5, |dice| quantity(dice.span(Span::from_us(1), Span::from_us(100))));
    let by_rate = theme.by_rate && (theme.row.is_none() || dice.rows().chance(0.6));
    // Of all in a row one without a bound is enough.
    let usual = theme.plain && dice.rows().chance(0.95);
    let order = match dice.below(10) {
        _ if usual && !by_rate => dice.rows().chance(0.1).then_some("fixed_priority"),
        0..9 if by_rate => {
            let order = dice.pick(&BY_RATE);
            let likely = if theme.groups > 0 { 0.6 } else { 0.1 };
            Some(if dice.aside().chance(likely) { "hsfq" } else { order })
        }
        0..8 => dice.chance(0.3).then_some("multiclass_edf"),
        _ if usual => Some(dice.pick(&BY_RATE)),
        _ => Some(dice.word::<Order>("fixed_priority", 0.2)),
    };
    // Else some of the many orders would hardly ever be drawn.
    let any = theme.scheduling == Scheduling::Anything && dice.aside().chance(0.8);
    let order = if any { Some(dice.aside().word::<Order>("fixed_priority", 0.1)) } else { order };
    let order = match theme.excess && !any && dice.excess().chance(0.7) {
        true => Some(dice.excess().pick(&WITH_A_BOUND)),
        false => order,
    };
    let queued = theme.fifo && dice.queues().chance(0.95);
    let by_level = queued && (theme.leveled || dice.queues().chance(0.1));
    let order = if by_level {
        Some("strict_priority")
    } else if queued {
        Some("fifo")
    } else {
        order
    };
    let said = if by_level { Said::drawn(dice, theme) } else { Said::none() };
    table!(RawNode {
        kind: word::<NodeKind>("switch"),
        count: unsaid(),
        clock: unsaid(),
        host: unsaid(),
        adapter: unsaid(),
        forwarding: if queued { unsaid() } else { forwarding },
        latency: latency,
        order: order.map_or_else(unsaid, word::<Order>),
        frame: order.map_or_else(unsaid, |order| frame(dice, order)),
        horizon: match theme.row.is_some() {
            true => dice.rows().maybe(0.7, |dice| quantity(dice.span(Span::from_ms(1), Span::from_secs(4)))),
            false => dice.maybe(0.3, |dice| quantity(dice.span(Span::from_us(100), Span::from_ms(50)))),
        },
        early_above_best_effort: dice.maybe(0.2, |dice| boolean(dice.chance(0.7))),
        memory: dice.maybe(0.4, |dice| quantity(Bytes::new(dice.between(1, 40_000)))),
        shared_memory: dice.maybe(0.4, |dice| quantity(Bytes::new(dice.between(1, 40_000)))),
        shapers: said.shapers,
        gates: said.gates,
        gate_offset: said.gate_offset,
        cyclic: said.cyclic,
        ats: said.ats,
        preemptable_from: said.preemptable_from,
        policing: when(queued, || dice
            .queues()
            .maybe(0.2, |dice| quantity(dice.span(Span::from_us(1), Span::from_ms(50))))),
        ..plain(dice, NodeKind::Switch)
    })
}

/// Groups of channels: each a part of the links' rate, or of one before it.
pub(super) fn groups(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Entries<Part<RawGroup>>>> {
    let mut rates: Vec<Rate> = Vec::new();
    let mut drafted = Vec::new();
    for (n, called) in GROUPS[..theme.groups].iter().enumerate() {
        let outer = if n > 0 && dice.chance(0.4) { Some(dice.below(n as u64) as usize) } else { None };
        let whole = outer.map_or(8_000_000_000_000 / theme.link.per_byte.ceil().as_ps().max(1000), |n| {
            rates[n].bits_per_sec()
        });
        let rate = Rate::from_bits_per_sec((whole / dice.pick(&[1, 2, 2, 3, 4])).max(8));
        rates.push(rate);
        let within = outer.map_or_else(unsaid, |outer| name(GROUPS[outer]));
        drafted.push((*called, table!(RawGroup { rate: quantity(rate), within: within })));
    }
    if drafted.is_empty() { unsaid() } else { entries(drafted) }
}

/// The common keys of all links: their rate, where a switch needs one.
fn common(dice: &mut Dice, theme: &Theme, needed: bool) -> Drafted<RawNetwork> {
    let says = needed || dice.chance(0.4) && !matches!(theme.place, Place::Nodes { ring: true, .. });
    let framed = says && (dice.chance(0.5) || theme.preempts);
    // Not much slower than what the load was drawn for.
    let fast = theme.link.per_byte.ceil().as_ps().max(1000);
    let rate = Rate::from_bits_per_sec(8_000_000_000_000 / fast * dice.between(1, 10));
    let short = theme.packet <= Bytes::new(1500);
    table!(RawNetwork {
        rate: when(says, || quantity(rate)),
        framing: match framed {
            true if theme.preempts => word::<Framing>(dice.queues().pick(&["ethernet", "ethernet_vlan"])),
            true => dice.any::<Framing>(1.0),
            false => unsaid(),
        },
        mtu: when(framed && !short || says && dice.chance(0.1), || quantity(
            theme.packet + Bytes::new(dice.below(100))
        )),
        impairments: impaired(dice, theme, 0.1),
        ..
    })
}

/// Impairments of links, which FIFO queues have seldom. A closed loop would stop with the first message
/// that is lost.
fn impaired(dice: &mut Dice, theme: &Theme, chance: f64) -> Drawn<Option<Part<RawImpairments>>> {
    let drawn = dice.maybe(chance, |dice| part(impairments(dice)));
    if theme.fifo && dice.queues().chance(0.9) || theme.loops { unsaid() } else { drawn }
}

fn links(dice: &mut Dice, theme: &Theme, joins: Vec<String>) -> Drafted<RawNetwork> {
    table!(RawNetwork {
        kind: dice.maybe(0.2, |_| word::<NetworkKind>("point_to_point")),
        joins: ends(joins),
        propagation: dice.maybe(0.4, |dice| quantity(dice.span(Span::from_us(1), Span::from_ms(3)))),
        mtu: when(theme.careless, || dice.maybe(0.2, |_| quantity(Bytes::new(64)))),
        impairments: impaired(dice, theme, if theme.row.is_some() { 0.02 } else { 0.1 }),
        ..
    })
}

fn token_ring(dice: &mut Dice, joins: Vec<String>, rotation: Span) -> Drafted<RawNetwork> {
    // One more than there can be, with copies.
    let stations = joins.len() as u64 + 3;
    table!(RawNetwork {
        kind: word::<NetworkKind>("token_ring"),
        joins: ends(joins),
        propagation: dice.maybe(0.4, |dice| quantity(dice.span(Span::from_us(1), Span::from_us(50)))),
        rotation: quantity(rotation),
        holding: quantity(rotation / stations),
        ..
    })
}
