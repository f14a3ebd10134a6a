//! Rate errors of clocks, in parts per billion.

use std::fmt;
use std::str::FromStr;

use laxity_units::Span;

/// Parts in one.
pub(crate) const UNIT: u64 = 1_000_000_000;

/// The rate error of one clock: a clock of drift `r` advances by `1 + r` seconds in a true second.
///
/// Written as `50 ppm` or `-3.5 ppm`, with at most three decimals, or in whole `ppb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Drift {
    ppb: i32,
}

/// A text or a number that is no rate error of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftError {
    /// Neither `50 ppm` nor `50 ppb`.
    Form,
    /// More than [`Drift::MOST_PPB`] in either direction.
    Range,
}

impl fmt::Display for DriftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriftError::Form => {
                write!(f, "a drift such as `50 ppm` or `-3.5 ppm`, with at most three decimals")
            }
            DriftError::Range => {
                write!(f, "a drift is at most {} ppm in either direction", Drift::MOST_PPB / 1000)
            }
        }
    }
}

impl std::error::Error for DriftError {}

impl Drift {
    /// No rate error.
    pub const NONE: Drift = Drift { ppb: 0 };
    /// The largest rate error, 10 %. Crystal oscillators have 1 to 100 ppm.
    pub const MOST_PPB: i32 = 100_000_000;

    /// `ppb` parts per billion; an error beyond [`MOST_PPB`](Self::MOST_PPB).
    pub fn from_ppb(ppb: i64) -> Result<Self, DriftError> {
        let ppb = i32::try_from(ppb).map_err(|_| DriftError::Range)?;
        if ppb.unsigned_abs() > Self::MOST_PPB.unsigned_abs() {
            return Err(DriftError::Range);
        }
        Ok(Self { ppb })
    }

    /// Parts per billion.
    pub const fn ppb(self) -> i32 {
        self.ppb
    }

    /// Parts per billion by which a clock of this drift advances in a true nanosecond.
    pub(crate) fn rate(self) -> u64 {
        UNIT.saturating_add_signed(self.ppb.into())
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.ppb < 0 { "-" } else { "" };
        let (whole, rest) = (self.ppb.unsigned_abs() / 1000, self.ppb.unsigned_abs() % 1000);
        match rest {
            0 => write!(f, "{sign}{whole} ppm"),
            _ => write!(f, "{sign}{}.{} ppm", whole, format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

impl FromStr for Drift {
    type Err = DriftError;
    fn from_str(text: &str) -> Result<Self, DriftError> {
        let (negative, text) = match text.trim().strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text.trim()),
        };
        let (number, decimals) = if let Some(number) = text.strip_suffix("ppm") {
            (number.trim_end(), 3)
        } else {
            (text.strip_suffix("ppb").ok_or(DriftError::Form)?.trim_end(), 0)
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let dangling = number.contains('.') && fraction.is_empty();
        if whole.is_empty() || dangling || !digits(whole) || !digits(fraction) || fraction.len() > decimals {
            return Err(DriftError::Form);
        }
        let ppb: i64 = format!("{whole}{fraction:0<decimals$}").parse().map_err(|_| DriftError::Range)?;
        Self::from_ppb(if negative { -ppb } else { ppb })
    }
}

/// A bound on the rate error of a clock, ρ: rates are from `1 − ρ` to `1 + ρ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tolerance {
    ppb: u32,
}

impl Tolerance {
    /// A perfect rate.
    pub const NONE: Tolerance = Tolerance { ppb: 0 };

    /// The tolerance that allows drifts up to `drift` in either direction.
    pub const fn of(drift: Drift) -> Self {
        Self { ppb: drift.ppb.unsigned_abs() }
    }

    /// Parts per billion.
    pub const fn ppb(self) -> u32 {
        self.ppb
    }

    /// Whether a clock of `drift` is within this bound.
    pub const fn allows(self, drift: Drift) -> bool {
        drift.ppb.unsigned_abs() <= self.ppb
    }

    /// The bound on the rate of one clock, as another clock measures it.
    ///
    /// The rate is at most `(1 + a)/(1 − b) = 1 + (a + b)/(1 − b)`, and at least `1 − (a + b)/(1 +
    /// b)`, which is nearer to one. The result is rounded up to a part per billion.
    #[must_use]
    pub fn seen_by(self, other: Tolerance) -> Tolerance {
        let (a, b) = (u64::from(self.ppb), u64::from(other.ppb));
        let ppb = ((a + b) * UNIT).div_ceil(UNIT - b);
        Self { ppb: u32::try_from(ppb).expect("two drifts of at most 10 % are 22.3 %") }
    }

    /// `span × (1 + ρ)`, rounded up: the longest time that a clock shows for a true `span`.
    pub fn longest_shown(self, span: Span) -> Span {
        span.scale_ceil(UNIT + u64::from(self.ppb), UNIT)
    }

    /// `span × (1 − ρ)`, rounded down: the shortest time that a clock shows for a true `span`.
    pub fn shortest_shown(self, span: Span) -> Span {
        span.scale_floor(UNIT - u64::from(self.ppb), UNIT)
    }

    /// `span / (1 − ρ)`, rounded up: the longest true time in which a clock advances by `span`.
    pub fn longest_true(self, span: Span) -> Span {
        span.scale_ceil(UNIT, UNIT - u64::from(self.ppb))
    }

    /// `span / (1 + ρ)`, rounded down: the shortest true time in which a clock advances by `span`.
    pub fn shortest_true(self, span: Span) -> Span {
        span.scale_floor(UNIT, UNIT + u64::from(self.ppb))
    }

    /// `span × ρ`, rounded up.
    pub fn share(self, span: Span) -> Span {
        span.scale_ceil(self.ppb.into(), UNIT)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "±{}", Drift { ppb: self.ppb as i32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn drifts_are_read_and_refused() {
        for (text, ppb) in
            [("50 ppm", 50_000), ("-3.5 ppm", -3500), ("7ppb", 7), ("0.001 ppm", 1), ("- 2 ppb", -2)]
        {
            assert_eq!(text.parse::<Drift>().map(Drift::ppb), Ok(ppb), "{text}");
        }
        for text in ["50", "ppm", ". ppm", "1. ppm", "0.0001 ppm", "1.5 ppb", "--1 ppm", "1 ms", "", "+1 ppm"]
        {
            assert_eq!(text.parse::<Drift>(), Err(DriftError::Form), "{text}");
        }
        for text in ["100000.001 ppm", "-100001 ppm", "99999999999999999999 ppm"] {
            assert_eq!(text.parse::<Drift>(), Err(DriftError::Range), "{text}");
        }
        assert_eq!("100000 ppm".parse::<Drift>().map(Drift::ppb), Ok(Drift::MOST_PPB));
        assert!(
            DriftError::Range.to_string().contains("100000 ppm")
                && DriftError::Form.to_string().contains("50 ppm")
        );
    }

    /// (100 + 100)/(1 − 0.0001) ppm are 200.02 ppm: 200 020.002 ppb, rounded up.
    #[test]
    fn a_rate_seen_by_another_clock_adds_both_errors() {
        let ppm = |n: i64| Tolerance::of(Drift::from_ppb(n * 1000).unwrap());
        assert_eq!(ppm(100).seen_by(ppm(100)).ppb(), 200_021);
        assert_eq!(ppm(100).seen_by(Tolerance::NONE).ppb(), 100_000);
        assert_eq!(Tolerance::NONE.seen_by(ppm(-100)).ppb(), 100_011, "100 000 / 0.9999 = 100 010.001");
        assert_eq!(ppm(-100).to_string(), "±100 ppm");
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(ppb in -100_000_000i64..=100_000_000) {
            let drift = Drift::from_ppb(ppb).unwrap();
            prop_assert_eq!(drift.to_string().parse::<Drift>(), Ok(drift));
        }

        /// Spans are bounded from both sides, by no more than a picosecond too much.
        #[test]
        fn roundings_go_outwards(ppb in 0i64..=100_000_000, ps in 0u64..1 << 60) {
            let (bound, span) = (Tolerance::of(Drift::from_ppb(ppb).unwrap()), Span::from_ps(ps));
            let (more, less) = (u128::from(UNIT) + ppb as u128, u128::from(UNIT) - ppb as u128);
            let unit = u128::from(UNIT);
            let up = |exact: Span, n: u128, d: u128| {
                let got = u128::from(exact.as_ps()) * d;
                got >= u128::from(ps) * n && got < u128::from(ps) * n + d
            };
            let down = |exact: Span, n: u128, d: u128| {
                let got = u128::from(exact.as_ps()) * d;
                got <= u128::from(ps) * n && got + d > u128::from(ps) * n
            };
            prop_assert!(up(bound.longest_shown(span), more, unit) && down(bound.shortest_shown(span), less, unit));
            prop_assert!(up(bound.longest_true(span), unit, less) && down(bound.shortest_true(span), unit, more));
            prop_assert!(up(bound.share(span), ppb as u128, unit));
        }
    }
}
