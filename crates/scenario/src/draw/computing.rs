//! `[host.compute.NAME]`: what is left of a CPU that is drawn for its channels; `reader`: programs
//! that take messages.

use laxity_units::Span;

use super::dice::Dice;
use super::sketch::{Drafted, Drawn, entries, part, quantity, table, unsaid, whole};
use super::theme::{Place, Theme};
use crate::raw::{RawComputing, RawReader};
use crate::written::{Entries, Part};

const NAMES: [&str; 2] = ["film", "rest"];

/// Up to two applications.
pub(super) fn computing(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Entries<Part<RawComputing>>>> {
    let many = 1 + dice.below(2) as usize;
    entries(NAMES[..many].iter().map(|name| (*name, application(dice, theme))).collect())
}

fn application(dice: &mut Dice, theme: &Theme) -> Drafted<RawComputing> {
    let slice = dice.span(Span::from_us(50), Span::from_ms(2));
    if dice.chance(0.4) {
        return table!(RawComputing { core: super::cores::core(dice, theme), slice: quantity(slice), .. });
    }
    let period = dice.span(Span::from_ms(2), Span::from_ms(60));
    let most = if theme.careless { 1 } else { 6 };
    let budget = dice.span(Span::from_us(20), period / most);
    table!(RawComputing {
        core: super::cores::core(dice, theme),
        budget: quantity(budget),
        period: quantity(period),
        deadline: dice.maybe(0.5, |dice| quantity(dice.span((budget * 2).min(period), period * most / 4))),
        start: dice.maybe(0.4, |dice| quantity(dice.part_of(period))),
        level: dice.maybe(0.2, |dice| whole(dice.below(31))),
        slice: quantity(slice),
    })
}

/// The program that takes the messages of a channel. All channels that a host may receive have as
/// many packets; `work` is the CPU time of a message.
pub(super) fn reader(dice: &mut Dice, theme: &Theme, work: Span) -> Drawn<Option<Part<RawReader>>> {
    let received = match theme.place {
        // A program of its own takes what is received at an interface.
        Place::Nodes { .. } => !theme.ends,
        // Whether channels end at a host hangs on more than the place.
        Place::Alone | Place::Path(_) | Place::Stations(_) | Place::Ring(_) | Place::Ethernet(_) => {
            theme.careless
        }
    };
    if !received {
        return unsaid();
    }
    dice.maybe(if theme.plain { 0.06 } else { 0.3 }, |dice| {
        part(table!(RawReader {
            core: super::cores::core(dice, theme),
            work: dice.maybe(0.8, |dice| quantity(dice.part_of(work / 2))),
            work_byte: dice.maybe(0.3, |dice| quantity(Span::from_ps(dice.below(20_000)))),
            slots: dice.maybe(0.4, |dice| whole(dice.pick(&[1, 1, 2, 8]))),
        }))
    })
}
