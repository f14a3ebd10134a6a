//! Single values: quantities within bounds, counts, names, and one of several words.
//!
//! A quantity that is legal by itself can still be nonsense here: an interval of zero, a packet of
//! a gigabyte. Bounds are part of the type, so the message, the schema and the check agree. They
//! are wide: no sum of a file's values can leave the range of picoseconds.

use std::fmt::Display;
use std::str::FromStr;

use laxity_units::{Bytes, Rate, Span, UnitError};
use schemars::{Schema, json_schema};

use super::written::{Fault, Leaf, Scalar};
use crate::diagnostic::{list, nearest, shown};

/// A range of a quantity.
pub(crate) trait Bounds {
    /// The bounded quantity.
    type Quantity: Quantity;
    /// The least that is valid, as a person writes it.
    const LEAST: &'static str;
    /// The most that is valid.
    const MOST: &'static str;
    /// An example.
    const LIKE: &'static str;
}

pub(crate) trait Quantity: FromStr<Err = UnitError> + Display + Ord + Copy {
    /// `a time`.
    const KIND: &'static str;
    /// Units, as a regular expression.
    const UNITS: &'static str;
}

impl Quantity for Span {
    const KIND: &'static str = "a time";
    const UNITS: &'static str = "ps|ns|us|µs|μs|ms|s|min|h";
}

impl Quantity for Bytes {
    const KIND: &'static str = "a size";
    const UNITS: &'static str = "B|[KMG]iB|[kMG]B";
}

impl Quantity for Rate {
    const KIND: &'static str = "a rate";
    const UNITS: &'static str = "[kMG]?bit/s|B/s|[KMG]iB/s|[kMG]B/s";
}

/// A quantity within bounds.
pub(crate) struct Bounded<B: Bounds>(B::Quantity);

impl<B: Bounds> Bounded<B> {
    pub(crate) fn get(&self) -> B::Quantity {
        self.0
    }
}

impl<B: Bounds> Clone for Bounded<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Bounds> Copy for Bounded<B> {}

impl<B: Bounds> std::fmt::Debug for Bounded<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A time that may be zero: a horizon, a phase, a propagation delay.
pub(crate) enum Delay {}
/// A time that is something: an interval, a deadline.
pub(crate) enum Interval {}
/// Cost of a step.
pub(crate) enum Cost {}
/// Cost of a byte.
pub(crate) enum PerByte {}
pub(crate) enum Length {}
pub(crate) enum Size {}
/// Memory, which may be none.
pub(crate) enum Room {}
/// A rate that is something.
pub(crate) enum Flow {}

impl Bounds for Delay {
    type Quantity = Span;
    const LEAST: &'static str = "0 s";
    const MOST: &'static str = "1 h";
    const LIKE: &'static str = "500 us";
}

impl Bounds for Interval {
    type Quantity = Span;
    const LEAST: &'static str = "1 ns";
    const MOST: &'static str = "1 h";
    const LIKE: &'static str = "50 ms";
}

impl Bounds for Cost {
    type Quantity = Span;
    const LEAST: &'static str = "0 s";
    const MOST: &'static str = "1 s";
    const LIKE: &'static str = "55 us";
}

impl Bounds for PerByte {
    type Quantity = Span;
    const LEAST: &'static str = "0 s";
    const MOST: &'static str = "1 ms";
    const LIKE: &'static str = "50 ns";
}

impl Bounds for Length {
    type Quantity = Span;
    const LEAST: &'static str = "0 s";
    const MOST: &'static str = "720 h";
    const LIKE: &'static str = "10 s";
}

impl Bounds for Size {
    type Quantity = Bytes;
    const LEAST: &'static str = "1 B";
    const MOST: &'static str = "1 GiB";
    const LIKE: &'static str = "4 KiB";
}

impl Bounds for Room {
    type Quantity = Bytes;
    const LEAST: &'static str = "0 B";
    const MOST: &'static str = "1 GiB";
    const LIKE: &'static str = "4 KiB";
}

impl Bounds for Flow {
    type Quantity = Rate;
    const LEAST: &'static str = "1 bit/s";
    const MOST: &'static str = "1000000 Gbit/s";
    const LIKE: &'static str = "1200 KiB/s";
}

/// A bound as the quantity it is.
pub(crate) fn bound<Q: Quantity>(text: &str) -> Q {
    text.parse().unwrap_or_else(|error| panic!("bounds are quantities: {error}"))
}

fn bounds_in_words<B: Bounds>() -> String {
    let (kind, least, most, like) = (B::Quantity::KIND, B::LEAST, B::MOST, B::LIKE);
    format!("{kind} from {least} to {most} in quotes, such as `\"{like}\"`")
}

impl<B: Bounds> Leaf for Bounded<B> {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = bounds_in_words::<B>;
        let text = match scalar {
            Scalar::Text(text) => text,
            Scalar::Integer(n) => return Err(Fault::new(format!("`{n}` has no unit"), valid())),
            Scalar::Float(n) => return Err(Fault::new(format!("`{n}` has no unit"), valid())),
            other => return Err(other.mistyped(valid())),
        };
        let quantity: B::Quantity = match text.parse() {
            Ok(quantity) => quantity,
            Err(_) if text.trim().is_empty() => {
                return Err(Fault::new(format!("{} is missing", B::Quantity::KIND), valid()));
            }
            Err(_) if text.chars().count() > 60 => {
                return Err(Fault::new(format!("`{}` is not {}", shown(&text), B::Quantity::KIND), valid()));
            }
            Err(error) if error.is_too_large() => {
                return Err(Fault::new(format!("`{text}` is more than {}", B::MOST), valid()));
            }
            Err(error) => return Err(Fault::new(error.reason(), error.valid())),
        };
        if quantity < bound(B::LEAST) {
            return Err(Fault::new(format!("`{text}` is less than {}", B::LEAST), valid()));
        }
        if quantity > bound(B::MOST) {
            return Err(Fault::new(format!("`{text}` is more than {}", B::MOST), valid()));
        }
        Ok(Bounded(quantity))
    }

    fn schema() -> Schema {
        let pattern = format!("^\\s*[0-9_]*\\.?[0-9_]+\\s*({})\\s*$", B::Quantity::UNITS);
        // The format of schemas has no range of texts; programs find the range here.
        json_schema!({
            "type": "string", "pattern": pattern, "examples": [B::LIKE],
            "x-quantity": B::Quantity::KIND, "x-minimum": B::LEAST, "x-maximum": B::MOST
        })
    }
}

/// A whole number within bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<const LEAST: u64, const MOST: u64>(u64);

impl<const LEAST: u64, const MOST: u64> Whole<LEAST, MOST> {
    pub(crate) fn get(self) -> u64 {
        self.0
    }

    /// The number in 32 bits, which `MOST` must fit.
    pub(crate) fn small(self) -> u32 {
        const { assert!(MOST <= u32::MAX as u64) };
        self.0 as u32
    }
}

impl<const LEAST: u64, const MOST: u64> Leaf for Whole<LEAST, MOST> {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = format!("a whole number from {LEAST} to {MOST}, without quotes");
        match scalar {
            Scalar::Integer(n) => match u64::try_from(n) {
                Ok(n) if n < LEAST => Err(Fault::new(format!("{n} is less than {LEAST}"), valid)),
                Ok(n) if n <= MOST => Ok(Whole(n)),
                Err(_) if n < 0 => Err(Fault::new(format!("{n} is negative"), valid)),
                _ => Err(Fault::new(format!("{n} is more than {MOST}"), valid)),
            },
            other => Err(other.mistyped(valid)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

/// A number as text that is no line of noughts: `1e300` as it was written.
pub(crate) fn shortly(number: f64) -> String {
    let plain = number == 0.0 || !number.is_finite() || (1e-9..1e15).contains(&number.abs());
    if plain { number.to_string() } else { format!("{number:e}") }
}

/// A factor greater than zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor(f64);

impl Factor {
    const MOST: f64 = 1e6;

    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl Leaf for Factor {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = "a number above 0 and up to 1000000, such as `1.5`";
        let factor = match scalar {
            Scalar::Integer(n) => n as f64,
            Scalar::Float(n) => n,
            other => return Err(other.mistyped(valid)),
        };
        if factor > 0.0 && factor <= Self::MOST {
            Ok(Factor(factor))
        } else {
            Err(Fault::new(format!("{} is out of range", shortly(factor)), valid))
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000 })
    }
}

/// A probability, or a share of a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share(f64);

impl Share {
    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl Leaf for Share {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = "a number from 0 to 1, such as `0.01`";
        let share = match scalar {
            Scalar::Integer(n) => n as f64,
            Scalar::Float(n) => n,
            other => return Err(other.mistyped(valid)),
        };
        match (0.0..=1.0).contains(&share) {
            true => Ok(Share(share)),
            false => Err(Fault::new(format!("{} is out of range", shortly(share)), valid)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// A number, or a quantity with its unit as text: which of the two is right depends on what it is of.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    /// Without a unit.
    Plain(f64),
    /// With one.
    Text(String),
}

impl Leaf for Number {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        match scalar {
            Scalar::Integer(n) => Ok(Number::Plain(n as f64)),
            Scalar::Float(n) if n.is_finite() => Ok(Number::Plain(n)),
            Scalar::Text(text) => Ok(Number::Text(text)),
            other => Err(other.mistyped("a number, or a quantity such as `\"5 ms\"`")),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

/// Any text.
impl Leaf for String {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        match scalar {
            Scalar::Text(text) => Ok(text),
            other => Err(other.mistyped("a text in quotes")),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Leaf for bool {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        match scalar {
            Scalar::Boolean(value) => Ok(value),
            other => Err(other.mistyped("`true` or `false`, without quotes")),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

/// A name that a dotted key, a file name and a claim can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

impl Name {
    const LONGEST: usize = 64;
}

impl Leaf for Name {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = "a name of 1 to 64 letters, digits, `-` and `_` in quotes, such as `\"video-1\"`";
        let text = match scalar {
            Scalar::Text(text) => text,
            other => return Err(other.mistyped(valid)),
        };
        let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        match text.chars().find(|c| !good(*c)) {
            Some(c) => Err(Fault::new(format!("a name cannot hold `{c}`"), valid)),
            None if text.is_empty() => Err(Fault::new("the name is empty", valid)),
            None if text.chars().count() > Self::LONGEST => Err(Fault::new("the name is too long", valid)),
            None => Ok(Name(text)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[\\w-]{1,64}$" })
    }
}

/// An end of a network: a node, or one of its adapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndName {
    pub(crate) node: String,
    pub(crate) adapter: Option<String>,
}

impl Leaf for EndName {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let valid = "the name of a node, or of one of its adapters, as `\"gateway.left\"`";
        let text = match scalar {
            Scalar::Text(text) => text,
            other => return Err(other.mistyped(valid)),
        };
        let name = |text: &str| match Name::read(Scalar::Text(text.into())) {
            Ok(Name(name)) => Ok(name),
            Err(fault) => Err(Fault::new(fault.reason, valid)),
        };
        match text.split_once('.') {
            Some((node, adapter)) => Ok(Self { node: name(node)?, adapter: Some(name(adapter)?) }),
            None => Ok(Self { node: name(&text)?, adapter: None }),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[\\w-]{1,64}(\\.[\\w-]{1,64})?$" })
    }
}

/// One of several words.
pub(crate) trait Choice: Copy + 'static {
    /// Each word, what it stands for, and what that is.
    const CHOICES: &'static [(&'static str, Self, &'static str)];
}

/// The word `text` as a choice, if it is one.
pub(crate) fn choose<C: Choice>(text: &str) -> Option<C> {
    C::CHOICES.iter().find(|(word, ..)| *word == text).map(|(_, choice, _)| *choice)
}

/// The word for `choice`; empty for what no file can say.
pub(crate) fn word<C: Choice + PartialEq>(choice: C) -> &'static str {
    C::CHOICES.iter().find(|(_, other, _)| *other == choice).map_or("", |(word, ..)| word)
}

impl<C: Choice> Leaf for C {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        let words = || C::CHOICES.iter().map(|(word, ..)| *word);
        let valid = format!("one of {}", list(words()));
        let Scalar::Text(text) = scalar else { return Err(scalar.mistyped(valid)) };
        choose(&text).ok_or_else(|| {
            let meant = nearest(&text, words()).map(|word| format!("; did you mean `{word}`?"));
            let reason = format!("`{}` is not known here{}", shown(&text), meant.unwrap_or_default());
            Fault::new(reason, valid)
        })
    }

    fn schema() -> Schema {
        let choices: Vec<_> = C::CHOICES
            .iter()
            .map(|(word, _, doc)| serde_json::json!({ "const": word, "description": doc }))
            .collect();
        json_schema!({ "oneOf": choices })
    }
}

/// A scalar that is one of two kinds; the first that fits it by its form is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Or<A, B> {
    /// The first kind.
    This(A),
    /// The second.
    That(B),
}

/// Distinguishes the kinds of [`Or`]: whether `scalar` looks like a `Self` at all.
pub(crate) trait Looks {
    fn looks(scalar: &Scalar) -> bool;
}

impl<C: Choice> Looks for C {
    fn looks(scalar: &Scalar) -> bool {
        matches!(scalar, Scalar::Text(text) if choose::<C>(text).is_some())
    }
}

impl<const LEAST: u64, const MOST: u64> Looks for Whole<LEAST, MOST> {
    fn looks(scalar: &Scalar) -> bool {
        matches!(scalar, Scalar::Integer(_))
    }
}

impl<A: Leaf + Looks, B: Leaf> Leaf for Or<A, B> {
    fn read(scalar: Scalar) -> Result<Self, Fault> {
        if A::looks(&scalar) {
            return A::read(scalar).map(Or::This);
        }
        // A value that fits neither gets the reason of both.
        B::read(scalar).map(Or::That).map_err(|fault| {
            let other = A::read(Scalar::List).err().map(|other| other.valid).unwrap_or_default();
            Fault::new(fault.reason, format!("{other}; or {}", fault.valid))
        })
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [A::schema(), B::schema()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_out_of_range_is_no_line_of_noughts() {
        let said = |factor: f64| Factor::read(Scalar::Float(factor)).unwrap_err().reason;
        for (factor, short) in
            [(1e300, "1e300"), (-1e-300, "-1e-300"), (0.0, "0"), (2e6, "2000000"), (f64::NAN, "NaN")]
        {
            assert_eq!(said(factor), format!("{short} is out of range"));
        }
    }
}
