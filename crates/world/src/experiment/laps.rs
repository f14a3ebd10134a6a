//! The numbers by which stations know channels.
//!
//! A channel may visit a station more than once: a relay sends a packet on, and it is sent back
//! through the relay. The station has to keep the channel's state twice, since the second visit has
//! packets, buffers and a deadline of its own. A route is therefore divided into *laps*, each of
//! which passes no station twice. Each lap has a number by which stations, adapters and queues know
//! it: the first lap has the channel's own number, the others have numbers behind those of all
//! channels. A packet changes its number between two laps; code that works with channels
//! ([`Laps::channel`]) does not see the change.

use std::collections::BTreeMap;
use std::ops::Range;

use laxity_qos::channel::{ChannelId, MessageOverflow};
use laxity_qos::discipline::Class;

use super::{ChannelSpec, Experiment};

/// The laps of all channels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Laps {
    channels: usize,
    /// Those behind the channels: the channel of each, and its hops.
    further: Vec<(usize, Range<usize>)>,
    /// By channel that turns back: where its own begin among `further`, and how many hops its first
    /// has.
    turning: BTreeMap<usize, (usize, usize)>,
}

impl Laps {
    /// Of the channels of `experiment`.
    pub fn new(experiment: &Experiment) -> Self {
        let mut laps = Self { channels: experiment.channels.len(), ..Self::default() };
        for (i, channel) in experiment.channels.iter().enumerate() {
            if let [first, further @ ..] = &laps_of(&channel.route)[..]
                && !further.is_empty()
            {
                laps.turning.insert(i, (laps.further.len(), first.len()));
                laps.further.extend(further.iter().map(|hops| (i, hops.clone())));
            }
        }
        laps
    }

    /// How many numbers there are: the next is free for others.
    pub fn len(&self) -> usize {
        self.channels + self.further.len()
    }

    /// Whether there is no channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The laps of channel `i`, of which the route has `hops` hops, in their order: the number of
    /// each, and its hops.
    pub fn of(&self, i: usize, hops: usize) -> impl Iterator<Item = (ChannelId, Range<usize>)> + use<'_> {
        let (begin, first) = self.turning.get(&i).copied().unwrap_or((self.further.len(), hops));
        let further = (begin..).zip(&self.further[begin..]).take_while(move |(_, (of, _))| *of == i);
        let further = further.map(|(at, (_, hops))| (self.number(at), hops.clone()));
        std::iter::once((ChannelId(i as u32), 0..first)).chain(further)
    }

    /// The number by which the station of that hop of its route knows channel `i`.
    pub fn at(&self, i: usize, hop: usize) -> ChannelId {
        let lap = self.of(i, hop + 1).find(|(_, hops)| hops.contains(&hop));
        lap.expect("every hop is of a lap").0
    }

    /// The channel of the lap of that number, and its hops. Panics if there is none.
    pub fn lap(&self, experiment: &Experiment, number: ChannelId) -> (usize, Range<usize>) {
        let place = number.0 as usize;
        match place.checked_sub(self.channels) {
            Some(further) => self.further[further].clone(),
            None => {
                let whole = experiment.channels[place].route.len();
                (place, 0..self.turning.get(&place).map_or(whole, |(_, first)| *first))
            }
        }
    }

    /// The number of the lap behind that of `number`, of a channel that turns back there. Panics if
    /// none is.
    pub fn after(&self, number: ChannelId) -> ChannelId {
        match number.0 as usize {
            first if first < self.channels => self.number(self.turning[&first].0),
            _ => ChannelId(number.0 + 1),
        }
    }

    /// The channel that stations know by that number. Panics if none is.
    #[inline]
    pub fn channel(&self, number: ChannelId) -> usize {
        let number = number.0 as usize;
        if number < self.channels { number } else { self.further[number - self.channels].0 }
    }

    fn number(&self, further: usize) -> ChannelId {
        ChannelId((self.channels + further) as u32)
    }
}

/// The hops of a route, lap by lap: one ends before a station that it has passed.
fn laps_of(route: &[usize]) -> Vec<Range<usize>> {
    let mut laps = Vec::new();
    let mut begin = 0;
    for (hop, station) in route.iter().enumerate() {
        if route[begin..hop].contains(station) {
            laps.push(begin..hop);
            begin = hop;
        }
    }
    laps.push(begin..route.len());
    laps
}

impl ChannelSpec {
    /// The hops of its route at which it is at `station`, not counting those where it is not copied yet: one
    /// for most, none where it never is.
    pub fn passages(&self, station: usize) -> impl Iterator<Item = usize> + '_ {
        let hops = self.route.iter().enumerate().skip(self.begins());
        hops.filter(move |(_, other)| **other == station).map(|(hop, _)| hop)
    }

    /// Whether it is at `station`, as itself.
    pub fn is_at(&self, station: usize) -> bool {
        self.passages(station).next().is_some()
    }

    /// Those from which it goes on: all but that at which it ends.
    pub fn passages_from(&self, station: usize) -> impl Iterator<Item = usize> + '_ {
        self.passages(station).filter(|hop| self.goes_on_from(*hop))
    }

    /// Whether it goes on from that hop: from all but that at which it ends.
    pub fn goes_on_from(&self, hop: usize) -> bool {
        hop < self.senders().len()
    }

    /// Whether it arrives at `station` from another.
    pub fn comes_to(&self, station: usize) -> bool {
        self.passages(station).any(|hop| hop > 0)
    }

    /// Whether anything of it may go without a guarantee: all, or what exceeds its contract.
    pub fn has_best_effort(&self) -> bool {
        self.class == Class::BestEffort || self.message_overflow == MessageOverflow::BestEffort
    }

    /// Whether it visits a station more than once.
    pub fn turns_back(&self) -> bool {
        laps_of(&self.route).len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lap_ends_before_a_station_that_it_has_passed() {
        assert_eq!(laps_of(&[4]), vec![0..1]);
        assert_eq!(laps_of(&[4, 2, 7]), vec![0..3]);
        assert_eq!(laps_of(&[4, 2, 7, 2, 4]), vec![0..3, 3..5]);
        assert_eq!(laps_of(&[0, 1, 0, 1, 0]), vec![0..2, 2..4, 4..5]);
    }
}
