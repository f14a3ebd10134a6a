//! Faults, and the messages that a fault excuses.

use laxity_signalling::identity::Epoch;
use laxity_transport::TransportHeader;

use super::*;
use crate::experiment::{Fails, Outage};

impl Managed<'_> {
    /// An outage begins or is over.
    pub(super) fn outage(&mut self, number: usize, begins: bool, calendar: &mut Calendar<Event>) {
        let Outage { what, .. } = self.spec.outages[number];
        self.quiet = self.now;
        let (name, kind) = match what {
            Fails::Node(node) => (self.experiment.name(node), ["crashed", "restarted"]),
            Fails::Programs(node) => (self.experiment.name(node), ["programs died", "programs died"]),
            Fails::Network(network) => {
                (self.experiment.networks[network].name.clone().unwrap_or_default(), ["cut", "mended"])
            }
        };
        self.note("", kind[usize::from(!begins)], name, None);
        match (what, begins) {
            (Fails::Node(node), true) => {
                self.stations[node].down += 1;
                self.crash(node);
            }
            (Fails::Node(node), false) => {
                self.stations[node].down -= 1;
                if self.stations[node].down == 0 {
                    self.restart(node, calendar);
                }
            }
            (Fails::Programs(node), _) => {
                self.stations[node].programs = false;
                self.stop_programs(node);
            }
            (Fails::Network(network), begins) => {
                for link in self.links.iter_mut().filter(|link| link.network == network) {
                    link.cuts = if begins { link.cuts + 1 } else { link.cuts - 1 };
                }
                self.touch(Time::MAX, |call| call.ways.contains(&network));
            }
        }
    }

    fn crash(&mut self, node: usize) {
        self.stations[node].node = None;
        self.stations[node].synchronised = None;
        let experiment = self.experiment;
        self.touch(Time::MAX, |call| call.route.contains(&node));
        let ended: Vec<u64> = self.calls_from(node);
        for call in ended {
            let channel = self.calls[&call].channel;
            self.note(&experiment.channels[channel].name, "over", "its node crashed".into(), None);
            self.counted[channel].asks.over += 1;
            self.end(call);
        }
    }

    /// The programs at a node are dead: their channels end with their leases.
    fn stop_programs(&mut self, node: usize) {
        let experiment = self.experiment;
        self.touch(Time::MAX, |call| call.route[0] == node || call.route.last() == Some(&node));
        for call in self.calls_from(node) {
            let channel = self.calls[&call].channel;
            self.note(&experiment.channels[channel].name, "over", "its program died".into(), None);
            self.counted[channel].asks.over += 1;
            self.orphan(call);
        }
    }

    fn calls_from(&self, node: usize) -> Vec<u64> {
        let begins = |call: &Call| call.route[0] == node;
        self.calls
            .iter()
            .filter(|(_, call)| begins(call) && !call.is_orphan())
            .map(|(call, _)| *call)
            .collect()
    }

    /// A step of the clock of a node.
    pub(super) fn step(&mut self, node: usize, step: usize, calendar: &mut Calendar<Event>) {
        let (_, shift) = self.spec.clocks[node].steps[step];
        let longest = self.experiment.channels.iter().filter_map(|channel| channel.deadline).max();
        let changed = self.experiment.channels.iter().flat_map(|channel| match &channel.asked {
            AskedTimes::Once { changes, .. } => &changes[..],
            AskedTimes::Calls { .. } => &[],
        });
        let longest =
            changed.map(|(_, contract)| contract.deadline).fold(longest.unwrap_or_default(), Span::max);
        // Messages that the step made early or late leave the network within this time.
        let settled = self.now.saturating_add(shift.size()).saturating_add(longest.saturating_mul(2));
        self.stations[node].unsettled = self.stations[node].unsettled.max(settled);
        self.quiet = self.now;
        self.note("", "clock stepped", format!("{} by {shift}", self.experiment.name(node)), None);
        self.touch(settled, |call| call.route.contains(&node));
        // A timer of the clock before is void, and the node asks anew.
        if self.stations[node].node.is_some() {
            self.pump(node, calendar);
        }
    }

    /// Until when the steps of clocks show in a new channel over `route`.
    pub(super) fn unsettled(&self, route: &[usize]) -> Option<Time> {
        let last = route.iter().map(|node| self.stations[*node].unsettled).max()?;
        (last > self.now).then_some(last)
    }

    /// Whether a node or a network of a route does not work.
    pub(super) fn is_failing(&self, route: &[usize], ways: &[usize]) -> bool {
        let dead = |node: &usize| self.stations[*node].node.is_none() || !self.stations[*node].programs;
        let cut = |network: &usize| self.links.iter().any(|link| link.network == *network && link.cuts > 0);
        route.iter().any(dead) || ways.iter().any(cut)
    }

    /// Whether one of the networks loses frames.
    pub(super) fn is_lossy(&self, ways: &[usize]) -> bool {
        let lossy = |network: &usize| {
            let impairments = &self.experiment.networks[*network].impairments;
            let shares = [impairments.loss, impairments.corruption, impairments.reordering.probability];
            shares.iter().any(|share| share.value() > 0.0)
        };
        ways.iter().any(lossy)
    }

    /// A fault touched channels: their messages are excused until they have a new contract after
    /// `until`.
    fn touch(&mut self, until: Time, touched: impl Fn(&Call) -> bool) {
        for call in self.calls.values_mut().filter(|call| touched(call)) {
            call.excuse(until);
        }
    }

    /// A fault took a frame, or held it back: its message need not arrive.
    pub(super) fn spoil(&mut self, frame: &[u8]) {
        let Ok((header, _)) = TransportHeader::decode(frame) else { return };
        let wire = header.channel;
        let id = GlobalChannelId { node: NodeId(wire.node), epoch: Epoch(header.epoch), local: wire.local };
        if let Some(call) = self.ids.get(&id).and_then(|call| self.calls.get_mut(call)) {
            self.counted[call.channel].meter.tally.impair();
            call.spare(header.message as u32);
        }
    }
}
