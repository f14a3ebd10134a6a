//! Datagrams as Ethernet frames: written by END to a device, and read by its program.

use std::net::Ipv4Addr;

use laxity_machine::Mac;

/// UDP port of the program.
pub(super) const PORT: u16 = 4919;
/// Headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// Shortest Ethernet frame, without its check sequence.
const SHORTEST: usize = 60;

/// Builds frames for the socket behind one device.
#[derive(Debug)]
pub(super) struct Frames {
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) from: (Mac, Ipv4Addr),
    pub(super) to: (Mac, Ipv4Addr),
}

impl Frames {
    /// Frames of at most `longest` bytes.
    pub(super) fn new(ends: &Ends, longest: usize) -> Self {
        let mut bytes = vec![0; longest.max(SHORTEST)];
        bytes[..6].copy_from_slice(&ends.to.0.0);
        bytes[6..12].copy_from_slice(&ends.from.0.0);
        bytes[12..14].copy_from_slice(&[8, 0]);
        // IPv4, header of five words; don't fragment; 64 hops; UDP.
        (bytes[14], bytes[20], bytes[22], bytes[23]) = (0x45, 0x40, 64, 17);
        bytes[26..30].copy_from_slice(&ends.from.1.octets());
        bytes[30..34].copy_from_slice(&ends.to.1.octets());
        bytes[34..36].copy_from_slice(&PORT.to_be_bytes());
        bytes[36..38].copy_from_slice(&PORT.to_be_bytes());
        Self { bytes }
    }

    /// Frame of `size` bytes, at least the minimum, whose datagram begins with `number`. It has no
    /// checksum over its payload, which an adapter would have verified.
    pub(super) fn of(&mut self, number: u64, size: usize) -> &[u8] {
        let size = size.clamp(SHORTEST, self.bytes.len());
        let mut word = |at: usize, value: u16| self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        word(16, (size - 14) as u16);
        word(38, (size - 34) as u16);
        word(24, 0);
        let sum = sum(&self.bytes[14..34]);
        self.bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        self.bytes[HEADERS..HEADERS + 8].copy_from_slice(&number.to_be_bytes());
        &self.bytes[..size]
    }
}

/// Number at the start of a datagram's payload.
pub(super) fn number(payload: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*payload.first_chunk()?))
}

/// Checksum of an IP header (RFC 791) with its own field zero.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use laxity_world::experiment::Carries;

    use super::*;
    use crate::frame::Headers;

    #[test]
    fn a_frame_is_a_datagram_for_the_program_and_says_its_number() {
        let at = |last| (Mac([2, 0, 0, 0, 0, last]), Ipv4Addr::new(10, 77, 0, last));
        let mut frames = Frames::new(&Ends { from: at(2), to: at(1) }, 1500);
        for (size, length) in [(0, 60), (60, 60), (61, 61), (1500, 1500), (1501, 1500)] {
            let frame = frames.of(0x0102_0304_0506_0708, size).to_vec();
            assert_eq!(frame.len(), length);
            assert_eq!((&frame[..6], &frame[6..12]), (&[2, 0, 0, 0, 0, 1][..], &[2, 0, 0, 0, 0, 2][..]));
            assert!(Headers::of(&frame).are_carried(Carries::Udp(Some(PORT))));
            assert_eq!(usize::from(u16::from_be_bytes([frame[16], frame[17]])), length - 14);
            assert_eq!(usize::from(u16::from_be_bytes([frame[38], frame[39]])), length - 34);
            // The checksum over a header that includes its checksum is zero.
            assert_eq!(sum(&frame[14..34]), 0);
            assert_eq!(number(&frame[HEADERS..]), Some(0x0102_0304_0506_0708));
        }
        assert_eq!(number(&[0; 7]), None);
    }

    #[test]
    fn the_sum_of_a_known_header() {
        // A common example for RFC 1071.
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(sum(&header), 0xb861);
    }
}
