//! The program beside: what a computer does with the CPU that its network leaves it.
//!
//! How much that is could be computed from what the host did; but an interrupt costs more than its routine takes, in caches and in
//! the way in and out, and only somebody else's work shows that. So the thread computes whenever nothing of the network wants it,
//! in pieces that are shorter than a signal takes to arrive (and long beside a look whether one has), and what got done is compared with what gets done undisturbed.

use laxity_engine::Epoch;
use laxity_units::Span;

/// Steps in a piece of work: about five microseconds.
const STEPS: u32 = 4000;
/// Pieces that are timed together, and how often; the fastest counts, for a disturbance only ever makes it slower.
const PIECES: u32 = 20;
const ROUNDS: u32 = 50;

/// A program that always has something to compute.
#[derive(Debug)]
pub(super) struct Beside {
    state: u64,
    /// What a piece takes when nobody disturbs it, in the run's time.
    piece: Span,
}

impl Beside {
    /// One whose pieces are timed here and now: some milliseconds of the calling thread.
    pub(super) fn calibrate(epoch: &Epoch) -> Self {
        let mut beside = Self { state: 1, piece: Span::ZERO };
        let round = |beside: &mut Self| {
            let began = epoch.ticks().read();
            for _ in 0..PIECES {
                beside.work();
            }
            epoch.run_span(epoch.ticks().read() - began)
        };
        let fastest = (0..ROUNDS).map(|_| round(&mut beside)).min().unwrap_or_default();
        beside.piece = fastest / u64::from(PIECES);
        beside
    }

    /// Does a piece of work, and answers what it is worth.
    pub(super) fn work(&mut self) -> Span {
        self.steps(u64::from(STEPS));
        self.piece
    }

    /// Does work that is worth `span` to a step; answers what it is worth.
    pub(super) fn work_for(&mut self, span: Span) -> Span {
        let steps = u128::from(span.as_ps()) * u128::from(STEPS) / u128::from(self.piece.as_ps().max(1));
        self.steps(steps as u64);
        span
    }

    fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            // Each step needs the one before, so that no compiler and no processor does them at once.
            self.state = self.state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        }
        std::hint::black_box(self.state);
    }
}
