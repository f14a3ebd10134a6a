//! The number that a sender writes into each packet: its place, its size and its byte order.
//!
//! ```text
//! 0+4                4 bytes from byte 0 of the payload of UDP, big endian
//! 8+4:little         4 bytes from byte 8, little endian
//! frame:14+2         2 bytes from byte 14 of the captured frame
//! rtp                the sequence number of RTP, which is 2+2 of a payload of version 2
//! ```

use std::fmt;
use std::str::FromStr;

use laxity_model::source::trace::{CapturedPacket, Network};

/// The end of the number in the payload or the frame is at most here.
const LARGEST: u32 = 1024;
/// Bytes of a packet that are looked at: those of the number, behind the headers of link, IP and UDP.
pub(super) const LOOKED_AT: u32 = LARGEST + 1024;

/// The place of the sequence number in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    from: From,
    offset: u32,
    /// 1, 2, 4 or 8.
    bytes: u32,
    little: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// The first byte of the payload of UDP.
    Udp,
    /// The same, of packets of RTP.
    Rtp,
    /// The first byte of the captured frame.
    Frame,
}

impl FromStr for Sequence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "rtp" {
            return Ok(Self { from: From::Rtp, offset: 2, bytes: 2, little: false });
        }
        let valid = || {
            "valid is `OFFSET+BYTES`, counted from the payload of UDP, `frame:OFFSET+BYTES` or `rtp`; \
             `:little` behind it is the byte order, and BYTES is 1, 2, 4 or 8"
                .to_string()
        };
        let (from, rest) = match text.strip_prefix("frame:") {
            Some(rest) => (From::Frame, rest),
            None => (From::Udp, text),
        };
        let (rest, little) = match rest.strip_suffix(":little") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok());
        let number = |text| digits(text).flatten();
        let (offset, bytes) = rest.split_once('+').ok_or_else(valid)?;
        let (Some(offset), Some(bytes @ (1 | 2 | 4 | 8))) = (number(offset), number(bytes)) else {
            return Err(valid());
        };
        match offset <= LARGEST - bytes {
            true => Ok(Self { from, offset, bytes, little }),
            false => Err(format!("the number ends behind byte {LARGEST}")),
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            From::Rtp => return f.write_str("rtp"),
            From::Udp => {}
            From::Frame => f.write_str("frame:")?,
        }
        write!(f, "{}+{}", self.offset, self.bytes)?;
        if self.little { f.write_str(":little") } else { Ok(()) }
    }
}

/// The part of a captured packet in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A packet with this number, and its port if it has one.
    Number { number: u64, port: Option<u16> },
    /// A packet of the stream, or not: it is too short for the number, or of another protocol.
    Other,
    /// A fragment of IP behind the first, which has no header of UDP.
    Fragment,
    /// The number may be there, but was not captured.
    Cut,
    /// The link type is not known, so the header of IP is not found.
    UnknownLink,
}

impl Sequence {
    /// Bits of the number.
    pub(super) fn bits(self) -> u32 {
        self.bytes * 8
    }

    /// The number of `packet`.
    pub(super) fn of(self, packet: &CapturedPacket<'_>) -> Found {
        let absent = packet.original > packet.bytes.len() as u32;
        let (payload, port, whole) = match self.from {
            From::Frame => (packet.bytes, None, packet.original as usize),
            From::Udp | From::Rtp => {
                let ip = match packet.network() {
                    Network::Ip(ip) => ip,
                    Network::Other => return Found::Other,
                    Network::Cut if absent => return Found::Cut,
                    Network::Cut => return Found::Other,
                    Network::UnknownLink => return Found::UnknownLink,
                };
                match udp(ip) {
                    Udp::Payload { port, payload, whole } => (payload, Some(port), whole),
                    Udp::Cut if absent => return Found::Cut,
                    Udp::Cut | Udp::Other => return Found::Other,
                    Udp::Fragment => return Found::Fragment,
                }
            }
        };
        let (from, to) = (self.offset as usize, (self.offset + self.bytes) as usize);
        if whole < to {
            return Found::Other;
        }
        let Some(number) = payload.get(from..to) else {
            return if absent { Found::Cut } else { Found::Other };
        };
        if self.from == From::Rtp && payload[0] >> 6 != 2 {
            return Found::Other;
        }
        let digit = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number = match self.little {
            true => number.iter().rev().fold(0, digit),
            false => number.iter().fold(0, digit),
        };
        Found::Number { number, port }
    }
}

enum Udp<'a> {
    /// The captured part of a payload of `whole` bytes.
    Payload {
        port: u16,
        payload: &'a [u8],
        whole: usize,
    },
    Fragment,
    Other,
    /// It ends inside a header.
    Cut,
}

/// The datagram of UDP in a packet of IP, version 4 or 6.
fn udp(ip: &[u8]) -> Udp<'_> {
    const UDP: u8 = 17;
    const FRAGMENT: u8 = 44;
    let word = |at: usize| Some(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?]));
    let header = || match ip.first()? >> 4 {
        4 => {
            let (kind, behind) = (*ip.get(9)?, usize::from(ip[0] & 15) * 4);
            Some((kind, behind, word(6)? & 0x1fff != 0))
        }
        6 => {
            let (mut kind, mut behind, mut is_behind) = (*ip.get(6)?, 40, false);
            // Hop by hop, routing, fragment and options of the destination, in any order.
            while matches!(kind, 0 | 43 | FRAGMENT | 60) {
                let length = if kind == FRAGMENT { 8 } else { usize::from(*ip.get(behind + 1)?) * 8 + 8 };
                is_behind |= kind == FRAGMENT && word(behind + 2)? & 0xfff8 != 0;
                kind = *ip.get(behind)?;
                behind += length;
            }
            Some((kind, behind, is_behind))
        }
        // No version of IP, so no datagram.
        _ => Some((0, 0, false)),
    };
    match header() {
        None => Udp::Cut,
        Some((kind, ..)) if kind != UDP => Udp::Other,
        Some((_, _, true)) => Udp::Fragment,
        Some((_, behind, false)) => match (word(behind + 2), word(behind + 4)) {
            (Some(port), Some(length)) => {
                let payload = ip.get(behind + 8..).unwrap_or_default();
                let whole = usize::from(length).saturating_sub(8);
                Udp::Payload { port, payload: &payload[..payload.len().min(whole)], whole }
            }
            _ => Udp::Cut,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_a_place_a_size_and_an_order() {
        for text in ["0+4", "1022+2", "8+8:little", "frame:14+2", "frame:0+1:little", "rtp"] {
            assert_eq!(text.parse::<Sequence>().unwrap().to_string(), text);
        }
        for text in ["", "0", "+4", "0+", "0+3", "-1+4", "0++4", "0+4:big", "udp", "frame:", "frame:rtp"] {
            assert!(text.parse::<Sequence>().unwrap_err().starts_with("valid is"), "{text}");
        }
        assert_eq!("1023+2".parse::<Sequence>().unwrap_err(), "the number ends behind byte 1024");
        assert!("4294967296+1".parse::<Sequence>().is_err());
    }

    /// A datagram to port 5004 in IP of version 4, with 4 bytes of options.
    fn datagram(payload: &[u8], fragment: u16) -> Vec<u8> {
        let mut ip = vec![0x46, 0, 0, 0, 0, 0];
        ip.extend(fragment.to_be_bytes());
        ip.extend([64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0]);
        ip.extend([0x30, 0x39, 0x13, 0x8c]);
        ip.extend((payload.len() as u16 + 8).to_be_bytes());
        ip.extend([0, 0]);
        ip.extend(payload);
        ip
    }

    /// The number by `sequence` of a packet of raw IP, of which `captured` bytes are there.
    fn of(sequence: &str, packet: &[u8], captured: usize) -> Found {
        let bytes = &packet[..captured.min(packet.len())];
        let original = packet.len() as u32;
        let packet = CapturedPacket { offset: 0, at: None, original, link_type: 101, bytes };
        sequence.parse::<Sequence>().unwrap().of(&packet)
    }

    #[test]
    fn a_number_is_found_behind_the_headers() {
        let number = |number| Found::Number { number, port: Some(5004) };
        let packet = datagram(&[0x80, 96, 0x12, 0x34, 5, 6, 7, 8], 0);
        let all = packet.len();
        assert_eq!(of("rtp", &packet, all), number(0x1234));
        assert_eq!(of("2+2", &packet, all), number(0x1234));
        assert_eq!(of("2+2:little", &packet, all), number(0x3412));
        assert_eq!(of("0+8", &packet, all), number(0x8060_1234_0506_0708));
        assert_eq!(of("7+1", &packet, all), number(8));
        assert_eq!(of("frame:26+2", &packet, all), Found::Number { number: 0x138c, port: None });
        // It needs no more than is captured up to the number.
        assert_eq!(of("rtp", &packet, 36), number(0x1234));
        assert_eq!(of("rtp", &packet, 35), Found::Cut);
        for captured in [0, 1, 9, 24, 29] {
            assert_eq!(of("rtp", &packet, captured), Found::Cut, "{captured}");
        }
        assert_eq!(of("7+2", &packet, all), Found::Other, "the payload is too short");
        assert_eq!(of("frame:40+1", &packet, all), Found::Other, "the frame is too short");
        assert_eq!(of("frame:39+1", &packet, 39), Found::Cut);
        assert_eq!(of("rtp", &datagram(&[0x40, 0, 1, 2], 0), 99), Found::Other, "version 1");
        assert_eq!(of("0+2", &datagram(&[1, 2], 0x2000), 99), number(0x0102), "the first fragment");
        assert_eq!(of("0+2", &datagram(&[1, 2], 0x2001), 99), Found::Fragment);
        let mut tcp = datagram(&[1, 2], 0);
        tcp[9] = 6;
        assert_eq!(of("0+2", &tcp, 99), Found::Other);
        let link = CapturedPacket { offset: 0, at: None, original: 60, link_type: 147, bytes: &tcp };
        assert_eq!("0+2".parse::<Sequence>().unwrap().of(&link), Found::UnknownLink);
        assert!(matches!("frame:0+2".parse::<Sequence>().unwrap().of(&link), Found::Number { .. }));
    }

    #[test]
    fn padding_of_a_short_frame_is_no_payload() {
        let mut packet = datagram(&[1, 2], 0);
        packet.extend([9; 10]);
        assert_eq!(of("0+2", &packet, 99), Found::Number { number: 0x0102, port: Some(5004) });
        assert_eq!(of("1+2", &packet, 99), Found::Other);
    }

    #[test]
    fn headers_of_version_6_are_passed_over() {
        let six = |next: u8, behind: &[u8]| {
            let mut ip = vec![0x60, 0, 0, 0, 0, 0, next, 64];
            ip.extend([0; 32]);
            ip.extend(behind);
            ip
        };
        let udp = [0x30, 0x39, 0x13, 0x8c, 0, 10, 0, 0, 1, 2];
        let number = Found::Number { number: 0x0102, port: Some(5004) };
        assert_eq!(of("0+2", &six(17, &udp), 99), number);
        // Sixteen bytes of options hop by hop, and a first fragment.
        let long = [&[44, 1][..], &[0; 14], &[17, 0, 0, 1, 0, 0, 0, 0], &udp].concat();
        assert_eq!(of("0+2", &six(0, &long), 99), number);
        assert_eq!(
            of("0+2", &six(44, &[&[17, 0, 0, 9, 0, 0, 0, 0], &udp[..]].concat()), 99),
            Found::Fragment
        );
        assert_eq!(of("0+2", &six(6, &udp), 99), Found::Other);
        assert_eq!(of("0+2", &six(0, &long), 50), Found::Cut);
    }
}
