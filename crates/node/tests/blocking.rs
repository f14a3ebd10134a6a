//! The part of requests that is refused, beside Erlang's formula.

mod line;

use std::collections::BTreeMap;

use laxity_engine::{Seed, Stream};
use laxity_node::Command;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::GlobalChannelId;
use laxity_signalling::refusal::NodeResource;
use laxity_units::{Span, Time};
use line::{Line, Seen};

/// Eight of these fit on a link beside the signalling channel.
fn contract() -> ChannelContract {
    ChannelContract { min_interval: Span::from_ms(10), deadline: Span::from_ms(40), ..line::contract() }
}

/// `B(A, N)`: a lost request of Poisson arrivals, by `B(A, n) = A B(A, n−1) / (n + A B(A, n−1))`.
fn erlang(load: f64, places: u32) -> f64 {
    (1..=places).fold(1.0, |b, n| load * b / (f64::from(n) + load * b))
}

const PLACES: u32 = 8;

fn exponential(dice: &mut Stream, mean: Span) -> Span {
    let u = (dice.below(1 << 40) + 1) as f64 / (1_u64 << 40) as f64;
    Span::from_us((-u.ln() * mean.as_ps() as f64 / 1e6) as u64)
}

/// Requests at random over two hops, `load` of them in a mean holding time of `hold`.
struct Office {
    line: Line,
    /// Open channels, by their end.
    ends: BTreeMap<(Time, u32), GlobalChannelId>,
    holds: BTreeMap<GlobalChannelId, Span>,
    noticed: usize,
    /// The least number of open channels when a request was refused.
    least: usize,
    refused: u32,
}

impl Office {
    /// The part of `requests` that is refused, the part by the formula for the load that was drawn,
    /// and the least number of open channels at a refusal.
    fn run(seed: u64, load: f64, hold: Span, requests: u32) -> (f64, f64, usize) {
        let mut dice = Seed::new(seed).stream("requests");
        let (ends, holds) = (BTreeMap::new(), BTreeMap::new());
        let mut office =
            Self { line: Line::new(3, None), ends, holds, noticed: 0, refused: 0, least: usize::MAX };
        let mean = Span::from_us((hold.as_ps() as f64 / load / 1e6) as u64);
        let (mut next, mut drawn) = (Time::ZERO, 0.0);
        for _ in 0..requests {
            next += exponential(&mut dice, mean);
            office.until(next, hold / 100);
            let id = office.line.open(contract(), &[0, 1, 2]);
            let time = exponential(&mut dice, hold);
            drawn += time.as_ps() as f64;
            office.holds.insert(id, time);
        }
        let formula = erlang(drawn / office.line.now.as_ps() as f64, PLACES);
        let end = office.line.now + hold * 20;
        office.until(end, hold / 100);
        assert!(office.holds.is_empty() && office.ends.is_empty());
        let free = Line::new(3, None);
        for (node, fresh) in office.line.nodes.iter().zip(&free.nodes) {
            assert_eq!(node.holdings(), fresh.holdings());
        }
        (f64::from(office.refused) / f64::from(requests), formula, office.least)
    }

    /// Goes on in steps that are short beside a holding time, and closes channels.
    fn until(&mut self, end: Time, step: Span) {
        while self.line.now < end {
            let first = self.ends.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            self.line.until(end.min(first).min(self.line.now + step).max(self.line.now));
            self.line.command(0, Command::Renew);
            for (at, _, seen) in self.line.seen.split_off(self.noticed) {
                match seen {
                    Seen::Event(SourceEvent::Established { channel, .. }) => {
                        let hold = self.holds.remove(&channel).expect("it was asked for");
                        self.ends.insert((at + hold, channel.local), channel);
                    }
                    Seen::Event(SourceEvent::Refused { channel, refused }) => {
                        self.holds.remove(&channel).expect("it was asked for");
                        assert_eq!(refused.shortage.resource, NodeResource::Deadline);
                        self.refused += 1;
                        self.least = self.least.min(self.ends.len());
                    }
                    Seen::Event(SourceEvent::Lost { .. }) => panic!("{at} {seen:?}"),
                    _ => {}
                }
            }
            while let Some(entry) = self.ends.first_entry().filter(|entry| entry.key().0 <= self.line.now) {
                let channel = entry.remove();
                self.line.command(0, Command::Close(channel));
            }
        }
    }
}

#[test]
fn eight_channels_fit() {
    let mut line = Line::new(3, None);
    let established = (0..12).filter(|_| {
        let id = line.open(contract(), &[0, 1, 2]);
        line.until(line.now + Span::from_ms(100));
        line.established(id).is_some()
    });
    assert_eq!(established.count() as u32, PLACES);
}

/// The times of signalling are short beside a holding time of 20 s. A request is refused if eight
/// channels are open, or seven and one that is just being opened or closed.
#[test]
fn blocking_is_that_of_erlang() {
    for load in [4.0, 8.0, 16.0] {
        let (mut blocked, mut formula) = (0.0, 0.0);
        for seed in 0..8 {
            let (part, by_formula, least) = Office::run(seed, load, Span::from_secs(20), 2500);
            assert!(least + 1 >= PLACES as usize, "refused beside {least}");
            (blocked, formula) = (blocked + part / 8.0, formula + by_formula / 8.0);
        }
        println!("{load}: {blocked:.4}, by the formula {formula:.4}");
        assert!((blocked - formula).abs() < 0.01, "{load}: {blocked} and not {formula}");
    }
}

/// A channel takes link time from its request to its release at the last node. With a holding time
/// of 50 ms that is a part of the load.
#[test]
fn round_trips_are_load() {
    let (blocked, formula, _) = Office::run(1, 8.0, Span::from_ms(50), 10_000);
    println!("{blocked:.4}, by the formula {formula:.4}");
    assert!(blocked > formula + 0.01 && blocked < formula + 0.1, "{blocked} and {formula}");
}
