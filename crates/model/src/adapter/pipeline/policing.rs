//! Channels held to their contracts, where their packets are fetched or come in.
//!
//! A command counts when it is fetched: one that has to wait for a buffer is looked at again. What is demoted has the tag of best
//! effort from here on, on the medium and behind it; but to the host that gave it, it is what it was, for that counts its buffers by it.
//!
//! What is left of a message goes the way of the packet that exceeded the contract, and takes nothing of it: nobody wants a part, as ATM
//! discards the rest of a packet of which it lost a cell.

use laxity_qos::channel::{ChannelId, Packet, Slot, Slots};
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::token_bucket::TokenBucket;
use laxity_units::Time;

use super::Pipeline;
use crate::adapter::{Contract, Excess, Policing};

/// Policing of one way at work.
#[derive(Debug)]
pub(super) struct Policer {
    policing: Policing,
    /// Per channel, where there is a contract.
    meters: Vec<Option<Meter>>,
    /// What packets were before they were demoted that are still to be answered.
    demoted: Vec<(Slot, Tag)>,
}

/// What a channel has sent.
#[derive(Debug, Clone)]
struct Meter {
    bucket: TokenBucket,
    /// The message that exceeded the contract last.
    exceeding: Option<u64>,
}

impl Meter {
    fn conforms(&self, now: Time, packet: &Packet) -> bool {
        self.exceeding != Some(packet.message) && self.bucket.conforms(now, packet.size)
    }

    /// A packet has been taken in, or lost for exceeding.
    fn count(&mut self, now: Time, packet: &Packet, conforms: bool) {
        match conforms {
            true => self.bucket.count(now, packet.size),
            false => self.exceeding = Some(packet.message),
        }
    }
}

/// What a policer says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on as it is.
    Conforms,
    /// It goes on as best effort.
    Demoted,
    /// It is lost.
    Dropped,
}

impl Policer {
    pub(super) fn new(policing: Policing) -> Self {
        Self { policing, meters: Vec::new(), demoted: Vec::new() }
    }

    fn establish(&mut self, channel: ChannelId, contract: &Contract) {
        let place = channel.0 as usize;
        if self.meters.len() <= place {
            self.meters.resize(place + 1, None);
        }
        let bucket = TokenBucket::new(&contract.spec, self.policing.tolerance);
        self.meters[place] = Some(Meter { bucket, exceeding: None });
    }

    /// What a packet is held to: one without a guarantee to nothing.
    fn meter(&mut self, packet: &Packet) -> Option<&mut Meter> {
        let meter = self.meters.get_mut(packet.channel.0 as usize)?.as_mut();
        meter.filter(|_| packet.tag.class == Class::RealTime)
    }

    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        let conforms = self.meter(packet).is_none_or(|meter| meter.conforms(now, packet));
        match (conforms, self.policing.excess) {
            (true, _) => Verdict::Conforms,
            (false, Excess::Demote) => Verdict::Demoted,
            (false, Excess::Drop) => Verdict::Dropped,
        }
    }

    fn count(&mut self, now: Time, packet: &Packet, verdict: Verdict) {
        if let Some(meter) = self.meter(packet) {
            meter.count(now, packet, verdict == Verdict::Conforms);
        }
    }
}

impl Pipeline {
    /// A channel is established through this adapter.
    pub(in crate::adapter) fn establish(&mut self, channel: ChannelId, contract: &Contract) {
        for policer in [&mut self.transmit_policer, &mut self.receive_policer].into_iter().flatten() {
            policer.establish(channel, contract);
        }
        self.transmit_buffers.establish(channel, contract);
        self.receive_buffers.establish(channel, contract);
    }

    /// What is to become of a packet that the host has handed over.
    pub(super) fn judge_command(&mut self, now: Time, packet: &Packet) -> Verdict {
        self.transmit_policer.as_mut().map_or(Verdict::Conforms, |policer| policer.judge(now, packet))
    }

    /// That packet, which had the tag `was`, has been fetched, or lost for that verdict.
    pub(super) fn has_fetched(
        &mut self,
        now: Time,
        slot: Slot,
        (verdict, was): (Verdict, Tag),
        packets: &Slots,
    ) {
        let Some(policer) = &mut self.transmit_policer else { return };
        policer.count(now, &Packet { tag: was, ..*packets.at(slot) }, verdict);
        if verdict == Verdict::Demoted {
            policer.demoted.push((slot, was));
        }
    }

    /// The host is to hear of the packet in `slot` for the last time: it is what it was.
    pub(super) fn restore(&mut self, slot: Slot, packets: &mut Slots) {
        let Some(policer) = &mut self.transmit_policer else { return };
        if let Some(place) = policer.demoted.iter().position(|(demoted, _)| *demoted == slot) {
            packets.at_mut(slot).tag = policer.demoted.swap_remove(place).1;
        }
    }

    /// What becomes of a frame that comes in; one that is demoted is best effort from now on.
    pub(super) fn judge_frame(&mut self, now: Time, packet: &mut Packet) -> Verdict {
        let Some(policer) = &mut self.receive_policer else { return Verdict::Conforms };
        let verdict = policer.judge(now, packet);
        policer.count(now, packet, verdict);
        if verdict == Verdict::Demoted {
            packet.tag = Tag::best_effort(now);
        }
        verdict
    }
}
