//! What messages that are to come will look at, asked for ahead of time.
//!
//! A channel's source sends, and the message goes its way in less time than it takes until the channel's next: then all of it lies in the cache, and before nothing does,
//! for all others have been there. So it is asked for once for each message, all that there is of its way, when its arrival comes near. What is behind a pointer can be
//! asked for when the pointer is there; messages whose arrivals come near together are asked about in turns, all of one depth before any of the next, so that
//! nobody waits.

use laxity_engine::trace::Trace;
use laxity_qos::ahead::fetch;
use laxity_qos::channel::ChannelId;

use super::state::{Event, Sending};
use super::{Assembly, Outside};

impl<T: Trace, O: Outside> Assembly<'_, '_, T, O> {
    /// `events` have come near.
    pub(super) fn fetch_ahead<'e>(&self, events: impl Iterator<Item = &'e Event> + Clone) {
        let arrivals = events.filter_map(|event| match event {
            Event::Arrival(sending) => Some(*sending),
            _ => None,
        });
        arrivals.clone().for_each(|sending| self.fetch_source(sending));
        arrivals.clone().for_each(|sending| self.fetch_samples(sending));
        arrivals.clone().for_each(|sending| self.fetch_channel(sending));
        arrivals.for_each(|sending| self.fetch_queues(sending));
    }

    /// What is found by the number of the channel.
    fn fetch_source(&self, sending: Sending) {
        let channel = sending.channel();
        fetch(&self.coming[channel]);
        fetch(&self.sources[channel]);
        fetch(&self.around.meters[channel]);
        self.around.legs.fetch(channel);
        fetch(&self.nodes[sending.station()]);
    }

    /// What lies behind its meter.
    fn fetch_samples(&self, sending: Sending) {
        self.around.meters[sending.channel()].fetch();
    }

    /// What the stations of its way have of the channel. They themselves, but for the one that sends, have been there for others not long ago.
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

    /// What is behind that.
    fn fetch_queues(&self, sending: Sending) {
        for (station, label) in self.around.legs.next(sending.channel()) {
            if !self.switches.has(station) {
                self.nodes[station].fetch_incoming(label);
            }
        }
    }
}
