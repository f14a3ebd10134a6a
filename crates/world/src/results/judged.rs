//! Every bound that is printed beside a measurement, and the judgement of a run by all of them.
//!
//! A new bound is one line here. Tables, reports, notes, the exit code and the search for exceeded
//! bounds read this list and no other.

use super::{Channel, Computation, Kind, Run};

/// A measurement beside the bound on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The bounded quantity, in words.
    pub what: &'static str,
    /// The kind of quantity, for its unit.
    pub kind: Kind,
    /// The worst that was measured.
    pub measured: f64,
    /// The bound on it.
    pub bound: f64,
}

/// A bound that was exceeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Exceeded {
    /// The channel, the computation or the figure.
    pub of: String,
    /// The measurement and the bound.
    pub judged: Judged,
}

/// The [`what`](Judged::what) of the delays of a channel, which stand beside its deadline.
pub const DELAYS: [&str; 2] = ["response time", "time to delivery"];

/// The figure of a run that counts frames, and the figure that bounds it; both with the node behind
/// the name.
const FRAMES: (&str, &str) = ("frames_in_adapter", "frames_possible");

/// The figure of a run that counts broken rules of nodes, none of which there may be.
const BROKEN: &str = "broken_rules";

impl Judged {
    fn of(what: &'static str, kind: Kind, measured: Option<f64>, bound: Option<f64>) -> Option<Self> {
        let (measured, bound) = measured.zip(bound)?;
        Some(Self { what, kind, measured, bound })
    }

    /// Whether the measurement is above the bound.
    pub fn is_exceeded(&self) -> bool {
        is_above(self.measured, self.bound)
    }

    /// The measurement as a share of the bound; infinite beside a bound of zero.
    pub fn share(&self) -> f64 {
        match (self.measured, self.bound) {
            (0.0, 0.0) => 0.0,
            (measured, bound) => measured / bound,
        }
    }
}

/// Whether a measurement is above its bound.
pub fn is_above(measured: f64, bound: f64) -> bool {
    // Bounds are exact picoseconds before they are doubles: a rounding of the last bit exceeds no
    // bound.
    measured > bound * (1.0 + 1e-12)
}

impl Channel {
    /// Each measurement of the channel that has a bound.
    pub fn judged(&self) -> impl Iterator<Item = Judged> {
        let count = |count: Option<u64>| count.map(|count| count as f64);
        let backlog = (count(self.backlog), count(self.backlog_bound));
        [
            Judged::of(DELAYS[0], Kind::Time, self.worst, self.bound),
            Judged::of(DELAYS[1], Kind::Time, self.delivery_worst, self.delivery_bound),
            Judged::of("time to an answer", Kind::Time, self.establishment_worst, self.establishment_bound),
            Judged::of("packets at a station", Kind::Count, backlog.0, backlog.1),
            Judged::of("delay jitter", Kind::Time, self.delay_jitter, self.delay_jitter_bound),
            Judged::of("time of an exchange", Kind::Time, self.response_worst, self.response_bound),
            Judged::of("mean time of a round", Kind::Time, self.round_mean, self.round_bound),
            Judged::of("jitter fraction", Kind::Share, self.jitter_fraction, self.jitter_fraction_bound),
        ]
        .into_iter()
        .flatten()
    }

    /// Whether a measurement of the channel is above its bound.
    pub fn exceeds(&self) -> bool {
        self.judged().any(|judged| judged.is_exceeded())
    }
}

impl Computation {
    /// The measurement of the application that has a bound, if one has.
    pub fn judged(&self) -> Option<Judged> {
        Judged::of("time to a budget's end", Kind::Time, self.worst, self.bound)
    }
}

impl Run {
    /// Each measurement of the run that has a bound, with the channel, the computation or the
    /// figure that it is of.
    pub fn judged(&self) -> impl Iterator<Item = (&str, Judged)> {
        let channels =
            self.channels.iter().flat_map(|of| of.judged().map(|judged| (of.name.as_str(), judged)));
        let computations =
            self.computations.iter().filter_map(|of| of.judged().map(|judged| (of.name.as_str(), judged)));
        let frames = self.figures.iter().filter_map(|(name, measured)| {
            let bound = self.figures.get(&format!("{}{}", FRAMES.1, name.strip_prefix(FRAMES.0)?));
            let judged = Judged::of("frames in the adapter", Kind::Count, Some(*measured), bound.copied())?;
            Some((name.as_str(), judged))
        });
        let broken = self.figures.get_key_value(BROKEN).and_then(|(name, broken)| {
            let judged = Judged::of("broken rules of nodes", Kind::Count, Some(*broken), Some(0.0))?;
            Some((name.as_str(), judged))
        });
        channels.chain(computations).chain(frames).chain(broken)
    }

    /// Each bound that the run exceeded.
    pub fn exceeded(&self) -> impl Iterator<Item = Exceeded> {
        let exceeded = self.judged().filter(|(_, judged)| judged.is_exceeded());
        exceeded.map(|(of, judged)| Exceeded { of: of.to_string(), judged })
    }

    /// Whether a simulation exceeded a bound that was proved for it: none of its results is
    /// reliable, and the mistake is ours.
    pub fn exceeds_bounds(&self) -> bool {
        self.figures.contains_key("exceeded")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each bound: kept at the bound itself, exceeded by one part in a thousand, and not judged
    /// without a measurement.
    #[test]
    fn every_bound_is_judged() {
        let channel = Channel {
            name: "c".into(),
            bound: Some(1.0),
            delivery_bound: Some(2.0),
            backlog_bound: Some(4000),
            delay_jitter_bound: Some(0.25),
            response_bound: Some(8.0),
            round_bound: Some(4.0),
            jitter_fraction_bound: Some(0.5),
            ..Channel::default()
        };
        let measured = |share: f64| {
            let channel = Channel {
                worst: Some(share),
                delivery_worst: Some(2.0 * share),
                backlog: Some((4000.0 * share) as u64),
                delay_jitter: Some(0.25 * share),
                response_worst: Some(8.0 * share),
                round_mean: Some(4.0 * share),
                jitter_fraction: Some(0.5 * share),
                ..channel.clone()
            };
            let computation = Computation {
                name: "f".into(),
                bound: Some(3.0),
                worst: Some(3.0 * share),
                ..Computation::default()
            };
            let frames = [("frames_in_adapter@b", 1000.0 * share), ("frames_possible@b", 1000.0)];
            let figures = frames.map(|(name, value)| (name.to_string(), value)).into();
            Run { channels: vec![channel], computations: vec![computation], figures, ..Run::default() }
        };
        assert_eq!(measured(1.0).judged().count(), 9);
        assert_eq!(measured(1.0).exceeded().count(), 0);
        let exceeded: Vec<_> = measured(1.001).exceeded().map(|one| (one.of, one.judged.what)).collect();
        let expected = [
            ("c", "response time"),
            ("c", "time to delivery"),
            ("c", "packets at a station"),
            ("c", "delay jitter"),
            ("c", "time of an exchange"),
            ("c", "mean time of a round"),
            ("c", "jitter fraction"),
            ("f", "time to a budget's end"),
            ("frames_in_adapter@b", "frames in the adapter"),
        ];
        assert_eq!(exceeded, expected.map(|(of, what)| (of.to_string(), what)));
        assert_eq!(Run { channels: vec![channel], ..Run::default() }.judged().count(), 0);
    }

    #[test]
    fn a_share_of_nothing() {
        let judged = |measured| Judged { what: "", kind: Kind::Count, measured, bound: 0.0 };
        assert_eq!([judged(0.0), judged(1.0)].map(|one| one.share()), [0.0, f64::INFINITY]);
        assert_eq!([judged(0.0), judged(1.0)].map(|one| one.is_exceeded()), [false, true]);
    }
}
