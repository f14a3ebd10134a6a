//! Datagrams of one flow, which nobody cut from a bulk and which a kernel takes together all the same.
//!
//! A program that sends datagrams one by one gives them to its kernel one by one, so that they belong together is only to be seen in
//! their headers. What is joined comes apart again before a program reads it: the kernel cuts by the length of the first, and each
//! datagram keeps its bounds. So two go together if what the kernel makes of them is what they were, and that is looked at
//! here, each by itself when it comes ([`piece`]) and each beside those that are held ([`continues`]):
//!
//! * headers as a kernel writes them: no tags, options, extensions or fragments, lengths that are those of the frame, and a right sum
//!   of IP. What the receiver would have dropped must not be made right by being joined.
//! * addresses in both layers, ports, time to live, class and flow label the same, and to one receiver.
//! * IPv4's identification goes up by one, as it does when a kernel cuts, or the packet is never to be fragmented: then it says
//!   nothing (RFC 6864).
//! * The sum is left open. A kernel does not look at sums of what is joined, and whoever made a sum wants it to be looked at: a
//!   complete one protects the bytes from end to end, and none at all (IPv4's zero) has to stay none.

use super::{Of, Offload, Piece, Transport, folded, open_sum, words};

/// Datagrams in a bulk, at most. Kernels before 6.9 cut no more than 64 from one.
pub(super) const MOST: u16 = 64;

const NETWORK: usize = 14;
const V4: u16 = 0x0800;
const V6: u16 = 0x86dd;

#[inline]
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A frame as a piece of its flow, if it is one that can be joined.
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
    // Only then is there where the sum looks.
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

/// IPv4: no router may cut it.
const NEVER_CUT: u16 = 0x4000;

/// Whether `frame` may follow `count` others, the headers of the first of which are `first`. Both are pieces.
#[inline]
pub(super) fn continues(first: &[u8], frame: &[u8], count: u16) -> bool {
    let alike = |from: usize, to: usize| first[from..to] == frame[from..to];
    // Up to the length, and from behind it on to the ports; of IPv4, sum and identification lie between.
    match word(first, NETWORK - 2) {
        V4 => {
            let follows =
                word(first, 20) & NEVER_CUT != 0 || word(frame, 18) == word(first, 18).wrapping_add(count);
            alike(0, 16) && alike(20, 24) && alike(26, 38) && follows
        }
        _ => alike(0, 18) && alike(20, 58),
    }
}
