//! Buffers, and who has them.

use laxity_qos::channel::{ChannelId, Packet, Slot};

use crate::adapter::{Buffers, Contract, Overload, Own, Pool};

/// Buffers at work: a packet has one from when it is taken in until it completes, or has been copied.
#[derive(Debug)]
pub(super) struct Buffering {
    buffers: Buffers,
    /// In use, of those that are for whoever comes.
    shared: u32,
    /// Per channel: in use, if some are a channel's own.
    used: Vec<u32>,
    /// Per channel: its own, if contracts say so.
    own: Vec<u32>,
    /// Packets that are still here and have given their buffer back.
    released: Vec<Slot>,
    /// In use, of all, and the most that ever were.
    held: u32,
    most: u32,
}

impl Buffering {
    pub(super) fn new(buffers: Buffers) -> Self {
        let (used, own, released) = (Vec::new(), Vec::new(), Vec::new());
        Self { buffers, shared: 0, used, own, released, held: 0, most: 0 }
    }

    /// Sets aside what a channel's contract asks for.
    pub(super) fn establish(&mut self, channel: ChannelId, contract: &Contract) {
        *entry(&mut self.own, channel) = contract.packets;
    }

    pub(super) fn in_use(&self) -> u64 {
        self.held.into()
    }

    /// The most that were in use at a time.
    pub(super) fn most(&self) -> u64 {
        self.most.into()
    }

    pub(super) fn overload(&self) -> Overload {
        self.buffers.overload
    }

    /// Whether one channel may find a buffer where another does not.
    pub(super) fn is_by_channel(&self) -> bool {
        matches!(self.buffers.pool, Pool::PerChannel(_) | Pool::Reserved { .. })
    }

    fn used(&self, channel: ChannelId) -> u32 {
        self.used.get(channel.0 as usize).copied().unwrap_or_default()
    }

    /// What `channel` has to itself.
    fn own(&self, own: Own, channel: ChannelId) -> u32 {
        match own {
            Own::Each(count) => count,
            Own::Contract => self.own.get(channel.0 as usize).copied().unwrap_or_default(),
        }
    }

    pub(super) fn has_room(&self, packet: &Packet) -> bool {
        match self.buffers.pool {
            Pool::Unlimited => true,
            Pool::Shared(most) => self.shared < most,
            Pool::PerChannel(most) => self.used(packet.channel) < most,
            Pool::Reserved { own, shared } => {
                self.used(packet.channel) < self.own(own, packet.channel) || self.shared < shared
            }
        }
    }

    /// Gives `packet` a buffer, if there is one.
    pub(super) fn take(&mut self, packet: &Packet) -> bool {
        if !self.has_room(packet) {
            return false;
        }
        match self.buffers.pool {
            Pool::Unlimited | Pool::Shared(_) => self.shared += 1,
            Pool::PerChannel(_) => *entry(&mut self.used, packet.channel) += 1,
            Pool::Reserved { own, .. } => {
                let own = self.own(own, packet.channel);
                let used = entry(&mut self.used, packet.channel);
                // Its own first.
                self.shared += u32::from(*used >= own);
                *used += 1;
            }
        }
        self.held += 1;
        self.most = self.most.max(self.held);
        true
    }

    /// The packet in `slot` has been copied: its buffer is free, if it has one.
    pub(super) fn release(&mut self, slot: Slot, packet: &Packet) {
        if !self.released.contains(&slot) {
            self.free(packet);
            self.released.push(slot);
        }
    }

    /// The packet in `slot` is no longer here.
    pub(super) fn give_back(&mut self, slot: Slot, packet: &Packet) {
        match self.released.iter().position(|released| *released == slot) {
            Some(released) => drop(self.released.swap_remove(released)),
            None => self.free(packet),
        }
    }

    fn free(&mut self, packet: &Packet) {
        let used = match self.buffers.pool {
            Pool::Unlimited | Pool::Shared(_) => &mut self.shared,
            Pool::PerChannel(_) => entry(&mut self.used, packet.channel),
            Pool::Reserved { own, .. } => {
                // What is for all first: it never has one of those while one of its own is free.
                let own = self.own(own, packet.channel);
                let used = entry(&mut self.used, packet.channel);
                self.shared -= u32::from(*used > own);
                used
            }
        };
        *used = used.checked_sub(1).expect("a buffer is given back once");
        self.held -= 1;
    }
}

fn entry(counts: &mut Vec<u32>, channel: ChannelId) -> &mut u32 {
    let channel = channel.0 as usize;
    if counts.len() <= channel {
        counts.resize(channel + 1, 0);
    }
    &mut counts[channel]
}
