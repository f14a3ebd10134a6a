//! Protocol processing: the operations on the bytes of a packet.
//!
//! The payload is never used, but moving it through the caches is most of a packet's cost. It is
//! therefore really copied from the application's memory into a packet buffer, and its IP checksum
//! computed; its header is really written. With headers only (thesis §4.4.2) the payload is not
//! copied.

use laxity_qos::channel::{Packet, Work};
use laxity_qos::wire::{HEADER_LEN, Header};
use laxity_units::Bytes;
use laxity_world::experiment::Transfer;

/// Packet buffers, used in turn; together larger than a first-level cache, as the buffers of a busy
/// host are.
const BUFFERS: usize = 64;

/// Buffers and operations for packets.
#[derive(Debug)]
pub struct Workshop {
    transfer: Transfer,
    message: Vec<u8>,
    buffers: Vec<u8>,
    size: usize,
    next: usize,
    /// Result of the checksums, kept so that the compiler cannot remove the work.
    pub sum: u32,
}

impl Workshop {
    /// Buffers for packets of at most `packet`.
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

    /// Copies a packet of full size into the next buffer.
    pub(crate) fn copy_next(&mut self) {
        self.copy(self.size);
        std::hint::black_box(self.payload(self.size));
    }

    /// Computes the checksum of the packet in the next buffer.
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

    /// First bytes of the packet in the buffer.
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

/// Sum of RFC 1071, not folded.
fn checksum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    words.fold(0, u32::wrapping_add)
}
