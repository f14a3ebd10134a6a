//! Several cores, and what is placed on them.

use super::dice::Dice;
use super::sketch::{Drawn, items, unsaid, whole};
use super::theme::Theme;
use crate::raw::CoreNumber;
use crate::written::{List, Written};

/// A core, named or left to its turn. Where there is only one some are named all the same, and
/// careless ones that are not there.
pub(super) fn core(dice: &mut Dice, theme: &Theme) -> Drawn<Option<Written<CoreNumber>>> {
    let dice = dice.latest();
    match theme.cores {
        1 if theme.careless => dice.maybe(0.2, |dice| whole(dice.below(3))),
        1 => dice.maybe(0.02, |_| whole(0)),
        cores => dice.maybe(0.4, |dice| whole(dice.below(cores + u64::from(theme.careless)))),
    }
}

/// The cores that an adapter interrupts.
pub(super) fn interrupts(dice: &mut Dice, theme: &Theme) -> Drawn<Option<List<Written<CoreNumber>>>> {
    let dice = dice.latest();
    let said = if theme.cores > 1 { 0.5 } else { 0.02 };
    match dice.chance(said) {
        true => items((0..dice.between(1, 3)).map(|_| whole(dice.below(theme.cores))).collect()),
        false => unsaid(),
    }
}
