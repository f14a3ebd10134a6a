//! What a frame needs to know of its way, from each station of its channel's route to the next.
//!
//! All of it follows from the experiment, over half a dozen of its tables. A frame asks at every station it leaves, and in a network of a
//! thousand hosts each of those tables would be another miss of the cache; here it is a line or two.

use laxity_qos::channel::LinkId;
use laxity_units::Span;

use crate::experiment::{ChannelSpec, Experiment};

/// One station of a channel's route, and the way on from there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leg {
    pub(super) station: u32,
    /// The station that is next; none behind the last.
    pub(super) next: Option<u32>,
    /// The link by which it leaves the one.
    pub(super) by: LinkId,
    /// That by which it comes in at the other.
    pub(super) into: LinkId,
    /// What a frame takes until it is there, if nothing happens to it on the way.
    pub(super) takes: Span,
    /// What it may take, until it is heard of.
    pub(super) longest: Span,
    /// Whether things happen to frames on the way.
    pub(super) impaired: bool,
    /// Whether the next is a port of a switch that does not wait for the whole of a frame.
    pub(super) cuts_through: bool,
    /// Whether this is the last that sends, behind which a packet counts as departed.
    pub(super) departs: bool,
    /// Whether the last station of the route receives.
    pub(super) received: bool,
}

/// The legs of all channels.
#[derive(Debug)]
pub(super) struct Legs {
    all: Vec<Leg>,
    /// Per channel where its own begin; at the end, how many there are.
    first: Vec<u32>,
}

impl Legs {
    /// Those of `experiment`, whose stations hear of a frame so long after its last bit.
    pub(super) fn new(experiment: &Experiment, notices: &[Span]) -> Self {
        let (mut all, mut first) = (Vec::new(), vec![0]);
        for channel in &experiment.channels {
            all.extend((0..channel.route.len()).map(|hop| leg(experiment, channel, hop, notices)));
            first.push(u32::try_from(all.len()).expect("there are fewer hops"));
        }
        Self { all, first }
    }

    /// The leg of a channel from `station`, which is on its route, and the how-manyth it is.
    #[inline]
    pub(super) fn of(&self, channel: usize, station: usize) -> (usize, &Leg) {
        let own = &self.all[self.first[channel] as usize..self.first[channel + 1] as usize];
        let hop = own.iter().position(|leg| leg.station as usize == station);
        let hop = hop.expect("a packet keeps to its route");
        (hop, &own[hop])
    }
}

fn leg(experiment: &Experiment, channel: &ChannelSpec, hop: usize, notices: &[Span]) -> Leg {
    let number = |station: usize| u32::try_from(station).expect("there are fewer stations");
    let next = channel.route.get(hop + 1).copied();
    let network = next.map(|_| &experiment.networks[channel.ways[hop]]);
    Leg {
        station: number(channel.route[hop]),
        next: next.map(number),
        by: experiment.link_out(channel, hop),
        into: next.map_or(LinkId::FIRST, |next| experiment.link_to(next, channel.ways[hop])),
        takes: network
            .zip(next)
            .map_or(Span::ZERO, |(network, next)| network.propagation + experiment.latency_into(next)),
        longest: next
            .map_or(Span::ZERO, |next| experiment.longest_way(channel, hop).saturating_add(notices[next])),
        impaired: network.is_some_and(|network| network.impairments != Default::default()),
        cuts_through: next.is_some_and(|next| experiment.cuts_through(next)),
        departs: hop + 1 == channel.senders().len(),
        received: channel.received,
    }
}
