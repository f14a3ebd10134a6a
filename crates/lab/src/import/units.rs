//! Quantities as other tools write them, exactly: a decimal number and a unit.

use laxity_units::Span;

/// A decimal number that is not negative: `digits × 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// The number at the beginning of `text`, and what follows.
    fn split(text: &str) -> Option<(Decimal, &str)> {
        let bytes = text.as_bytes();
        let (mut at, mut digits, mut exponent, mut any, mut point) = (0, 0u128, 0i32, false, false);
        if bytes.first() == Some(&b'+') {
            at = 1;
        }
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'0'..=b'9' => {
                    digits = digits.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
                    exponent = exponent.checked_sub(i32::from(point))?;
                    any = true;
                }
                b'.' if !point => point = true,
                _ => break,
            }
            at += 1;
        }
        if !any {
            return None;
        }
        // An exponent, but not the E of a unit.
        if let Some(rest) = text[at..].strip_prefix(['e', 'E']) {
            let end = rest
                .char_indices()
                .find(|(i, c)| !(c.is_ascii_digit() || *i == 0 && matches!(c, '+' | '-')))
                .map_or(rest.len(), |(i, _)| i);
            if let Ok(more) = rest[..end].parse::<i32>() {
                exponent = exponent.checked_add(more)?;
                at += 1 + end;
            }
        }
        Some((Decimal { digits, exponent }, text[at..].trim()))
    }

    /// The number times `numerator / denominator`, as a whole number rounded up or down.
    fn scaled(self, numerator: u128, denominator: u128, up: bool) -> Option<u64> {
        let (mut top, mut bottom) = (self.digits.checked_mul(numerator)?, denominator);
        if top == 0 {
            return Some(0);
        }
        for _ in 0..self.exponent.unsigned_abs().min(60) {
            match self.exponent > 0 {
                true => top = top.checked_mul(10)?,
                false => match bottom.checked_mul(10) {
                    Some(more) => bottom = more,
                    None => return Some(u64::from(up)),
                },
            }
        }
        let whole = if up { top.div_ceil(bottom) } else { top / bottom };
        u64::try_from(whole).ok()
    }
}

/// The power of ten of a prefix.
fn prefix(text: &str) -> Option<i32> {
    Some(match text {
        "" => 0,
        "n" => -9,
        "u" | "µ" => -6,
        "m" => -3,
        "k" | "K" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        _ => return None,
    })
}

/// The number and the unit of `text`; a number alone has the unit `usual`.
fn parts<'a>(text: &'a str, usual: &'a str) -> Option<(Decimal, &'a str)> {
    let (number, unit) = Decimal::split(text.trim())?;
    Some((number, if unit.is_empty() { usual } else { unit }))
}

/// A time such as `10us`, rounded up to the picosecond.
pub(super) fn time(text: &str, usual: &str) -> Result<Span, String> {
    let wrong = || format!("`{text}` is no time; valid is a number with a unit such as `10us`");
    let (number, unit) = parts(text, usual).ok_or_else(wrong)?;
    let power = unit.strip_suffix('s').and_then(prefix).ok_or_else(wrong)?;
    let shifted = Decimal { exponent: number.exponent.saturating_add(power).saturating_add(12), ..number };
    shifted.scaled(1, 1, true).map(Span::from_ps).ok_or_else(|| format!("`{text}` is too long a time"))
}

/// A size such as `2kB` in bytes, rounded up; `b` is a bit.
pub(super) fn size(text: &str, usual: &str) -> Result<u64, String> {
    let wrong =
        || format!("`{text}` is no size; valid is a number with a unit such as `50B` or `10kb` (bits)");
    let (number, unit) = parts(text, usual).ok_or_else(wrong)?;
    let (power, bits) = match (unit.strip_suffix('B'), unit.strip_suffix('b')) {
        (Some(unit), _) => (prefix(unit), 1),
        (_, Some(unit)) => (prefix(unit), 8),
        _ => (None, 1),
    };
    let power = power.filter(|power| *power >= 0).ok_or_else(wrong)?;
    let shifted = Decimal { exponent: number.exponent.saturating_add(power), ..number };
    shifted.scaled(1, bits, true).ok_or_else(|| format!("`{text}` is too large"))
}

/// A rate such as `10Mbps` or `100 Mbit/s` in bits per second, rounded up or down.
pub(super) fn rate(text: &str, usual: &str, up: bool) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no rate; valid is a number with a unit such as `10Mbps`");
    let (number, unit) = parts(text, usual).ok_or_else(wrong)?;
    let names = [("bps", 1), ("bit/s", 1), ("Bps", 8), ("B/s", 8)];
    let found = names.iter().find_map(|(name, bits)| Some((prefix(unit.strip_suffix(name)?)?, *bits)));
    let (power, bits) = found.filter(|(power, _)| *power >= 0).ok_or_else(wrong)?;
    let shifted = Decimal { exponent: number.exponent.saturating_add(power), ..number };
    shifted.scaled(bits, 1, up).ok_or_else(|| format!("`{text}` is too fast"))
}

/// The interval of messages of `size` bytes that have `rate` in bits per second, which is not zero. No
/// longer one has the rate.
pub(super) fn interval(size: u64, rate: u64) -> Span {
    let interval = u128::from(size) * 8_000_000_000_000 / u128::from(rate);
    Span::from_ps(u64::try_from(interval).unwrap_or(u64::MAX))
}

/// A whole number.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no whole number");
    let (number, _) = Decimal::split(text.trim()).filter(|(_, rest)| rest.is_empty()).ok_or_else(wrong)?;
    let (down, up) = (number.scaled(1, 1, false), number.scaled(1, 1, true));
    down.filter(|_| down == up).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_and_rounded_as_said() {
        assert_eq!(time("10us", "s"), Ok(Span::from_us(10)));
        assert_eq!(time("1e-2", "ms"), Ok(Span::from_us(10)));
        assert_eq!(time("0.0001 ns", "s"), Ok(Span::from_ps(1)));
        assert_eq!(size("2kB", "B"), Ok(2000));
        assert_eq!(size("9", "b"), Ok(2));
        assert_eq!(rate("0.5", "kbps", true), Ok(500));
        assert_eq!(rate("4Mbps", "bps", true), Ok(4_000_000));
        assert_eq!(rate("1.5bps", "bps", false), Ok(1));
        assert_eq!(rate("1 MBps", "bps", true), Ok(8_000_000));
        assert_eq!(rate("0.1", "Gbps", true), Ok(100_000_000));
        assert_eq!(whole("12"), Ok(12));
        for bad in ["", "x", "-1us", "1", "1e99s", "99999999999999999999999999999999999999999s"] {
            assert!(time(bad, "").is_err(), "{bad}");
        }
        assert!(size("1mB", "B").is_err() && rate("1mbps", "", true).is_err() && whole("1.5").is_err());
        assert_eq!(size("1e-99B", "B"), Ok(1));
    }
}
