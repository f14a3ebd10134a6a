//! Handling of doorbells: posted descriptors are read, and passed to the firmware, at once or in
//! turn.

use laxity_engine::Calendar;
use laxity_model::via::{ViDoorbell, ViMessage};
use laxity_units::{Bytes, Time};
use laxity_vi::provider::{ReadDescriptor, Which};
use laxity_vi::{DEPTH, Operation, State, Status, ViFault};

use super::super::bells::Rung;
use super::super::interface::Outgoing;
use super::super::turns::Turns;
use super::{Cluster, Event, flushed};

/// Size of the request of an RDMA read.
const READ_REQUEST: Bytes = Bytes::new(32);

impl Cluster {
    pub(super) fn rung(
        &mut self,
        now: Time,
        Rung { process, vi, which, count }: Rung,
        calendar: &mut Calendar<Event>,
    ) {
        let Ok(node) = self.own(Some(process), vi).map(|own| own.node as usize) else {
            self.violations.foreign_doorbells += 1;
            return;
        };
        let most = if u32::from(count) <= DEPTH { count } else { 0 };
        let heard = (0..most).all(|_| self.post(now, vi, which));
        if most < count || !heard {
            self.violations.overruns += 1;
            self.break_off(now, vi, ViFault::Overrun, calendar);
        }
        self.stir(node);
    }

    /// Reads a posted descriptor; false if the queue has overrun.
    fn post(&mut self, now: Time, vi: u32, which: Which) -> bool {
        let Self { interfaces, inputs, .. } = self;
        let Some(interface) = interfaces.get_mut(vi as usize).and_then(Option::as_mut) else { return false };
        let Some(number) = interface.hear(which) else { return false };
        if interface.state == State::Error || (which == Which::Send && interface.state != State::Connected) {
            // It takes no time of the firmware, and affects no work there.
            self.complete(vi, which, &flushed(which));
            return true;
        }
        let queues = interface.queues.as_ref();
        let found =
            queues.map_or(Err(Status::FLUSHED), |queues| inputs.descriptor(|| queues.read(which, number)));
        // A message over the adapter's limit would occupy its units for longer than guaranteed
        // messages may wait.
        let longest = self.setup.longest;
        let is_longer = |posted: &ReadDescriptor| which == Which::Send && posted.len() > longest;
        let found = if found.as_ref().is_ok_and(is_longer) { Err(Status::LENGTH_ERROR) } else { found };
        match which {
            Which::Send => {
                let (posted, flaw) = match found {
                    Ok(posted) => (posted, None),
                    Err(flaw) => (ReadDescriptor::EMPTY, Some(flaw)),
                };
                self.ring(now, vi, Outgoing::new(posted, flaw));
            }
            Which::Receive => {
                let (doorbell, fresh) = (ViDoorbell::Receive(interface.endpoint), interface.is_done_with());
                interface.receives.push_back(found);
                interface.unposted += 1;
                self.announce(now, vi, (which, doorbell), fresh);
            }
        }
        true
    }

    /// Passes a message to send to the firmware.
    pub(super) fn ring(&mut self, now: Time, vi: u32, mut outgoing: Outgoing) {
        let Self { interfaces, channels, .. } = self;
        let Some(interface) = interfaces.get_mut(vi as usize).and_then(Option::as_mut) else { return };
        let reads = outgoing.answers.is_none() && matches!(outgoing.posted.operation, Operation::RdmaRead(_));
        let size = match () {
            () if outgoing.flaw.is_some() => Bytes::ZERO,
            () if reads => READ_REQUEST,
            () => Bytes::new(outgoing.posted.len()),
        };
        if !reads && outgoing.answers.is_none() {
            outgoing.rung_at = Some(now);
            interface.channel.inspect(|channel| channels[*channel as usize].send(now, size));
        }
        let (vi_there, number) = (interface.endpoint, interface.outgoing.next());
        let message = ViMessage { vi: vi_there, number, size, directed: false, in_turn: false };
        let doorbell = match outgoing.answers {
            Some(_) => ViDoorbell::Answer(message),
            None => ViDoorbell::Send(message),
        };
        let fresh = interface.is_done_with();
        interface.outgoing.push(outgoing);
        self.announce(now, vi, (Which::Send, doorbell), fresh);
    }

    /// Passes a doorbell to the firmware, at once or in turn. A `fresh` one is the firmware's only
    /// doorbell of `vi`: its bandwidth may have changed since the last.
    fn announce(&mut self, now: Time, vi: u32, (which, doorbell): (Which, ViDoorbell), fresh: bool) {
        let Some(interface) = self.interfaces[vi as usize].as_mut() else { return };
        // Work that takes no time delays no other work.
        let adapter = &mut self.adapters[interface.node as usize];
        if adapter.is_at_once() {
            return adapter.ring(now, doorbell);
        }
        if fresh && !self.shares.is(interface.share, interface.counted_in()) {
            self.shares.leave(interface.share);
            interface.share = self.shares.enter(interface.counted_in());
        }
        let told = self.shares.at(interface.share).and_then(|turns| turns.ring(vi, which, doorbell));
        if let Some(told) = told {
            adapter.ring(now, told);
        }
    }

    /// The firmware has finished a doorbell of `vi`, and gets the next of the same share.
    pub(super) fn rung_out(&mut self, now: Time, vi: u32) {
        let Some(interface) = self.interfaces[vi as usize].as_ref() else { return };
        let adapter = &mut self.adapters[interface.node as usize];
        if adapter.is_at_once() {
            return;
        }
        if let Some(next) = self.shares.at(interface.share).and_then(Turns::done) {
            adapter.ring(now, next);
        }
    }
}
