//! Datagrams of one flow that were not cut from a bulk and can still be joined.
//!
//! A program that sends single datagrams passes them to its kernel one by one, so only their
//! headers show that they belong together. The receiving kernel segments joined datagrams by the
//! length of the first, and each keeps its boundaries. Two datagrams may be joined if the kernel
//! restores exactly the originals. Each datagram is checked alone on arrival ([`piece`]), then
//! against those that are held ([`continues`]):
//!
//! * Headers are as a kernel writes them: no tags, options, extensions or fragments, lengths that
//!   match the frame, and a valid IP checksum. Joining must not repair a packet that the receiver
//!   would drop.
//! * Addresses in both layers, ports, time to live, class and flow label are equal, and there is
//!   one receiver.
//! * IPv4's identification increases by one, as after segmentation by a kernel, or the packet must
//!   not be fragmented: then the field has no meaning (RFC 6864).
//! * The checksum is incomplete. A kernel does not verify checksums of joined datagrams. A complete
//!   checksum protects the bytes from end to end, so it has to be verified, and an absent one
//!   (IPv4's zero) has to stay absent.

use super::{Of, Offload, Piece, Transport, folded, open_sum, words};

/// Maximum number of datagrams in a bulk. Kernels before 6.9 segment at most 64.
pub(super) const MOST: u16 = 64;

const NETWORK: usize = 14;
const V4: u16 = 0x0800;
const V6: u16 = 0x86dd;

#[inline]
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Frame as a piece of its flow, if it can be joined.
#[inline]
pub(super) fn piece(frame: &[u8], offload: Offload) -> Option<Piece> {
    let headers = match usize::from(offload.sum_from) {
        34 => 20,
        54 => 40,
        _ => return None,
    };
    let segment = NETWORK + headers;
    let is_open = offload == Offload::of_datagram(segment as u16);
    let is_group = frame.first()? & 1 != 0;
    if !is_open || is_group || frame.len() <= segment + 8 {
        return None;
    }
    let (packet, kind) = (&frame[NETWORK..], word(frame, NETWORK - 2));
    let is_whole = match headers {
        20 => {
            let is_plain = kind == V4 && packet[0] == 0x45 && packet[9] == Transport::Udp.number();
            let is_fragment = word(packet, 6) & !NEVER_CUT != 0;
            is_plain
                && !is_fragment
                && usize::from(word(packet, 2)) == packet.len()
                && folded(words(&packet[..20])) == 0xffff
        }
        _ => {
            let is_plain = kind == V6 && packet[0] >> 4 == 6 && packet[6] == Transport::Udp.number();
            is_plain && usize::from(word(packet, 4)) == packet.len() - 40
        }
    };
    // Evaluated only for a whole packet, which has all bytes read here.
    let is_right = || {
        let length = packet.len() - headers;
        usize::from(word(frame, segment + 4)) == length
            && word(frame, segment + 6) == open_sum(packet, Transport::Udp, length as u16)
    };
    (is_whole && is_right()).then_some(Piece {
        of: Of::Flow,
        network: NETWORK as u16,
        payload: segment as u16 + 8,
    })
}

/// IPv4 flag "don't fragment".
const NEVER_CUT: u16 = 0x4000;

/// Whether `frame` may follow `count` others, the first of which has the headers `first`. Both are
/// pieces.
#[inline]
pub(super) fn continues(first: &[u8], frame: &[u8], count: u16) -> bool {
    let alike = |from: usize, to: usize| first[from..to] == frame[from..to];
    // Bytes up to the length, and from behind it to the ports, without IPv4's checksum and
    // identification.
    match word(first, NETWORK - 2) {
        V4 => {
            let follows =
                word(first, 20) & NEVER_CUT != 0 || word(frame, 18) == word(first, 18).wrapping_add(count);
            alike(0, 16) && alike(20, 24) && alike(26, 38) && follows
        }
        _ => alike(0, 18) && alike(20, 58),
    }
}
