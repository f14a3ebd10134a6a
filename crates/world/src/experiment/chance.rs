//! The random parts of a run, each with a named stream of random numbers.
//!
//! All names are here, for two reasons. Two equal names would draw the same numbers by accident. A
//! part that is simulated in one run and real in another (a source, a clock, the work of a
//! receiving host) has to draw the same numbers in both.

use std::sync::Arc;

use laxity_engine::{Seed, Stream};
use laxity_model::source::{Source, Start};
use laxity_units::Span;

use super::{ChannelSpec, Experiment, Network};

/// The owner of a stream. Channels, nodes, interfaces and faults are those at that position of the
/// experiment.
#[derive(Debug, Clone, Copy)]
pub enum Chance<'a> {
    /// When a channel sends, and how much.
    Source(usize),
    /// The same of the how-manyth virtual interface of a channel that has several; the first is the
    /// channel's [source](Chance::Source).
    Stream(usize, u32),
    /// The place in a trace from which all its sources count, by the first channel that sends it.
    Cut(usize),
    /// The back-off times after collisions in a network.
    Medium(&'a Network),
    /// The impairments of frames in a network, or on the path from one node to another if each has
    /// its own.
    Impairments(&'a Network, Option<(usize, usize)>),
    /// Which interrupts a fault takes.
    Fault(usize),
    /// The time that the receiving host of a node takes for a piece of work.
    ReceptionCosts(usize),
    /// How far apart the clock of an interface of a node ticks.
    Clock(usize, usize),
    /// When the calls of a channel are asked for, and how long they are held.
    Requests(usize),
    /// The jitter of retransmissions of a node in its life of that number.
    Jitter(usize, u32),
}

impl Experiment {
    /// The stream of `whose`, from its beginning: the same whenever it is asked for, whatever the
    /// clock.
    pub fn chance(&self, whose: Chance<'_>) -> Stream {
        let channel = |channel: usize| &self.channels[channel].name;
        let name = match whose {
            Chance::Source(n) | Chance::Stream(n, 0) => format!("source {}", channel(n)),
            Chance::Stream(n, stream) => format!("channel {} stream {stream}", channel(n)),
            Chance::Cut(n) => format!("cut of the trace of {}", channel(n)),
            Chance::Medium(network) => network.named("medium"),
            Chance::Impairments(network, None) => network.named("impairments"),
            Chance::Impairments(network, Some((from, to))) => {
                let over = format!("impairments from {} to {} over", self.name(from), self.name(to));
                network.named(&over)
            }
            Chance::Fault(n) => format!("fault {n}"),
            Chance::ReceptionCosts(node) => format!("reception costs{}", self.suffix(node)),
            Chance::Requests(n) => format!("requests for {}", channel(n)),
            Chance::Jitter(node, life) => format!("jitter of {} in life {life}", self.name(node)),
            Chance::Clock(node, interface) => {
                format!("reception clock {interface}{}", self.suffix(node))
            }
        };
        Seed::new(self.seed).stream(&name)
    }

    /// The source of a channel, or of one of its virtual interfaces; `None` for those without times
    /// of their own.
    pub fn source(&self, channel: usize, stream: u32) -> Option<Source> {
        self.source_from(channel, stream, Span::ZERO)
    }

    /// The same, all of it later by `at`.
    pub fn source_from(&self, channel: usize, stream: u32, at: Span) -> Option<Source> {
        let mut spec = self.channels[channel].source_of_stream(stream);
        if let Some(recorded) = spec.recorded_mut()
            && let Start::Cut { within, further } = recorded.from
        {
            let sends = |other: &ChannelSpec| {
                other.source.recorded().is_some_and(|other| Arc::ptr_eq(&other.trace, &recorded.trace))
            };
            let first = self.channels.iter().position(sends).unwrap_or(channel);
            let place = self.chance(Chance::Cut(first)).below(within.as_ps().max(1));
            recorded.from = Start::After(further.saturating_add(Span::from_ps(place)));
        }
        spec.source_from(at, self.chance(Chance::Stream(channel, stream)))
    }
}

impl Network {
    /// `what` with its name behind, if it has one.
    fn named(&self, what: &str) -> String {
        self.name.as_ref().map_or_else(|| what.into(), |name| format!("{what} {name}"))
    }
}
