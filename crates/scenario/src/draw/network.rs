//! `[path]`, `[network]` and `[[fault]]`.

use laxity_units::{Bytes, Rate, Span};

use super::dice::Dice;
use super::names::{ADAPTERS, HOSTS, HUB};
use super::sketch::{
    Drafted, Drawn, boolean, items, name, part, quantity, share, table, that, this, unsaid, when, whole, word,
};
use super::theme::{Place, Theme};
use crate::choice::{FaultKind, NetworkKind};
use crate::raw::{RawFault, RawImpairments, RawNetwork, RawOthers, RawPath};
use crate::written::Part;

pub(super) fn path(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Part<RawPath>>> {
    let propagation = |dice: &mut Dice| quantity(dice.span(Span::from_us(1), Span::from_ms(3)));
    match theme.place {
        Place::Alone => dice.maybe(0.05, |dice| {
            part(table!(RawPath {
                relays: dice.maybe(0.5, |_| whole(0)),
                receive: dice.maybe(0.5, |_| boolean(false)),
                propagation: dice.maybe(0.5, propagation),
            }))
        }),
        Place::Path(relays) => part(table!(RawPath {
            relays: if relays == 0 { unsaid() } else { whole(relays) },
            receive: match theme.careless {
                true => boolean(dice.chance(0.5)),
                false if relays == 0 => boolean(true),
                false => dice.maybe(0.2, |_| boolean(true)),
            },
            propagation: dice.maybe(0.4, propagation),
            ..
        })),
        Place::Stations(_) | Place::Ring(_) => {
            dice.maybe(0.3, |dice| part(table!(RawPath { propagation: dice.maybe(0.8, propagation), .. })))
        }
        Place::Nodes { .. } => unsaid(),
        // A collision has to be heard within a slot.
        Place::Ethernet(_) => dice.maybe(0.3, |dice| {
            part(table!(RawPath {
                propagation: dice.maybe(0.8, |dice| quantity(Span::from_ns(dice.between(0, 2000)))),
                ..
            }))
        }),
    }
}

/// The network of nodes without names.
pub(super) fn network(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Part<RawNetwork>>> {
    let rotation = dice.span(Span::from_ms(2), Span::from_ms(10));
    let impaired = if theme.nodes() > 1 { 0.2 } else { 0.03 };
    let impairments = dice.maybe(impaired, |dice| part(impairments(dice)));
    let kind = match theme.place {
        Place::Alone | Place::Path(_) if impairments.node.is_none() && !dice.chance(0.1) => return unsaid(),
        Place::Alone | Place::Path(_) | Place::Stations(_) | Place::Nodes { .. } => "point_to_point",
        Place::Ring(_) => "token_ring",
        Place::Ethernet(_) => "csma",
    };
    let (ring, ethernet) = (kind == "token_ring", kind == "csma");
    let unlike = ring && dice.requests().chance(0.3);
    part(table!(RawNetwork {
        kind: word::<NetworkKind>(kind),
        joins: unsaid(),
        propagation: unsaid(),
        framing: unsaid(),
        mtu: unsaid(),
        stations: match theme.place {
            Place::Alone => unsaid(),
            Place::Path(_) => dice.maybe(0.3, |_| whole(theme.nodes())),
            _ => whole(theme.nodes()),
        },
        rotation: when(ring, || quantity(rotation)),
        holding: when(ring && !unlike, || quantity(rotation / (theme.nodes() + 1))),
        holdings: when(unlike, || {
            let most = rotation / (theme.nodes() + 1);
            items((0..theme.nodes()).map(|_| quantity(most / dice.requests().between(1, 3))).collect())
        }),
        latency: when(ring, || dice.maybe(0.4, |dice| quantity(Span::from_us(dice.between(0, 20))))),
        handling: when(ring, || dice.maybe(0.3, |dice| quantity(Span::from_us(dice.between(0, 60))))),
        rate: when(ethernet, || quantity(Rate::from_bits_per_sec(dice.pick(&[10_000_000, 100_000_000])))),
        others: when(ethernet, || dice.maybe(0.4, |dice| part(others(dice)))),
        impairments: impairments,
    }))
}

fn others(dice: &mut Dice) -> Drafted<RawOthers> {
    table!(RawOthers {
        stations: whole(dice.between(1, 5)),
        frame: quantity(Bytes::new(dice.between(64, 1500))),
        load: quantity(Rate::from_bits_per_sec(dice.between(100_000, 4_000_000))),
    })
}

pub(super) fn impairments(dice: &mut Dice) -> Drafted<RawImpairments> {
    let reorders = dice.chance(0.2);
    table!(RawImpairments {
        delay: dice.maybe(0.5, |dice| quantity(dice.span(Span::from_us(10), Span::from_ms(20)))),
        jitter: dice.maybe(0.4, |dice| quantity(dice.span(Span::from_us(10), Span::from_ms(20)))),
        loss: dice.maybe(0.25, |dice| share(dice.pick(&[0.0, 0.01, 0.2, 1.0]))),
        corruption: dice.maybe(0.1, |dice| share(dice.pick(&[0.0, 0.05, 0.5]))),
        duplication: dice.maybe(0.2, |dice| share(dice.pick(&[0.0, 0.05, 0.5, 1.0]))),
        reordering: when(reorders, || share(dice.pick(&[0.01, 0.3, 1.0]))),
        reorder_by: when(reorders, || quantity(dice.span(Span::from_us(10), Span::from_ms(10)))),
    })
}

/// Faults within a run of `length`.
pub(super) fn faults(dice: &mut Dice, theme: &Theme, length: Span) -> Vec<Drafted<RawFault>> {
    let breaks = if theme.null() { 0.03 } else { 0.1 };
    if !dice.chance(breaks) {
        return Vec::new();
    }
    (0..dice.between(1, 2)).map(|_| fault(dice, theme, length)).collect()
}

fn fault(dice: &mut Dice, theme: &Theme, length: Span) -> Drafted<RawFault> {
    // A null device has no part that could break; its interrupts can get lost.
    let kind = match theme.null() && !theme.careless {
        true => "lost_interrupts",
        // Nodes with signalling have faults of their own.
        false if dice.chance(0.4) => "stall",
        false => dice.pick(&["lost_interrupts", "stall", "full_queues", "stop"]),
    };
    // Repeated stalls, so short that there is a bound beside them.
    let stalls =
        (kind == "stall" && dice.chance(0.7)).then(|| dice.span(Span::from_us(1), Span::from_us(200)));
    let of_adapter = theme.divided && dice.chance(0.5);
    table!(RawFault {
        kind: word::<FaultKind>(kind),
        at: quantity(dice.part_of(length)),
        length as "for": match stalls {
            Some(stall) => quantity(stall),
            None => dice.maybe(0.7, |dice| quantity(dice.part_of(length / 2))),
        },
        every: match stalls {
            Some(stall) => quantity(stall * dice.pick(&[2, 5, 20, 100])),
            None => unsaid(),
        },
        node: match theme.place {
            Place::Nodes { .. } if of_adapter => that(name(HOSTS[HUB])),
            Place::Nodes { .. } => {
                // The second may have another adapter than the rest, which may be a null device.
                let known = if theme.mixed { &HOSTS[..1] } else { &HOSTS[..2] };
                dice.maybe(0.4, |dice| that(name(dice.pick(known))))
            }
            _ => dice.maybe(0.4, |dice| this(whole(dice.below(theme.nodes())))),
        },
        network: unsaid(),
        adapter: match of_adapter {
            true if theme.mixed => name(ADAPTERS[0]),
            true => name(dice.pick(if theme.hub { &ADAPTERS } else { &ADAPTERS[..2] })),
            false => unsaid(),
        },
        resource: when(kind == "stall", || name("processor")),
        share: match kind {
            "lost_interrupts" => dice.maybe(0.6, |dice| share(dice.pick(&[0.1, 0.5, 1.0]))),
            _ => unsaid(),
        },
    })
}
