//! The time that a token leaves a station that always has a frame.
//!
//! A station holds the token for its holding time THT of every rotation of at most TTRT, finishes
//! the frame that is under way when that has passed, and has it taken off the next holdings.
//! `laxity_model::network::token_ring` proves that in any `m` consecutive holdings station `j`
//! holds the token for less than `m THT_j + F_j`, and a saturated one for `m THT_j + d' − d`. Here
//! `0 ≤ d, d' < F_j` are its overrun before and after, and `F_j` is its longest frame and twice the
//! handling.
//!
//! Let the station have work all the time, in which the token stays as long as it may. Let `Y` be
//! how long `C` of work takes, all work between two frames included: any work while the token is
//! away only shortens it. Of each holding `2 h` are handling. In `Y` the token is away `r` times.
//! Between two of those are whole holdings, so
//!
//! ```text
//! (r − 1) (THT − 2 h) − F_i ≤ C            ⇒   r ≤ 1 + (C + F_i)/(THT − 2 h)
//! Y ≤ C + r (TTRT − THT + 2 h) + Σ_{j≠i} F_j
//!   ≤ C · TTRT/(THT − 2 h) + (1 + F_i/(THT − 2 h)) (TTRT − THT + 2 h) + Σ_{j≠i} F_j.            (1)
//! ```
//!
//! That is a server of rate `(THT − 2 h)/TTRT` and of a latency. The latency is also the longest
//! wait of one frame when the token has to be waited for each time: the wait of the ring's own
//! proof, (2) there, has `⌊F_i/THT⌋` in place of the fraction.

use laxity_units::Span;

use super::{ps, span};

/// The turns that a station has on a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    /// TTRT.
    pub rotation: Span,
    /// THT; more than twice the handling, less than the rotation.
    pub holding: Span,
    /// Work of a station on the token when it arrives, and again before it goes on.
    pub handling: Span,
    /// `F_i`: the longest frame of this station, and twice the handling.
    pub longest: Span,
    /// `Σ_{j≠i} F_j`: the same of all others together.
    pub others: Span,
}

impl Turns {
    fn useful(&self) -> u128 {
        ps(self.holding).saturating_sub(2 * ps(self.handling)).max(1)
    }

    /// `work` as long as it takes at the ring's rate.
    pub(super) fn stretched(&self, work: u128) -> u128 {
        (work * ps(self.rotation)).div_ceil(self.useful())
    }

    /// The same in spans.
    pub fn stretch(&self, work: Span) -> Span {
        span(self.stretched(ps(work)))
    }

    /// The latency of (1).
    pub fn latency(&self) -> Span {
        let away = ps(self.rotation).saturating_sub(ps(self.holding)) + 2 * ps(self.handling);
        let owed = (ps(self.longest) * away).div_ceil(self.useful());
        span(away + owed + ps(self.others))
    }
}
