//! Connections: calls and waits, matching peer requests, and disconnection.

use laxity_engine::Calendar;
use laxity_model::via::Doorbells;
use laxity_units::Time;
use laxity_vi::provider::Answer;
use laxity_vi::{Address, State, ViFault, ViRefusal};
use laxity_world::Observed;

use super::super::load::{Load, vtick};
use super::{Call, Cluster, Decided, Event};

impl Cluster {
    pub(super) fn connect(&mut self, process: u32, vi: u32, to: Address, from: u64) -> Decided {
        if to.host as usize >= self.adapters.len() {
            return Err(ViRefusal::NotReachable);
        }
        let own = self.own(Some(process), vi)?;
        if own.state != State::Idle {
            return Err(ViRefusal::InvalidState);
        }
        own.show(State::Pending);
        let from = Address { host: own.node, discriminator: from };
        self.calls_made += 1;
        self.calls.push(Call { number: self.calls_made, vi, from, to, told: None });
        for (process, other) in self.processes.iter().enumerate() {
            if other.as_ref().is_some_and(|other| other.node == to.host) {
                self.bells.call(process as u32);
            }
        }
        Ok(Answer::Done)
    }

    pub(super) fn call_for(&mut self, process: u32, discriminator: u64) -> Decided {
        let host = self.processes[process as usize].as_ref().ok_or(ViRefusal::InvalidState)?.node;
        let to = Address { host, discriminator };
        let call = self.calls.iter_mut().find(|call| call.to == to && call.told.is_none());
        let call = call.ok_or(ViRefusal::NotDone)?;
        call.told = Some(process);
        let (number, vi, from) = (call.number, call.vi, call.from);
        let bandwidth = self.own(None, vi)?.bandwidth;
        Ok(Answer::Called { call: number, from, bandwidth })
    }

    pub(super) fn take_call(&mut self, process: u32, number: u64) -> Result<Call, ViRefusal> {
        let mine = |call: &Call| call.number == number && call.told == Some(process);
        let place = self.calls.iter().position(mine).ok_or(ViRefusal::NoMatch)?;
        Ok(self.calls.swap_remove(place))
    }

    pub(super) fn accept(&mut self, now: Time, process: u32, number: u64, vi: u32) -> Decided {
        let own = self.own(Some(process), vi)?;
        if own.state != State::Idle {
            return Err(ViRefusal::InvalidState);
        }
        let mine = |call: &&Call| call.number == number && call.told == Some(process);
        let call = *self.calls.iter().find(mine).ok_or(ViRefusal::NoMatch)?;
        self.join(now, vi, call.vi)?;
        self.call_by_channel(call.vi, vi, call.to.discriminator);
        self.take_call(process, number)?;
        Ok(Answer::Done)
    }

    /// Connects two virtual interfaces, if both adapters have the bandwidth guaranteed to the
    /// other.
    fn join(&mut self, now: Time, vi: u32, caller: u32) -> Result<(), ViRefusal> {
        let own = self.own(None, vi)?;
        let (node, back) = (own.node, own.bandwidth);
        let there = self.own(None, caller)?;
        let (from, sent) = (there.node, there.bandwidth);
        // Each side's adapter receives the traffic of the other.
        let received = |bandwidth| Load::of(&self.setup.adapter, bandwidth, false);
        let fits = match from == node {
            true => self.load(node).and(received(sent)).and(received(back)).fits(),
            false => self.load(node).and(received(sent)).fits() && self.load(from).and(received(back)).fits(),
        };
        if !fits {
            return Err(ViRefusal::InvalidQos);
        }
        for (side, peer) in [(vi, caller), (caller, vi)] {
            let side = self.own(None, side)?;
            side.peer = Some(peer);
            side.show(State::Connected);
        }
        self.expect(now, vi);
        self.expect(now, caller);
        Ok(())
    }

    /// Sets at the adapter of a virtual interface the bandwidth of arriving messages: that of its
    /// peer.
    pub(super) fn expect(&mut self, now: Time, vi: u32) {
        let merged = self.setup.adapter.limits.doorbells == Doorbells::Merged;
        let Some(own) = self.interfaces[vi as usize].as_ref().filter(|_| !merged) else { return };
        let there = own.peer.and_then(|peer| self.interfaces[peer as usize].as_ref());
        if let Some(there) = there {
            self.adapters[own.node as usize].expect(now, own.endpoint, vtick(there.bandwidth));
            self.restless.push(own.node as usize);
        }
    }

    /// Assigns the two sides to the file's channels that match a connection between their nodes,
    /// requested at `discriminator`.
    fn call_by_channel(&mut self, caller: u32, called: u32, discriminator: u64) {
        let node = |vi: u32| self.interfaces[vi as usize].as_ref().map(|own| own.node);
        let Some(way) = node(caller).zip(node(called)) else { return };
        let channels = Observed::of_connection(&mut self.channels, way, discriminator);
        for (vi, channel) in [caller, called].into_iter().zip(channels) {
            self.interface(vi).into_iter().for_each(|own| own.channel = channel);
        }
    }

    /// Ends a virtual interface's part of a connection. The peer becomes broken, and is notified.
    pub(super) fn disconnect(&mut self, now: Time, vi: u32, calendar: &mut Calendar<Event>) {
        self.calls.retain(|call| call.vi != vi);
        if self.own(None, vi).is_ok_and(|own| own.peer.is_some()) {
            self.break_off(now, vi, ViFault::ConnectionLost, calendar);
        }
        self.flush(now, vi, None);
        if let Ok(node) = self.own(None, vi).map(|own| own.node as usize) {
            self.settle(now, node, calendar);
        }
    }

    pub(super) fn peer_of(&mut self, process: u32, vi: u32) -> Decided {
        let peer = self.own(Some(process), vi)?.peer.ok_or(ViRefusal::InvalidState)?;
        let there = self.own(None, peer)?;
        let from = Address { host: there.node, discriminator: u64::from(peer) };
        Ok(Answer::Called { call: 0, from, bandwidth: there.bandwidth })
    }
}
