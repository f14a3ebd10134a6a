//! Statistics of a CSMA/CD medium.

use laxity_units::Span;

/// Statistics of a [`Csma`](super::Csma) medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsmaReport {
    /// Of each station that asks.
    pub stations: Vec<CsmaStation>,
    /// Of the others together.
    pub background: BackgroundReport,
    /// The time that all frames took which were sent whole, gaps excluded.
    pub carried: Span,
}

impl CsmaReport {
    pub(super) fn new(stations: usize) -> CsmaReport {
        CsmaReport {
            stations: vec![CsmaStation::default(); stations],
            background: BackgroundReport::default(),
            carried: Span::ZERO,
        }
    }

    /// The part of the first `elapsed` in which whole frames were sent, gaps excluded.
    pub fn utilisation(&self, elapsed: Span) -> f64 {
        self.carried.as_secs_f64() / elapsed.as_secs_f64()
    }
}

/// Statistics of a station's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CsmaStation {
    /// Transmissions begun.
    pub attempts: u64,
    /// Transmissions that collided.
    pub collisions: u64,
    /// Frames given up after the last attempt.
    pub given_up: u64,
    /// Frames sent whole.
    pub sent: u64,
    /// From a request to the beginning of the attempt that succeeded, at most.
    pub longest_access: Span,
}

/// Statistics of the frames of the [others](super::Background).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackgroundReport {
    /// Frames that came.
    pub offered: u64,
    /// Transmissions begun.
    pub attempts: u64,
    /// Transmissions that collided.
    pub collisions: u64,
    /// Frames given up after the last attempt.
    pub given_up: u64,
    /// Frames sent whole.
    pub sent: u64,
}
