//! Signed differences of instants.

use std::fmt;
use std::str::FromStr;

use laxity_units::{Span, Time, UnitError};

/// A difference of two instants, with its direction.
///
/// [`Span`] is never negative. A shift covers all differences of two [`Time`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// To a later instant, or to the same.
    Forward(Span),
    /// To an earlier instant.
    Backward(Span),
}

impl Shift {
    /// No difference.
    pub const NONE: Shift = Shift::Forward(Span::ZERO);

    /// The shift that leads from `from` to `to`.
    pub fn between(from: Time, to: Time) -> Self {
        if to < from { Shift::Backward(from.since(to)) } else { Shift::Forward(to.since(from)) }
    }

    /// The length, without the direction.
    pub const fn size(self) -> Span {
        match self {
            Shift::Forward(span) | Shift::Backward(span) => span,
        }
    }

    /// `time` shifted, at most [`Time::MAX`] and at least [`Time::ZERO`].
    pub const fn applied_to(self, time: Time) -> Time {
        match self {
            Shift::Forward(span) => time.saturating_add(span),
            Shift::Backward(span) => time.saturating_sub(span),
        }
    }
}

impl Default for Shift {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shift::Forward(span) => span.fmt(f),
            Shift::Backward(span) => write!(f, "-{span}"),
        }
    }
}

impl FromStr for Shift {
    type Err = UnitError;
    /// A span such as `3 ms`, or `-3 ms`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim_start().strip_prefix('-') {
            Some(span) => match span.parse()? {
                Span::ZERO => Ok(Shift::NONE),
                span => Ok(Shift::Backward(span)),
            },
            None => text.parse().map(Shift::Forward),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shifts_are_read_and_stop_at_the_ends_of_time() {
        assert_eq!("-3 ms".parse(), Ok(Shift::Backward(Span::from_ms(3))));
        assert_eq!("3 ms".parse(), Ok(Shift::Forward(Span::from_ms(3))));
        assert_eq!("-0 ms".parse(), Ok(Shift::NONE));
        assert!("--3 ms".parse::<Shift>().is_err() && "3".parse::<Shift>().is_err());
        let far = Shift::Backward(Span::from_ms(3));
        assert_eq!(far.applied_to(Time::from_ps(1)), Time::ZERO);
        assert_eq!(Shift::Forward(Span::MAX).applied_to(Time::from_ps(1)), Time::MAX);
        assert_eq!((far.to_string(), far.size()), ("-3 ms".to_string(), Span::from_ms(3)));
    }

    proptest! {
        #[test]
        fn a_shift_leads_from_one_instant_to_the_other(a in any::<u64>(), b in any::<u64>()) {
            let (a, b) = (Time::from_ps(a), Time::from_ps(b));
            prop_assert_eq!(Shift::between(a, b).applied_to(a), b);
            prop_assert_eq!(Shift::between(a, b).size(), Shift::between(b, a).size());
        }
    }
}
