//! Channels that answer others, in a line or in a circle.
//!
//! A channel with [`SourceSpec::Rounds`] sends a round of messages when a round of another channel has
//! arrived where it begins. Each channel answers at most one other, so a walk back from a channel ends at
//! one that answers none, or goes round in a circle: a closed loop. The first channel of a circle in the
//! file begins.

use std::collections::BTreeMap;

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

    /// Channel `i` and those before it, each of which the one in front answers, each once; and the place from
    /// which they are a circle, if they lead into one.
    fn before(&self, i: usize) -> (Vec<usize>, Option<usize>) {
        let (mut found, mut places) = (Vec::new(), BTreeMap::new());
        let mut at = Some(i);
        while let Some(channel) = at {
            if let Some(place) = places.insert(channel, found.len()) {
                return (found, Some(place));
            }
            found.push(channel);
            at = self.answers(channel);
        }
        (found, None)
    }

    /// Whether channel `i` is part of a circle.
    pub fn is_in_loop(&self, i: usize) -> bool {
        self.before(i).1 == Some(0)
    }

    /// Whether channel `i` begins the rounds of a circle.
    pub fn begins_rounds(&self, i: usize) -> bool {
        let (found, circle) = self.before(i);
        circle == Some(0) && found.iter().min() == Some(&i)
    }

    /// The exchange of which channel `i` is the last; `None` if it answers no other channel, or begins
    /// the rounds of a circle.
    pub fn exchange(&self, i: usize) -> Option<Exchange> {
        let (mut channels, circle) = self.before(i);
        if let Some(circle) = circle {
            let first = (circle..channels.len()).min_by_key(|place| channels[*place])?;
            channels.truncate(first + 1);
        }
        channels.reverse();
        let closed = self.answers(channels[0]) == Some(i);
        (channels.len() > 1).then_some(Exchange { channels, closed })
    }
}
