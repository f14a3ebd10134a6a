//! The header of every packet, as bytes.
//!
//! 48 bytes, big-endian, at fixed offsets: a channel, FRAG's sequence number and lengths, and the
//! message's logical arrival time and deadline, from which the next node derives its own. Times are
//! nanoseconds since a shared epoch (clock synchronisation is outside this header).
//!
//! ```text
//!  0  magic "LX"   2  version   3  class   4  channel (u32)
//!  8  message number (u64)
//! 16  fragment (u32)  20  fragments (u32)
//! 24  message length (u32)  28  payload length (u32)
//! 32  logical arrival, ns (u64)
//! 40  deadline, ns (u64)
//! ```
//!
//! Received bytes are not trusted: [`Header::decode`] refuses contradictory headers, and a decoded
//! header encodes to the same bytes again.

use std::fmt;

use laxity_units::{Bytes, Time};

use crate::discipline::Class;
use crate::packet::Packet;

/// Length of an encoded header.
pub const HEADER_LEN: usize = 48;

const MAGIC: [u8; 2] = *b"LX";
const VERSION: u8 = 1;

/// The decoded header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Class of service.
    pub class: Class,
    /// Channel, as sender and receiver agreed.
    pub channel: u32,
    /// The message's number within its channel.
    pub message: u64,
    /// Position of this fragment, from 0.
    pub fragment: u32,
    /// Fragments in the message, at least 1.
    pub fragments: u32,
    /// Length of the whole message; at most 4 GiB.
    pub message_length: Bytes,
    /// Length of the payload behind this header.
    pub payload_length: Bytes,
    /// Logical arrival time at the node that sent the packet, in whole nanoseconds.
    pub logical_arrival: Time,
    /// Deadline at that node, in whole nanoseconds; [`Time::MAX`] for best effort.
    pub deadline: Time,
}

/// Why bytes are not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireError {
    /// Fewer bytes than a header has.
    Short,
    /// The bytes belong to another protocol.
    Magic,
    /// An unknown version.
    Version(u8),
    /// A class that does not exist.
    Class(u8),
    /// Fragment number past the number of fragments, or zero fragments.
    Fragment,
    /// Payload longer than the message, or not the length of the bytes behind the header.
    Length,
    /// Deadline before the logical arrival, or a time out of range.
    Time,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Short => write!(f, "shorter than the {HEADER_LEN} bytes of a header"),
            WireError::Magic => write!(f, "does not start with `LX`"),
            WireError::Version(v) => write!(f, "version {v}, where {VERSION} is known"),
            WireError::Class(c) => write!(f, "class {c}, where 0 is real time and 1 best effort"),
            WireError::Fragment => write!(f, "fragment number outside its message"),
            WireError::Length => write!(f, "lengths contradict each other"),
            WireError::Time => write!(f, "deadline before logical arrival"),
        }
    }
}

impl std::error::Error for WireError {}

const NEVER: u64 = u64::MAX;

impl From<&Packet> for Header {
    /// The header of a packet, with the times of the host that scheduled it.
    fn from(packet: &Packet) -> Self {
        Header {
            class: packet.tag.class,
            channel: packet.channel.0,
            message: packet.message,
            fragment: packet.index,
            fragments: packet.count,
            message_length: packet.message_size,
            payload_length: packet.size,
            logical_arrival: packet.tag.logical_arrival,
            deadline: packet.tag.deadline,
        }
    }
}

impl Header {
    /// The header as bytes; times are rounded down to nanoseconds, lengths must fit in 32 bits.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let length = |bytes: Bytes| u32::try_from(bytes.get()).expect("a message is below 4 GiB");
        let nanoseconds = |time: Time| if time == Time::MAX { NEVER } else { time.as_ps() / 1000 };
        let mut out = [0; HEADER_LEN];
        out[..2].copy_from_slice(&MAGIC);
        out[2] = VERSION;
        out[3] = u8::from(self.class == Class::BestEffort);
        out[4..8].copy_from_slice(&self.channel.to_be_bytes());
        out[8..16].copy_from_slice(&self.message.to_be_bytes());
        out[16..20].copy_from_slice(&self.fragment.to_be_bytes());
        out[20..24].copy_from_slice(&self.fragments.to_be_bytes());
        out[24..28].copy_from_slice(&length(self.message_length).to_be_bytes());
        out[28..32].copy_from_slice(&length(self.payload_length).to_be_bytes());
        out[32..40].copy_from_slice(&nanoseconds(self.logical_arrival).to_be_bytes());
        out[40..48].copy_from_slice(&nanoseconds(self.deadline).to_be_bytes());
        out
    }

    /// Decodes the header at the front of `packet`, and checks it against the bytes behind it.
    pub fn decode(packet: &[u8]) -> Result<(Header, &[u8]), WireError> {
        let (header, payload) = packet.split_at_checked(HEADER_LEN).ok_or(WireError::Short)?;
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let time = |ns: u64| ns.checked_mul(1000).map(Time::from_ps).ok_or(WireError::Time);
        if header[..2] != MAGIC {
            return Err(WireError::Magic);
        }
        if header[2] != VERSION {
            return Err(WireError::Version(header[2]));
        }
        let class = match header[3] {
            0 => Class::RealTime,
            1 => Class::BestEffort,
            other => return Err(WireError::Class(other)),
        };
        let (fragment, fragments) = (word(16), word(20));
        if fragment >= fragments {
            return Err(WireError::Fragment);
        }
        let (message_length, payload_length) = (word(24), word(28));
        let whole = fragments > 1 || payload_length == message_length;
        if payload_length as usize != payload.len() || payload_length > message_length || !whole {
            return Err(WireError::Length);
        }
        let logical_arrival = time(long(32))?;
        let deadline = if long(40) == NEVER { Time::MAX } else { time(long(40))? };
        if deadline < logical_arrival {
            return Err(WireError::Time);
        }
        let decoded = Header {
            class,
            channel: word(4),
            message: long(8),
            fragment,
            fragments,
            message_length: Bytes::new(message_length.into()),
            payload_length: Bytes::new(payload_length.into()),
            logical_arrival,
            deadline,
        };
        Ok((decoded, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_error_says_what_was_there_and_what_would_be_known() {
        assert_eq!(WireError::Class(7).to_string(), "class 7, where 0 is real time and 1 best effort");
        let words =
            [WireError::Short, WireError::Magic, WireError::Fragment, WireError::Length, WireError::Time];
        assert!(words.iter().all(|error| error.to_string().len() > 10));
        assert!(WireError::Version(9).to_string().starts_with("version 9, where "));
    }

    fn packet() -> impl Strategy<Value = Vec<u8>> {
        (any::<[u32; 4]>(), any::<u64>(), 0u64..1 << 50, 0u64..1 << 50, 0usize..300, any::<bool>()).prop_map(
            |(words, message, arrival, span, payload, real_time)| {
                let fragments = words[1] % 64 + 1;
                let more = if fragments == 1 { 0 } else { u64::from(words[2]) % 100_000 };
                let header = Header {
                    class: if real_time { Class::RealTime } else { Class::BestEffort },
                    channel: words[3],
                    message,
                    fragment: words[0] % fragments,
                    fragments,
                    message_length: Bytes::new(payload as u64 + more),
                    payload_length: Bytes::new(payload as u64),
                    logical_arrival: Time::from_ns(arrival),
                    deadline: if real_time { Time::from_ns(arrival + span) } else { Time::MAX },
                };
                [&header.encode()[..], &vec![7; payload]].concat()
            },
        )
    }

    /// Second of three fragments of a 5-byte message: 2 bytes, current at 1 us and due at 2 us.
    fn header() -> Header {
        Header {
            class: Class::BestEffort,
            channel: 0x0102_0304,
            message: 0x0506_0708_090A_0B0C,
            fragment: 1,
            fragments: 3,
            message_length: Bytes::new(5),
            payload_length: Bytes::new(2),
            logical_arrival: Time::from_ps(1_000_999),
            deadline: Time::from_ns(2000),
        }
    }

    /// The result of decoding the header's bytes and two of payload, after one change.
    fn after(change: impl FnOnce(&mut Vec<u8>)) -> Result<Header, WireError> {
        let mut bytes = [&header().encode()[..], &[7, 7]].concat();
        change(&mut bytes);
        Header::decode(&bytes).map(|(header, _)| header)
    }

    #[test]
    fn a_header_is_these_bytes() {
        let bytes = header().encode();
        assert_eq!(bytes[..2], MAGIC);
        let expected = [
            [VERSION, 1].as_slice(),
            &[1, 2, 3, 4],
            &[5, 6, 7, 8, 9, 10, 11, 12],
            &[0, 0, 0, 1, 0, 0, 0, 3],
            &[0, 0, 0, 5, 0, 0, 0, 2],
            // 1000 and 2000 ns, with the picoseconds cut off.
            &[0, 0, 0, 0, 0, 0, 3, 0xE8, 0, 0, 0, 0, 0, 0, 7, 0xD0],
        ];
        assert_eq!(bytes[2..], expected.concat());
        let never = Header { class: Class::RealTime, deadline: Time::MAX, ..header() }.encode();
        assert_eq!((never[3], &never[40..]), (0, [0xFF; 8].as_slice()));
    }

    #[test]
    fn each_fault_is_told() {
        assert!(after(|_| {}).is_ok());
        assert_eq!(after(|b| b.truncate(HEADER_LEN - 1)), Err(WireError::Short));
        assert_eq!(after(|b| b[1] ^= 1), Err(WireError::Magic));
        assert_eq!(after(|b| b[2] = VERSION + 1), Err(WireError::Version(VERSION + 1)));
        assert_eq!(after(|b| b[3] = 2), Err(WireError::Class(2)));
        assert_eq!(after(|b| b[19] = 3), Err(WireError::Fragment));
        assert!(after(|b| b[19] = 2).is_ok());
        // Fewer or more bytes than the header states; more than the message has; a whole message
        // with fewer.
        assert_eq!(after(|b| b.push(7)), Err(WireError::Length));
        assert_eq!(after(|b| b.truncate(HEADER_LEN + 1)), Err(WireError::Length));
        assert_eq!(after(|b| b[27] = 1), Err(WireError::Length));
        assert!(after(|b| b[27] = 2).is_ok());
        let whole = |b: &mut Vec<u8>| (b[19], b[23]) = (0, 1);
        assert_eq!(after(whole), Err(WireError::Length));
        assert!(
            after(|b| {
                whole(b);
                b[27] = 2;
            })
            .is_ok()
        );
        // Deadline before the logical arrival, at the same time, and never; and a time out of
        // range.
        assert_eq!(after(|b| b[46..48].copy_from_slice(&[3, 0xE7])), Err(WireError::Time));
        assert!(after(|b| b[46..48].copy_from_slice(&[3, 0xE8])).is_ok());
        let never = after(|b| b[40..].iter_mut().take(8).for_each(|byte| *byte = 0xFF));
        assert_eq!(never.map(|header| header.deadline), Ok(Time::MAX));
        assert_eq!(after(|b| b[40] = 0xFF), Err(WireError::Time));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(packet in packet()) {
            let (header, payload) = Header::decode(&packet).unwrap();
            prop_assert_eq!(&header.encode()[..], &packet[..HEADER_LEN]);
            prop_assert_eq!(payload, &packet[HEADER_LEN..]);
        }

        #[test]
        fn what_is_decoded_is_encoded(mut packet in packet(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let at = at.index(packet.len());
            packet[at] = byte;
            if cut {
                packet.truncate(at);
            }
            if let Ok((header, _)) = Header::decode(&packet) {
                prop_assert_eq!(&header.encode()[..], &packet[..HEADER_LEN]);
            }
        }
    }
}
