//! The least deadline that could be promised, where only a trial request finds it.

use laxity_units::Span;

use super::decision::{AdmissionRefusal, Claimant, Reason};

/// Attempts at a deadline that could be promised.
const TRIES: u32 = 24;

/// The least deadline that is kept, within a two-hundredth, if one is: `kept` says of one what is
/// promised by it. Looked for from `first` on.
pub(super) fn least(
    first: Span,
    kept: impl Fn(Span) -> Result<Span, AdmissionRefusal>,
) -> Result<Span, AdmissionRefusal> {
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
        return Err(AdmissionRefusal::late(long.saturating_sub(first), Claimant::Newcomer));
    };
    // By when it is kept is what could have been asked for, mostly; where that is no less, by
    // halves. By halves every other time at least: a promise that is a hair below the request each
    // time would need requests for ever.
    let mut halved = true;
    while long.saturating_sub(short) > (long / 200).max(Span::from_ps(1)) {
        halved = !(halved && short < next && next < long);
        let asked = if halved { short + (long - short) / 2 } else { next };
        match kept(asked) {
            Ok(by) => (long, next) = (asked, by),
            Err(_) => short = asked,
        }
    }
    Ok(long)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Deficit, Scarce};

    /// The result of `least` from 20 ms on where `kept` gives the promise, and the number of its
    /// requests.
    fn found(from: Span, kept: impl Fn(Span) -> Option<Span>) -> (Span, u32) {
        let asked = Cell::new(0);
        let late =
            AdmissionRefusal::new(Scarce::Deadline, Deficit::Unbounded, Reason::Late, Claimant::Newcomer);
        let kept = |deadline: Span| {
            asked.set(asked.get() + 1);
            kept(deadline).ok_or(late)
        };
        (least(from, kept).expect("something is kept"), asked.get())
    }

    #[test]
    fn the_least_is_found_with_few_questions() {
        let (ms, ps) = (Span::from_ms, Span::from_ps);
        let enough = ms(7) + ps(3);
        // It is promised what it takes, whatever was asked for; a little less than that; or half of
        // what is left.
        let promised: [fn(Span, Span) -> Span; 3] = [
            |_, enough| enough,
            |asked, enough| enough.max(asked - Span::from_ps(1)),
            |asked, enough| enough + (asked - enough) / 2,
        ];
        for (n, by) in promised.into_iter().enumerate() {
            for from in [Span::from_ns(1), ms(1), enough, ms(8), ms(20_000)] {
                let (least, questions) = found(from, |asked| (asked >= enough).then(|| by(asked, enough)));
                assert!(least >= enough && least - enough <= enough / 150, "{n} from {from}: {least}");
                assert!(n > 0 || least == enough);
                assert!(questions < 80, "{n} from {from}: {questions}");
            }
        }
    }

    /// However little it is.
    #[test]
    fn the_least_may_be_no_time() {
        for enough in [1, 2, 3, 150] {
            let (least, questions) =
                found(Span::from_ms(1), |asked| (asked >= Span::from_ps(enough)).then_some(Span::ZERO));
            assert!(
                least.as_ps() <= enough + 1 && least.as_ps() >= enough && questions < 200,
                "{least} for {enough}: {questions}"
            );
        }
    }
}
