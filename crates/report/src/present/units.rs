//! Numbers as people read them.
//!
//! A column or an axis has one unit, chosen by its largest value, so that the eye compares digits
//! and not units; columns that are compared with each other share one. A column has decimals enough
//! for its smallest value: a laxity of −3 us in a column of milliseconds is a missed deadline, `-0.00`
//! would hide it, and `-3 us` above `0.85` reads as the larger. Only what no decimals reach carries a
//! unit of its own.

use laxity_world::metric::Kind;

/// A unit and its size in the SI unit of the kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) unit: &'static str,
    pub(crate) size: f64,
}

const TIMES: [(f64, Scale); 4] = [
    (10.0, Scale { unit: "s", size: 1.0 }),
    (1e-3, Scale { unit: "ms", size: 1e-3 }),
    (1e-6, Scale { unit: "us", size: 1e-6 }),
    (0.0, Scale { unit: "ns", size: 1e-9 }),
];
// Ten thousand of a unit before the next unit: the papers' rates of 1200 and 2000 KiB/s stay as
// written.
const RATES: [(f64, Scale); 4] = [
    (1e4 * MIB, Scale { unit: "GiB/s", size: 1024.0 * MIB }),
    (1e4 * KIB, Scale { unit: "MiB/s", size: MIB }),
    (KIB, Scale { unit: "KiB/s", size: KIB }),
    (0.0, Scale { unit: "B/s", size: 1.0 }),
];
const SIZES: [(f64, Scale); 3] = [
    (1e4 * KIB, Scale { unit: "MiB", size: MIB }),
    (KIB, Scale { unit: "KiB", size: KIB }),
    (0.0, Scale { unit: "B", size: 1.0 }),
];
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Quantities of a kind in a unit that reads well.
pub(crate) trait Readable {
    /// The unit in which values up to `largest` read well.
    fn scale(self, largest: f64) -> Scale;
    /// One value with a unit of its own, four significant digits at most.
    fn quantity(self, value: f64) -> String;
}

impl Readable for Kind {
    fn scale(self, largest: f64) -> Scale {
        let pick = |scales: &[(f64, Scale)]| {
            // A value slightly below the threshold counts as equal: 1 ms computed as 0.99999… ms is
            // 1 ms.
            let found = scales.iter().find(|(from, _)| largest.abs() >= from * (1.0 - 1e-9));
            found.unwrap_or(&scales[scales.len() - 1]).1
        };
        match self {
            Kind::Time if largest == 0.0 => TIMES[1].1,
            Kind::Time => pick(&TIMES),
            Kind::Rate if largest == 0.0 => RATES[2].1,
            Kind::Rate => pick(&RATES),
            Kind::Size => pick(&SIZES),
            Kind::Share => Scale { unit: "%", size: 0.01 },
            Kind::Count => Scale { unit: "", size: 1.0 },
        }
    }

    fn quantity(self, value: f64) -> String {
        let scale = self.scale(value);
        let number = short(value / scale.size);
        if scale.unit.is_empty() { number } else { format!("{number} {}", scale.unit) }
    }
}

/// How a column of values prints: one unit, one number of decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Format {
    kind: Kind,
    pub(crate) scale: Scale,
    decimals: usize,
}

impl Format {
    /// The format that suits all of `values`.
    pub(crate) fn of(kind: Kind, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        Self::at(kind, kind.scale(largest(&values)), values.into_iter(), 2)
    }

    /// The format that suits all of `values` in the unit `scale`; the smallest has `digits` significant
    /// digits, as far as decimals are read.
    pub(crate) fn at(kind: Kind, scale: Scale, values: impl Iterator<Item = f64>, digits: i32) -> Self {
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let whole = |v: &f64| {
            let scaled = v / scale.size;
            (scaled - scaled.round()).abs() <= 1e-9 * scaled.abs().max(1.0)
        };
        let decimals = match largest(&values) / scale.size {
            _ if values.iter().all(whole) => 0,
            _ if kind == Kind::Share => 1,
            m if m >= 100.0 => 1,
            m if m >= 10.0 => 2,
            _ => 3,
        };
        let least = values.iter().map(|v| v.abs() / scale.size).filter(|v| *v > 0.0).reduce(f64::min);
        let enough = match least {
            Some(least) if decimals > 0 => digits - 1 - least.log10().floor() as i32,
            _ => 0,
        };
        let most = match kind {
            Kind::Time => MOST_DECIMALS,
            Kind::Rate | Kind::Size => MOST_DECIMALS_OF_AMOUNTS,
            Kind::Share | Kind::Count => 0,
        };
        Self { kind, scale, decimals: decimals.max(enough.clamp(0, most) as usize) }
    }

    /// A value of the column; `-` if there is none.
    pub(crate) fn cell(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return "-".into() };
        if !value.is_finite() {
            return odd(value).into();
        }
        let scaled = value / self.scale.size;
        let shown = 10f64.powi(-(self.decimals as i32));
        let too_fine = match self.kind {
            Kind::Time => scaled.abs() < 0.5 * shown,
            Kind::Rate | Kind::Size => scaled.abs() < 5.0 * shown,
            Kind::Share | Kind::Count => false,
        };
        if too_fine && value != 0.0 {
            return self.kind.quantity(value);
        }
        fixed(scaled, self.decimals)
    }
}

/// More decimals than this are not read.
const MOST_DECIMALS: i32 = 6;
/// Rates and sizes are compared by their first digits.
const MOST_DECIMALS_OF_AMOUNTS: i32 = 3;

fn largest(values: &[f64]) -> f64 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()))
}

/// `value` with that many decimals, and never a negative zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return odd(value).into();
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.into(),
        _ => text,
    }
}

/// `value` with at most four significant digits and no trailing zeros; large ones keep every whole digit.
pub(crate) fn short(value: f64) -> String {
    if !value.is_finite() {
        return odd(value).into();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && magnitude < 1e-4 {
        return format!("{value:.2e}");
    }
    let decimals = match magnitude {
        m if m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 => 3,
        _ => 4,
    };
    let text = fixed(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Plain text as a page or a figure sets it: a real minus, `µs`, digits in groups of three from 10 000.
pub(crate) fn typeset(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(typeset_word).collect();
    words.join("\u{a0}")
}

fn typeset_word(word: &str) -> String {
    if word == "us" {
        return "µs".into();
    }
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => ("−", digits),
        _ => ("", word),
    };
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    if whole.len() < 5 || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{sign}{digits}");
    }
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

fn odd(value: f64) -> &'static str {
    match value {
        v if v.is_nan() => "n/a",
        v if v > 0.0 => "inf",
        _ => "-inf",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_written() {
        for (kind, value, text) in [
            (Kind::Time, 0.04, "40 ms"),
            (Kind::Time, 0.001, "1 ms"),
            (Kind::Time, -3e-6, "-3 us"),
            (Kind::Time, 1.5e-9, "1.5 ns"),
            (Kind::Time, 0.0, "0 ms"),
            (Kind::Time, 12.0, "12 s"),
            (Kind::Rate, 1200.0 * KIB, "1200 KiB/s"),
            (Kind::Rate, 20_000.0 * KIB, "19.53 MiB/s"),
            (Kind::Share, 0.975, "97.5 %"),
            (Kind::Count, 32768.0, "32768"),
            (Kind::Count, f64::NAN, "n/a"),
        ] {
            assert_eq!(kind.quantity(value), text);
        }
    }

    #[test]
    fn a_column_never_hides_a_small_miss() {
        let values = [0.0401, 0.0252, -3e-6, 0.0];
        let format = Format::of(Kind::Time, values.into_iter());
        let cells: Vec<String> = values.iter().map(|v| format.cell(Some(*v))).collect();
        assert_eq!(cells, ["40.1000", "25.2000", "-0.0030", "0.0000"]);
        let ever_finer = Format::of(Kind::Time, [40.0, 2e-9].into_iter());
        assert_eq!(ever_finer.cell(Some(2e-9)), "2 ns");
        assert_eq!(Format::of(Kind::Time, [0.04, 0.025].into_iter()).cell(Some(0.025)), "25");
        assert_eq!(format.cell(None), "-");
        assert_eq!(format.cell(Some(f64::INFINITY)), "inf");
    }

    #[test]
    fn a_column_of_rates_has_one_unit_as_far_as_decimals_are_read() {
        let cells = |values: &[f64]| -> Vec<String> {
            let format = Format::of(Kind::Rate, values.iter().map(|v| v * MIB));
            values.iter().map(|v| format.cell(Some(v * MIB))).collect()
        };
        assert_eq!(cells(&[200.5, 0.3]), ["200.50", "0.30"]);
        assert_eq!(cells(&[200.5, 0.012]), ["200.500", "0.012"]);
        assert_eq!(cells(&[200.5, 0.3, 2.0 / 1024.0]), ["200.500", "0.300", "2 KiB/s"]);
    }

    #[test]
    fn typesetting_is_for_numbers_only() {
        assert_eq!(typeset("-3 us"), "−3\u{a0}µs");
        assert_eq!(typeset("1234567.5"), "1\u{202f}234\u{202f}567.5");
        assert_eq!(typeset("-"), "-");
        assert_eq!(typeset("1200 KiB/s"), "1200\u{a0}KiB/s");
    }
}
