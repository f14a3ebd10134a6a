//! Prefetches the state that the next messages will use.
//!
//! A message crosses its path in less time than the interval to the channel's next message. Other
//! channels evict the state in between. The prefetch therefore runs once per message, shortly
//! before its arrival, and covers the whole path. A prefetch through a pointer needs the pointer in
//! the cache: messages with close arrivals are prefetched in turns, one depth after the other.

use laxity_engine::trace::TraceSink;
use laxity_qos::ahead::fetch;
use laxity_qos::channel::ChannelId;

use super::state::{AssemblyEvent, Sending};
use super::{Assembly, Outside};

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
    /// `events` are near.
    pub(super) fn fetch_ahead<'e>(&self, events: impl Iterator<Item = &'e AssemblyEvent> + Clone) {
        let arrivals = events.filter_map(|event| match event {
            AssemblyEvent::Arrival(sending) => Some(*sending),
            _ => None,
        });
        arrivals.clone().for_each(|sending| self.fetch_source(sending));
        arrivals.clone().for_each(|sending| self.fetch_samples(sending));
        arrivals.clone().for_each(|sending| self.fetch_channel(sending));
        arrivals.for_each(|sending| self.fetch_queues(sending));
    }

    fn fetch_source(&self, sending: Sending) {
        let channel = sending.channel();
        fetch(&self.coming[channel]);
        fetch(&self.sources[channel]);
        fetch(&self.around.meters[channel]);
        self.around.legs.fetch(channel);
        fetch(&self.nodes[sending.station()]);
    }

    /// Behind the pointer of its meter.
    fn fetch_samples(&self, sending: Sending) {
        self.around.meters[sending.channel()].fetch();
    }

    /// The stations' state of the channel. The stations themselves, except the sender's, have been
    /// in use for others recently.
    fn fetch_channel(&self, sending: Sending) {
        let channel = sending.channel();
        let id = ChannelId(channel as u32);
        self.nodes[sending.station()].fetch_sender(id, self.coming[channel].label);
        for (station, label) in self.around.legs.next(channel) {
            match self.switches.has(station) {
                true => self.switches.fetch(station, label),
                false => self.nodes[station].fetch(id, label),
            }
        }
    }

    fn fetch_queues(&self, sending: Sending) {
        for (station, label) in self.around.legs.next(sending.channel()) {
            if !self.switches.has(station) {
                self.nodes[station].fetch_incoming(label);
            }
        }
    }
}
