//! Links: they take time, impair frames, and lose all of them while they are cut.

use laxity_model::network::{ImpairmentParameters, Impairments};
use laxity_node::NodeLinkConfig;
use laxity_signalling::identity::NodeId;
use laxity_transport::{HEADER_LEN, TransportHeader};
use laxity_units::{Bytes, Span};

use super::*;

/// Time in transmission: of signalling, of channels, and of best effort.
pub(super) type Busy = [Span; 3];

/// One direction of a link.
pub(super) struct Directed {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) network: usize,
    pub(super) config: NodeLinkConfig,
    pub(super) propagation: Span,
    impairments: Option<Impairments>,
    /// The number of outages that cut it now.
    pub(super) cuts: u32,
    pub(super) busy: Busy,
    /// The most signalling messages, and the most frames, that waited at a time.
    pub(super) most: [usize; 2],
    /// Frames in transmission, for a capture: one, or another that a node left there when it crashed.
    on_link: Vec<(Time, Vec<u8>)>,
}

impl Directed {
    pub(super) fn name(&self, experiment: &Experiment) -> String {
        format!("link {}-{}", experiment.name(self.from), experiment.name(self.to))
    }
}

/// Both directions of each link of `experiment`.
pub(super) fn of(experiment: &Experiment, spec: &SignallingSpec) -> Vec<Directed> {
    let directed = |link: &crate::experiment::LinkSpec, [from, to]: [usize; 2]| {
        let network = &experiment.networks[link.network];
        let random = experiment.chance(Chance::Impairments(network, Some((from, to))));
        let impaired = network.impairments != ImpairmentParameters::default();
        let impairments = impaired.then(|| Impairments::new(network.impairments, random));
        Directed {
            from,
            to,
            network: link.network,
            config: spec.link(experiment, link),
            propagation: network.propagation,
            impairments: impairments.map(|built| built.expect("impairments are checked when they are read")),
            cuts: 0,
            busy: Busy::default(),
            most: [0; 2],
            on_link: Vec::new(),
        }
    };
    let both = |link| [directed(link, link.ends), directed(link, [link.ends[1], link.ends[0]])];
    spec.links.iter().flat_map(both).collect()
}

impl Managed<'_> {
    /// A frame of `link` leaves its node, if the link is free.
    pub(super) fn transmit(&mut self, link: usize, calendar: &mut Calendar<Event>) {
        let (from, to) = (self.links[link].from, self.links[link].to);
        let shown = self.shown(from);
        let station = &mut self.stations[from];
        let Some(node) = &mut station.node else { return };
        let id = NodeId(to as u32);
        let waiting = [node.signalling_waiting(id), node.waiting(id)];
        let most = &mut self.links[link].most;
        *most = [most[0].max(waiting[0]), most[1].max(waiting[1])];
        let frame = node.poll_frame(shown, id);
        self.trace_waiting(link, waiting[1]);
        let Some(frame) = frame else { return };
        let Some(node) = &mut self.stations[from].node else { return };
        let departure = node.poll_departure();
        let life = self.stations[from].life;
        let takes = self.links[link].config.transmission(frame.len());
        let kind = match departure {
            Some(departure) => {
                self.departed(from, shown, &departure);
                let Some(channel) = departure.channel else {
                    return self.put_on_link(link, (frame, life), (takes, 0), calendar);
                };
                self.left(channel, to, frame.len());
                1
            }
            None => {
                self.datagram_left((from, to), &frame, calendar);
                2
            }
        };
        self.put_on_link(link, (frame, life), (takes, kind), calendar);
    }

    fn put_on_link(
        &mut self,
        link: usize,
        (frame, life): (Vec<u8>, u32),
        (takes, kind): (Span, usize),
        calendar: &mut Calendar<Event>,
    ) {
        self.trace_frame(link, &frame, takes, kind);
        let directed = &mut self.links[link];
        directed.busy[kind] = directed.busy[kind].saturating_add(takes);
        let end = self.now.saturating_add(takes);
        if self.captured.is_some() {
            directed.on_link.push((end, frame.clone()));
        }
        calendar.schedule(end, Event::Transmitted { link: link as u32, life });
        let arrives = end.saturating_add(directed.propagation);
        if directed.cuts > 0 {
            return self.spoil(&frame);
        }
        let Some(impairments) = &mut directed.impairments else {
            let frame = self.keep(frame);
            return calendar.schedule(arrives, Event::Arrive { link: link as u32, frame });
        };
        let before = impairments.counts();
        let deliveries: Vec<_> = impairments.pass(arrives).collect();
        let after = impairments.counts();
        // A frame that was held back is dropped at the next node if others overtook it.
        if deliveries.is_empty() || after.corrupted > before.corrupted || after.reordered > before.reordered {
            self.spoil(&frame);
        }
        for delivery in deliveries.into_iter().filter(|delivery| !delivery.corrupted) {
            let frame = self.keep(frame.clone());
            calendar.schedule(delivery.at, Event::Arrive { link: link as u32, frame });
        }
    }

    /// Keeps a frame until it arrives.
    fn keep(&mut self, frame: Vec<u8>) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.frames[place as usize] = frame;
                place
            }
            None => {
                self.frames.push(frame);
                self.frames.len() as u32 - 1
            }
        }
    }

    /// A frame reaches the end of a link.
    pub(super) fn arrive(&mut self, link: usize, frame: u32, calendar: &mut Calendar<Event>) {
        let bytes = std::mem::take(&mut self.frames[frame as usize]);
        self.free.push(frame);
        let (from, to) = (self.links[link].from, self.links[link].to);
        let shown = self.shown(to);
        match &mut self.stations[to].node {
            Some(node) => {
                node.handle_frame(shown, NodeId(from as u32), &bytes);
                self.pump(to, calendar);
            }
            None => self.spoil(&bytes),
        }
    }

    /// A link is free again, if its node has not restarted meanwhile.
    pub(super) fn transmitted(&mut self, link: usize, life: u32, calendar: &mut Calendar<Event>) {
        let (from, to) = (self.links[link].from, self.links[link].to);
        let on_link = &mut self.links[link].on_link;
        if let Some(captured) = &mut self.captured
            && let Some(place) = on_link.iter().position(|(end, _)| *end == self.now)
        {
            let (at, bytes) = on_link.remove(place);
            captured(Departed { station: from, along: Along::Link(to), at, priority: 0, bytes: &bytes });
        }
        let station = &mut self.stations[from];
        if let (true, Some(node)) = (station.life == life, &mut station.node) {
            node.transmitted(NodeId(to as u32));
            self.pump(from, calendar);
        }
    }

    /// A packet of a channel leaves a node for `to`: it counts if the channel ends there.
    fn left(&mut self, channel: GlobalChannelId, to: usize, length: usize) {
        let Some(call) = self.ids.get(&channel).and_then(|call| self.calls.get(call)) else { return };
        if self.experiment.channels[call.channel].route.last() == Some(&to) {
            let tally = &mut self.counted[call.channel].meter.tally;
            tally.packets += 1;
            tally.transmitted += Bytes::new((length - HEADER_LEN) as u64);
        }
    }

    /// A datagram leaves a node for another.
    fn datagram_left(&mut self, (from, to): (usize, usize), frame: &[u8], calendar: &mut Calendar<Event>) {
        let Ok((header, payload)) = TransportHeader::decode(frame) else { return };
        let Some((end, port)) = laxity_node::Node::address(&header, payload) else { return };
        let Some(channel) = port.0.checked_sub(BEST_EFFORT).map(|channel| channel as usize) else { return };
        if end.0 as usize == to {
            let tally = &mut self.counted[channel].meter.tally;
            tally.packets += 1;
            tally.transmitted += Bytes::new((payload.len() - laxity_node::ADDRESS) as u64);
        }
        let spec = &self.experiment.channels[channel];
        if spec.route[0] == from && spec.source.is_endless() {
            self.best[channel].outstanding = self.best[channel].outstanding.saturating_sub(1);
            calendar.schedule(self.now, Event::Offer { channel: channel as u32 });
        }
    }
}
