//! The work itself: what protocol processing does to the bytes of a packet.
//!
//! Nobody reads the payload, but its way through the caches is most of what a packet costs. So it is really
//! copied, from where an application would have left it into a packet buffer, and summed up as IP's checksum is;
//! and its header is really written. With headers only (thesis §4.4.2) the payload stays where it is.

use laxity_qos::channel::{Packet, Work};
use laxity_qos::wire::{HEADER_LEN, Header};
use laxity_units::Bytes;
use laxity_world::experiment::Transfer;

/// Packet buffers, used in turn: more than a first-level cache holds, as the buffers of a busy host are.
const BUFFERS: usize = 64;

/// Where packets are made.
#[derive(Debug)]
pub struct Workshop {
    transfer: Transfer,
    message: Vec<u8>,
    buffers: Vec<u8>,
    size: usize,
    next: usize,
    /// Kept so that no compiler thinks the work in vain.
    pub sum: u32,
}

impl Workshop {
    /// For packets of at most `packet`.
    pub fn new(transfer: Transfer, packet: Bytes) -> Self {
        let size = packet.get() as usize;
        let message = (0..size).map(|n| n as u8).collect();
        Self { transfer, message, buffers: vec![0; (size + HEADER_LEN) * BUFFERS], size, next: 0, sum: 0 }
    }

    /// Protocol processing of a packet of a message of `message` bytes.
    pub fn process(&mut self, work: Work, message: Bytes) {
        if matches!(work, Work::Signal) {
            return;
        }
        let length = match self.transfer {
            Transfer::Full => self.size.min(message.get() as usize),
            Transfer::Headers => 0,
        };
        self.copy(length);
        self.sum = self.sum.wrapping_add(checksum(self.payload(length)));
    }

    /// Copies a packet of full size into the next buffer, and no more.
    pub(crate) fn copy_next(&mut self) {
        self.copy(self.size);
        std::hint::black_box(self.payload(self.size));
    }

    /// Sums up the packet in the next buffer, and no more.
    pub(crate) fn sum_up(&mut self) {
        self.next = (self.next + 1) % BUFFERS;
        self.sum = self.sum.wrapping_add(checksum(self.payload(self.size)));
    }

    /// Copies `length` bytes of the message into the next buffer.
    fn copy(&mut self, length: usize) {
        self.next = (self.next + 1) % BUFFERS;
        let start = self.next * (self.size + HEADER_LEN) + HEADER_LEN;
        self.buffers[start..start + length].copy_from_slice(&self.message[..length]);
    }

    /// The first bytes of the packet in the buffer.
    fn payload(&self, length: usize) -> &[u8] {
        let start = self.next * (self.size + HEADER_LEN) + HEADER_LEN;
        &self.buffers[start..start + length]
    }

    /// Writes the header of `packet` before its payload.
    pub fn write(&mut self, packet: &Packet) {
        let start = self.next * (self.size + HEADER_LEN);
        self.buffers[start..start + HEADER_LEN].copy_from_slice(&Header::from(packet).encode());
    }
}

/// The sum of RFC 1071, not folded.
fn checksum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    words.fold(0, u32::wrapping_add)
}
