//! Channels that answer others, in a line or in a circle.
//!
//! A channel with [`SourceSpec::Rounds`] sends a round of messages when a round of another channel has
//! arrived where it begins. Each channel answers at most one other, so a walk back from a channel ends at
//! one that answers none, or goes round in a circle: a closed loop. The first channel of a circle in the
//! file begins.

use super::{Experiment, SourceSpec};

/// The channels from the first message of an exchange to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The channels, each but the first an answer to the one before.
    pub channels: Vec<usize>,
    /// Whether they are a whole circle: the first answers the last.
    pub closed: bool,
}

impl Experiment {
    /// The channel that channel `i` answers.
    pub fn answers(&self, i: usize) -> Option<usize> {
        match self.channels[i].source {
            SourceSpec::Rounds { after, .. } => Some(after),
            _ => None,
        }
    }

    /// The messages of a round of channel `i`: one, if it answers no other.
    pub fn round_of(&self, i: usize) -> u32 {
        match self.channels[i].source {
            SourceSpec::Rounds { window, .. } => window,
            _ => 1,
        }
    }

    /// Whether channel `i` is part of a circle.
    pub fn is_in_loop(&self, i: usize) -> bool {
        let answered = std::iter::successors(self.answers(i), |at| self.answers(*at));
        answered.take(self.channels.len()).any(|at| at == i)
    }

    /// Whether channel `i` begins the rounds of a circle.
    pub fn begins_rounds(&self, i: usize) -> bool {
        let mut at = self.answers(i);
        let mut steps = 0;
        // A circle elsewhere, into which the walk leads, has no channel `i`.
        while let Some(other) = at.filter(|other| *other > i && steps < self.channels.len()) {
            (at, steps) = (self.answers(other), steps + 1);
        }
        at == Some(i)
    }

    /// The exchange of which channel `i` is the last; `None` if it answers no other channel, or begins
    /// the rounds of a circle.
    pub fn exchange(&self, i: usize) -> Option<Exchange> {
        if self.begins_rounds(i) {
            return None;
        }
        self.answers(i)?;
        let mut channels = vec![i];
        let mut at = i;
        while let Some(other) = self.answers(at).filter(|_| !self.begins_rounds(at)) {
            channels.push(other);
            at = other;
        }
        channels.reverse();
        Some(Exchange { closed: self.answers(channels[0]) == Some(i), channels })
    }
}
