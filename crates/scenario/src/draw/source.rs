//! `source`: what keeps the contract, sits at its edge, or breaks it in rate or size.

use laxity_model::source::Allowance;
use laxity_model::source::mpeg::Film;
use laxity_units::{Bytes, Rate, Span};

use super::dice::Dice;
use super::sketch::{
    Drafted, Drawn, boolean, detailed, factor, items, parts, quantity, scalar, table, text, that, this,
    unsaid, when, whole, word,
};
use super::theme::Theme;
use crate::choice::SourceKind;
use crate::leaf::{Bounded, Size, choose};
use crate::raw::{RawMessage, RawSizes, RawSource};
use crate::written::Either;

/// Values of a channel that its source needs.
pub(super) struct Contract {
    pub(super) real_time: bool,
    pub(super) size: Bytes,
    /// The smallest message that may be sent.
    pub(super) smallest: Bytes,
    pub(super) burst: u64,
    /// `I_min`; for best effort, the approximate interval of messages.
    pub(super) interval: Span,
    pub(super) message_slots: u64,
    /// Sends no more than its contract has it.
    pub(super) conforms: bool,
    /// A packet without a buffer continues with a later deadline.
    pub(super) decays: bool,
    /// A packet without a buffer is dropped, so a source that waits for completions may stop for
    /// ever.
    pub(super) drops: bool,
}

/// The traces that scenarios are drawn with, by name.
pub(super) const TRACES: [(&str, &str); 2] =
    [("sizes.txt", "1\n700\n4096\n20000\n64\n9000\n300\n4097\n"), ("even.txt", "2000\n2000\n2000\n")];

pub(super) fn source(dice: &mut Dice, theme: &Theme, contract: &Contract) -> Drafted<RawSource> {
    // Of a message of one packet, or of the first of several.
    let free = theme.costs.first_packet.min(theme.costs.single_packet).is_zero();
    let paradigm = choose(theme.paradigm).expect("a paradigm of the format");
    // An adapter that drops what it fetches would fetch without end at one instant. Single nodes can have
    // one with stages.
    let stages = !theme.null() || theme.mixed || theme.row.is_some();
    let at_once = free && stages && theme.costs.hands_on_at_once(paradigm);
    let kind = match kind(dice, contract) {
        // A source that never waits for room sends without end at one instant.
        "continuous" if !(theme.enforced || theme.careless) => "periodic",
        "continuous" | "closed" if contract.decays && !theme.careless => "periodic",
        "continuous" if contract.drops && free => "periodic",
        "continuous" | "closed" if at_once && !theme.careless => "periodic",
        kind => kind,
    };
    let timed = matches!(kind, "periodic" | "bursty" | "poisson" | "adversary");
    let traced = matches!(kind, "recorded" | "mpeg");
    let sized = timed || matches!(kind, "continuous" | "closed");
    let listed = if kind == "script" { messages(dice, contract) } else { Vec::new() };
    let broken = contract.real_time && !contract.conforms;
    let quick = broken && dice.chance(0.6);
    let big = broken && !quick;
    let burst = match kind {
        "bursty" | "adversary" if quick && dice.chance(0.4) => whole(contract.burst * dice.between(2, 8)),
        "bursty" | "adversary" if contract.real_time => {
            dice.maybe(0.3, |dice| whole(dice.between(1, contract.burst)))
        }
        "bursty" | "adversary" | "periodic" => dice.maybe(0.4, |dice| whole(dice.between(1, 6))),
        _ => unsaid(),
    };
    // A periodic source with a burst is a bursty one; within a contract it keeps to one message.
    let burst = if kind == "periodic" && contract.conforms { unsaid() } else { burst };
    let interval = interval(dice, theme, contract, quick);
    let rated = timed && !contract.real_time && dice.chance(0.3);
    let mpeg = kind == "mpeg" && dice.chance(0.3);
    let film = kind == "mpeg" && !mpeg;
    let staggers = traced && dice.chance(0.2);
    table!(RawSource {
        kind: word::<SourceKind>(kind),
        core: super::cores::core(dice, theme),
        interval: match kind {
            "recorded" => quantity(interval.unwrap_or(contract.interval)),
            "mpeg" => dice.maybe(0.7, |_| quantity(contract.interval)),
            _ if timed && !rated => match interval {
                Some(interval) => quantity(interval),
                None => unsaid(),
            },
            _ => unsaid(),
        },
        rate: when(rated, || quantity(Rate::of(contract.size, contract.interval))),
        multiple: match kind {
            "periodic" | "bursty" | "poisson" | "recorded" if quick => {
                dice.maybe(0.4, |dice| factor(dice.pick(&[1.5, 2.0, 4.0, 7.0])))
            }
            "periodic" | "bursty" => dice.maybe(0.1, |dice| factor(dice.pick(&[0.5, 0.75, 1.0]))),
            _ => unsaid(),
        },
        burst: burst,
        size: when(sized, || sizes(dice, theme, contract, big)),
        outstanding: match kind {
            "closed" => {
                let most = if theme.careless { 2 * contract.message_slots } else { contract.message_slots };
                dice.maybe(0.6, |dice| whole(dice.between(1, most)))
            }
            _ => unsaid(),
        },
        phase: match timed || traced || kind == "script" {
            true if theme.in_phase || kind == "script" => dice.maybe(0.05, |_| that(quantity(Span::ZERO))),
            // A period, or several: what begins there meets what others begin at that instant.
            true if timed && dice.excess().chance(0.2) => {
                that(quantity(contract.interval * dice.excess().between(1, 3)))
            }
            true => match dice.below(4) {
                0 => unsaid(),
                1 => this(word("random")),
                _ => that(quantity(dice.part_of(contract.interval))),
            },
            false => unsaid(),
        },
        allowance: when(kind == "adversary", || dice.any::<Allowance>(0.6)),
        trace: when(kind == "recorded", || text(dice.pick(&TRACES).0)),
        film: when(film, || dice.any::<Film>(1.0)),
        min: when(mpeg, || quantity(Bytes::new(100))),
        max: when(mpeg, || quantity(Bytes::new(24000))),
        mean: when(mpeg, || quantity(Bytes::new(3000))),
        deviation: when(mpeg, || quantity(Bytes::new(2500))),
        pattern: when(mpeg, || dice.maybe(0.5, |_| text("IBBP"))),
        stagger: when(staggers, || quantity(dice.part_of(contract.interval * 5))),
        start: match traced && !staggers {
            true => dice.maybe(0.4, |dice| match dice.chance(0.5) {
                true => this(whole(dice.below(3))),
                false => that(word("random")),
            }),
            false if staggers => dice.aside().maybe(0.3, |_| that(word("random"))),
            false => unsaid(),
        },
        after: unsaid(),
        messages: parts(listed),
        repeat: when(traced, || dice.maybe(0.3, |dice| boolean(dice.chance(0.5)))),
    })
}

/// A list of a few messages: a burst and then one an interval, or any sequence.
fn messages(dice: &mut Dice, contract: &Contract) -> Vec<Drafted<RawMessage>> {
    let mut at = dice.part_of(contract.interval);
    let orderly = contract.real_time && contract.conforms;
    let mut listed = Vec::new();
    for n in 0..dice.between(1, 8) {
        let count = match n {
            0 => dice.between(1, contract.burst),
            _ if orderly => 1,
            _ => dice.pick(&[1, 1, 1, 2, 7]),
        };
        let size = dice.between(contract.smallest.get(), contract.size.get());
        listed.push(table!(RawMessage {
            at: quantity(at),
            size: dice.maybe(0.3, |_| quantity(Bytes::new(size))),
            count: if count == 1 { unsaid() } else { whole(count) },
        }));
        at += match orderly {
            true => contract.interval + dice.part_of(contract.interval / 4),
            false => dice.part_of(contract.interval * 2),
        };
    }
    listed
}

fn kind(dice: &mut Dice, contract: &Contract) -> &'static str {
    let closed = if contract.drops { "continuous" } else { "closed" };
    match (contract.real_time, contract.conforms, dice.below(100)) {
        (true, true, 0..46) => "adversary",
        (true, true, 46..50) => "script",
        (true, true, 50..70) => "bursty",
        (true, true, _) => "periodic",
        (true, false, 0..30) => "bursty",
        (true, false, 30..55) => "adversary",
        (true, false, 55..75) => "periodic",
        (true, false, 75..84) => "continuous",
        (true, false, 84..89) => closed,
        (true, false, 89..95) => "poisson",
        (true, false, 95..97) => "recorded",
        (true, false, 97) => "script",
        (true, false, 98) => "mpeg",
        (true, false, _) => "none",
        (false, _, 0..45) => "continuous",
        (false, _, 45..55) => closed,
        (false, _, 55..67) => "poisson",
        (false, _, 67..77) => "periodic",
        (false, _, 77..87) => "bursty",
        (false, _, 87..94) => "adversary",
        (false, _, 94..97) => "recorded",
        (false, _, 97) => "script",
        (false, _, 98) => "mpeg",
        (false, ..) => "none",
    }
}

/// From one message to the next: unsaid for the contract's own, or slower by a little so that
/// channels pass each other, or quicker than it may be.
fn interval(dice: &mut Dice, theme: &Theme, contract: &Contract, quick: bool) -> Option<Span> {
    let own = contract.interval;
    if !contract.real_time {
        return Some(own);
    }
    match dice.below(4) {
        _ if quick => {
            let parts = match theme.excess {
                true => dice.excess().pick(&[2, 10, 30, 100]),
                false => dice.pick(&[2, 3, 10]),
            };
            let quicker = dice.rounded(own / parts);
            Some(quicker.max(Span::from_us(1)))
        }
        0 => Some(own + dice.part_of(own / 50)),
        1 => Some(own + dice.part_of(own)),
        _ => None,
    }
}

fn sizes(
    dice: &mut Dice,
    theme: &Theme,
    contract: &Contract,
    big: bool,
) -> Drawn<Option<Either<Bounded<Size>, RawSizes>>> {
    let Contract { size, smallest, .. } = *contract;
    if big {
        let times = dice.pick(&[1, 2, 3, 8, 40]);
        let larger = Bytes::new(size.get() * times + dice.pick(&[0, 1, theme.packet.get()]));
        return scalar(quantity(larger.max(Bytes::new(size.get() + 1))));
    }
    match dice.below(4) {
        0 => detailed(table!(RawSizes { uniform: items(vec![quantity(smallest), quantity(size)]) })),
        1 => scalar(quantity(Bytes::new(dice.between(smallest.get(), size.get())))),
        _ => unsaid(),
    }
}
