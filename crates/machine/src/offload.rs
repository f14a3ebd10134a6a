//! What a kernel leaves to a network adapter: checksums, and cutting bulk TCP into frames.
//!
//! An adapter that sums and cuts is offered tens of kilobytes of TCP at once, as one frame with a description beside it
//! (`struct virtio_net_hdr`). A device that takes them is read once where it would be read forty times, and the sender's kernel
//! goes its own way once. What comes of it is still frames as a link carries them: [`Cut`] makes one after the other of a
//! bulk, each whole, so that each can be delayed, lost and delivered by itself. Sums are left as they are, to the
//! kernel that the frame comes to: it has seen no wire on which bits could have changed, and does not look.
//!
//! Nothing in a frame is believed that it does not have: a bulk whose headers say anything else than TCP is not cut.

mod cut;
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

/// Which frame of which bulk one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The source and its bulk.
    bulk: (u16, u32),
    number: u16,
    is_last: bool,
    network: u16,
    payload: u16,
}

impl Piece {
    /// Whether none of its bulk comes before it.
    #[inline]
    pub fn is_first(&self) -> bool {
        self.number == 0
    }

    /// Whether none of its bulk comes behind it.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.is_last
    }
}

/// The sum has yet to be made.
const NEEDS_SUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// Says that the connection marks congestion, and changes nothing here but the first segment's flags.
const MARKS_CONGESTION: u8 = 0x80;
/// Where the sum lies in TCP's header.
const TCP_SUM: u16 = 16;

const FIN_AND_PUSH: u8 = 0x09;
const WINDOW_REDUCED: u8 = 0x80;

/// The longest bulk, with the headers of Ethernet and tags.
pub const LONGEST_BULK: usize = (1 << 16) + 64;

impl Offload {
    /// Nothing is left to do.
    pub const NONE: Offload = Offload { flags: 0, kind: 0, headers: 0, payload: 0, sum_from: 0, sum_at: 0 };

    /// Of a bulk of TCP over IP of version 6 or 4, whose header is at `transport`, with `payload` bytes for each frame.
    pub const fn of_bulk(is_v6: bool, transport: u16, payload: u16) -> Offload {
        let kind = if is_v6 { TCP_V6 } else { TCP_V4 };
        Offload { flags: NEEDS_SUM, kind, headers: transport, payload, sum_from: transport, sum_at: TCP_SUM }
    }

    /// Whether the frame has to be cut.
    #[inline]
    pub fn is_bulk(&self) -> bool {
        self.kind != 0
    }
}

/// Puts into the headers of a frame of TCP what depends on its length: IP's length and sum, with the identification as
/// `identify` says, and TCP's sum as it is left to others, over addresses, protocol and length.
fn set_lengths(frame: &mut [u8], network: usize, transport: usize, identify: impl Fn(u16) -> u16) {
    let (headers, segment) = frame.split_at_mut(transport);
    let packet = &mut headers[network..];
    let all = (packet.len() + segment.len()) as u16;
    let addresses = if packet[0] >> 4 == 6 {
        packet[4..6].copy_from_slice(&all.wrapping_sub(40).to_be_bytes());
        8..40
    } else {
        packet[2..4].copy_from_slice(&all.to_be_bytes());
        let identification = identify(u16::from_be_bytes([packet[4], packet[5]]));
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[10..12].fill(0);
        let sum = !folded(words(packet));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        12..20
    };
    let begun = folded(words(&packet[addresses]) + 6 + segment.len() as u32);
    segment[16..18].copy_from_slice(&begun.to_be_bytes());
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
