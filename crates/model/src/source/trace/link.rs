//! The header that a captured packet has of its link.
//!
//! A capture's lengths count from the first byte that the link type names: at Ethernet from the
//! destination address, for raw IP from the IP header. Where the packet is sent over a link with
//! framing again, that link adds a header of its own, so the old one has to go. The numbers are
//! those of [LINKTYPE](https://www.tcpdump.org/linktypes.html).

/// Bytes of a packet that its header is looked for in: Ethernet with two tags.
pub(super) const LOOKED_AT: u32 = 22;

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const PPP: u16 = 9;
const HDLC: u16 = 104;
const LOOP: u16 = 108;
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;
/// Packets of IP without a header of a link: two numbers by the system, and one for each version.
const RAW_IP: [u16; 5] = [101, 12, 14, 228, 229];

/// Bytes of the header of a link of that type in a packet that begins with `captured`: a VLAN's
/// tags are part of it. Zero for raw IP, and for links that are not known: all of such a packet is
/// sent.
pub(super) fn header(link_type: u16, captured: &[u8]) -> u8 {
    match link_type {
        ETHERNET => {
            let is_tag = |at: usize| matches!(captured.get(at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8]));
            match (is_tag(12), is_tag(16)) {
                (true, true) => 22,
                (true, false) => 18,
                (false, _) => 14,
            }
        }
        LINUX_COOKED => 16,
        LINUX_COOKED_2 => 20,
        NULL | LOOP | PPP | HDLC => 4,
        _ => 0,
    }
}

/// The payload of the link in a captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network<'a> {
    /// A packet of IP, as far as it was captured.
    Ip(&'a [u8]),
    /// Another protocol.
    Other,
    /// Fewer bytes were captured than the header of the link has.
    Cut,
    /// The link type is not known.
    UnknownLink,
}

/// The payload of a packet that begins with `captured`, on a link of that type.
pub(super) fn network(link_type: u16, captured: &[u8]) -> Network<'_> {
    // The place of the type of the payload in the header, if the header has it in two bytes.
    let length = usize::from(header(link_type, captured));
    let kind = match link_type {
        ETHERNET | LINUX_COOKED | HDLC | PPP => Some(length - 2),
        LINUX_COOKED_2 => Some(0),
        NULL | LOOP => None,
        link_type if RAW_IP.contains(&link_type) => None,
        _ => return Network::UnknownLink,
    };
    let (Some(begin), Some(packet)) = (captured.get(..length), captured.get(length..)) else {
        return Network::Cut;
    };
    let is_ip = match kind.map(|at| [begin[at], begin[at + 1]]) {
        Some([0x00, 0x21 | 0x57]) => link_type == PPP,
        Some([0x08, 0x00] | [0x86, 0xdd]) => link_type != PPP,
        Some(_) => false,
        // The version is the upper half of the first byte.
        None => matches!(packet.first().map(|byte| byte >> 4), None | Some(4 | 6)),
    };
    if is_ip { Network::Ip(packet) } else { Network::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_ip_begins_behind_the_header_of_its_link() {
        let of = |link_type, header: &[u8]| {
            let bytes = [header, &[0x45, 1, 2]].concat();
            match network(link_type, &bytes) {
                Network::Ip(packet) => Ok(packet.to_vec()),
                Network::Other => Err("other"),
                Network::Cut => Err("cut"),
                Network::UnknownLink => Err("unknown"),
            }
        };
        let ip = Ok(vec![0x45, 1, 2]);
        let addresses = [0; 12];
        let ethernet = |kind: &[u8]| [&addresses[..], kind].concat();
        assert_eq!(of(ETHERNET, &ethernet(&[0x08, 0x00])), ip);
        assert_eq!(of(ETHERNET, &ethernet(&[0x86, 0xdd])), ip);
        assert_eq!(of(ETHERNET, &ethernet(&[0x08, 0x06])), Err("other"), "ARP");
        assert_eq!(of(ETHERNET, &ethernet(&[0x81, 0x00, 0, 5, 0x08, 0x00])), ip);
        assert_eq!(of(ETHERNET, &addresses[..5]), Err("cut"));
        assert_eq!(of(LINUX_COOKED, &[&[0; 14][..], &[0x08, 0x00]].concat()), ip);
        assert_eq!(of(LINUX_COOKED_2, &[&[0x08, 0x00][..], &[0; 18]].concat()), ip);
        assert_eq!(of(LINUX_COOKED_2, &[&[0x08, 0x06][..], &[0; 18]].concat()), Err("other"));
        assert_eq!(of(PPP, &[0xff, 3, 0x00, 0x21]), ip);
        assert_eq!(of(HDLC, &[0x0f, 0, 0x08, 0x00]), ip);
        assert_eq!(of(NULL, &[2, 0, 0, 0]), ip);
        assert_eq!(of(RAW_IP[0], &[]), ip);
        assert_eq!(of(RAW_IP[0], &[0x25]), Err("other"));
        assert_eq!(of(147, &[]), Err("unknown"));
    }

    #[test]
    fn the_link_type_says_how_long_a_header_is() {
        let mut frame = [0; 22];
        assert_eq!(header(ETHERNET, &frame), 14);
        frame[16..18].copy_from_slice(&[0x81, 0x00]);
        assert_eq!(header(ETHERNET, &frame), 14, "an address of IP is no tag");
        frame[12..14].copy_from_slice(&[0x88, 0xa8]);
        assert_eq!([header(ETHERNET, &frame), header(ETHERNET, &frame[..17])], [22, 18]);
        assert_eq!(header(ETHERNET, &[]), 14, "of a packet of which nothing was kept");
        let types = [LINUX_COOKED, LINUX_COOKED_2, LOOP, 101, 228, 147];
        assert_eq!(types.map(|link_type| header(link_type, &frame)), [16, 20, 4, 0, 0, 0]);
    }
}
