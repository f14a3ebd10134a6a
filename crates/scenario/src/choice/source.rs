//! Words about what is sent.

use laxity_model::source::Allowance;
use laxity_model::source::mpeg::Film;

use crate::leaf::Choice;

/// A kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// A message every interval.
    Periodic,
    /// Bursts.
    Bursty,
    /// Exponential intervals.
    Poisson,
    /// The worst that the contract allows.
    Adversary,
    /// A trace.
    Recorded,
    /// A generated film.
    Mpeg,
    /// A list of messages.
    Script,
    /// As fast as the host takes it.
    Continuous,
    /// As fast as what is under way completes.
    Closed,
    /// In turn with another channel.
    Rounds,
    /// No messages.
    None,
}

impl Choice for SourceKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("periodic", SourceKind::Periodic, "A message every interval."),
        ("bursty", SourceKind::Bursty, "`burst` messages at once, every `burst` intervals."),
        ("poisson", SourceKind::Poisson, "Messages after exponential intervals of that mean."),
        ("adversary", SourceKind::Adversary, "The worst that the channel's contract allows."),
        ("recorded", SourceKind::Recorded, "The frames of a trace."),
        ("mpeg", SourceKind::Mpeg, "The frames of a generated film, like a recorded one by its summary."),
        ("script", SourceKind::Script, "The messages of a list, each at its time; afterwards nothing."),
        ("continuous", SourceKind::Continuous, "Keeps the message queue full."),
        (
            "closed",
            SourceKind::Closed,
            "Has `outstanding` messages under way: when one is transmitted, or lost, the next is sent.",
        ),
        (
            "rounds",
            SourceKind::Rounds,
            "A virtual interface: `outstanding` messages at once, whenever such a round of the channel `after` has come; of the two, the \
             first in the file begins.",
        ),
        ("none", SourceKind::None, "Sends nothing."),
    ];
}

impl Choice for Allowance {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "greedy",
            Allowance::Greedy,
            "Every message as early as allowed: the critical instant of every proof.",
        ),
        ("saving", Allowance::Saving, "Saves up a random part of the burst, sends it at once, and again."),
    ];
}

impl Choice for Film {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("dino", Film::Dino, "A movie; 880 to 119632 bits, mean 13078, deviation 14749."),
        ("lambs", Film::Lambs, "A movie; 288 to 134224 bits, mean 7311, deviation 11195."),
        ("atp", Film::Atp, "Sports; 280 to 190856 bits, mean 21889, deviation 20408."),
        ("race", Film::Race, "Sports; 4192 to 202416 bits, mean 30749, deviation 21167."),
        ("news", Film::News, "News; 16 to 194416 bits, mean 20664, deviation 25992."),
        ("talk", Film::Talk, "A talk show; 2080 to 106768 bits, mean 14536, deviation 16519."),
    ];
}

/// Left to chance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Random;

impl Choice for Random {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("random", Random, "Drawn from the channel's random stream.")];
}
