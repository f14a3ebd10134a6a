//! What a kernel leaves to a network adapter: checksums, and cutting bulks of TCP and UDP into frames.
//!
//! An adapter that sums and cuts is offered tens of kilobytes at once, as one frame with a description beside it
//! (`struct virtio_net_hdr`). A device that takes them is read once where it would be read forty times, and the sender's kernel
//! goes its own way once. What comes of it is still frames as a link carries them: [`Cut`] makes one after the other of a
//! bulk, each whole, so that each can be delayed, lost and delivered by itself. Sums are left as they are, to the
//! kernel that the frame comes to: it has seen no wire on which bits could have changed, and does not look.
//!
//! The other way a kernel takes several frames as one bulk, and cuts it itself where somebody needs the pieces: [`Joined`] makes one
//! of pieces that were cut from the same, and of datagrams of one flow that were sent one by one (`flow.rs`).
//!
//! Nothing in a frame is believed that it does not have: a bulk whose headers say anything else than its description is not cut.

mod cut;
mod flow;
mod joined;
#[cfg(test)]
mod tests;

pub use cut::Cut;
pub use joined::Joined;

/// What is left to be done with a frame, as the kernel says it and wants it said.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    flags: u8,
    kind: u8,
    /// Not to be relied on: some say the length of all headers, and some that of what lies together.
    headers: u16,
    /// Bytes of payload in each frame.
    payload: u16,
    /// From where on the sum is to be made, and how far behind that it goes.
    sum_from: u16,
    sum_at: u16,
}

/// What of a frame says which others may go to a kernel together with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    of: Of,
    network: u16,
    payload: u16,
}

/// What a frame is a piece of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The frame with this number of a bulk, which its source and its own number tell from all others.
    Bulk { source: u16, bulk: u32, number: u16, is_last: bool },
    /// A flow of datagrams, which their headers tell.
    Flow,
}

impl Piece {
    /// A datagram of UDP in `frame` that others of its flow may go with, though it was not cut from a bulk.
    #[inline]
    pub fn of_datagram(frame: &[u8], offload: Offload) -> Option<Piece> {
        flow::piece(frame, offload)
    }

    /// Whether it is cut from a bulk, of which none comes before it.
    #[inline]
    pub fn is_first(&self) -> bool {
        matches!(self.of, Of::Bulk { number: 0, .. })
    }

    /// Whether it is cut from a bulk, of which none comes behind it.
    #[inline]
    pub fn is_last(&self) -> bool {
        matches!(self.of, Of::Bulk { is_last: true, .. })
    }
}

/// What bulks are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// Its number in IP's header.
    const fn number(self) -> u8 {
        match self {
            Transport::Tcp => 6,
            Transport::Udp => 17,
        }
    }

    /// Where the sum lies in its header.
    const fn sum_at(self) -> u16 {
        match self {
            Transport::Tcp => 16,
            Transport::Udp => 6,
        }
    }

    /// How a bulk of it is described.
    const fn kind(self, is_v6: bool) -> u8 {
        match (self, is_v6) {
            (Transport::Tcp, false) => 1,
            (Transport::Tcp, true) => 4,
            (Transport::Udp, _) => 5,
        }
    }
}

/// The sum has yet to be made.
const NEEDS_SUM: u8 = 1;
/// Says that the connection marks congestion, and changes nothing here but the first segment's flags.
const MARKS_CONGESTION: u8 = 0x80;

const FIN_AND_PUSH: u8 = 0x09;
const WINDOW_REDUCED: u8 = 0x80;

/// The longest bulk, with the headers of Ethernet and tags.
pub const LONGEST_BULK: usize = (1 << 16) + 64;

impl Offload {
    /// Nothing is left to do.
    pub const NONE: Offload = Offload { flags: 0, kind: 0, headers: 0, payload: 0, sum_from: 0, sum_at: 0 };

    /// Of a bulk of TCP over IP of version 6 or 4, whose header is at `transport`, with `payload` bytes for each frame.
    pub const fn of_bulk(is_v6: bool, transport: u16, payload: u16) -> Offload {
        Offload { payload, ..Offload::open(Transport::Tcp, transport) }.cut_as(Transport::Tcp, is_v6)
    }

    /// Of a datagram of UDP whose header is at `transport`: its sum.
    pub const fn of_datagram(transport: u16) -> Offload {
        Offload::open(Transport::Udp, transport)
    }

    const fn open(transport: Transport, at: u16) -> Offload {
        Offload { flags: NEEDS_SUM, sum_from: at, sum_at: transport.sum_at(), ..Offload::NONE }
    }

    const fn cut_as(self, transport: Transport, is_v6: bool) -> Offload {
        Offload { kind: transport.kind(is_v6), headers: self.sum_from, ..self }
    }

    /// Whose sum is to be made.
    const fn transport(&self) -> Option<Transport> {
        match (self.flags & NEEDS_SUM, self.sum_at) {
            (NEEDS_SUM, 16) => Some(Transport::Tcp),
            (NEEDS_SUM, 6) => Some(Transport::Udp),
            _ => None,
        }
    }

    /// Whether it is of one datagram of UDP, or a bulk of them.
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

/// Puts into the headers of a frame of `transport` what depends on its length: IP's length and sum, with the identification as
/// `identify` says, UDP's length, and the sum as it is left to others, over addresses, protocol and length.
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

/// The sum of a packet of `length` bytes of `transport` as it is left to others.
fn open_sum(packet: &[u8], transport: Transport, length: u16) -> u16 {
    let addresses = if packet[0] >> 4 == 6 { 8..40 } else { 12..20 };
    folded(words(&packet[addresses]) + u32::from(transport.number()) + u32::from(length))
}

/// The sum of words of two bytes, as long as there are no more than a header has.
fn words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

/// In 16 bits, by RFC 1071.
fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}
