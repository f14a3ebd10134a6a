//! What sources leave to chance.

use laxity_units::Span;

/// A stream of random numbers, of which each source has its own.
///
/// The numbers are the caller's affair: named streams of one seed for a run, a fixed list for a test. The same
/// stream must give the same numbers on every machine, or a run cannot be repeated.
pub trait Draw {
    /// Any number, all as likely.
    fn next_u64(&mut self) -> u64;

    /// A number from 0 to 1, 1 excluded.
    fn unit(&mut self) -> f64;

    /// A whole number below `n`, all as likely; `n` is not zero.
    fn below(&mut self, n: u64) -> u64;

    /// A span that is exponentially distributed about `mean`.
    fn exponential(&mut self, mean: Span) -> Span;
}
