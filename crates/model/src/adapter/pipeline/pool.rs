//! Buffers, and who has them.

use laxity_qos::channel::Packet;

use crate::adapter::{Buffers, Overload, Pool};

/// Buffers at work: a packet has one from when it is taken in until it completes.
#[derive(Debug)]
pub(super) struct Buffering {
    buffers: Buffers,
    used: u32,
    /// Per channel, if they are reserved.
    reserved: Vec<u32>,
}

impl Buffering {
    pub(super) fn new(buffers: Buffers) -> Self {
        Self { buffers, used: 0, reserved: Vec::new() }
    }

    pub(super) fn in_use(&self) -> u64 {
        u64::from(self.used) + self.reserved.iter().map(|used| u64::from(*used)).sum::<u64>()
    }

    pub(super) fn overload(&self) -> Overload {
        self.buffers.overload
    }

    pub(super) fn is_per_channel(&self) -> bool {
        matches!(self.buffers.pool, Pool::PerChannel(_))
    }

    pub(super) fn has_room(&self, packet: &Packet) -> bool {
        match self.buffers.pool {
            Pool::Unlimited => true,
            Pool::Shared(most) => self.used < most,
            Pool::PerChannel(most) => self.reserved.get(packet.channel.0 as usize).is_none_or(|n| *n < most),
        }
    }

    /// Gives `packet` a buffer, if there is one.
    pub(super) fn take(&mut self, packet: &Packet) -> bool {
        if !self.has_room(packet) {
            return false;
        }
        match self.buffers.pool {
            Pool::Unlimited | Pool::Shared(_) => self.used += 1,
            Pool::PerChannel(_) => {
                let channel = packet.channel.0 as usize;
                if self.reserved.len() <= channel {
                    self.reserved.resize(channel + 1, 0);
                }
                self.reserved[channel] += 1;
            }
        }
        true
    }

    pub(super) fn give_back(&mut self, packet: &Packet) {
        let used = match self.buffers.pool {
            Pool::Unlimited | Pool::Shared(_) => &mut self.used,
            Pool::PerChannel(_) => &mut self.reserved[packet.channel.0 as usize],
        };
        *used = used.checked_sub(1).expect("a buffer is given back once");
    }
}
