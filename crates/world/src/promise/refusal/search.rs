//! Searches for the least span that fits, with few questions.

use laxity_units::Span;

/// The least value of three significant figures from `least` on, which fits; of more figures if that
/// does not fit.
///
/// A longer span need not fit, so each is tried.
pub(super) fn readable(least: Span, fits: &mut dyn FnMut(Span) -> bool) -> Span {
    let mut rounded = (3..=6).map(|figures| least.rounded_up(figures));
    rounded.find(|span| *span == least || fits(*span)).unwrap_or(least)
}

/// The least value beyond `asked` that fits, within a thousandth, as long as longer values fit,
/// too. `None` if 32 768 times the value does not fit, which is checked first: in most cases either
/// little is missing or no value helps.
pub(super) fn least(asked: Span, fits: &mut dyn FnMut(Span) -> bool) -> Option<Span> {
    let long = asked.saturating_mul(1 << 15);
    if fits(long) { between(asked, long, fits) } else { None }
}

/// The same where what is longer may not fit though something does: of as long, twice as long and
/// so on the first that does decides.
pub(super) fn least_of_some(asked: Span, fits: &mut dyn FnMut(Span) -> bool) -> Option<Span> {
    let mut twice = (1..=15).map(|times| asked.saturating_mul(1 << times));
    let long = twice.find(|span| fits(*span))?;
    between(long / 2, long, fits)
}

/// The least, from `short` that does not fit to `long` that does.
pub(super) fn between(mut short: Span, mut long: Span, fits: &mut dyn FnMut(Span) -> bool) -> Option<Span> {
    while short.saturating_mul(2) < long {
        let twice = short.saturating_mul(2);
        if fits(twice) {
            long = twice;
            break;
        }
        short = twice;
    }
    while long.saturating_sub(short) > (short / 1000).max(Span::from_ps(1)) {
        let middle = short + long.saturating_sub(short) / 2;
        if fits(middle) { long = middle } else { short = middle }
    }
    Some(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposed_value_fits_and_is_short() {
        let least = Span::from_ps(33_965_599_992);
        let ps = |figures| least.rounded_up(figures).as_ps();
        assert_eq!(readable(least, &mut |span| span >= least).to_string(), "34 ms");
        // 34 ms and 33.97 ms do not fit, although less does.
        let found = readable(least, &mut |span| span.as_ps() <= ps(5));
        assert_eq!((found.as_ps(), found.to_string().as_str()), (ps(5), "33.966 ms"));
        assert_eq!(readable(least, &mut |_| false), least);
        let mut asked = 0;
        readable(Span::from_ms(34), &mut |_| {
            asked += 1;
            true
        });
        assert_eq!(asked, 0, "a short value is known to fit");
    }

    #[test]
    fn the_least_is_found_with_few_questions_and_nothing_with_one() {
        let ms = Span::from_ms;
        for edge in [ms(1) + Span::from_ps(1), Span::from_us(1300), ms(2), ms(7), ms(32_768)] {
            let mut asked = 0;
            let found = least(ms(1), &mut |span| {
                asked += 1;
                span >= edge
            });
            let found = found.expect("it fits at last");
            assert!(found >= edge && found <= edge + edge / 1000 + Span::from_us(1), "{found} of {edge}");
            assert!(asked < 30, "{asked} questions for {edge}");
        }
        let mut asked = 0;
        let none = least(ms(1), &mut |_| {
            asked += 1;
            false
        });
        assert_eq!((none, asked), (None, 1));
        // Too long values do not fit either.
        let found = least_of_some(ms(1), &mut |span| (ms(5)..ms(9)).contains(&span)).unwrap();
        assert!(found >= ms(5) && found <= ms(5) + Span::from_us(6), "{found}");
        assert_eq!(least_of_some(ms(1), &mut |span| span > ms(40_000)), None);
    }
}
