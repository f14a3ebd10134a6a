//! Counts of each channel at this node.

use std::collections::BTreeMap;

use laxity_node::{Departure, ProgramMessage};
use laxity_signalling::identity::{GlobalChannelId, NodeId, Program};
use laxity_units::{Span, Time};

use crate::stalls::Stalls;

/// Upper edges of the histogram of laxity: powers of two from 1 us on, in nanoseconds.
const EDGES: usize = 24;

/// The counts of a channel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    /// Messages accepted, messages delivered, or packets relayed.
    pub(crate) messages: u64,
    pub(crate) excess: u64,
    /// The longest delay: from end to end at the destination, else of a packet in this node.
    pub(crate) worst: Span,
    pub(crate) missed: u64,
    pub(crate) attributed: u64,
    /// Messages that did not arrive, though one behind them did.
    pub(crate) lost: u64,
    /// Since when the counts are.
    pub(crate) since: Time,
    /// Messages of the channel are delivered at this node.
    ends_here: bool,
    /// The program and its slot, if the channel begins here.
    slot: Option<(Program, u32)>,
}

/// The counts of a node.
#[derive(Debug)]
pub(crate) struct Ledger {
    node: NodeId,
    packet: u64,
    accounts: BTreeMap<GlobalChannelId, Account>,
    /// Messages for slots without a channel.
    pub(crate) strays: u64,
    /// Packets of signalling that left after their local deadline.
    pub(crate) late_signals: u64,
    /// Misses of channels, those that are over included: late packets of channels that begin here or
    /// pass, and late messages of channels that end here.
    pub(crate) missed: u64,
    /// The part of it that stops of the platform cover.
    pub(crate) attributed: u64,
    /// Messages of channels that end here and did not arrive.
    pub(crate) lost: u64,
    /// Late packets of channels that stops cover with turns beyond the stated delay of the host.
    pub(crate) overrun: u64,
    /// Late packets of channels that neither covers.
    pub(crate) unexplained: u64,
    laxity: [u64; EDGES],
    late: u64,
}

impl Ledger {
    pub(crate) fn new(node: NodeId, packet: u32) -> Self {
        Self {
            node,
            packet: u64::from(packet).max(1),
            accounts: BTreeMap::new(),
            strays: 0,
            late_signals: 0,
            missed: 0,
            attributed: 0,
            lost: 0,
            overrun: 0,
            unexplained: 0,
            laxity: [0; EDGES],
            late: 0,
        }
    }

    fn account(&mut self, now: Time, channel: GlobalChannelId) -> &mut Account {
        self.accounts.entry(channel).or_insert(Account { since: now, ..Account::default() })
    }

    /// A message was accepted at the source: how many packets the node transmits. A message of a channel
    /// within the node counts when it is delivered.
    pub(crate) fn accepted(&mut self, now: Time, channel: GlobalChannelId, length: usize) -> u64 {
        let packets = (length as u64).div_ceil(self.packet).max(1);
        let account = self.account(now, channel);
        if account.ends_here {
            return 0;
        }
        account.messages += 1;
        packets
    }

    /// A message was beyond its contract.
    pub(crate) fn exceeded(&mut self, now: Time, channel: GlobalChannelId) {
        self.account(now, channel).excess += 1;
    }

    /// A channel ends here.
    pub(crate) fn opened(&mut self, now: Time, channel: GlobalChannelId) {
        self.account(now, channel).ends_here = true;
    }

    /// A channel begins here, in that slot of a program.
    pub(crate) fn begun(&mut self, now: Time, channel: GlobalChannelId, slot: (Program, u32)) {
        self.account(now, channel).slot = Some(slot);
    }

    /// The slot of a channel that begins here.
    pub(crate) fn slot(&self, channel: GlobalChannelId) -> Option<(Program, u32)> {
        self.accounts.get(&channel)?.slot
    }

    /// A program is gone: its channels, which have no slot from here on.
    pub(crate) fn vacate(&mut self, program: Program) -> Vec<GlobalChannelId> {
        let of = |(channel, account): (&GlobalChannelId, &mut Account)| {
            account.slot.take_if(|(owner, _)| *owner == program).map(|_| *channel)
        };
        self.accounts.iter_mut().filter_map(of).collect()
    }

    /// A channel is over. The answer is its slot, if it had one.
    pub(crate) fn closed(&mut self, channel: GlobalChannelId) -> Option<(Program, u32)> {
        self.accounts.remove(&channel)?.slot
    }

    /// A promised packet left; its link was last idle at `idle_at`. It is late if it left by more than
    /// the stated delay of the hosts after its local deadline. The answer is the slot of its channel, if
    /// that begins here.
    pub(crate) fn departed(
        &mut self,
        departure: &Departure,
        hosts: Span,
        idle_at: Time,
        stalls: &Stalls,
    ) -> Option<(Program, u32)> {
        let late = departure.lateness().saturating_sub(hosts);
        let Some(channel) = departure.channel else {
            self.late_signals += u64::from(!late.is_zero());
            return None;
        };
        let is_late = !late.is_zero();
        let mut covered = false;
        if is_late {
            let (from, until) = (idle_at.min(departure.logical_arrival), departure.end);
            let stopped = stalls.between(from, until);
            covered = late <= stopped;
            let overrun = !covered && late <= stopped.saturating_add(stalls.overruns(from, until));
            self.missed += 1;
            self.attributed += u64::from(covered);
            self.overrun += u64::from(overrun);
            self.unexplained += u64::from(!covered && !overrun);
        }
        let relayed = u64::from(channel.node != self.node);
        let account = self.account(departure.logical_arrival, channel);
        account.worst = account.worst.max(departure.end.saturating_since(departure.logical_arrival));
        account.missed += u64::from(is_late);
        account.attributed += u64::from(covered);
        account.messages += relayed;
        account.slot
    }

    /// A message was delivered to its receiver.
    pub(crate) fn delivered(&mut self, now: Time, channel: GlobalChannelId, message: &ProgramMessage) {
        let ProgramMessage { delay, bound, lost, .. } = *message;
        self.lost += u64::from(lost);
        let account = self.account(now, channel);
        account.lost += u64::from(lost);
        account.messages += 1;
        account.worst = account.worst.max(delay);
        if delay > bound {
            account.missed += 1;
            self.missed += 1;
            self.late += 1;
            return;
        }
        let us = bound.saturating_sub(delay).as_ps() / 1_000_000;
        let edge = (u64::BITS - us.leading_zeros()) as usize;
        self.laxity[edge.min(EDGES - 1)] += 1;
    }

    pub(crate) fn get(&self, channel: GlobalChannelId) -> Account {
        self.accounts.get(&channel).copied().unwrap_or_default()
    }

    /// Counts of delivered messages by laxity below an edge in nanoseconds; 0 for late ones.
    pub(crate) fn laxity(&self) -> Vec<(u64, u64)> {
        let on_time = self.laxity.iter().enumerate().map(|(edge, count)| (1000 << edge, *count));
        std::iter::once((0, self.late)).chain(on_time).collect()
    }
}

#[cfg(test)]
mod tests {
    use laxity_signalling::identity::Epoch;

    use super::*;

    fn message(ms: u64, lost: u32) -> ProgramMessage {
        let (delay, bound) = (Span::from_ms(ms), Span::from_ms(5));
        ProgramMessage { channel: None, number: 0, payload: Vec::new(), delay, bound, lost }
    }

    const AT: Time = Time::from_ps(7);

    /// A message is counted once: where it is accepted, or within a node where it is delivered.
    #[test]
    fn a_message_within_a_node_has_no_packets() {
        let mut ledger = Ledger::new(NodeId(1), 1344);
        let channel = |local| GlobalChannelId { node: NodeId(1), epoch: Epoch(1), local };
        assert_eq!(ledger.accepted(AT, channel(0), 1345), 2);
        ledger.opened(AT, channel(1));
        assert_eq!(ledger.accepted(AT, channel(1), 1345), 0);
        ledger.delivered(AT, channel(1), &message(1, 0));
        assert_eq!([0, 1].map(|local| ledger.get(channel(local)).messages), [1, 1]);
    }

    #[test]
    fn what_a_channel_missed_counts_after_its_end() {
        let mut ledger = Ledger::new(NodeId(2), 1344);
        let channel = GlobalChannelId { node: NodeId(1), epoch: Epoch(1), local: 0 };
        ledger.opened(AT, channel);
        ledger.delivered(Time::MAX, channel, &message(5, 0));
        ledger.delivered(Time::MAX, channel, &message(6, 3));
        let Account { messages, missed, lost, since, .. } = ledger.get(channel);
        assert_eq!((messages, missed, lost, since), (2, 1, 3, AT));
        assert_eq!(ledger.closed(channel), None);
        assert_eq!((ledger.get(channel).missed, ledger.missed, ledger.attributed, ledger.lost), (0, 1, 0, 3));
    }
}
