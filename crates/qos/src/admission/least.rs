//! The least deadline that could be promised, where nothing but asking tells.

use laxity_units::Span;

use super::decision::{Claimant, Deficit, Reason, Refusal, Resource};

/// Attempts at a deadline that could be promised.
const TRIES: u32 = 24;

/// The least deadline that is kept, within a two-hundredth, if one is: `kept` says of one what is promised by it. Looked for from `first` on.
pub(super) fn least(first: Span, kept: impl Fn(Span) -> Result<Span, Refusal>) -> Result<Span, Refusal> {
    let (mut short, mut long) = (Span::ZERO, first);
    let mut bound = None;
    for _ in 0..TRIES {
        match kept(long) {
            Ok(by) => {
                bound = Some(by);
                break;
            }
            Err(refusal) if refusal.reason != Reason::Late => return Err(refusal),
            Err(_) => (short, long) = (long, long.saturating_mul(2)),
        }
    }
    let Some(mut next) = bound else {
        let late = Deficit::Time(long.saturating_sub(first));
        return Err(Refusal::new(Resource::Deadline, late, Reason::Late, Claimant::Newcomer));
    };
    // By when it is kept is what could have been asked for, mostly; where that is no less, by halves.
    while long.saturating_sub(short) > long / 200 {
        let asked = if short < next && next < long { next } else { short + (long - short) / 2 };
        match kept(asked) {
            Ok(by) => (long, next) = (asked, by),
            Err(_) => short = asked,
        }
    }
    Ok(long)
}
