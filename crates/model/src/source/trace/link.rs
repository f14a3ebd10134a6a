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

#[cfg(test)]
mod tests {
    use super::*;

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
