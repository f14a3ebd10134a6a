//! Channels that answer others between named nodes, and closed loops of two.

use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};

use super::channel::{End, Hops};
use super::dice::Dice;
use super::sketch::{Drafted, name, part, quantity, table, unsaid, whole, word};
use super::theme::{Place, Theme};
use crate::choice::SourceKind;
use crate::raw::{RawChannel, RawSource};

/// The parts of a channel that its answer needs.
pub(super) struct Answered<'a> {
    pub(super) name: &'a str,
    pub(super) ends: (&'a End, &'a End, &'a Hops),
    pub(super) count: u64,
    pub(super) size: Bytes,
    pub(super) interval: Span,
    pub(super) deadline: Span,
}

/// The answer to a channel.
pub(super) struct Answer {
    pub(super) channel: Drafted<RawChannel>,
    /// The source of the channel that is answered, if that answers in turn.
    pub(super) back: Option<Drafted<RawSource>>,
}

/// An answer to `answered`, or none.
pub(super) fn answer(dice: &mut Dice, theme: &Theme, answered: &Answered<'_>) -> Option<Answer> {
    let (from, to, route) = answered.ends;
    if !matches!(theme.place, Place::Nodes { .. }) || route.node.is_some() || theme.chancy {
        return None;
    }
    let dice = dice.own("channel.answers");
    if !dice.chance(if theme.loops { 0.6 } else { 0.1 }) {
        return None;
    }
    let called = format!("{}-back", answered.name);
    let (window, back_window) = (dice.pick(&[1, 1, 1, 2, 4]), dice.pick(&[1, 1, 1, 3]));
    let real_time = dice.chance(0.8);
    let interval = match dice.below(4) {
        0 => answered.interval * 2,
        1 => answered.interval / 2,
        _ => answered.interval,
    };
    let size = Bytes::new(dice.between(1, answered.size.get()));
    let guaranteed = |some: Span| if real_time { quantity(some) } else { unsaid() };
    let channel = table!(RawChannel {
        name: name(called.clone()),
        class: word::<Class>(if real_time { "real_time" } else { "best_effort" }),
        from: again(to),
        to: again(from),
        count: if answered.count == 1 { unsaid() } else { whole(answered.count) },
        max_message: quantity(size),
        // The queue of best effort has room for a round.
        burst: whole(dice.pick(&[1, 1, 2, 5]).max(if real_time { 1 } else { window })),
        min_interval: guaranteed(interval.max(Span::from_us(20))),
        deadline: guaranteed(answered.deadline),
        level: match real_time && (theme.leveled || theme.shaped || theme.by_hand) {
            true => whole(dice.pick(&[0, 1, 2, 5])),
            false => unsaid(),
        },
        source: part(rounds(window, answered.name)),
        ..
    });
    let back = theme.loops && dice.chance(0.7);
    Some(Answer { channel, back: back.then(|| rounds(back_window, &called)) })
}

fn again(end: &End) -> End {
    let mut copy: End = unsaid();
    copy.node = end.node.clone();
    copy
}

fn rounds(window: u64, after: &str) -> Drafted<RawSource> {
    table!(RawSource {
        kind: word::<SourceKind>("rounds"),
        outstanding: whole(window),
        after: name(after),
        ..
    })
}
