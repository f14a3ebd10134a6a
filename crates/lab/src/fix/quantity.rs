//! Values that a search can make larger or smaller step by step.

use laxity_units::{Bytes, Rate, Span};
use toml::de::DeValue;

/// A value of the file that has a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    /// A time.
    Time(Span),
    /// A rate.
    Rate(Rate),
    /// A rate of an Ethernet link, of which only some exist.
    LineRate(Rate),
    /// A size.
    Size(Bytes),
    /// A number of things.
    Count(u64),
    /// A plain number.
    Factor(f64),
}

/// Significant figures of a value that the search writes: enough for a change of one per cent.
const FIGURES: i32 = 3;

/// Line rates of Ethernet, in Mbit/s.
const LINE_RATES: [u64; 13] =
    [10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000];

impl Quantity {
    /// The value as written in a file; `None` for one without a size.
    pub(super) fn of(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::String(text) => Quantity::of_text(text),
            DeValue::Integer(number) => number.as_str().replace('_', "").parse().ok().map(Quantity::Count),
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok().map(Quantity::Factor),
            _ => None,
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let time = text.parse().ok().map(Quantity::Time);
        time.or_else(|| text.parse().ok().map(Quantity::Rate))
            .or_else(|| text.parse().ok().map(Quantity::Size))
    }

    /// The size as a number in the smallest unit.
    pub(super) fn number(self) -> f64 {
        match self {
            Quantity::Time(span) => span.as_ps() as f64,
            Quantity::Rate(rate) | Quantity::LineRate(rate) => rate.bits_per_sec() as f64,
            Quantity::Size(size) => size.get() as f64,
            Quantity::Count(count) => count as f64,
            Quantity::Factor(factor) => factor,
        }
    }

    /// At least `factor` times the value: rounded up to a value that is easy to read.
    pub(super) fn more(self, factor: f64) -> Self {
        self.with(self.number() * factor, f64::ceil)
    }

    /// At most a `factor`th: rounded down in the same way, and never to zero.
    pub(super) fn less(self, factor: f64) -> Self {
        self.with(self.number() / factor, f64::floor)
    }

    fn with(self, number: f64, round: fn(f64) -> f64) -> Self {
        let exponent = number.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 - (FIGURES - 1);
        let whole = |number: f64| {
            let unit = 10f64.powi(exponent.max(0));
            // A multiple of the unit stays one, whatever the rounding error of the product.
            let units = (number / unit * 1e9).round() / 1e9;
            ((round(units) * unit) as u64).max(1)
        };
        match self {
            Quantity::Time(_) => Quantity::Time(Span::from_ps(whole(number))),
            Quantity::Rate(_) => Quantity::Rate(Rate::from_bits_per_sec(whole(number))),
            Quantity::LineRate(_) => {
                let rates = LINE_RATES.iter().map(|mbit| mbit * 1_000_000);
                let next = rates.into_iter().find(|rate| *rate as f64 >= number * (1.0 - 1e-9));
                Quantity::LineRate(Rate::from_bits_per_sec(next.unwrap_or_else(|| whole(number))))
            }
            Quantity::Size(_) => Quantity::Size(Bytes::new(whole(number))),
            Quantity::Count(_) => Quantity::Count((round(number) as u64).max(1)),
            Quantity::Factor(_) => {
                let unit = 10f64.powi(-exponent);
                let units = (number * unit * 1e9).round() / 1e9;
                Quantity::Factor(round(units) / unit)
            }
        }
    }

    /// As a file has it.
    pub(super) fn toml(self) -> String {
        match self {
            Quantity::Count(_) | Quantity::Factor(_) => self.to_string(),
            _ => format!("\"{self}\""),
        }
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Quantity::Time(span) => span.fmt(f),
            Quantity::Rate(rate) | Quantity::LineRate(rate) => rate.fmt(f),
            Quantity::Size(size) => size.fmt(f),
            Quantity::Count(count) => count.fmt(f),
            Quantity::Factor(factor) => factor.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Quantity {
        Quantity::of_text(text).unwrap_or_else(|| panic!("`{text}` has a size"))
    }

    #[test]
    fn a_change_is_rounded_away_from_what_was() {
        for (text, factor, more, less) in [
            ("33 ms", 1.05, "34.7 ms", "31.4 ms"),
            ("1 ms", 1.0001, "1.01 ms", "999 us"),
            ("300 kbit/s", 1.5, "450 kbit/s", "200 kbit/s"),
            ("1000 B", 2.0, "2000 B", "500 B"),
            ("3 B", 1.1, "4 B", "2 B"),
            ("1 ns", 4.0, "4 ns", "250 ps"),
        ] {
            let quantity = read(text);
            let (up, down) = (quantity.more(factor).to_string(), quantity.less(factor).to_string());
            assert_eq!((up.as_str(), down.as_str()), (more, less), "{text}");
        }
        assert_eq!(Quantity::Factor(1.0).more(1.499).toml(), "1.5");
        assert_eq!(Quantity::Factor(2.0).less(3.0).toml(), "0.666");
        assert_eq!(
            (Quantity::Count(4).more(1.1), Quantity::Count(4).less(1.1)),
            (Quantity::Count(5), Quantity::Count(3))
        );
        // Zero stays zero.
        assert_eq!(Quantity::Count(1).less(16.0), Quantity::Count(1));
    }

    /// A link of 1 Gbit/s is followed by one of 2.5.
    #[test]
    fn a_line_rate_is_one_that_exists() {
        let gigabit = Quantity::LineRate(Rate::from_bits_per_sec(1_000_000_000));
        assert_eq!(gigabit.more(1.02).toml(), "\"2.5 Gbit/s\"");
        assert_eq!(gigabit.more(2.5).toml(), "\"2.5 Gbit/s\"");
        assert_eq!(gigabit.more(2.6).toml(), "\"5 Gbit/s\"");
    }
}
