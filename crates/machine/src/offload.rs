//! Offloads of a kernel to a network adapter: checksums, and segmentation of TCP and UDP bulks into
//! frames.
//!
//! An adapter with these offloads receives tens of kilobytes as one frame with a description
//! (`struct virtio_net_hdr`). A device is then read once instead of forty times, and the sender's
//! kernel traverses its stack once. The emulation still handles frames as on a link: [`CutBulk`] makes
//! them one after the other, each complete, so that each can be delayed, lost and delivered
//! separately. Checksums stay incomplete for the receiving kernel: there was no wire that could
//! change bits, so that kernel does not verify them.
//!
//! In the other direction a kernel accepts several frames as one bulk, and segments it where
//! needed: [`Joined`] merges pieces that were cut from the same bulk, and datagrams of one flow
//! that were sent separately (`flow.rs`).
//!
//! Descriptions are not trusted: a bulk with headers that contradict its description is not cut.

mod cut;
mod flow;
mod joined;
#[cfg(test)]
mod tests;

pub use cut::CutBulk;
pub use joined::Joined;

/// Remaining work on a frame, in the kernel's format.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    flags: u8,
    kind: u8,
    /// Not reliable: some senders give the length of all headers, others that of the linear part.
    headers: u16,
    /// Payload bytes of each frame.
    payload: u16,
    /// Start of the checksummed bytes, and offset of the checksum from there.
    sum_from: u16,
    sum_at: u16,
}

/// Identity of a frame that decides which other frames may be joined with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    of: Of,
    network: u16,
    payload: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Frame `number` of a bulk, which is identified by its source and its number.
    Bulk { source: u16, bulk: u32, number: u16, is_last: bool },
    /// Flow of datagrams, identified by their headers.
    Flow,
}

impl Piece {
    /// UDP datagram in `frame` that may be joined with others of its flow, though it was not cut
    /// from a bulk.
    #[inline]
    pub fn of_datagram(frame: &[u8], offload: Offload) -> Option<Piece> {
        flow::piece(frame, offload)
    }

    /// Whether it is the first frame of a bulk.
    #[inline]
    pub fn is_first(&self) -> bool {
        matches!(self.of, Of::Bulk { number: 0, .. })
    }

    /// Whether it is the last frame of a bulk.
    #[inline]
    pub fn is_last(&self) -> bool {
        matches!(self.of, Of::Bulk { is_last: true, .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    const fn number(self) -> u8 {
        match self {
            Transport::Tcp => 6,
            Transport::Udp => 17,
        }
    }

    /// Offset of the checksum in the transport header.
    const fn sum_at(self) -> u16 {
        match self {
            Transport::Tcp => 16,
            Transport::Udp => 6,
        }
    }

    /// Type of a bulk in `struct virtio_net_hdr`.
    const fn kind(self, is_v6: bool) -> u8 {
        match (self, is_v6) {
            (Transport::Tcp, false) => 1,
            (Transport::Tcp, true) => 4,
            (Transport::Udp, _) => 5,
        }
    }
}

/// The checksum is incomplete.
const NEEDS_SUM: u8 = 1;
/// The connection uses ECN; affects here only the first segment's flags.
const MARKS_CONGESTION: u8 = 0x80;

const FIN_AND_PUSH: u8 = 0x09;
const WINDOW_REDUCED: u8 = 0x80;

/// Size of the longest bulk, with Ethernet header and tags, in bytes.
pub const LONGEST_BULK: usize = (1 << 16) + 64;

impl Offload {
    /// No remaining work.
    pub const NONE: Offload = Offload { flags: 0, kind: 0, headers: 0, payload: 0, sum_from: 0, sum_at: 0 };

    /// TCP bulk over IPv6 or IPv4, with the TCP header at `transport` and `payload` bytes for each
    /// frame.
    pub const fn of_bulk(is_v6: bool, transport: u16, payload: u16) -> Offload {
        Offload { payload, ..Offload::open(Transport::Tcp, transport) }.cut_as(Transport::Tcp, is_v6)
    }

    /// UDP datagram with incomplete checksum and the UDP header at `transport`.
    pub const fn of_datagram(transport: u16) -> Offload {
        Offload::open(Transport::Udp, transport)
    }

    const fn open(transport: Transport, at: u16) -> Offload {
        Offload { flags: NEEDS_SUM, sum_from: at, sum_at: transport.sum_at(), ..Offload::NONE }
    }

    const fn cut_as(self, transport: Transport, is_v6: bool) -> Offload {
        Offload { kind: transport.kind(is_v6), headers: self.sum_from, ..self }
    }

    const fn transport(&self) -> Option<Transport> {
        match (self.flags & NEEDS_SUM, self.sum_at) {
            (NEEDS_SUM, 16) => Some(Transport::Tcp),
            (NEEDS_SUM, 6) => Some(Transport::Udp),
            _ => None,
        }
    }

    /// Whether the frame is a UDP datagram, or a bulk of them.
    #[inline]
    pub fn is_of_datagrams(&self) -> bool {
        self.transport() == Some(Transport::Udp)
    }

    /// Whether the frame has to be cut.
    #[inline]
    pub fn is_bulk(&self) -> bool {
        self.kind != 0
    }
}

/// Writes the length-dependent header fields of a frame of `transport`: IP's length and checksum,
/// the identification by `identify`, UDP's length, and the incomplete checksum over addresses,
/// protocol and length.
fn set_lengths(
    frame: &mut [u8],
    network: usize,
    at: usize,
    transport: Transport,
    identify: impl Fn(u16) -> u16,
) {
    let (headers, segment) = frame.split_at_mut(at);
    let packet = &mut headers[network..];
    let all = (packet.len() + segment.len()) as u16;
    if packet[0] >> 4 == 6 {
        packet[4..6].copy_from_slice(&all.wrapping_sub(40).to_be_bytes());
    } else {
        packet[2..4].copy_from_slice(&all.to_be_bytes());
        let identification = identify(u16::from_be_bytes([packet[4], packet[5]]));
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[10..12].fill(0);
        let sum = !folded(words(packet));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let length = segment.len() as u16;
    if transport == Transport::Udp {
        segment[4..6].copy_from_slice(&length.to_be_bytes());
    }
    let sum = usize::from(transport.sum_at());
    segment[sum..sum + 2].copy_from_slice(&open_sum(packet, transport, length).to_be_bytes());
}

/// Incomplete checksum (pseudo header) of a packet with `length` bytes of `transport`.
fn open_sum(packet: &[u8], transport: Transport, length: u16) -> u16 {
    let addresses = if packet[0] >> 4 == 6 { 8..40 } else { 12..20 };
    folded(words(&packet[addresses]) + u32::from(transport.number()) + u32::from(length))
}

/// Sum of 16-bit words; at most as many as a header has, so it does not overflow.
fn words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

/// Folds the sum to 16 bits (RFC 1071).
fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}
