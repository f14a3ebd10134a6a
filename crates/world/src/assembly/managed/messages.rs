//! Messages of channels and datagrams: sending, receiving, and what is measured.

use laxity_node::{Failure, ProgramMessage, Response};
use laxity_qos::channel::Dropped;

use super::calls::{Sent, State};
use super::*;
use crate::sketch::picoseconds;

/// Bytes in front of a datagram of this size or more: when it was sent.
const STAMP: usize = 8;

impl Managed<'_> {
    /// The next message of the source of a call.
    pub(super) fn schedule_message(&mut self, call: u64, calendar: &mut Calendar<Event>) {
        let Some(of) = self.calls.get_mut(&call) else { return };
        if let Some(arrival) = of.source.as_mut().and_then(Source::next_arrival) {
            of.size = arrival.size;
            calendar.schedule(arrival.at.max(self.now), Event::Send { call });
        }
    }

    /// The source of a call has a message.
    pub(super) fn send(&mut self, number: u64, calendar: &mut Calendar<Event>) {
        let Some(call) = self.calls.get(&number).filter(|call| call.state == State::Open) else { return };
        let (channel, id, size, accepted) = (call.channel, call.id, call.size, call.accepted);
        let spec = &self.experiment.channels[channel];
        let from = spec.route[0];
        let shown = self.shown(from);
        let Some(node) = &mut self.stations[from].node else { return };
        let payload = vec![accepted as u8; size.get() as usize];
        self.counted[channel].meter.offer(size);
        let response = node.command(shown, PROGRAM, Command::Send(id, payload));
        if response.is_ok() {
            self.trace_message(channel, "sent", accepted);
        }
        let counted = self.window.counts();
        let clock = &self.stations[from].clock;
        let call = self.calls.get_mut(&number).expect("it was found");
        match response {
            Ok(Response::Accepted { due }) => {
                let logical = due.saturating_sub(call.contract.deadline);
                call.accepted += 1;
                call.sent.push_back(Sent {
                    number: accepted,
                    size,
                    begin: clock.first_at(logical, self.now).unwrap_or(Time::MAX),
                    deadline: call.deadline,
                    bound: self.spec.bound(call.route.len(), &call.contract),
                    counted,
                    excused: call.excused.is_some(),
                    must: call.excused.is_none() && !call.lossy,
                });
            }
            response => {
                let cause = match response {
                    Err(Failure::TooLong) if size < call.contract.min_message => Dropped::Undersized,
                    Err(Failure::TooLong) => Dropped::Oversize,
                    _ => Dropped::MessageQueue,
                };
                self.counted[channel].meter.tally.dropped.add(cause, 1);
            }
        }
        self.schedule_message(number, calendar);
        self.pump(from, calendar);
    }

    /// The programs of a node take what waits for them.
    pub(super) fn receive(&mut self, node: usize, shown: Time) {
        loop {
            let Some(up) = &mut self.stations[node].node else { return };
            let Some((port, _)) = up.ready().next() else { return };
            let Ok(Response::Received(message)) = up.command(shown, PROGRAM, Command::Receive(port)) else {
                return;
            };
            match message.channel {
                Some(channel) => self.received(channel, &message),
                None => self.datagram(port, &message.payload),
            }
        }
    }

    fn received(&mut self, channel: GlobalChannelId, message: &ProgramMessage) {
        // A message of a channel that its source has closed, or lost with its node.
        let Some(call) = self.ids.get(&channel).and_then(|call| self.calls.get_mut(call)) else { return };
        let mut missing = Vec::new();
        while call.sent.front().is_some_and(|sent| sent.number < message.number) {
            missing.extend(call.sent.pop_front());
        }
        let is_this = |sent: &&Sent| {
            let whole = sent.size.get() as usize == message.payload.len();
            let bytes = message.payload.iter().all(|byte| *byte == sent.number as u8);
            sent.number == message.number && whole && bytes
        };
        let sent = call.sent.front().filter(is_this).copied();
        if sent.is_some() {
            call.sent.pop_front();
        }
        let channel = call.channel;
        for sent in &missing {
            self.missing(channel, sent);
        }
        match sent {
            Some(sent) => {
                self.trace_message(channel, "delivered", message.number);
                self.arrived(channel, &sent);
            }
            None => {
                let name = &self.experiment.channels[channel].name;
                self.fail(rules::CONTENT, name, format!("message {}", message.number));
            }
        }
    }

    fn arrived(&mut self, channel: usize, sent: &Sent) {
        let counts = self.window.counts();
        let counted = &mut self.counted[channel];
        let delay = self.now.saturating_since(sent.begin);
        let (due, late) = (sent.due(), self.now > sent.due());
        let tally = &mut counted.meter.tally;
        tally.delivered += 1;
        tally.completed += 1;
        tally.delivered_bytes += sent.size;
        tally.delivered_late += u64::from(late && !sent.excused);
        if counts {
            counted.meter.delivery.push([picoseconds(sent.begin, self.now)]);
            counted.meter.laxity.push([picoseconds(self.now, due)]);
        }
        if !sent.excused {
            counted.meter.delivery_worst = counted.meter.delivery_worst.max(Some(delay));
            counted.closest.took(delay, sent.bound);
            if sent.counted {
                counted.due.0 += 1;
                counted.due.1 += u64::from(!late);
            }
        }
        self.window.pass();
    }

    /// A message never arrives.
    pub(super) fn missing(&mut self, channel: usize, sent: &Sent) {
        if sent.must && sent.counted {
            self.counted[channel].due.0 += 1;
        }
    }

    /// The messages of channels that are open at the end, which are due and have not arrived.
    pub(super) fn judge_messages(&mut self, end: Time) {
        let due = self.calls.values_mut().flat_map(|call| {
            let channel = call.channel;
            call.sent.drain(..).filter(move |sent| sent.due() < end).map(move |sent| (channel, sent))
        });
        for (channel, sent) in due.collect::<Vec<_>>() {
            self.missing(channel, &sent);
        }
    }

    /// Best effort begins.
    pub(super) fn begin_best_effort(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        self.best[channel].source = self.experiment.source(channel, 0);
        self.schedule_datagram(channel, calendar);
    }

    /// The sources without end at a node that restarted.
    pub(super) fn begin_again(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        for (channel, spec) in (0..).zip(&self.experiment.channels) {
            if spec.deadline.is_some() || spec.route[0] != node {
                continue;
            }
            let outstanding = match spec.source {
                SourceSpec::Continuous(_) => FLOOD,
                SourceSpec::Closed { outstanding, .. } => outstanding.min(DATAGRAMS as u32 / 2),
                _ => 0,
            };
            self.best[channel as usize].outstanding = 0;
            for _ in 0..outstanding {
                calendar.schedule(self.now, Event::Offer { channel });
            }
        }
    }

    fn schedule_datagram(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        let best = &mut self.best[channel];
        if let Some(arrival) = best.source.as_mut().and_then(Source::next_arrival) {
            best.size = arrival.size;
            calendar.schedule(arrival.at.max(self.now), Event::Offer { channel: channel as u32 });
        }
    }

    /// Best effort has a datagram.
    pub(super) fn offer(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        let spec = &self.experiment.channels[channel];
        let size = match spec.source {
            SourceSpec::Continuous(sizes) | SourceSpec::Closed { sizes, .. } => {
                sizes.draw(&mut self.random[channel])
            }
            _ => {
                let size = self.best[channel].size;
                self.schedule_datagram(channel, calendar);
                size
            }
        };
        let (from, to) = (spec.route[0], spec.route[spec.route.len() - 1]);
        if !self.has_program(from) {
            return;
        }
        let mut payload = vec![0; size.get() as usize];
        if let Some(stamp) = payload.first_chunk_mut::<STAMP>() {
            *stamp = self.now.as_ps().to_be_bytes();
        }
        let (to, port) = (NodeId(to as u32), Port(BEST_EFFORT + channel as u32));
        let sent = self.command(from, Command::Datagram { to, port, payload }, calendar);
        let counted = &mut self.counted[channel];
        match sent {
            Ok(_) if spec.source.is_endless() => self.best[channel].outstanding += 1,
            Err(_) if !spec.source.is_endless() => counted.meter.tally.dropped.add(Dropped::MessageQueue, 1),
            _ => {}
        }
        counted.meter.offer(size);
    }

    /// A datagram arrives at its program.
    fn datagram(&mut self, port: Port, payload: &[u8]) {
        let Some(channel) = port.0.checked_sub(BEST_EFFORT) else { return };
        let meter = &mut self.counted[channel as usize].meter;
        meter.tally.delivered += 1;
        meter.tally.completed += 1;
        meter.tally.delivered_bytes += Bytes::new(payload.len() as u64);
        if let (true, Some(stamp)) = (self.window.counts(), payload.first_chunk::<STAMP>()) {
            let sent = Time::from_ps(u64::from_be_bytes(*stamp));
            meter.delivery.push([picoseconds(sent, self.now)]);
        }
        self.window.pass();
    }
}
