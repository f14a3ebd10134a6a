//! Messages of clock synchronisation, and their bytes.
//!
//! ```text
//!  0  magic "LC"   2  version   3  kind: 1 request, 2 reply   4  zero (4 bytes)
//!  8  number of the request (u64)
//! 16  reply: reading of the reference when the request arrived, ps (u64); request: zero
//! 24  reply: reading of the reference when the reply left, ps (u64); request: zero
//! ```
//!
//! Both kinds have 32 bytes, so that they meet the same serialisation time in both directions.
//! Numbers are big-endian. Message authentication is a matter of the channel that carries the
//! messages.

use std::fmt;

use laxity_units::Time;

/// Length of an encoded message, in bytes.
pub const MESSAGE_LEN: usize = 32;

const MAGIC: [u8; 2] = *b"LC";
const VERSION: u8 = 1;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;

/// A message of clock synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockMessage {
    /// A node asks the reference for its time.
    Request {
        /// Number that the reply repeats.
        number: u64,
    },
    /// The reference answers.
    Reply {
        /// Number of the request.
        number: u64,
        /// Reading of the reference's clock when the request arrived, or later.
        received: Time,
        /// Reading of the reference's clock when the reply left, or earlier.
        answered: Time,
    },
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageError {
    /// More or fewer bytes than a message has.
    Length,
    /// Another protocol.
    Magic,
    /// A version that this code does not know.
    Version(u8),
    /// A kind that does not exist.
    Kind(u8),
    /// A field that must be zero is not.
    Reserved,
    /// The reply left before its request arrived.
    Order,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::Length => write!(f, "not the {MESSAGE_LEN} bytes of a message"),
            MessageError::Magic => write!(f, "does not start with `LC`"),
            MessageError::Version(v) => write!(f, "version {v}, where {VERSION} is known"),
            MessageError::Kind(k) => write!(f, "kind {k}, where {REQUEST} is a request and {REPLY} a reply"),
            MessageError::Reserved => write!(f, "a field that must be zero is not"),
            MessageError::Order => write!(f, "the reply left before its request arrived"),
        }
    }
}

impl std::error::Error for MessageError {}

impl ClockMessage {
    /// The message as bytes.
    pub fn encode(&self) -> [u8; MESSAGE_LEN] {
        let (kind, number, received, answered) = match *self {
            ClockMessage::Request { number } => (REQUEST, number, Time::ZERO, Time::ZERO),
            ClockMessage::Reply { number, received, answered } => (REPLY, number, received, answered),
        };
        let mut out = [0; MESSAGE_LEN];
        out[..2].copy_from_slice(&MAGIC);
        (out[2], out[3]) = (VERSION, kind);
        for (word, value) in out[8..].chunks_exact_mut(8).zip([number, received.as_ps(), answered.as_ps()]) {
            word.copy_from_slice(&value.to_be_bytes());
        }
        out
    }

    /// Reads a message that fills `bytes`.
    ///
    /// # Errors
    ///
    /// [`MessageError`] for bytes that [`encode`](Self::encode) does not produce, and for a reply
    /// that contradicts itself.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let bytes: &[u8; MESSAGE_LEN] = bytes.try_into().map_err(|_| MessageError::Length)?;
        if bytes[..2] != MAGIC {
            return Err(MessageError::Magic);
        }
        if bytes[2] != VERSION {
            return Err(MessageError::Version(bytes[2]));
        }
        let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let (number, received, answered) = (word(8), Time::from_ps(word(16)), Time::from_ps(word(24)));
        if bytes[4..8] != [0; 4] {
            return Err(MessageError::Reserved);
        }
        match bytes[3] {
            REQUEST if received != Time::ZERO || answered != Time::ZERO => Err(MessageError::Reserved),
            REQUEST => Ok(ClockMessage::Request { number }),
            REPLY if answered < received => Err(MessageError::Order),
            REPLY => Ok(ClockMessage::Reply { number, received, answered }),
            kind => Err(MessageError::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_these_bytes() {
        let request = ClockMessage::Request { number: 0x0102 }.encode();
        assert_eq!(request[..16], [b'L', b'C', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(request[16..], [0; 16]);
        let reply =
            ClockMessage::Reply { number: 3, received: Time::from_ps(256), answered: Time::from_ps(258) };
        assert_eq!(reply.encode()[15..], [3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn each_fault_has_its_error() {
        let reply = ClockMessage::Reply { number: 3, received: Time::from_ps(7), answered: Time::from_ps(7) }
            .encode();
        let after = |at: usize, byte: u8| {
            let mut bytes = reply;
            bytes[at] = byte;
            ClockMessage::decode(&bytes)
        };
        assert_eq!(ClockMessage::decode(&reply[1..]), Err(MessageError::Length));
        assert_eq!(ClockMessage::decode(&[&reply[..], &[0]].concat()), Err(MessageError::Length));
        assert_eq!(after(1, b'X'), Err(MessageError::Magic));
        assert_eq!(after(2, 9), Err(MessageError::Version(9)));
        assert_eq!(after(3, 0), Err(MessageError::Kind(0)));
        assert_eq!(after(7, 1), Err(MessageError::Reserved));
        assert_eq!(after(3, REQUEST), Err(MessageError::Reserved));
        assert_eq!(after(31, 6), Err(MessageError::Order));
        let errors = [MessageError::Length, MessageError::Magic, MessageError::Reserved, MessageError::Order];
        assert!(errors.iter().all(|error| error.to_string().len() > 10));
        assert!(MessageError::Version(9).to_string().starts_with("version 9,"));
        assert!(MessageError::Kind(9).to_string().starts_with("kind 9,"));
    }

    proptest! {
        #[test]
        fn decoded_bytes_are_encoded_again(kind in 0u8..4, rest in any::<[u64; 3]>(), damage in any::<(usize, u8)>(), harmed in any::<bool>()) {
            let message = match kind {
                0 => ClockMessage::Request { number: rest[0] },
                _ => ClockMessage::Reply {
                    number: rest[0],
                    received: Time::from_ps(rest[1].min(rest[2])),
                    answered: Time::from_ps(rest[1].max(rest[2])),
                },
            };
            let mut bytes = message.encode();
            prop_assert_eq!(ClockMessage::decode(&bytes), Ok(message));
            if harmed {
                bytes[damage.0 % MESSAGE_LEN] = damage.1;
            }
            if let Ok(message) = ClockMessage::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
