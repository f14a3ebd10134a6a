//! Where packets lie while something shorter stands for them.

use crate::ahead::fetch;
use crate::packet::Packet;

/// The name of a place with a packet: its number in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub u32);

/// Packets, each in a place of its own until it is taken out.
///
/// A packet is twenty times as long as the name of its place. A node has one such table: a packet lies still in it from where
/// it is made, or comes in, until nobody there wants it any more, and the name is what goes from queue to queue.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    packets: Vec<Packet>,
    free: Vec<Slot>,
}

impl Slots {
    /// Gives `packet` a place.
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

    /// So many packets are to come: asks for the places that they will be given.
    #[inline]
    pub fn fetch(&self, packets: usize) {
        for slot in self.free.iter().rev().take(packets) {
            fetch(&self.packets[slot.0 as usize]);
        }
    }

    /// The packet in a place that was not taken out.
    #[inline]
    pub fn at(&self, slot: Slot) -> &Packet {
        &self.packets[slot.0 as usize]
    }

    /// The same, to write into.
    #[inline]
    pub fn at_mut(&mut self, slot: Slot) -> &mut Packet {
        &mut self.packets[slot.0 as usize]
    }

    /// Takes the packet out. Its place may be given to another, so nobody may go on naming it.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Packet {
        *self.free(slot)
    }

    /// The same, for who only wants a last look.
    #[inline]
    pub fn free(&mut self, slot: Slot) -> &Packet {
        debug_assert!(!self.free.contains(&slot), "a packet is taken out once");
        self.free.push(slot);
        &self.packets[slot.0 as usize]
    }

    /// Packets that have not been taken out.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
