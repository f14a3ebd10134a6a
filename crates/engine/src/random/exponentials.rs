//! Exponentially distributed spans, drawn in batches.
//!
//! A logarithm has a latency of some twenty nanoseconds, though a processor can overlap several. A
//! span drawn on demand costs the full latency, since the next event depends on it. A stream of
//! only exponential spans is known in advance except for the means, which are factors. The
//! logarithms are therefore computed in batches, overlapped, and a draw is a product.

use laxity_units::Span;

use super::{Stream, whole};

/// Logarithms per batch.
const AHEAD: usize = 32;

/// Stream of exponentially distributed spans only: the same ones as from [`Stream::exponential`].
#[derive(Debug, Clone)]
pub struct Exponentials {
    stream: Stream,
    /// Variates of mean one; those before `next` are used.
    ones: [f64; AHEAD],
    next: usize,
}

impl From<Stream> for Exponentials {
    fn from(stream: Stream) -> Self {
        Self { stream, ones: [0.0; AHEAD], next: AHEAD }
    }
}

impl Exponentials {
    /// Next span of mean `mean`, equal to that of [`Stream::exponential`].
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
