//! Copies of packets for the further receivers of a multicast.

use std::collections::BTreeMap;

use laxity_engine::Calendar;
use laxity_engine::trace::TraceSink;
use laxity_qos::channel::{ChannelId, Label, Packet};
use laxity_units::{Bytes, Span, Time};

use super::Outside;
use super::legs::Leg;
use super::state::AssemblyEvent;
use super::surroundings::{Departing, Surroundings, fly};
use crate::experiment::{CopyOf, Experiment};
use crate::measure::Meter;

/// The copies of channels.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// By channel: its copies, each with the hops that both share.
    of: BTreeMap<usize, Vec<(usize, usize)>>,
}

/// A copy of a packet that leaves a station: its channel, its leg, and where the next station keeps it.
type Target = (ChannelId, Leg, Label);

impl Copies {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let mut of: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (i, channel) in experiment.channels.iter().enumerate() {
            if let Some(CopyOf { channel, hops }) = channel.copy {
                of.entry(channel).or_default().push((i, hops));
            }
        }
        Self { of }
    }

    /// Whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The copies that are made of packets of `channel` when they leave the station of that hop.
    fn made_at(&self, channel: usize, hop: usize) -> impl Iterator<Item = usize> {
        let made = self.of.get(&channel).into_iter().flatten();
        made.filter(move |(_, hops)| hop + 1 == *hops).map(|(copy, _)| *copy)
    }

    /// The copies of `channel` that are made of its packets behind `station`, and their copies.
    pub(super) fn behind(&self, experiment: &Experiment, channel: usize, station: usize) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        let hop = experiment.channels[channel].route.iter().position(|other| *other == station);
        hop.map_or_else(Vec::new, |hop| self.from(channel, hop))
    }

    /// The copies of `channel` that are made at a hop from that one on, and their copies.
    fn from(&self, channel: usize, hop: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for (copy, hops) in self.of.get(&channel).into_iter().flatten().filter(|(_, hops)| *hops > hop) {
            found.push(*copy);
            found.extend(self.from(*copy, *hops));
        }
        found
    }
}

impl<T: TraceSink, O: Outside> Surroundings<'_, '_, T, O> {
    /// Changes the meter of a channel that sends, and those of its copies.
    pub(super) fn each(&mut self, channel: usize, mut what: impl FnMut(&mut Meter)) {
        what(&mut self.meters[channel]);
        if !self.copies.is_empty() {
            self.copies.from(channel, 0).into_iter().for_each(|copy| what(&mut self.meters[copy]));
        }
    }

    /// Notes in the meter of a channel the fate of a packet at `station`, and in those of the copies that
    /// would have been made of the packet.
    pub(super) fn note(&mut self, number: ChannelId, station: usize, mut what: impl FnMut(&mut Meter)) {
        let channel = self.laps.channel(number);
        what(&mut self.meters[channel]);
        let copies = self.copies.behind(self.experiment, channel, station);
        copies.into_iter().for_each(|copy| what(&mut self.meters[copy]));
    }

    /// Sends a packet of `channel` on over its leg, and the copies that are made of it behind the station.
    ///
    /// `start` says when a packet of that many bytes goes on over such a hop; `None` if not now. One
    /// transmission has one fate: the impairments of its link are drawn once.
    #[cold]
    pub(super) fn send_copies(
        &mut self,
        (channel, hop, own, label): (usize, usize, Leg, Label),
        packet: &Packet,
        start: impl Fn(&Experiment, (usize, usize, &Leg), Bytes) -> Option<Time>,
        calendar: &mut Calendar<AssemblyEvent>,
    ) {
        let station = own.station as usize;
        let copies = self.copies.made_at(channel, hop).map(|copy| {
            let id = ChannelId(copy as u32);
            let (_, leg, label) = self.legs.of(id, station);
            (id, *leg, label)
        });
        let all: Vec<Target> = std::iter::once((packet.channel, own, label)).chain(copies).collect();
        let begins = |(id, leg, _): &Target| {
            start(self.experiment, (self.laps.channel(*id), hop, leg), packet.size)
                .filter(|_| leg.next.is_some())
        };
        let all: Vec<(Target, Time)> =
            all.into_iter().filter_map(|target| Some((target, begins(&target)?))).collect();
        let Some((first, now)) = all.first().copied() else { return };
        let (_, leg, _) = first;
        let way = self.experiment.channels[channel].ways.get(hop).copied().filter(|_| leg.impaired);
        let ends = (station, leg.next.map_or(station, |next| next as usize));
        let delays = match way.and_then(|way| self.networks.impairments(self.experiment, way, ends)) {
            None => vec![Span::ZERO],
            Some(impairments) => {
                let arrive = impairments.pass(now).filter(|delivery| !delivery.corrupted);
                arrive.map(|delivery| delivery.at.saturating_since(now)).collect()
            }
        };
        for ((id, leg, label), at) in &all {
            for delay in &delays {
                let frame = self.flying.put(&Packet { channel: *id, ..*packet });
                fly(&mut self.flying, &self.laps, frame, (leg, *label), *at + *delay, calendar);
            }
            if delays.is_empty() {
                let own = self.laps.channel(*id);
                let behind = self.copies.from(own, hop + usize::from(own == channel));
                for lost in std::iter::once(own).chain(behind) {
                    self.meters[lost].impair(now, packet.message);
                }
            }
        }
    }

    /// Counts the copies of a packet of which the last transmission is at `hop`.
    pub(super) fn count_copies(&mut self, now: Time, (channel, hop): (usize, usize), packet: &Packet) {
        let made: Vec<usize> = self.copies.made_at(channel, hop).collect();
        for copy in made {
            let packet = Packet { channel: ChannelId(copy as u32), ..*packet };
            let leg = *self.legs.of(packet.channel, self.experiment.channels[copy].route[hop]).1;
            if leg.departs {
                self.count(now, copy, Departing::Here(&packet), (hop, &leg));
            }
        }
    }

    /// Whether copies are made of packets of `channel` that leave the station of that hop.
    #[inline]
    pub(super) fn is_copied(&self, channel: usize, hop: usize) -> bool {
        !self.copies.is_empty() && self.copies.made_at(channel, hop).next().is_some()
    }
}
