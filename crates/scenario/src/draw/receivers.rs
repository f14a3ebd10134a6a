//! Further receivers of a channel, at switches between named nodes.

use super::channel::{End, Hops};
use super::dice::Dice;
use super::names::HOSTS;
use super::sketch::{Drawn, SketchNode, name, parts, table, that, unsaid};
use super::theme::{Place, Theme};
use crate::raw::RawFurther;
use crate::written::{List, Part};

pub(super) type Receivers = Drawn<Option<List<Part<RawFurther>>>>;

/// The further receivers of a channel with those ends.
pub(super) fn receivers(dice: &mut Dice, theme: &Theme, (from, to, route): (&End, &End, &Hops)) -> Receivers {
    let Place::Nodes { hosts, switches: 1.., .. } = theme.place else { return unsaid() };
    let place = |end: &End| match &end.node {
        Some(SketchNode::Text(name)) => HOSTS.iter().position(|host| host == name),
        _ => None,
    };
    let (Some(from), Some(to), None) = (place(from), place(to), &route.node) else { return unsaid() };
    let dice = dice.own("channel.receivers");
    // A host sends a multicast over one link.
    if theme.row.is_some_and(|row| row.relays(from)) && !theme.careless {
        return unsaid();
    }
    if theme.chancy || !dice.chance(if theme.fifo { 0.4 } else { 0.15 }) {
        return unsaid();
    }
    let others = (0..hosts as usize).filter(|host| ![from, to].contains(host));
    // A receiver in a row of switches would be passed through.
    let relays = |one: usize, other: usize| {
        theme.row.is_some_and(|row| row.between(from, one).contains(&HOSTS[other]))
    };
    let apart = others.filter(|host| theme.careless || !relays(*host, to) && !relays(to, *host));
    let mut found = Vec::new();
    for host in apart.filter(|_| dice.chance(0.7)).collect::<Vec<_>>() {
        let passed = |other: &usize| relays(host, *other) || relays(*other, host);
        if found.iter().all(|other| !passed(other)) {
            found.push(host);
        }
    }
    let further = |host: usize| table!(RawFurther { to: that(name(HOSTS[host])), route: unsaid() });
    parts(found.into_iter().map(further).collect())
}
