//! How much faster, or slower, than specified.
//!
//! The structuring paper (§5, Figure 6) violates a channel's specification by generating messages
//! at multiples of R_max. The factor is a ratio of integers and the time of the k-th message is
//! computed from k, not from the message before: rounding is then less than a picosecond for ever,
//! and a source at one times its rate conforms exactly.

use std::fmt;
use std::str::FromStr;

use laxity_units::{Span, Time};

use super::SourceError;

const VALID: &str = "a factor above zero such as `1`, `1.5` or `4/3`, its terms at most 4294967295";

/// A factor above zero on a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Multiple {
    numerator: u32,
    denominator: u32,
}

impl Multiple {
    /// The rate itself.
    pub const ONE: Multiple = Multiple { numerator: 1, denominator: 1 };

    /// `numerator / denominator` times the rate.
    pub fn new(numerator: u32, denominator: u32) -> Result<Multiple, SourceError> {
        if numerator == 0 || denominator == 0 {
            return Err(SourceError::new("multiple", format!("is {numerator}/{denominator}"), VALID));
        }
        Ok(Multiple { numerator, denominator })
    }

    /// Whether an interval at this multiple of its rate is at least `least`, exactly: a source that is a
    /// part of a picosecond faster exceeds its contract in the end.
    pub fn keeps(self, interval: Span, least: Span) -> bool {
        let times = |span: Span, by: u32| u128::from(span.as_ps()) * u128::from(by);
        times(interval, self.denominator) >= times(least, self.numerator)
    }

    /// `start` and `count` intervals at this multiple of their rate after it, rounded up; `None` past the
    /// last instant.
    #[inline]
    pub(super) fn after(self, start: Time, interval: Span, count: u64) -> Option<Time> {
        if self.numerator == self.denominator {
            let whole = interval.as_ps().checked_mul(count)?;
            return start.as_ps().checked_add(whole).map(Time::from_ps);
        }
        let whole = u128::from(interval.as_ps()).checked_mul(u128::from(count))?;
        self.stretch_whole(start, whole)
    }

    /// `start` and `span` at this multiple of its pace after it, rounded up; `None` past the last instant.
    pub(super) fn stretch(self, start: Time, span: Span) -> Option<Time> {
        self.stretch_whole(start, u128::from(span.as_ps()))
    }

    #[inline]
    fn stretch_whole(self, start: Time, ps: u128) -> Option<Time> {
        // A long division for each packet is a tenth of what a simple host costs.
        let ps = match self.numerator == self.denominator {
            true => ps,
            false => ps.checked_mul(u128::from(self.denominator))?.div_ceil(u128::from(self.numerator)),
        };
        start.as_ps().checked_add(u64::try_from(ps).ok()?).map(Time::from_ps)
    }
}

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

impl FromStr for Multiple {
    type Err = SourceError;
    fn from_str(text: &str) -> Result<Multiple, SourceError> {
        let text = text.trim();
        let bad = || SourceError::new("multiple", format!("`{text}` is not a factor"), VALID);
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u32>().map_err(|_| bad()),
            false => Err(bad()),
        };
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Multiple::new(number(numerator.trim())?, number(denominator.trim())?);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.trim_end_matches('0');
        let denominator = u32::try_from(fraction.len()).ok().and_then(|digits| 10u32.checked_pow(digits));
        Multiple::new(number(&format!("{whole}{fraction}"))?, denominator.ok_or_else(bad)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_parse_exactly() {
        for (text, numerator, denominator) in
            [("1", 1, 1), ("1.50", 15, 10), (" 4/3 ", 4, 3), ("0.25", 25, 100)]
        {
            assert_eq!(text.parse(), Multiple::new(numerator, denominator), "{text}");
        }
        for text in ["", "0", "0.0", "-1", "+1", "1/0", "x", "1.2.3", "99999999999", "0.00000000001", "/"] {
            assert!(text.parse::<Multiple>().unwrap_err().to_string().contains("valid is"), "{text}");
        }
    }

    #[test]
    fn a_multiple_does_not_drift() {
        let third = Multiple::new(3, 1).unwrap();
        assert_eq!(third.after(Time::ZERO, Span::from_ps(10), 3_000_000), Some(Time::from_ps(10_000_000)));
        assert_eq!(third.after(Time::ZERO, Span::from_ps(10), 1), Some(Time::from_ps(4)));
        assert_eq!(Multiple::ONE.after(Time::MAX, Span::from_ps(1), 1), None);
        assert_eq!(Multiple::ONE.after(Time::ZERO, Span::MAX, u64::MAX), None);
    }

    #[test]
    fn a_faster_source_keeps_no_interval() {
        let (interval, faster) = (Span::from_us(165), Multiple::new(1_000_000_001, 1_000_000_000).unwrap());
        assert_eq!(faster.after(Time::ZERO, interval, 1), Some(Time::ZERO + interval), "rounded up");
        assert!(!faster.keeps(interval, interval) && Multiple::ONE.keeps(interval, interval));
        assert!(faster.keeps(interval, interval - Span::from_ps(1)));
        let half = Multiple::new(1, 2).unwrap();
        assert!(half.keeps(interval, interval * 2) && !half.keeps(interval, interval * 2 + Span::from_ps(1)));
    }
}
