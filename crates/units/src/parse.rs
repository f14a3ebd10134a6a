//! The shared grammar of quantities: a non-negative decimal number, optional space, a unit.
//!
//! The number is read as an exact decimal and scaled by an integer, never through a float: `0.1 us`
//! is exactly 100 ns. A number finer than the finest unit is an error, since rounding would change
//! the written value.

use std::fmt;

const TOO_LARGE: &str = "is too large";

/// Reason why a text is not a quantity, and the valid form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    reason: String,
    valid: &'static str,
}

impl UnitError {
    pub(crate) fn new(reason: impl Into<String>, valid: &'static str) -> Self {
        Self { reason: reason.into(), valid }
    }

    /// Why the text is invalid.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether the text is a quantity that exceeds the range.
    pub fn is_too_large(&self) -> bool {
        self.reason.ends_with(TOO_LARGE)
    }

    /// Description of the valid form.
    pub fn valid(&self) -> &'static str {
        self.valid
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; valid is {}", self.reason, self.valid)
    }
}

impl std::error::Error for UnitError {}

pub(crate) fn quantity(text: &str, units: &[(&str, u64)], valid: &'static str) -> Result<u64, UnitError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(UnitError::new(format!("`{text}` is negative"), valid));
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    if number.is_empty() {
        return Err(UnitError::new(format!("`{text}` does not start with a number"), valid));
    }
    if unit.is_empty() {
        return Err(UnitError::new(format!("`{text}` has no unit"), valid));
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(UnitError::new(format!("`{unit}` is not a unit that fits here"), valid));
    };
    scale_decimal(number, scale).map_err(|reason| UnitError::new(format!("`{text}` {reason}"), valid))
}

fn scale_decimal(number: &str, scale: u64) -> Result<u64, &'static str> {
    let digits: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err("is not a decimal number");
    }
    let fraction = fraction.trim_end_matches('0');
    // Nineteen digits hold every u64; a longer number is out of range or finer than the finest
    // unit.
    if whole.trim_start_matches('0').len() > 19 {
        return Err(TOO_LARGE);
    }
    if fraction.len() > 18 {
        return Err("is finer than the finest unit that can be kept");
    }
    let whole: u128 =
        if whole.is_empty() { 0 } else { whole.parse().map_err(|_| "is not a decimal number")? };
    let numerator: u128 =
        if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| "is not a decimal number")? };
    let denominator = 10u128.pow(fraction.len() as u32);
    let scaled = numerator * u128::from(scale);
    if !scaled.is_multiple_of(denominator) {
        return Err("is finer than the finest unit that can be kept");
    }
    let total = whole * u128::from(scale) + scaled / denominator;
    u64::try_from(total).map_err(|_| TOO_LARGE)
}

/// Prints `value` in the largest of `units` (largest first) that needs at most three decimals, so
/// printing rounds only if the smallest unit would need a fraction.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let smallest = units.last().expect("a quantity has units");
    let (name, scale) = units
        .iter()
        .find(|(_, scale)| value >= *scale && (u128::from(value) * 1000).is_multiple_of(u128::from(*scale)))
        .unwrap_or(smallest);
    let whole = value / scale;
    let thousandths = (u128::from(value % scale) * 1000 / u128::from(*scale)) as u64;
    let number = match thousandths {
        0 => whole.to_string(),
        t => format!("{whole}.{t:03}").trim_end_matches('0').to_string(),
    };
    f.pad(&format!("{number} {name}"))
}
