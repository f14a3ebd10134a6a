//! Sums with names, so that a bound can be read.
//!
//! Arithmetic inside admission is in picoseconds in a `u128`: a sum over any number of channels
//! that fit in memory cannot overflow there, and only what is printed or promised becomes a
//! [`Span`] again. A span too long to name is [`Span::MAX`], which no deadline reaches.

use std::fmt;

use laxity_units::Span;

/// A part of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Its name.
    pub name: &'static str,
    /// How long it takes.
    pub cost: Span,
}

/// A bound as the sum of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breakdown {
    terms: Vec<Term>,
}

impl Breakdown {
    /// A bound of these parts, in the order of the formula.
    pub fn of(terms: Vec<Term>) -> Self {
        Self { terms }
    }

    /// The parts, in the order of the formula.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The sum of the parts.
    pub fn total(&self) -> Span {
        span(self.picoseconds())
    }

    pub(super) fn picoseconds(&self) -> u128 {
        sum(&self.terms)
    }

    pub(super) fn with(mut self, terms: &[Term]) -> Self {
        self.terms.extend_from_slice(terms);
        self
    }

    pub(super) fn and(mut self, name: &'static str, cost: u128) -> Self {
        if cost > 0 {
            self.terms.push(Term { name, cost: span(cost) });
        }
        self
    }
}

impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for term in &self.terms {
            writeln!(f, "{:>14}  {}", term.cost.to_string(), term.name)?;
        }
        write!(f, "{:>14}  total", self.total().to_string())
    }
}

/// An exact ratio of at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ratio {
    pub(super) numerator: u128,
    pub(super) denominator: u128,
}

impl Ratio {
    pub(super) const ONE: Ratio = Ratio { numerator: 1, denominator: 1 };

    /// `value` times this, rounded up; what cannot be computed is far beyond any span.
    pub(super) fn scale(self, value: u128) -> u128 {
        value.checked_mul(self.numerator).map_or(u128::MAX / 4, |scaled| scaled.div_ceil(self.denominator))
    }
}

pub(super) fn ps(span: Span) -> u128 {
    u128::from(span.as_ps())
}

pub(super) fn span(ps: u128) -> Span {
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

/// The costs of `terms` together, in picoseconds.
pub(super) fn sum(terms: &[Term]) -> u128 {
    terms.iter().map(|term| ps(term.cost)).sum()
}
