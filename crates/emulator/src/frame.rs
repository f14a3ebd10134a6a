//! Classification of a frame: the header fields that a scenario can match to select a channel.
//!
//! Frames are from arbitrary programs, so their contents are not trusted: no length in a header may
//! exceed the frame, and a truncated header matches no field. Only relevant fields are read:
//! Ethernet with up to two VLAN tags, IPv4, IPv6 with its extension headers, and the ports of TCP
//! and UDP.
//!
//! Control traffic of a network belongs to [`Carries::All`] alone: ARP, and of ICMPv6 neighbour
//! discovery (RFC 4861) and multicast listener discovery (RFC 2710, 3810). Only the first fragment
//! of a packet has ports, so the others match only `tcp` and `udp` without a port.
//!
//! The kernel classifies unread frames by the same rules, to select their queue:
//! `tap_port/steering.rs` follows this file step by step.

use laxity_world::experiment::Carries;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// Source and destination port, if readable.
    Tcp(Option<(u16, u16)>),
    Udp(Option<(u16, u16)>),
    Icmp,
    Other,
}

/// Maximum number of IPv6 extension headers read: RFC 8200 has five kinds, one of which may occur
/// twice. After more, the protocol counts as unknown.
pub(crate) const MOST_EXTENSIONS: usize = 8;

/// Relevant headers of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    protocol: Protocol,
    dscp: Option<u8>,
}

impl Headers {
    const NONE: Headers = Headers { protocol: Protocol::Other, dscp: None };

    /// Reads the headers of an Ethernet frame.
    pub fn of(frame: &[u8]) -> Headers {
        ethernet(frame).unwrap_or(Headers::NONE)
    }

    /// Whether a channel with `carries` carries a frame with these headers.
    pub fn are_carried(&self, carries: Carries) -> bool {
        let at = |ports: Option<(u16, u16)>, wanted: Option<u16>| match (ports, wanted) {
            (_, None) => true,
            (Some((from, to)), Some(port)) => from == port || to == port,
            (None, Some(_)) => false,
        };
        match (carries, self.protocol) {
            (Carries::All, _) | (Carries::Icmp, Protocol::Icmp) => true,
            (Carries::Tcp(port), Protocol::Tcp(ports)) | (Carries::Udp(port), Protocol::Udp(ports)) => {
                at(ports, port)
            }
            (Carries::Dscp(value), _) => self.dscp == Some(value),
            (Carries::Icmp | Carries::Tcp(_) | Carries::Udp(_), _) => false,
        }
    }
}

/// Size of the Ethernet header including VLAN tags, in bytes; at most the frame's.
pub fn link_header(frame: &[u8]) -> usize {
    let is_tag = |at: usize| matches!(word(frame, at), Some(0x8100 | 0x88a8));
    let header = match (is_tag(12), is_tag(16)) {
        (true, true) => 22,
        (true, false) => 18,
        (false, _) => 14,
    };
    header.min(frame.len())
}

/// 16-bit word at `at`, in network byte order.
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn ethernet(frame: &[u8]) -> Option<Headers> {
    let mut at = 12;
    for _ in 0..=2 {
        match word(frame, at)? {
            0x8100 | 0x88a8 => at += 4,
            0x0800 => return ipv4(frame.get(at + 2..)?),
            0x86dd => return ipv6(frame.get(at + 2..)?),
            _ => return None,
        }
    }
    None
}

fn ipv4(packet: &[u8]) -> Option<Headers> {
    let (first, service) = (packet.first()?, packet.get(1)?);
    let length = usize::from(first & 15) * 4;
    if first >> 4 != 4 || length < 20 {
        return None;
    }
    let is_first = word(packet, 6)? & 0x1fff == 0;
    let protocol = transport(*packet.get(9)?, packet.get(length..).filter(|_| is_first));
    Some(Headers { protocol, dscp: Some(service >> 2) })
}

fn ipv6(packet: &[u8]) -> Option<Headers> {
    let start = word(packet, 0)?;
    if start >> 12 != 6 {
        return None;
    }
    let dscp = Some((start >> 6) as u8 & 63);
    let mut next = *packet.get(6)?;
    let mut rest = packet.get(40..);
    for _ in 0..MOST_EXTENSIONS {
        let length = |bytes: &[u8]| bytes.get(1).map(|units| usize::from(*units));
        let extension = match next {
            // Hop-by-hop, routing, destination: in units of eight bytes, without the first.
            0 | 43 | 60 => rest.and_then(length).map(|units| (units + 1) * 8),
            // Authentication: in units of four bytes, without the first two.
            51 => rest.and_then(length).map(|units| (units + 2) * 4),
            44 => {
                let is_first = rest.and_then(|bytes| word(bytes, 2)).is_some_and(|offset| offset >> 3 == 0);
                let protocol = rest.and_then(|bytes| bytes.first()).copied();
                if !is_first {
                    let protocol = protocol.map_or(Protocol::Other, |protocol| transport(protocol, None));
                    return Some(Headers { protocol, dscp });
                }
                Some(8)
            }
            _ => return Some(Headers { protocol: transport(next, rest), dscp }),
        };
        let Some((bytes, extension)) = rest.zip(extension) else {
            return Some(Headers { protocol: Protocol::Other, dscp });
        };
        next = bytes[0];
        rest = bytes.get(extension..);
    }
    Some(Headers { protocol: transport(next, rest), dscp })
}

/// Protocol of a number; `rest` follows the network header, unless it is missing or the packet is a
/// later fragment.
fn transport(number: u8, rest: Option<&[u8]>) -> Protocol {
    let ports = || rest.and_then(|bytes| word(bytes, 0).zip(word(bytes, 2)));
    match number {
        6 => Protocol::Tcp(ports()),
        17 => Protocol::Udp(ports()),
        1 => Protocol::Icmp,
        58 => match rest.and_then(|bytes| bytes.first()) {
            None | Some(130..=137 | 143) => Protocol::Other,
            _ => Protocol::Icmp,
        },
        _ => Protocol::Other,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILTERS: [Carries; 7] = [
        Carries::All,
        Carries::Icmp,
        Carries::Tcp(None),
        Carries::Tcp(Some(5201)),
        Carries::Udp(None),
        Carries::Udp(Some(5201)),
        Carries::Dscp(46),
    ];

    pub(crate) fn framed(tags: &[u16], kind: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for tag in tags {
            frame.extend(tag.to_be_bytes());
            frame.extend([0, 7]);
        }
        frame.extend(kind.to_be_bytes());
        frame.extend(packet);
        frame
    }

    /// IPv4 packet with `options` words of options.
    pub(crate) fn v4(protocol: u8, dscp: u8, options: u8, offset: u16, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20 + usize::from(options) * 4];
        packet[0] = 0x45 + options;
        packet[1] = dscp << 2 | 1;
        packet[6..8].copy_from_slice(&offset.to_be_bytes());
        packet[9] = protocol;
        packet.extend(rest);
        packet
    }

    /// IPv6 packet with extension headers, each a number and its bytes, the first of which is
    /// filled in.
    pub(crate) fn v6(extensions: &[(u8, &[u8])], protocol: u8, dscp: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[..2].copy_from_slice(&(0x6000 | u16::from(dscp) << 6).to_be_bytes());
        packet[6] = extensions.first().map_or(protocol, |extension| extension.0);
        for (i, (_, bytes)) in extensions.iter().enumerate() {
            packet.push(extensions.get(i + 1).map_or(protocol, |extension| extension.0));
            packet.extend(&bytes[1..]);
        }
        packet.extend(rest);
        packet
    }

    fn matching(frame: &[u8]) -> Vec<Carries> {
        let headers = Headers::of(frame);
        FILTERS.into_iter().filter(|carries| headers.are_carried(*carries)).collect()
    }

    #[test]
    fn a_frame_goes_by_its_protocol_ports_and_code_point() {
        use Carries::{All, Dscp, Icmp, Tcp, Udp};
        let ports = [0x9c, 0x40, 0x14, 0x51, 0, 0];
        let back = [0x14, 0x51, 0x9c, 0x40];
        let tcp = vec![All, Tcp(None), Tcp(Some(5201))];
        let udp = vec![All, Udp(None), Udp(Some(5201))];
        assert_eq!(matching(&framed(&[], 0x0800, &v4(6, 0, 0, 0, &ports))), tcp);
        assert_eq!(matching(&framed(&[0x8100], 0x0800, &v4(6, 0, 3, 0, &back))), tcp);
        assert_eq!(matching(&framed(&[0x88a8, 0x8100], 0x86dd, &v6(&[], 17, 0, &ports))), udp);
        assert_eq!(matching(&framed(&[], 0x0800, &v4(17, 0, 0, 0, &[1; 8]))), [All, Udp(None)]);
        assert_eq!(matching(&framed(&[], 0x0800, &v4(1, 46, 0, 0, &[8]))), [All, Icmp, Dscp(46)]);
        assert_eq!(matching(&framed(&[], 0x86dd, &v6(&[], 58, 46, &[128]))), [All, Icmp, Dscp(46)]);
        let chain: &[(u8, &[u8])] = &[(0, &[0; 8]), (51, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
        assert_eq!(matching(&framed(&[], 0x86dd, &v6(chain, 17, 0, &ports))), udp);
        let destination: (u8, &[u8]) = (60, &[0; 8]);
        assert_eq!(matching(&framed(&[], 0x86dd, &v6(&[destination; MOST_EXTENSIONS], 17, 0, &ports))), udp);
        assert_eq!(
            matching(&framed(&[], 0x86dd, &v6(&[destination; MOST_EXTENSIONS + 1], 17, 0, &ports))),
            [All]
        );
    }

    #[test]
    fn the_header_of_a_link_has_its_tags() {
        let frame = |tags: &[u16]| link_header(&framed(tags, 0x0800, &[0; 46]));
        assert_eq!([frame(&[]), frame(&[0x8100]), frame(&[0x88a8, 0x8100])], [14, 18, 22]);
        assert_eq!([link_header(&[]), link_header(&[0; 9])], [0, 9]);
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        let ports = [0x9c, 0x40, 0x14, 0x51];
        let some = [Carries::All, Carries::Udp(None)];
        assert_eq!(matching(&framed(&[], 0x0800, &v4(17, 0, 0, 0x2000, &ports))).len(), 3);
        assert_eq!(matching(&framed(&[], 0x0800, &v4(17, 0, 0, 0x2001, &ports))), some);
        let (first, later): (&[u8], &[u8]) = (&[0, 0, 0, 1, 0, 0, 0, 0], &[0, 0, 0, 9, 0, 0, 0, 0]);
        assert_eq!(matching(&framed(&[], 0x86dd, &v6(&[(44, first)], 17, 0, &ports))).len(), 3);
        assert_eq!(matching(&framed(&[], 0x86dd, &v6(&[(44, later)], 17, 0, &ports))), some);
    }

    #[test]
    fn what_keeps_a_network_going_goes_with_all() {
        assert_eq!(matching(&framed(&[], 0x0806, &[0; 28])), [Carries::All]);
        for kind in [133, 134, 135, 136, 137, 143] {
            assert_eq!(matching(&framed(&[], 0x86dd, &v6(&[], 58, 0, &[kind]))), [Carries::All]);
        }
        assert_eq!(matching(&[]), [Carries::All]);
    }

    proptest! {
        #[test]
        fn a_frame_that_is_cut_matches_nothing_that_the_whole_does_not(
            which in 0..4_usize,
            cut in 0..120_usize,
        ) {
            let ports = [0x9c, 0x40, 0x14, 0x51, 0, 0, 0, 0];
            let chain: &[(u8, &[u8])] = &[(60, &[0; 8]), (44, &[0, 0, 0, 1, 0, 0, 0, 0])];
            let whole = match which {
                0 => framed(&[0x8100], 0x0800, &v4(6, 46, 2, 0, &ports)),
                1 => framed(&[], 0x86dd, &v6(chain, 17, 46, &ports)),
                2 => framed(&[], 0x86dd, &v6(&[], 17, 0, &ports)),
                _ => framed(&[], 0x0800, &v4(1, 0, 0, 0, &ports)),
            };
            let all = matching(&whole);
            let part = matching(&whole[..cut.min(whole.len())]);
            prop_assert!(part.iter().all(|carries| all.contains(carries)), "{part:?} of {all:?}");
        }

        #[test]
        fn no_bytes_are_too_odd(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..4_usize) {
            if let Some(place) = bytes.get_mut(12..15) {
                let start = [[0x08, 0, 0x4f], [0x86, 0xdd, 0x60], [0x81, 0, 0], [1, 2, 3]];
                place.copy_from_slice(&start[kind]);
            }
            prop_assert!(Headers::of(&bytes).are_carried(Carries::All));
        }
    }
}
