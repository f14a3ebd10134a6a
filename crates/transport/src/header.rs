//! The header of a packet, version 2.
//!
//! 72 bytes, big-endian, at fixed places:
//!
//! ```text
//!  0  magic "LX"   2  version (2)   3  flags
//!  4  node (u32)                    8  channel (u32)
//! 12  epoch (u32)                  16  message number (u64)
//! 24  fragment (u32)               28  fragments (u32)
//! 32  message length (u32)         36  payload length (u32)
//! 40  remaining time or deadline, ns (u64)
//! 48  authentication tag (16 bytes), or the time of departure, ns (u64), and 8 zero bytes
//! 64  age, ns (u64)
//! ```
//!
//! Flags: bit 0 is best effort, bits 1 and 2 are the meaning of the time (0 none, 1 remaining, 2
//! deadline), bit 3 says that a tag is present, bit 4 that a time of departure is. All other bits are
//! zero, and so are a time and a tag that are not present. The time of departure belongs to one link:
//! the sender writes it into the encoded packet, and the receiver takes it out before anything else
//! reads the header ([`TransportHeader::stamp`]).
//!
//! A channel is `<node, channel>`: the node that established the channel, and that node's own
//! number for it. The epoch changes whenever the node restarts, so that packets of its former self
//! are recognised.
//!
//! The age is the time since the logical arrival of the message at its source. Each node adds the
//! time that the packet spends in it and on the link before, so the destination knows the delay of
//! each message without synchronised clocks.
//!
//! Bytes from a network are not trusted. [`TransportHeader::decode`] reads in place and accepts no header
//! that contradicts itself; a decoded header encodes to the same bytes. Nodes on the route change
//! the time and the age alone ([`TransportHeader::set_time`]), so a tag from end to end covers the
//! packet without the meaning and bytes 40 to 72.

use std::fmt;

use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span, Time};

/// Length of an encoded header, in bytes.
pub const HEADER_LEN: usize = 72;

const MAGIC: [u8; 2] = *b"LX";
const VERSION: u8 = 2;
const BEST_EFFORT: u8 = 1;
const REMAINING: u8 = 1 << 1;
const DEADLINE: u8 = 2 << 1;
const MEANING: u8 = 3 << 1;
const TAGGED: u8 = 1 << 3;
const STAMPED: u8 = 1 << 4;
const TIME: usize = 40;
const TAG: usize = 48;
const AGE: usize = 64;

/// Identity of a channel in the whole network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireChannelId {
    /// The node that established the channel.
    pub node: u32,
    /// The node's own number for the channel.
    pub local: u32,
}

/// The time that a packet carries to the next node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// None: best effort, or regulation by arrivals.
    None,
    /// Time until the local deadline of the node that sent the packet; zero if the packet left
    /// late.
    Remaining(Span),
    /// Deadline in synchronised time.
    Deadline(Time),
}

/// The fields of a packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportHeader {
    /// Class of service.
    pub class: Class,
    /// Channel of the packet.
    pub channel: WireChannelId,
    /// Incarnation of the node that established the channel.
    pub epoch: u32,
    /// Number of the message within its channel.
    pub message: u64,
    /// Position of this fragment, from zero.
    pub fragment: u32,
    /// Fragments of the message, at least one.
    pub fragments: u32,
    /// Length of the message, below 4 GiB.
    pub message_length: Bytes,
    /// Length of the payload behind this header.
    pub payload_length: Bytes,
    /// Time, in whole nanoseconds.
    pub timing: Timing,
    /// Authentication tag, if there is one.
    pub tag: Option<[u8; 16]>,
    /// Time since the logical arrival at the source, in whole nanoseconds.
    pub age: Span,
}

/// Why bytes are not a packet, or a header has no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportError {
    /// Fewer bytes than the header, or than the header and its payload.
    Short,
    /// Another protocol.
    Magic,
    /// A version that this code does not know.
    Version(u8),
    /// Flags that no header has.
    Flags(u8),
    /// Fragment number past the number of fragments, or no fragments.
    Fragment,
    /// Payload longer than its message, or not as long as the bytes behind the header, or a field
    /// above 32 bits.
    Length,
    /// A time that cannot be named, or one where there is none.
    Time,
    /// A tag where there is none.
    Tag,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransportError::Short => {
                write!(f, "shorter than the {HEADER_LEN} bytes of a header and its payload")
            }
            TransportError::Magic => write!(f, "does not start with `LX`"),
            TransportError::Version(v) => write!(f, "version {v}, where {VERSION} is known"),
            TransportError::Flags(flags) => write!(f, "flags {flags:#04x}, which no header has"),
            TransportError::Fragment => write!(f, "fragment number outside its message"),
            TransportError::Length => write!(f, "lengths contradict each other"),
            TransportError::Time => write!(f, "a time that cannot be named, or where none may be"),
            TransportError::Tag => write!(f, "an authentication tag where none may be"),
        }
    }
}

impl std::error::Error for TransportError {}

fn word(header: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"))
}

fn long(header: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"))
}

impl Timing {
    /// Flags and field: both kinds of time are rounded down to nanoseconds.
    fn encoded(self) -> (u8, u64) {
        match self {
            Timing::None => (0, 0),
            Timing::Remaining(span) => (REMAINING, span.as_ps() / 1000),
            Timing::Deadline(time) => (DEADLINE, time.as_ps() / 1000),
        }
    }

    fn decoded(flags: u8, ns: u64) -> Result<Self, TransportError> {
        let ps = ns.checked_mul(1000).ok_or(TransportError::Time)?;
        match flags & MEANING {
            0 if ns == 0 => Ok(Timing::None),
            0 => Err(TransportError::Time),
            REMAINING => Ok(Timing::Remaining(Span::from_ps(ps))),
            DEADLINE => Ok(Timing::Deadline(Time::from_ps(ps))),
            _ => Err(TransportError::Flags(flags)),
        }
    }
}

impl TransportHeader {
    /// Writes the header to the front of `out` and returns the bytes behind it; times are rounded
    /// down to nanoseconds.
    ///
    /// # Errors
    ///
    /// [`TransportError::Short`] if `out` has no room, [`TransportError::Length`] for lengths of 4 GiB or
    /// more. `out` is then unchanged.
    pub fn encode<'a>(&self, out: &'a mut [u8]) -> Result<&'a mut [u8], TransportError> {
        let length = |bytes: Bytes| u32::try_from(bytes.get()).map_err(|_| TransportError::Length);
        let (message, payload) = (length(self.message_length)?, length(self.payload_length)?);
        let (header, behind) = out.split_at_mut_checked(HEADER_LEN).ok_or(TransportError::Short)?;
        let (meaning, time) = self.timing.encoded();
        let class = if self.class == Class::BestEffort { BEST_EFFORT } else { 0 };
        header[..2].copy_from_slice(&MAGIC);
        header[2] = VERSION;
        header[3] = class | meaning | if self.tag.is_some() { TAGGED } else { 0 };
        header[4..8].copy_from_slice(&self.channel.node.to_be_bytes());
        header[8..12].copy_from_slice(&self.channel.local.to_be_bytes());
        header[12..16].copy_from_slice(&self.epoch.to_be_bytes());
        header[16..24].copy_from_slice(&self.message.to_be_bytes());
        header[24..28].copy_from_slice(&self.fragment.to_be_bytes());
        header[28..32].copy_from_slice(&self.fragments.to_be_bytes());
        header[32..36].copy_from_slice(&message.to_be_bytes());
        header[36..40].copy_from_slice(&payload.to_be_bytes());
        header[TIME..TAG].copy_from_slice(&time.to_be_bytes());
        header[TAG..AGE].copy_from_slice(&self.tag.unwrap_or_default());
        header[AGE..].copy_from_slice(&(self.age.as_ps() / 1000).to_be_bytes());
        Ok(behind)
    }

    /// Reads the header at the front of `packet`, and returns the payload, which is all bytes
    /// behind it.
    ///
    /// # Errors
    ///
    /// [`TransportError`] for every packet that no header and payload encode to.
    pub fn decode(packet: &[u8]) -> Result<(TransportHeader, &[u8]), TransportError> {
        let (header, payload) = packet.split_at_checked(HEADER_LEN).ok_or(TransportError::Short)?;
        if header[..2] != MAGIC {
            return Err(TransportError::Magic);
        }
        if header[2] != VERSION {
            return Err(TransportError::Version(header[2]));
        }
        let flags = header[3];
        if flags & !(BEST_EFFORT | MEANING | TAGGED) != 0 {
            return Err(TransportError::Flags(flags));
        }
        let class = if flags & BEST_EFFORT == 0 { Class::RealTime } else { Class::BestEffort };
        let timing = Timing::decoded(flags, long(header, TIME))?;
        let tag: [u8; 16] = header[TAG..AGE].try_into().expect("sixteen bytes");
        let tagged = flags & TAGGED != 0;
        if !tagged && tag != [0; 16] {
            return Err(TransportError::Tag);
        }
        let (fragment, fragments) = (word(header, 24), word(header, 28));
        if fragment >= fragments {
            return Err(TransportError::Fragment);
        }
        let (message_length, payload_length) = (word(header, 32), word(header, 36));
        let whole = fragments > 1 || payload_length == message_length;
        if payload_length as usize != payload.len() || payload_length > message_length || !whole {
            return Err(TransportError::Length);
        }
        let decoded = TransportHeader {
            class,
            channel: WireChannelId { node: word(header, 4), local: word(header, 8) },
            epoch: word(header, 12),
            message: long(header, 16),
            fragment,
            fragments,
            message_length: Bytes::new(message_length.into()),
            payload_length: Bytes::new(payload_length.into()),
            timing,
            tag: tagged.then_some(tag),
            age: long(header, AGE).checked_mul(1000).map(Span::from_ps).ok_or(TransportError::Time)?,
        };
        Ok((decoded, payload))
    }

    /// Replaces the time and the age of an encoded packet in place, as each node on the route does.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if `packet` does not begin with a header of this version. `packet` is then
    /// unchanged.
    pub fn set_time(packet: &mut [u8], timing: Timing, age: Span) -> Result<(), TransportError> {
        let header = packet.get_mut(..HEADER_LEN).ok_or(TransportError::Short)?;
        if header[..2] != MAGIC {
            return Err(TransportError::Magic);
        }
        if header[2] != VERSION {
            return Err(TransportError::Version(header[2]));
        }
        let (meaning, time) = timing.encoded();
        header[3] = header[3] & !MEANING | meaning;
        header[TIME..TAG].copy_from_slice(&time.to_be_bytes());
        header[AGE..].copy_from_slice(&(age.as_ps() / 1000).to_be_bytes());
        Ok(())
    }

    /// Writes into an encoded packet without a tag when it leaves, by the clock of the sender, rounded
    /// down to nanoseconds.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if `packet` has no header, or has a tag. `packet` is then unchanged.
    pub fn stamp(packet: &mut [u8], departure: Time) -> Result<(), TransportError> {
        let header = packet.get_mut(..HEADER_LEN).ok_or(TransportError::Short)?;
        if header[3] & TAGGED != 0 {
            return Err(TransportError::Tag);
        }
        header[3] |= STAMPED;
        header[TAG..TAG + 8].copy_from_slice(&(departure.as_ps() / 1000).to_be_bytes());
        Ok(())
    }

    /// Takes the time of departure out of an encoded packet, if there is one.
    ///
    /// # Errors
    ///
    /// [`TransportError::Short`] if `packet` has no header; [`TransportError::Time`] for a time that
    /// cannot be named.
    pub fn take_stamp(packet: &mut [u8]) -> Result<Option<Time>, TransportError> {
        let header = packet.get_mut(..HEADER_LEN).ok_or(TransportError::Short)?;
        if header[3] & (STAMPED | TAGGED) != STAMPED {
            return Ok(None);
        }
        let departure = long(header, TAG);
        header[3] &= !STAMPED;
        header[TAG..TAG + 8].fill(0);
        departure.checked_mul(1000).map(|ps| Some(Time::from_ps(ps))).ok_or(TransportError::Time)
    }

    /// Adds to the age of an encoded packet in place: time that the packet has waited below the node.
    ///
    /// # Errors
    ///
    /// [`TransportError::Short`] if `packet` has no header. `packet` is then unchanged.
    pub fn add_age(packet: &mut [u8], waited: Span) -> Result<(), TransportError> {
        let header = packet.get_mut(..HEADER_LEN).ok_or(TransportError::Short)?;
        let age = long(header, AGE).saturating_add(waited.as_ps() / 1000);
        header[AGE..].copy_from_slice(&age.to_be_bytes());
        Ok(())
    }
}
