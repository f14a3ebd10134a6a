//! The context of nodes: the medium, the path to the next node, the meters, and observers.
//!
//! A node reports while it acts ([`Surroundings::of`]). The effects on other nodes, and on the node
//! itself, follow by events and by the medium's grants when the node is done.

use std::collections::VecDeque;

use laxity_engine::Calendar;
use laxity_engine::trace::TraceSink;
use laxity_model::adapter::{AdapterResponse, Loss};
use laxity_model::around::Around;
use laxity_model::host::Output;
use laxity_model::node::NodeOutput;
use laxity_model::switch::SwitchOutput;
use laxity_qos::channel::{ChannelId, Delivery, Label, Packet, Sent, Slot, Slots};
use laxity_qos::seldom::seldom;
use laxity_units::{Bytes, Time};

use super::legs::{Leg, Legs};
use super::multicast::Copies;
use super::networks::Networks;
use super::observer::Observer;
use super::rounds::Rounds;
use super::state::{Arriving, AssemblyEvent, Snapshot, Stations};
use super::window::Window;
use super::{Notice, Outside};
use crate::experiment::{Experiment, Laps};
use crate::measure::{ComputingMeter, Meter, StageMeter};

/// All of an assembly that is not a node or a source.
pub(super) struct Surroundings<'a, 'f, T: TraceSink, O: Outside> {
    pub(super) experiment: &'a Experiment,
    pub(super) networks: Networks,
    pub(super) legs: Legs,
    pub(super) laps: Laps,
    pub(super) copies: Copies,
    pub(super) rounds: Rounds,
    /// Frames between nodes: on the way from one station to the next, and in switches.
    pub(super) flying: Slots,
    pub(super) meters: Vec<Meter>,
    /// Per node, link and stage of its adapter.
    pub(super) stages: Vec<Vec<Vec<StageMeter>>>,
    /// Per node and application that computes there.
    pub(super) computing: Vec<Vec<ComputingMeter>>,
    pub(super) window: Window<Snapshot>,
    /// An edge of the window has passed, and the counters of nodes have not been read.
    pub(super) unasked: bool,
    pub(super) observer: Observer<'a, 'f, T>,
    pub(super) outside: O,
    /// Per channel: the outside's names for messages that were offered and not answered; none at
    /// all until there is one.
    pub(super) handles: Vec<VecDeque<u32>>,
}

impl<T: TraceSink, O: Outside> Surroundings<'_, '_, T, O> {
    /// The context of `node` at `now`.
    #[inline]
    pub(super) fn of(
        &mut self,
        node: usize,
        now: Time,
        calendar: &mut Calendar<AssemblyEvent>,
    ) -> impl FnMut(NodeOutput<&Packet>) {
        move |output| self.hear(node, now, output, calendar)
    }

    #[inline]
    fn hear(
        &mut self,
        node: usize,
        now: Time,
        output: NodeOutput<&Packet>,
        calendar: &mut Calendar<AssemblyEvent>,
    ) {
        match output {
            NodeOutput::Departed(link, packet, more) => {
                self.networks.sent(now, (node, link), more);
                self.depart(node, now, Departing::Here(packet), calendar);
            }
            NodeOutput::Begun(packet, until) => self.begin(node, until, Departing::Here(packet), calendar),
            NodeOutput::Request(link) => self.networks.request(now, (node, link)),
            NodeOutput::Withdraw(link) => self.networks.withdraw(now, (node, link)),
            // It has left all the same, and is counted where it goes.
            NodeOutput::Failed(_, Loss::Unconfirmed) => {}
            NodeOutput::Failed(packet, _) => self.note(packet.channel, node, |meter| meter.fail(now, packet)),
            NodeOutput::Discarded(packet, _) => {
                self.note(packet.channel, node, |meter| meter.lose(now, packet.message));
            }
            NodeOutput::Passed(link, ref passage) => {
                self.observer.passed(node, link, passage);
                self.pass(node, link, passage);
            }
            NodeOutput::Host(Output::Answered { channel, size, answer }) => {
                self.answer(now, channel, size, answer);
            }
            NodeOutput::Host(Output::Delivered(delivery)) => {
                self.deliver(node, now, self.laps.channel(delivery.channel), &delivery);
            }
            NodeOutput::Host(Output::Lost { channel, message }) => {
                self.note(channel, node, |meter| meter.spoil(now, message));
            }
            NodeOutput::Host(Output::Busy(busy)) => self.observer.busy(node, &busy),
            NodeOutput::Host(Output::Computed(done)) => {
                let counted = self.window.counts();
                self.computing[node][done.application as usize].done(now, &done, counted);
            }
            NodeOutput::Host(
                Output::Transmit(..) | Output::Proceed(..) | Output::Read(..) | Output::Copies(_),
            ) => {
                unreachable!("a node passes these to its adapters")
            }
            NodeOutput::Response(response, announced) => {
                if let AdapterResponse::Failed(packet, _) = response {
                    self.note(packet.channel, node, |meter| meter.fail(now, packet));
                }
                self.outside.notice(now, Notice::Response { node, response, announced });
            }
        }
    }

    /// A message of `channel` is whole at its receiver, the host of `node`.
    pub(super) fn deliver(&mut self, node: usize, now: Time, channel: usize, delivery: &Delivery) {
        let meter = &mut self.meters[channel];
        meter.deliver(now, delivery, self.window.counts());
        if let Some(punctuality) = &mut meter.punctuality {
            punctuality.arrive(now, delivery.message, delivery.due_from);
        }
        if seldom(!self.rounds.is_empty())
            && let Some(response) = self.rounds.deliver(now, channel, delivery)
        {
            self.meters[channel].respond(response, self.window.counts());
        }
        self.observer.delivered(node, now, ChannelId(channel as u32), delivery.message);
        self.tell_delivered(now, channel, delivery.message);
    }

    /// The context of the port at `station`.
    pub(super) fn of_port(
        &mut self,
        station: usize,
        now: Time,
        calendar: &mut Calendar<AssemblyEvent>,
    ) -> impl Around<SwitchOutput<Slot>> {
        OfPort { around: self, station, now, calendar }
    }

    /// An application has a message for `channel`.
    pub(super) fn offered(&mut self, now: Time, channel: usize, size: Bytes) {
        let counted = self.window.counts();
        let offer = |meter: &mut Meter| {
            meter.offer(size);
            if let Some(punctuality) = &mut meter.punctuality {
                punctuality.offer(now, counted);
            }
        };
        self.each(channel, offer);
    }

    fn answer(&mut self, now: Time, id: ChannelId, size: Bytes, answer: Sent) {
        let channel = id.0 as usize;
        if seldom(!self.rounds.is_empty()) {
            self.rounds.answered(channel, answer);
            if matches!(answer, Sent::Dropped(_)) {
                self.each(channel, |meter| {
                    meter.lost.get_or_insert(now);
                });
            }
        }
        let counted = self.window.counts();
        self.each(channel, |meter| {
            if let Some(punctuality) = &mut meter.punctuality {
                punctuality.answer(now, size, answer, counted);
            }
        });
        let Some(handle) = self.handles.get_mut(channel).and_then(VecDeque::pop_front) else {
            self.each(channel, |meter| {
                if meter.endless {
                    meter.offer(size);
                }
            });
            return;
        };
        let notice = match answer {
            Sent::Accepted { message } | Sent::Excess { message } => {
                Notice::Taken { channel, handle, message }
            }
            Sent::Dropped(cause) => Notice::Refused { channel, handle, cause: Some(cause) },
            Sent::WouldBlock => unreachable!("a blocked send is not answered"),
        };
        self.outside.notice(now, notice);
    }

    fn tell_delivered(&mut self, now: Time, channel: usize, message: u64) {
        if O::TELLS {
            self.outside.notice(now, Notice::Delivered { channel, message });
        }
    }

    /// A packet leaves `station`: for the next of its route, and if this is the last that sends it,
    /// for the meters.
    fn depart(
        &mut self,
        station: usize,
        now: Time,
        frame: Departing<'_>,
        calendar: &mut Calendar<AssemblyEvent>,
    ) {
        let packet = frame.packet(&self.flying);
        let (hop, leg, label) = self.legs.of(packet.channel, station);
        let (leg, channel) = (*leg, self.laps.channel(packet.channel));
        let id = ChannelId(channel as u32);
        self.observer.departed((station, leg.by, hop), now, (id, packet), (leg.next.is_none(), leg.departs));
        let copied = self.is_copied(channel, hop);
        if copied {
            let packet = *packet;
            let start = |_: &_, (.., leg): (usize, usize, &Leg), _| (!leg.goes_ahead()).then_some(now);
            self.send_copies((channel, hop, leg, label), &packet, start, calendar);
            self.count_copies(now, (channel, hop), &packet);
        }
        let goes_on = leg.next.is_some() && !leg.goes_ahead() && !copied;
        match frame {
            Departing::Here(packet) if goes_on => self.send_on((hop, &leg, label), now, packet, calendar),
            Departing::Lies(frame) if goes_on && leg.impaired => {
                let packet = *self.flying.at(frame);
                self.send_on((hop, &leg, label), now, &packet, calendar);
            }
            _ => {}
        }
        if leg.departs {
            self.count(now, channel, frame, (hop, &leg));
        }
        match frame {
            Departing::Here(_) => {}
            // It goes on as it lies.
            Departing::Lies(frame) if goes_on && !leg.impaired => {
                fly(&mut self.flying, &self.laps, frame, (&leg, label), now, calendar);
            }
            Departing::Lies(frame) => {
                self.flying.free(frame);
            }
        }
    }

    /// A packet leaves the last station that sends it, for the meters of its channel.
    pub(super) fn count(
        &mut self,
        now: Time,
        channel: usize,
        frame: Departing<'_>,
        (hop, leg): (usize, &Leg),
    ) {
        self.window.through += 1;
        let counted = self.window.counts();
        let packet = frame.packet(&self.flying);
        let (message, due_from) = (packet.message, packet.due_from);
        let meter = &mut self.meters[channel];
        let completes = meter.depart(now, packet, counted);
        if let Some(punctuality) = meter.punctuality.as_mut().filter(|_| completes && !leg.received) {
            punctuality.arrive(now, message, due_from);
        }
        if completes && hop == 0 && leg.next.is_none() {
            self.tell_delivered(now, channel, message);
        }
        self.look_at_window(now);
    }

    /// A packet begins to leave `station`, of which the link is free again at `until`. A packet
    /// that is at the next station before that goes on now.
    fn begin(
        &mut self,
        station: usize,
        until: Time,
        frame: Departing<'_>,
        calendar: &mut Calendar<AssemblyEvent>,
    ) {
        if !self.legs.any_ahead() {
            return;
        }
        let packet = frame.packet(&self.flying);
        let (hop, leg, label) = self.legs.of(packet.channel, station);
        let (leg, packet, channel) = (*leg, *packet, self.laps.channel(packet.channel));
        let start = |experiment: &Experiment, (channel, hop, leg): (usize, usize, &Leg), size| {
            let head_start = || experiment.head_start(&experiment.channels[channel], hop, size);
            leg.goes_ahead().then(|| until - (head_start() + leg.before))
        };
        if self.is_copied(channel, hop) {
            self.send_copies((channel, hop, leg, label), &packet, start, calendar);
        } else if let Some(at) = start(self.experiment, (channel, hop, &leg), packet.size) {
            self.send_on((hop, &leg, label), at, &packet, calendar);
        }
    }

    /// A packet goes on a leg of its channel, if there is one; the next station may have it after
    /// `now` and the delay of the leg.
    fn send_on(
        &mut self,
        (hop, leg, label): (usize, &Leg, Label),
        now: Time,
        packet: &Packet,
        calendar: &mut Calendar<AssemblyEvent>,
    ) {
        let Some(node) = leg.next else { return };
        let laps = &self.laps;
        let way = leg.impaired.then(|| self.experiment.channels[laps.channel(packet.channel)].ways[hop]);
        let ends = (leg.station as usize, node as usize);
        let impairments = way.and_then(|way| self.networks.impairments(self.experiment, way, ends));
        let mut send = |at: Time| {
            let frame = self.flying.put(packet);
            fly(&mut self.flying, laps, frame, (leg, label), at, calendar);
        };
        let Some(impairments) = impairments else { return send(now) };
        let mut arrives = false;
        // A damaged frame has a wrong checksum, and the receiving adapter drops it without a word.
        for delivery in impairments.pass(now).filter(|delivery| !delivery.corrupted) {
            arrives = true;
            send(delivery.at);
        }
        if !arrives {
            self.note(packet.channel, ends.0, |meter| meter.impair(now, packet.message));
        }
    }

    /// Opens or closes the window when it is time. The counters of nodes are read when the acting
    /// station is done.
    #[inline]
    pub(super) fn look_at_window(&mut self, now: Time) {
        let (meters, outside) = (&self.meters, &mut self.outside);
        self.unasked |= self.window.look(now, |opens| {
            outside.notice(now, Notice::Window { opens });
            Snapshot::of_meters(now, meters)
        });
    }

    /// Adds the counters of nodes to the edges that lack them.
    #[cold]
    pub(super) fn ask(&mut self, stations: Stations<'_>) {
        self.unasked = false;
        let numbers = (&self.laps, &self.copies);
        for edge in [&mut self.window.opened, &mut self.window.closed] {
            *edge = edge.take().map(|edge| {
                if edge.uses.is_empty() { edge.with(self.experiment, stations, numbers) } else { edge }
            });
        }
    }
}

/// A packet that leaves a station: a node's, which it does not give away, or a frame that lies
/// between nodes already.
#[derive(Clone, Copy)]
pub(super) enum Departing<'p> {
    Here(&'p Packet),
    Lies(Slot),
}

impl<'p> Departing<'p> {
    #[inline]
    fn packet(self, flying: &'p Slots) -> &'p Packet {
        match self {
            Departing::Here(packet) => packet,
            Departing::Lies(frame) => flying.at(frame),
        }
    }
}

/// A frame goes on a leg as it lies, from `at` on.
#[inline]
pub(super) fn fly(
    flying: &mut Slots,
    laps: &Laps,
    frame: Slot,
    (leg, label): (&Leg, Label),
    at: Time,
    calendar: &mut Calendar<AssemblyEvent>,
) {
    let Some(next) = leg.next else { return };
    let packet = flying.at_mut(frame);
    // The packet arrives logically when the promised delay and the longest way have passed.
    packet.tag.deadline = packet.tag.deadline.saturating_sub(leg.spare).saturating_add(leg.longest);
    if leg.unheld {
        packet.tag.deadline = packet.tag.deadline.min(at + leg.takes);
    }
    packet.carried.label = label;
    if leg.turns {
        packet.channel = laps.after(packet.channel);
    }
    calendar.schedule(at + leg.takes, AssemblyEvent::Reach(Arriving::new(next, leg.into, frame)));
}

/// Hears what a port does.
struct OfPort<'s, 'a, 'f, 'c, T: TraceSink, O: Outside> {
    around: &'s mut Surroundings<'a, 'f, T, O>,
    station: usize,
    now: Time,
    calendar: &'c mut Calendar<AssemblyEvent>,
}

impl<T: TraceSink, O: Outside> Around<SwitchOutput<Slot>> for OfPort<'_, '_, '_, '_, T, O> {
    #[inline]
    fn packets(&mut self) -> &mut Slots {
        &mut self.around.flying
    }

    #[inline]
    fn tell(&mut self, output: SwitchOutput<Slot>) {
        let Self { around, station, now, calendar } = self;
        match output {
            SwitchOutput::Begun(frame, until) => {
                around.observer.begun(*station, *now);
                around.begin(*station, until, Departing::Lies(frame), calendar);
            }
            SwitchOutput::Interrupted(frame) => {
                let packet = around.flying.at(frame);
                let channel = ChannelId(around.laps.channel(packet.channel) as u32);
                around.observer.interrupted(*station, *now, (channel, packet));
            }
            SwitchOutput::Resumed(_) => around.observer.begun(*station, *now),
            SwitchOutput::Departed(frame) => around.depart(*station, *now, Departing::Lies(frame), calendar),
            SwitchOutput::Discarded(frame) => {
                let &Packet { channel, message, .. } = around.flying.free(frame);
                around.note(channel, *station, |meter| meter.lose(*now, message));
            }
        }
    }
}
