//! Exponentially distributed spans, drawn ahead.
//!
//! A logarithm takes a processor some twenty nanoseconds from its first instruction to its last, though it could have several under
//! way. Who draws a span when it is needed waits for all of that: what happens next depends on the span, and nothing
//! can go on beside. What is needed of a stream that gives nothing but exponential spans is known before, all but their means, which are factors.
//! So the logarithms are taken some dozens at a time, one beside the other, and a draw is a product.

use laxity_units::Span;

use super::{Stream, whole};

/// Logarithms taken at a time.
const AHEAD: usize = 32;

/// A stream that gives exponentially distributed spans and nothing else: the same ones as [`Stream::exponential`].
#[derive(Debug, Clone)]
pub struct Exponentials {
    stream: Stream,
    /// Of mean one; those before `next` are used up.
    ones: [f64; AHEAD],
    next: usize,
}

impl From<Stream> for Exponentials {
    fn from(stream: Stream) -> Self {
        Self { stream, ones: [0.0; AHEAD], next: AHEAD }
    }
}

impl Exponentials {
    /// The next span of mean `mean`, as [`Stream::exponential`] has it.
    #[inline]
    pub fn draw(&mut self, mean: Span) -> Span {
        if self.next >= AHEAD {
            self.refill();
        }
        let one = self.ones[self.next];
        self.next += 1;
        whole(one * mean.as_ps() as f64)
    }

    #[inline(never)]
    fn refill(&mut self) {
        for one in &mut self.ones {
            *one = self.stream.standard_exponential();
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn they_are_what_the_stream_gives_one_by_one() {
        let mut stream = Seed::new(3).stream("costs");
        let mut ahead = Exponentials::from(stream.clone());
        for n in 0..(3 * AHEAD as u64 + 1) {
            let mean = Span::from_ps(1 + n * n * n * 977);
            assert_eq!(ahead.draw(mean), stream.exponential(mean), "number {n}");
        }
    }
}
