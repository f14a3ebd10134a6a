//! Buffers, and their users.

use laxity_qos::channel::{ChannelId, Packet, Slot};

use crate::adapter::{AdapterBuffers, AdapterContract, BufferPool, Overload, Own};

/// Buffers at work: a packet has one from when it is taken in until it completes, or has been copied.
#[derive(Debug)]
pub(super) struct Buffering {
    buffers: AdapterBuffers,
    /// Size of the shared pool; `None` if some buffers are a channel's own.
    common: Option<u32>,
    /// Shared buffers in use.
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
    pub(super) fn new(buffers: AdapterBuffers) -> Self {
        let (used, own, released) = (Vec::new(), Vec::new(), Vec::new());
        let common = match buffers.pool {
            BufferPool::Unlimited => Some(u32::MAX),
            BufferPool::Shared(most) => Some(most),
            BufferPool::PerChannel(_) | BufferPool::Reserved { .. } => None,
        };
        Self { buffers, common, shared: 0, used, own, released, held: 0, most: 0 }
    }

    /// Sets aside what a channel's contract asks for.
    pub(super) fn establish(&mut self, channel: ChannelId, contract: &AdapterContract) {
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
        self.common.is_none()
    }

    /// Number of buffers of `channel` alone.
    fn own(&self, own: Own, channel: ChannelId) -> u32 {
        match own {
            Own::Each(count) => count,
            Own::Contract => self.own.get(channel.0 as usize).copied().unwrap_or_default(),
        }
    }

    /// Gives `packet` a buffer, if there is one.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet) -> bool {
        let has = match self.common {
            Some(most) => {
                let has = self.shared < most;
                self.shared += u32::from(has);
                has
            }
            None => self.take_own(packet),
        };
        if has {
            self.held += 1;
            self.most = self.most.max(self.held);
        }
        has
    }

    #[inline(never)]
    fn take_own(&mut self, packet: &Packet) -> bool {
        match self.buffers.pool {
            BufferPool::Unlimited | BufferPool::Shared(_) => unreachable!("they are for whoever comes"),
            BufferPool::PerChannel(most) => {
                let used = entry(&mut self.used, packet.channel);
                let has = *used < most;
                *used += u32::from(has);
                has
            }
            BufferPool::Reserved { own, shared } => {
                let own = self.own(own, packet.channel);
                let used = entry(&mut self.used, packet.channel);
                // Its own first.
                let needs = *used >= own;
                let has = !needs || self.shared < shared;
                self.shared += u32::from(has && needs);
                *used += u32::from(has);
                has
            }
        }
    }

    /// The packet in `slot` has been copied: its buffer is free, if it has one.
    pub(super) fn release(&mut self, slot: Slot, packet: &Packet) {
        if !self.released.contains(&slot) {
            self.free(packet);
            self.released.push(slot);
        }
    }

    /// The packet in `slot` is no longer here.
    #[inline]
    pub(super) fn give_back(&mut self, slot: Slot, packet: &Packet) {
        if self.released.is_empty() {
            return self.free(packet);
        }
        match self.released.iter().position(|released| *released == slot) {
            Some(released) => drop(self.released.swap_remove(released)),
            None => self.free(packet),
        }
    }

    #[inline]
    fn free(&mut self, packet: &Packet) {
        let used = match self.common {
            Some(_) => &mut self.shared,
            None => self.used_of(packet.channel),
        };
        *used = used.checked_sub(1).expect("a buffer is given back once");
        self.held -= 1;
    }

    /// Number of buffers of a channel, one of which is to be freed.
    #[inline(never)]
    fn used_of(&mut self, channel: ChannelId) -> &mut u32 {
        if let BufferPool::Reserved { own, .. } = self.buffers.pool {
            // Shared buffers are freed first: a channel never has one of those while one of its own
            // is free.
            let own = self.own(own, channel);
            self.shared -= u32::from(*entry(&mut self.used, channel) > own);
        }
        entry(&mut self.used, channel)
    }
}

fn entry(counts: &mut Vec<u32>, channel: ChannelId) -> &mut u32 {
    let channel = channel.0 as usize;
    if counts.len() <= channel {
        counts.resize(channel + 1, 0);
    }
    &mut counts[channel]
}
