//! Data of a message: executed when the firmware has fetched, sent, stored or received it.

use laxity_engine::Calendar;
use laxity_model::via::ViMessage;
use laxity_units::{Bytes, Span, Time};
use laxity_vi::provider::{ReadDescriptor, Which};
use laxity_vi::{Completion, Operation, Reliability, Segment, Status, ViFault};

use super::super::interface::{Arrival, Interface, Kind, Outgoing};
use super::{Cluster, Event};

/// Maximum number of messages in flight to one virtual interface; the network drops further ones.
const MOST_ARRIVALS: usize = 1024;

impl Cluster {
    /// HDMA has fetched the data: it is copied now, so later changes of the program's memory have
    /// no effect.
    pub(super) fn fetch(&mut self, vi: u32, number: u64) {
        let mut data = self.buffer();
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        let (owner, tag) = (interface.owner as usize, interface.tag);
        let Some(outgoing) = interface.outgoing.item(number) else { return };
        let reads = outgoing.answers.is_none() && matches!(outgoing.posted.operation, Operation::RdmaRead(_));
        if outgoing.flaw.is_none() && !reads {
            let regions = self.processes[owner].as_ref().map(|process| &process.regions);
            let gathered = regions.map_or(Err(Status::FLUSHED), |regions| {
                regions.gather(tag, outgoing.posted.segments(), &mut data)
            });
            match (gathered, &mut outgoing.answers) {
                (Ok(()), _) => {}
                // The memory to read was deregistered in the meantime.
                (Err(_), Some((_, status))) => *status = Status::RDMA_PROTECTION_ERROR,
                (Err(flaw), None) => outgoing.flaw = Some(flaw),
            }
        }
        outgoing.data = data;
    }

    /// Sends a message to the peer, unless it has a flaw.
    pub(super) fn depart(&mut self, now: Time, vi: u32, message: ViMessage, calendar: &mut Calendar<Event>) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        let (peer, channel) = (interface.peer, interface.channel);
        let Some(outgoing) =
            interface.outgoing.item(message.number).filter(|outgoing| outgoing.flaw.is_none())
        else {
            return;
        };
        let kind = match (outgoing.answers, outgoing.posted.operation) {
            (Some((number, status)), _) => Kind::Answer { number, status },
            (None, Operation::Message) => Kind::Message,
            (None, Operation::RdmaWrite(to)) => Kind::Write(to),
            (None, Operation::RdmaRead(from)) => {
                Kind::Read { from, length: outgoing.posted.len() as u32, number: message.number }
            }
        };
        let (data, immediate) = (std::mem::take(&mut outgoing.data), outgoing.posted.immediate);
        let (of, rung_at) = (channel.filter(|_| outgoing.rung_at.is_some()), outgoing.rung_at);
        let size = Bytes::new(data.len() as u64);
        let (completion, held_until) = (None, None);
        let (void, over) = (false, false);
        let arrival =
            Arrival { kind, immediate, data, size, of, rung_at, held_until, completion, void, over };
        let there = peer.and_then(|peer| self.interfaces[peer as usize].as_mut());
        match there.filter(|there| there.arrivals.len() < MOST_ARRIVALS) {
            Some(there) => {
                let number = there.arrivals.next();
                let directed = !arrival.takes_descriptor();
                let message = ViMessage { vi: there.endpoint, number, directed, ..message };
                there.arrivals.push(arrival);
                let node = there.node;
                self.carry(now, node, message, calendar);
            }
            None => {
                of.into_iter().for_each(|channel| self.channels[channel as usize].lose());
                self.lose(now, vi, message.number, kind, calendar);
            }
        }
    }

    /// Puts a message on the wire to an adapter.
    fn carry(&mut self, now: Time, node: u32, message: ViMessage, calendar: &mut Calendar<Event>) {
        if self.setup.latency.is_zero() {
            self.adapters[node as usize].reach(now, message);
            self.stir(node as usize);
        } else {
            calendar.schedule(now.saturating_add(self.setup.latency), Event::Reach { node, message });
        }
    }

    /// Loses a message without a peer, or over the limit in flight. The sender is notified if it
    /// waits, or the connection is reliable.
    fn lose(&mut self, now: Time, vi: u32, number: u64, kind: Kind, calendar: &mut Calendar<Event>) {
        let Some(interface) = self.interface(vi) else { return };
        interface.tally.lost += 1;
        let (peer, reliable) = (interface.peer, interface.reliability == Reliability::Reliable);
        if reliable || matches!(kind, Kind::Read { .. }) {
            interface
                .outgoing
                .item(number)
                .into_iter()
                .for_each(|lost| lost.flaw = Some(Status::TRANSPORT_ERROR));
        }
        if let (Kind::Answer { number, .. }, Some(peer)) = (kind, peer) {
            let read = self.interface(peer).and_then(|there| there.outgoing.item(number));
            read.into_iter().for_each(|read| read.answered = Some(Status::TRANSPORT_ERROR));
            self.complete_sends(now, peer, calendar);
        }
    }

    /// Completes descriptors in order, as far as the firmware has finished their messages.
    pub(super) fn complete_sends(&mut self, now: Time, vi: u32, calendar: &mut Calendar<Event>) {
        let mut breaks = None;
        while let Some((completion, data)) = self.interface(vi).and_then(Interface::next_sent) {
            self.give_back(data);
            if let Some(completion) = completion {
                breaks = breaks.or(fault_of(completion.status));
                self.complete(vi, Which::Send, &completion);
            }
        }
        if let Some(fault) = breaks
            && self.interface(vi).is_some_and(|own| own.reliability == Reliability::Reliable)
        {
            self.break_off(now, vi, fault, calendar);
        }
        self.sweep(now, vi);
    }

    /// HDMA has moved a message's data up: it is copied to its destination.
    pub(super) fn store(&mut self, vi: u32, number: u64) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        let (owner, tag, [may_write, _]) = (interface.owner as usize, interface.tag, interface.access);
        let Some(arrival) = interface.arrivals.item(number).filter(|arrival| !arrival.void) else { return };
        let Some(process) = self.processes[owner].as_ref() else { return };
        let regions = &process.regions;
        match arrival.kind {
            Kind::Message => {
                let taken = interface.receives.pop_front();
                let Some(taken) = taken else {
                    interface.tally.lost += 1;
                    return;
                };
                let stored = taken.and_then(|posted| regions.scatter(tag, posted.segments(), &arrival.data));
                let length = if stored.is_ok() { arrival.data.len() as u32 } else { 0 };
                let status = Status::DONE.and(Status::RECEIVE).and(stored.err().unwrap_or_default());
                arrival.completion = Some(Completion { status, length, immediate: arrival.immediate });
            }
            Kind::Write(to) => {
                let there =
                    Segment { address: to.address, handle: to.handle, length: arrival.data.len() as u32 };
                let stored = match may_write && regions.permits(tag, &there, true) {
                    true => regions.scatter(tag, &[there], &arrival.data),
                    false => Err(Status::RDMA_PROTECTION_ERROR),
                };
                self.violations.rdma += u64::from(stored.is_err());
                let status =
                    Status::DONE.and(Status::REMOTE_RDMA_WRITE).and(stored.err().unwrap_or_default());
                let length = if stored.is_ok() { there.length } else { 0 };
                let completion = Completion { status, length, immediate: arrival.immediate };
                if arrival.immediate.is_some() && interface.receives.pop_front().is_none() {
                    interface.tally.lost += 1;
                } else if arrival.immediate.is_some() || stored.is_err() {
                    arrival.completion = Some(completion);
                }
            }
            Kind::Read { .. } => {}
            Kind::Answer { number, status } => {
                let Some(read) = interface.outgoing.item(number) else { return };
                let stored = match status.is_error() {
                    true => Err(status),
                    false => regions.scatter(tag, read.posted.segments(), &arrival.data),
                };
                // The read completes when the firmware says so.
                arrival.kind = Kind::Answer { number, status: stored.err().unwrap_or_default() };
            }
        }
    }

    /// A message has arrived. If it is early, it waits for its playout time in the program's
    /// memory; only the time is kept here.
    pub(super) fn come(&mut self, now: Time, vi: u32, number: u64, calendar: &mut Calendar<Event>) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        let Some(arrival) = interface.arrivals.item(number) else { return };
        let of_file = arrival.of.map_or(Span::ZERO, |channel| self.channels[channel as usize].playout());
        let playout = interface.playout.max(of_file);
        match arrival.rung_at.map(|rung_at| rung_at.saturating_add(playout)).filter(|due| *due > now) {
            Some(due) => {
                arrival.held_until = Some(due);
                let data = std::mem::take(&mut arrival.data);
                self.give_back(data);
                calendar.schedule(due, Event::Played { vi, number });
            }
            None => self.received(now, vi, number, calendar),
        }
    }

    /// The playout time of a held message has passed, unless its connection has ended meanwhile:
    /// then the number may be another message's.
    pub(super) fn play(&mut self, now: Time, vi: u32, number: u64, calendar: &mut Calendar<Event>) {
        let held = self.interface(vi).and_then(|own| own.arrivals.item(number));
        let held = held.filter(|arrival| !arrival.over && arrival.held_until.is_some_and(|due| due <= now));
        if held.is_some() {
            self.received(now, vi, number, calendar);
        }
    }

    pub(super) fn received(&mut self, now: Time, vi: u32, number: u64, calendar: &mut Calendar<Event>) {
        let Some(interface) = self.interface(vi) else { return };
        let reliable = interface.reliability == Reliability::Reliable;
        let Some(arrival) = interface.arrivals.item(number) else { return };
        arrival.over = true;
        if arrival.void {
            return self.sweep(now, vi);
        }
        let (kind, takes, completion) = (arrival.kind, arrival.takes_descriptor(), arrival.completion.take());
        if let Some((channel, rung_at)) = arrival.of.zip(arrival.rung_at) {
            let size = arrival.size;
            match completion.is_some_and(|completion| completion.status.is_error()) {
                false => self.channels[channel as usize].receive(now, rung_at, size),
                true => self.channels[channel as usize].lose(),
            }
        }
        if let Some(completion) = completion {
            if takes {
                self.complete(vi, Which::Receive, &completion);
            }
            if let Some(fault) = fault_of(completion.status).filter(|_| reliable) {
                self.break_off(now, vi, fault, calendar);
            }
        }
        match kind {
            Kind::Message | Kind::Write(_) => {}
            Kind::Read { from, length, number } => self.answer_read(now, vi, (from, length, number)),
            Kind::Answer { number, status } => {
                if let Some(read) = self.interface(vi).and_then(|own| own.outgoing.item(number)) {
                    read.answered = Some(status);
                }
                self.complete_sends(now, vi, calendar);
            }
        }
        self.sweep(now, vi);
    }

    /// Sends the data of the peer's RDMA read, as if it had been posted here.
    fn answer_read(&mut self, now: Time, vi: u32, (from, length, number): (laxity_vi::Remote, u32, u64)) {
        let Some(interface) = self.interfaces[vi as usize].as_ref() else { return };
        let Some(process) = self.processes[interface.owner as usize].as_ref() else { return };
        let there = Segment { address: from.address, handle: from.handle, length };
        let permitted = interface.access[1] && process.regions.permits(interface.tag, &there, false);
        let (posted, status) = match permitted {
            true => (ReadDescriptor::of(&there), Status::default()),
            false => {
                self.violations.rdma += 1;
                (ReadDescriptor::EMPTY, Status::RDMA_PROTECTION_ERROR)
            }
        };
        let answer = Outgoing { answers: Some((number, status)), ..Outgoing::new(posted, None) };
        self.ring(now, vi, answer);
    }
}

/// Fault of a reliable connection whose descriptor completes with `status`, if any.
fn fault_of(status: Status) -> Option<ViFault> {
    let fault = match () {
        () if !status.is_error() || status.has(Status::FLUSHED) => return None,
        () if status.has(Status::TRANSPORT_ERROR) => ViFault::ConnectionLost,
        () if status.has(Status::RDMA_PROTECTION_ERROR.and(Status::REMOTE_RDMA_WRITE)) => {
            ViFault::RdmaWriteProtection
        }
        () if status.has(Status::RDMA_PROTECTION_ERROR) => ViFault::RdmaReadProtection,
        () => ViFault::PostedDescriptor,
    };
    Some(fault)
}
