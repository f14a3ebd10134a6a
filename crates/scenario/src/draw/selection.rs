//! `shapers`, `gates`, `cyclic`, `ats` and `preemptable_from` of a switch by strict priority, and
//! `shapers` of a host.

use laxity_units::{Rate, Span};

use super::dice::Dice;
use super::sketch::{Drafted, Drawn, SketchNode, boolean, items, parts, quantity, table, unsaid, whole};
use super::theme::Theme;
use crate::leaf::{Bounded, Delay, Whole};
use crate::raw::{RawAts, RawCyclic, RawShaper, RawWindow};
use crate::written::{List, Part, Written};

/// The levels that channels of such scenarios have.
const LEVELS: [u64; 5] = [0, 1, 2, 5, 30];

type Parts<R> = Drawn<Option<List<Part<R>>>>;

/// The keys of a switch about its classes: one of the five kinds, a pair of them, or none.
pub(super) struct Said {
    pub(super) shapers: Parts<RawShaper>,
    pub(super) gates: Parts<RawWindow>,
    pub(super) gate_offset: Drawn<Option<Written<Bounded<Delay>>>>,
    pub(super) cyclic: Parts<RawCyclic>,
    pub(super) ats: Parts<RawAts>,
    pub(super) preemptable_from: Drawn<Option<Written<Whole<1, 31>>>>,
}

impl Said {
    pub(super) fn none() -> Self {
        Self {
            shapers: unsaid(),
            gates: unsaid(),
            gate_offset: unsaid(),
            cyclic: unsaid(),
            ats: unsaid(),
            preemptable_from: unsaid(),
        }
    }

    /// Of a switch by strict priority.
    pub(super) fn drawn(dice: &mut Dice, theme: &Theme) -> Self {
        let said = Self::of_one_kind(dice.queues(), theme);
        let dice = dice.pairs();
        if said.gates.node.is_some() && dice.chance(0.5) {
            return Self { shapers: shapers(dice, theme, 60), ..said };
        }
        match said.preemptable_from.node {
            // The gate of the other levels is that of best effort.
            Some(SketchNode::Whole(from)) if dice.chance(0.5) => {
                Self { gates: gates(dice, theme, from), ..said }
            }
            _ => said,
        }
    }

    fn of_one_kind(dice: &mut Dice, theme: &Theme) -> Self {
        if theme.preempts && dice.chance(0.7) {
            let level = dice.pick(&[1, 2, 3, 6, 31]);
            return Self { preemptable_from: whole(level), ..Self::none() };
        }
        if dice.chance(if theme.regulated { 0.9 } else { 0.05 }) {
            return Self { ats: ats(dice), ..Self::none() };
        }
        match dice.below(5) {
            0 => Self { shapers: shapers(dice, theme, 40), ..Self::none() },
            1 => {
                let offset = dice.maybe(0.5, |dice| quantity(dice.span(Span::from_us(1), Span::from_ms(20))));
                Self { gates: gates(dice, theme, 32), gate_offset: offset, ..Self::none() }
            }
            2 => Self { cyclic: cyclic(dice, theme), ..Self::none() },
            _ => Self::none(),
        }
    }
}

/// Mostly the highest levels, since a cyclic class below others has no bound, and mostly one cycle.
fn cyclic(dice: &mut Dice, theme: &Theme) -> Parts<RawCyclic> {
    let longest = theme.link.transmit(theme.packet).max(Span::from_us(1));
    let number = dice.between(1, LEVELS.len() as u64) as usize;
    let levels: Vec<u64> = LEVELS[..number].iter().copied().filter(|_| dice.chance(0.9)).collect();
    let cycle = longest.saturating_mul(dice.pick(&[1, 4, 8, 16, 40]));
    let class = |level| {
        let own = if dice.chance(0.05) { cycle.saturating_mul(2) } else { cycle };
        table!(RawCyclic { level: whole(level), cycle: quantity(own) })
    };
    parts(levels.into_iter().map(class).collect())
}

/// Mostly all levels: a class without regulators before one with them mostly has no bound.
fn ats(dice: &mut Dice) -> Parts<RawAts> {
    let levels = LEVELS.into_iter().filter(|_| dice.chance(0.9)).collect::<Vec<_>>();
    let class = |level| table!(RawAts { level: whole(level) });
    parts(levels.into_iter().map(class).collect())
}

/// Each has `most` of 40 parts of the link at most.
pub(super) fn shapers(dice: &mut Dice, theme: &Theme, most: u64) -> Parts<RawShaper> {
    let link = 8_000_000_000_000 / theme.link.per_byte.ceil().as_ps().max(1000);
    let levels = LEVELS.into_iter().chain([31]).filter(|_| dice.chance(0.4)).collect::<Vec<_>>();
    let shaper = |level| {
        let slope = Rate::from_bits_per_sec((link * dice.between(1, most) / 40).max(8));
        table!(RawShaper { level: whole(level), idle_slope: quantity(slope) })
    };
    parts(levels.into_iter().map(shaper).collect())
}

/// Windows with levels above `below`.
fn gates(dice: &mut Dice, theme: &Theme, below: u64) -> Parts<RawWindow> {
    let longest = theme.link.transmit(theme.packet).max(Span::from_us(1));
    let number = dice.between(2, 5);
    let window = |n| -> Drafted<RawWindow> {
        // A gate that never opens leaves its class without a bound.
        let open = if n == 0 && dice.chance(0.7) { 1.0 } else { 0.4 };
        let levels: Vec<u64> =
            LEVELS.into_iter().filter(|_| dice.chance(open)).filter(|level| *level < below).collect();
        let length = longest.saturating_mul(dice.between(2, 16)) / 2;
        table!(RawWindow {
            length as "for": quantity(length),
            levels: items(levels.into_iter().map(whole).collect()),
            best_effort: dice.maybe(0.7, |dice| boolean(dice.chance(0.8))),
        })
    };
    parts((0..number).map(window).collect())
}
