//! Words about what is sent.

use laxity_model::source::Allowance;
use laxity_model::source::mpeg::Film;

use crate::leaf::Choice;
use laxity_scenario_keys::words;

/// A kind of source.
#[words]
pub(crate) enum SourceKind {
    /// A message every interval.
    Periodic,
    /// `burst` messages at once, every `burst` intervals.
    Bursty,
    /// Messages after exponential intervals of that mean.
    Poisson,
    /// The worst that the channel's contract allows.
    Adversary,
    /// The frames of a trace.
    Recorded,
    /// The frames of a generated film, like a recorded one by its summary.
    Mpeg,
    /// The messages of a list, each at its time; afterwards none.
    Script,
    /// Keeps the message queue full.
    Continuous,
    /// Has `outstanding` messages under way: when one is transmitted, or lost, the next is sent.
    Closed,
    /// `outstanding` messages at once, whenever a round of the channel `after` has arrived where this one
    /// begins. A guaranteed channel of a host sends each message as soon as its contract allows. Of
    /// channels that answer each other in a circle, the first in the file begins. Virtual interfaces
    /// answer each other in pairs.
    Rounds,
    /// Sends no message.
    None,
}

#[words(of = Allowance)]
enum AllowanceWords {
    /// Every message as early as allowed: the critical instant of every proof.
    Greedy,
    /// Saves up a random part of the burst, sends it at once, and again.
    Saving,
}

#[words(of = Film)]
enum FilmWords {
    /// A movie; 880 to 119632 bits, mean 13078, deviation 14749.
    Dino,
    /// A movie; 288 to 134224 bits, mean 7311, deviation 11195.
    Lambs,
    /// Sports; 280 to 190856 bits, mean 21889, deviation 20408.
    Atp,
    /// Sports; 4192 to 202416 bits, mean 30749, deviation 21167.
    Race,
    /// News; 16 to 194416 bits, mean 20664, deviation 25992.
    News,
    /// A talk show; 2080 to 106768 bits, mean 14536, deviation 16519.
    Talk,
}

/// Left to chance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Random;

impl Choice for Random {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("random", Random, "Drawn from the channel's random stream.")];
}
