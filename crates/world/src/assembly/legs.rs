//! The data that a frame needs on its path, from each station of its channel's route to the next.
//!
//! All of it follows from the experiment, over six of its tables. A frame needs it at every
//! station; in a network of a thousand hosts each table would cost a cache miss, and here it is one
//! or two lines. Channels with the same route and frame length share their legs.

use std::collections::HashMap;

use laxity_qos::ahead::fetch;
use laxity_qos::channel::{ChannelId, Label, LinkId};
use laxity_qos::seldom::mostly;
use laxity_units::Span;

use crate::experiment::{ChannelSpec, Experiment, Laps};
use crate::promise::Promise;

/// One station of a channel's route, and the way on from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Leg {
    pub(super) station: u32,
    /// The station that is next; none behind the last.
    pub(super) next: Option<u32>,
    /// The link by which it leaves the one.
    pub(super) by: LinkId,
    /// The link by which it arrives at the next station.
    pub(super) into: LinkId,
    /// The delay of a frame on the leg without impairments.
    pub(super) takes: Span,
    /// The largest delay until the station is notified, from the end of the promised delay at the
    /// one, or from the deadline that EDF orders by there if that is sooner.
    pub(super) longest: Span,
    /// By how much the promised delay at the one is less than the deadline that EDF orders by
    /// there.
    pub(super) spare: Span,
    /// Whether the next is the receiver and no bound is in force, so that an early frame is not
    /// held there.
    pub(super) unheld: bool,
    /// Whether things happen to frames on the way.
    pub(super) impaired: bool,
    /// Whether the next is a port of a switch that does not wait for the whole of a frame.
    pub(super) cuts_through: bool,
    /// How long before the link is free again a frame is at the next station, where the interframe
    /// gap is longer than the way.
    pub(super) before: Span,
    /// Whether this is the last that sends, behind which a packet counts as departed.
    pub(super) departs: bool,
    /// Whether the last station of the route receives.
    pub(super) received: bool,
    /// Whether the next has been passed before, and knows the channel by another number from now
    /// on.
    pub(super) turns: bool,
}

impl Leg {
    /// Whether a frame goes on when it begins to leave, at a time that is known then.
    #[inline]
    pub(super) fn goes_ahead(&self) -> bool {
        self.cuts_through || !self.before.is_zero()
    }
}

/// A leg of a lap, the station where it begins, and where the next station keeps its channel.
#[derive(Debug, Clone, Copy)]
struct Step {
    station: u32,
    leg: u32,
    label: Label,
}

/// The legs of all channels.
#[derive(Debug)]
pub(super) struct Legs {
    /// All that differ.
    all: Vec<Leg>,
    /// The steps of a lap in order, behind those of the lap before.
    ways: Vec<Step>,
    /// Per lap where its own begin; at the end, how many there are.
    first: Vec<u32>,
    /// Of the laps behind those of that number, each of which is the first of a channel: at which
    /// hop of the route they begin.
    further: Vec<u32>,
    /// Whether any frame goes on before its link is free again. Without such frames there is no
    /// check.
    any_ahead: bool,
}

impl Legs {
    /// The legs of `experiment`, of which the stations notice a frame so long after its last bit.
    pub(super) fn new(experiment: &Experiment, laps: &Laps, promises: &[Promise], notices: &[Span]) -> Self {
        let number = |count: usize| u32::try_from(count).expect("there are fewer hops");
        let (mut all, mut ways, mut first) = (Vec::new(), Vec::new(), vec![0]);
        let (mut known, mut further) = (HashMap::new(), Vec::new());
        for lap in 0..laps.len() {
            let (channel, hops) = laps.lap(experiment, ChannelId(number(lap)));
            // Packets have the deadlines of the channel that is sent.
            let promise = |hop: usize| &promises[experiment.known_as(channel, hop)];
            let own = &promises[channel];
            let channel = &experiment.channels[channel];
            if lap >= experiment.channels.len() {
                further.push(number(hops.start));
            }
            ways.extend(hops.clone().map(|hop| {
                let turns = hop + 1 == hops.end && hops.end < channel.route.len();
                let leg = Leg { turns, ..leg(experiment, (channel, promise(hop), own), hop, notices) };
                let station = leg.station;
                let leg = *known.entry(leg).or_insert_with(|| {
                    all.push(leg);
                    number(all.len() - 1)
                });
                Step { station, leg, label: Label::NONE }
            }));
            first.push(number(ways.len()));
        }
        let any_ahead = all.iter().any(Leg::goes_ahead);
        Self { all, ways, first, further, any_ahead }
    }

    /// Stations return where they keep the channels that arrive, by the number that each station
    /// uses; nowhere where they do not.
    pub(super) fn label(&mut self, laps: &Laps, at: impl Fn(usize, ChannelId) -> Label) {
        for lap in 0..self.first.len() - 1 {
            for step in &mut self.ways[self.first[lap] as usize..self.first[lap + 1] as usize] {
                let (leg, number) = (&self.all[step.leg as usize], ChannelId(lap as u32));
                if let Some(next) = leg.next {
                    step.label = at(next as usize, if leg.turns { laps.after(number) } else { number });
                }
            }
        }
    }

    /// The leg from `station`, which is on it, of the lap of that number, the how-manyth of its
    /// channel it is, and where the next station keeps that.
    #[inline]
    pub(super) fn of(&self, number: ChannelId, station: usize) -> (usize, &Leg, Label) {
        let lap = number.0 as usize;
        for (hop, step) in self.way(lap).iter().enumerate() {
            if step.station as usize == station {
                return (self.before(lap) + hop, &self.all[step.leg as usize], step.label);
            }
        }
        panic!("a packet keeps to its route");
    }

    /// Whether any frame goes on before its link is free again.
    #[inline]
    pub(super) fn any_ahead(&self) -> bool {
        self.any_ahead
    }

    /// Prefetches the path of a message of a channel.
    #[inline]
    pub(super) fn fetch(&self, channel: usize) {
        fetch(self.way(channel));
    }

    /// The stations behind the first of a channel, as far as they know it by the same number, and
    /// where each keeps it.
    #[inline]
    pub(super) fn next(&self, channel: usize) -> impl Iterator<Item = (usize, Label)> {
        let way = self.way(channel);
        way.iter().zip(&way[1..]).map(|(step, next)| (next.station as usize, step.label))
    }

    #[inline]
    fn way(&self, lap: usize) -> &[Step] {
        &self.ways[self.first[lap] as usize..self.first[lap + 1] as usize]
    }

    /// Hops of a channel's route that are of the laps before this one of its.
    #[inline]
    fn before(&self, lap: usize) -> usize {
        let firsts = self.first.len() - 1 - self.further.len();
        if mostly(lap < firsts) { 0 } else { self.further[lap - firsts] as usize }
    }
}

fn leg(
    experiment: &Experiment,
    (channel, promise, own): (&ChannelSpec, &Promise, &Promise),
    hop: usize,
    notices: &[Span],
) -> Leg {
    let number = |station: usize| u32::try_from(station).expect("there are fewer stations");
    let next = channel.route.get(hop + 1).copied();
    let network = next.map(|_| &experiment.networks[channel.ways[hop]]);
    let (takes, before) = experiment.shortest_way(channel, hop);
    Leg {
        station: number(channel.route[hop]),
        next: next.map(number),
        by: experiment.link_out(channel, hop),
        into: next.map_or(LinkId::FIRST, |next| experiment.link_to(next, channel.ways[hop])),
        takes,
        before,
        longest: next.map_or(Span::ZERO, |next| {
            let way = experiment.longest_way(channel, hop).saturating_add(notices[next]);
            way.saturating_add(promise.beyond(hop))
        }),
        spare: promise.spare(hop),
        unheld: channel.received && hop + 2 == channel.route.len() && !own.is_bound(),
        impaired: network.is_some_and(|network| network.impairments != Default::default()),
        cuts_through: next.is_some_and(|next| experiment.cuts_through(next)),
        departs: hop + 1 == channel.senders().len(),
        received: channel.received,
        turns: false,
    }
}
