//! A message as packets: each fragment is a slice of the message.
//!
//! The sender copies no payload. A driver that gathers hands the header and the slice to the
//! adapter; one that does not writes both into its frame ([`Fragment::write`]), which is the one
//! copy on the sending side.
//!
//! A message that fits one packet is one fragment at once. Thesis 3.4.2 measures ≈ 400 µs for the
//! slow path of messages with several fragments; here such a message has no further state, and its
//! fragments cost a slice each.

use std::fmt;

use laxity_qos::discipline::Class;
use laxity_qos::fragment::Fragmentation;
use laxity_units::{Bytes, Span};

use crate::header::{HEADER_LEN, Timing, TransportError, TransportHeader, WireChannelId};

/// The sizes that a contract reserves for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentSizes {
    /// `M_max`: bytes of the largest message.
    pub message: u32,
    /// `S`: bytes of payload in a packet; at least one.
    pub packet: u32,
}

impl FragmentSizes {
    /// How a message of `length` bytes falls into packets, by the counting model.
    pub fn fragmentation(&self, length: u32) -> Fragmentation {
        Fragmentation::new(Bytes::new(length.into()), Bytes::new(self.packet.into()))
    }

    /// `N_pkts`: packets of the largest message.
    pub fn packets(&self) -> u32 {
        self.packets_of(self.message)
    }

    /// Packets of a message of `length` bytes; an empty message is one empty packet.
    pub fn packets_of(&self, length: u32) -> u32 {
        // The fast path needs no division.
        if length <= self.packet { 1 } else { length.div_ceil(self.packet) }
    }

    /// Whether `payload` is the packet that a message of `length` bytes has at the place that
    /// `header` names.
    pub fn fits(&self, length: u32, header: &TransportHeader, payload: &[u8]) -> bool {
        // The fast path needs no division: one packet is the message.
        if length <= self.packet {
            return header.fragments == 1 && header.fragment == 0 && payload.len() == length as usize;
        }
        let cut = self.fragmentation(length);
        cut.packets() == u64::from(header.fragments)
            && header.fragment < header.fragments
            && cut.size(header.fragment.into()).get() == payload.len() as u64
    }
}

/// A message is longer than its contract reserves for.
///
/// The caller sends the parts of `message.chunks(largest)` as messages: they are the pieces of
/// [`Cut`](laxity_qos::fragment::Cut).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of the message.
    pub length: usize,
    /// Bytes of the largest message.
    pub largest: u32,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of {} bytes, where the contract has at most {}", self.length, self.largest)
    }
}

impl std::error::Error for TooLong {}

/// The sending side of one channel: gives numbers to messages.
#[derive(Debug, Clone)]
pub struct Sender {
    channel: WireChannelId,
    epoch: u32,
    class: Class,
    sizes: FragmentSizes,
    next: u64,
}

impl Sender {
    /// A channel from its first message on; panics if packets have no payload.
    pub fn new(channel: WireChannelId, epoch: u32, class: Class, sizes: FragmentSizes) -> Self {
        assert!(sizes.packet > 0, "a packet carries at least one byte");
        Self { channel, epoch, class, sizes, next: 0 }
    }

    /// The packets of the next message; an empty message is one empty packet.
    ///
    /// # Errors
    ///
    /// [`TooLong`] for a message above `M_max`. It takes no number.
    pub fn send<'a>(&mut self, message: &'a [u8], timing: Timing) -> Result<Fragments<'a>, TooLong> {
        let length = u32::try_from(message.len()).ok().filter(|length| *length <= self.sizes.message);
        let length = length.ok_or(TooLong { length: message.len(), largest: self.sizes.message })?;
        let header = TransportHeader {
            class: self.class,
            channel: self.channel,
            epoch: self.epoch,
            message: self.next,
            fragment: 0,
            fragments: self.sizes.packets_of(length),
            message_length: Bytes::new(length.into()),
            payload_length: Bytes::ZERO,
            timing,
            tag: None,
            age: Span::ZERO,
        };
        self.next += 1;
        Ok(Fragments { rest: message, header, packet: self.sizes.packet as usize })
    }
}

/// The packets of one message that are still to be sent.
#[derive(Debug, Clone)]
pub struct Fragments<'a> {
    rest: &'a [u8],
    /// Of the next fragment, but for the length.
    header: TransportHeader,
    packet: usize,
}

/// One packet of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The header; its time may be replaced until the packet leaves.
    pub header: TransportHeader,
    /// The payload, a part of the message.
    pub payload: &'a [u8],
}

impl<'a> Iterator for Fragments<'a> {
    type Item = Fragment<'a>;

    fn next(&mut self) -> Option<Fragment<'a>> {
        if self.header.fragment == self.header.fragments {
            return None;
        }
        let (payload, rest) = self.rest.split_at(self.packet.min(self.rest.len()));
        let header = TransportHeader { payload_length: Bytes::new(payload.len() as u64), ..self.header };
        self.rest = rest;
        self.header.fragment += 1;
        Some(Fragment { header, payload })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.header.fragments - self.header.fragment) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Fragments<'_> {}

impl Fragment<'_> {
    /// Bytes of the packet.
    pub fn packet_len(&self) -> usize {
        HEADER_LEN + self.payload.len()
    }

    /// Writes the packet to the front of `frame`, and returns its length.
    ///
    /// # Errors
    ///
    /// [`TransportError::Short`] if `frame` has no room for it.
    pub fn write(&self, frame: &mut [u8]) -> Result<usize, TransportError> {
        let frame = frame.get_mut(..self.packet_len()).ok_or(TransportError::Short)?;
        self.header.encode(frame)?.copy_from_slice(self.payload);
        Ok(self.packet_len())
    }
}
