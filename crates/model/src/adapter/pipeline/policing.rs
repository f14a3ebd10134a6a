//! Policing: channels are held to their contracts, where their packets are fetched or arrive.
//!
//! A command counts when it is fetched: one that waits for a buffer is judged again. A demoted
//! packet has the best-effort tag from here on, on the medium and beyond; responses to the host
//! carry its original tag, by which the host counts buffers.
//!
//! The rest of a message follows the packet that exceeded the contract, and uses none of the
//! contract: a partial message is useless, as ATM discards the rest of a packet after a lost cell.

use laxity_qos::channel::{ChannelId, Packet, Slot, Slots};
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::token_bucket::TokenBucket;
use laxity_units::Time;

use super::Pipeline;
use crate::adapter::{AdapterContract, Excess, Policing};

/// Policing of one direction.
#[derive(Debug)]
pub(super) struct Policer {
    policing: Policing,
    /// Per channel with a contract.
    meters: Vec<Option<Meter>>,
    /// Original tags of demoted packets with a pending last response.
    demoted: Vec<(Slot, Tag)>,
}

/// Meter of a channel.
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

    /// Counts an accepted packet, or records an excess.
    fn count(&mut self, now: Time, packet: &Packet, conforms: bool) {
        match conforms {
            true => self.bucket.count(now, packet.size),
            false => self.exceeding = Some(packet.message),
        }
    }
}

/// A policer's verdict on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It continues unchanged.
    Conforms,
    /// It continues as best effort.
    Demoted,
    /// It is lost.
    Dropped,
}

impl Policer {
    pub(super) fn new(policing: Policing) -> Self {
        Self { policing, meters: Vec::new(), demoted: Vec::new() }
    }

    fn establish(&mut self, channel: ChannelId, contract: &AdapterContract) {
        let place = channel.0 as usize;
        if self.meters.len() <= place {
            self.meters.resize(place + 1, None);
        }
        let bucket = TokenBucket::new(&contract.spec, self.policing.tolerance);
        self.meters[place] = Some(Meter { bucket, exceeding: None });
    }

    /// The meter of a packet; none without a guarantee.
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
    /// Establishes a channel through this adapter.
    pub(in crate::adapter) fn establish(&mut self, channel: ChannelId, contract: &AdapterContract) {
        for policer in [&mut self.transmit_policer, &mut self.receive_policer].into_iter().flatten() {
            policer.establish(channel, contract);
        }
        self.transmit_buffers.establish(channel, contract);
        self.receive_buffers.establish(channel, contract);
    }

    /// Verdict on a packet that the host has handed over.
    pub(super) fn judge_command(&mut self, now: Time, packet: &Packet) -> Verdict {
        self.transmit_policer.as_mut().map_or(Verdict::Conforms, |policer| policer.judge(now, packet))
    }

    /// The packet, which had the tag `was`, has been fetched, or lost by that verdict.
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

    /// Restores the original tag of the packet in `slot` before its last response.
    pub(super) fn restore(&mut self, slot: Slot, packets: &mut Slots) {
        let Some(policer) = &mut self.transmit_policer else { return };
        if let Some(place) = policer.demoted.iter().position(|(demoted, _)| *demoted == slot) {
            packets.at_mut(slot).tag = policer.demoted.swap_remove(place).1;
        }
    }

    /// Verdict on an arriving frame; a demoted frame becomes best effort.
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
