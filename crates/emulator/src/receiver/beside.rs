//! Background program: work that uses the CPU time left by the network.
//!
//! That time could be computed from the host's work. But an interrupt costs more than its routine,
//! in caches and in entry and exit, which only other work shows. The thread therefore computes
//! whenever no network work is pending, in pieces shorter than a signal's latency (and long
//! compared with a check for one), and the completed work is compared with that of an undisturbed
//! run.

use laxity_engine::TickEpoch;
use laxity_units::Span;

/// Steps in a piece of work: about five microseconds.
const STEPS: u32 = 4000;
/// Pieces per timing, and number of timings; the fastest counts, since a disturbance only slows it
/// down.
const PIECES: u32 = 20;
const ROUNDS: u32 = 50;

#[derive(Debug)]
pub(super) struct Beside {
    state: u64,
    /// Undisturbed time of a piece, in run time.
    piece: Span,
}

impl Beside {
    /// Calibrates the time of a piece; takes some milliseconds of the calling thread.
    pub(super) fn calibrate(epoch: &TickEpoch) -> Self {
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

    /// Does a piece of work, and returns its undisturbed time.
    pub(super) fn work(&mut self) -> Span {
        self.steps(u64::from(STEPS));
        self.piece
    }

    /// Does work of undisturbed time `span`, to a step; returns that time.
    pub(super) fn work_for(&mut self, span: Span) -> Span {
        let steps = u128::from(span.as_ps()) * u128::from(STEPS) / u128::from(self.piece.as_ps().max(1));
        self.steps(steps as u64);
        span
    }

    fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            // Each step depends on the previous one, so neither compiler nor processor can
            // parallelise them.
            self.state = self.state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        }
        std::hint::black_box(self.state);
    }
}
