//! A table of packets; queues hold only their slot numbers.

use crate::ahead::fetch;
use crate::packet::Packet;

/// The number of a packet's slot in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub u32);

/// Packets, each in its slot until it is removed.
///
/// A packet is twenty times as long as its slot number. A node has one table: a packet stays in its
/// slot from its creation or arrival to its last use there, and queues pass on the number.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    packets: Vec<Packet>,
    free: Vec<Slot>,
}

impl Slots {
    /// Stores `packet`.
    #[inline]
    pub fn put(&mut self, packet: &Packet) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.packets[slot.0 as usize] = *packet;
            return slot;
        }
        let slot = Slot(u32::try_from(self.packets.len()).expect("fewer packets lie anywhere"));
        self.packets.push(*packet);
        slot
    }

    /// Prefetches the slots of the next `packets` packets.
    #[inline]
    pub fn fetch(&self, packets: usize) {
        for slot in self.free.iter().rev().take(packets) {
            fetch(&self.packets[slot.0 as usize]);
        }
    }

    /// The packet in an occupied slot.
    #[inline]
    pub fn at(&self, slot: Slot) -> &Packet {
        &self.packets[slot.0 as usize]
    }

    /// The packet in an occupied slot, mutable.
    #[inline]
    pub fn at_mut(&mut self, slot: Slot) -> &mut Packet {
        &mut self.packets[slot.0 as usize]
    }

    /// Removes the packet. The slot may be reused, so the number is no longer valid.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Packet {
        *self.free(slot)
    }

    /// Removes the packet, and returns a reference to it instead of a copy.
    #[inline]
    pub fn free(&mut self, slot: Slot) -> &Packet {
        debug_assert!(!self.free.contains(&slot), "a packet is taken out once");
        self.free.push(slot);
        &self.packets[slot.0 as usize]
    }

    /// Number of stored packets.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Whether no packet is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
