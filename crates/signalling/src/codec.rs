//! Messages as bytes.
//!
//! All numbers are big-endian. A message is a header and, by its kind, a body:
//!
//! ```text
//! offset size
//!  0     1    version of the format, 1
//!  1     1    kind
//!  2     2    length of the whole message in bytes
//!  4     4    node of the channel
//!  8     4    epoch of the channel
//! 12     4    local identity of the channel
//! 16     4    version of the contract
//! 20     4    sequence
//! 24          body
//! ```
//!
//! A list begins with its length in one byte. No list is longer than [`MOST_HOPS`], so no message
//! is longer than [`LONGEST`] and a decoder allocates two lists of [`MOST_HOPS`] entries at most. A
//! length is checked against the bytes that are there before anything is allocated. Every sequence
//! of bytes that decodes is what the decoded message encodes to.

use std::fmt;

use laxity_units::{Bytes, Span};

use crate::contract::ChannelContract;
use crate::division::{Division, Needs};
use crate::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Version};
use crate::message::{Ask, Body, ContractMessage, MOST_HOPS};
use crate::refusal::{Alternative, Denial, NodeResource, Shortage};

/// The longest message, in bytes: a request at the last node of the longest route.
pub const LONGEST: usize = HEADER + 36 + 4 + 4 + 1 + 4 + 8 + 8 + (1 + 4 * MOST_HOPS) + (1 + 16 * MOST_HOPS);

const HEADER: usize = 24;
const FORMAT: u8 = 1;

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// There are fewer bytes than the message has, or more.
    Length,
    /// The format is not version 1.
    Format,
    /// A kind of message, resource, division or answer that there is not.
    Word,
    /// A list is too long.
    List,
    /// A number is out of its range.
    Range,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the message is shorter or longer than its length says",
            Self::Format => "the format of the message is not version 1",
            Self::Word => "a kind in the message is not known",
            Self::List => "a list in the message is longer than a route",
            Self::Range => "a number in the message is out of range",
        })
    }
}

impl std::error::Error for Malformed {}

/// There is too little space for a message; how many bytes there would have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooShort(pub usize);

const RESOURCES: [NodeResource; 15] = [
    NodeResource::Link,
    NodeResource::Cpu,
    NodeResource::Messages,
    NodeResource::Packets,
    NodeResource::ReceivePlaces,
    NodeResource::Deadline,
    NodeResource::QuotaChannels,
    NodeResource::QuotaBandwidth,
    NodeResource::QuotaBuffers,
    NodeResource::QuotaCpu,
    NodeResource::Route,
    NodeResource::Entries,
    NodeResource::Answer,
    NodeResource::Agreement,
    NodeResource::Valid,
];

const DIVISIONS: [Division; 4] =
    [Division::Proportional, Division::Equal, Division::Slowest, Division::Alike];

/// Writes `message` to the beginning of `bytes`, and answers its length. Space of [`LONGEST`]
/// always suffices.
///
/// # Errors
/// The space is too short, or a list of the message is longer than a route, which no manager sends.
pub fn encode(message: &ContractMessage, bytes: &mut [u8]) -> Result<usize, TooShort> {
    let mut out = Writer { bytes, at: 0 };
    let GlobalChannelId { node, epoch, local } = message.channel;
    out.u8(FORMAT);
    out.u8(message.body.kind());
    out.u16(0);
    [node.0, epoch.0, local, message.version.0, message.sequence]
        .into_iter()
        .for_each(|number| out.u32(number));
    match &message.body {
        Body::Ask(ask) => put_ask(&mut out, ask),
        Body::Refresh { changing, life } => {
            out.u32(changing.map_or(0, |version| version.0));
            out.u32(life.0);
        }
        Body::Release { route } | Body::Released { route } => out.list(route, |out, node| out.u32(node.0)),
        Body::Commit { deadlines, life } => {
            out.u32(life.0);
            out.list(deadlines, |out, deadline| out.u64(deadline.as_ps()));
        }
        Body::Refuse { refused, beyond } => put_refusal(&mut out, refused, *beyond),
        Body::Refreshed | Body::Unknown | Body::Left => {}
    }
    let length = out.at;
    match u16::try_from(length) {
        Ok(short) if length <= bytes.len() && length <= LONGEST => {
            bytes[2..4].copy_from_slice(&short.to_be_bytes());
            Ok(length)
        }
        _ => Err(TooShort(length)),
    }
}

/// Reads the message that `bytes` are.
///
/// # Errors
/// The bytes are no message. Nothing is allocated beyond what the bytes hold.
pub fn decode(bytes: &[u8]) -> Result<ContractMessage, Malformed> {
    let mut from = Reader { bytes };
    if from.u8()? != FORMAT {
        return Err(Malformed::Format);
    }
    let kind = from.u8()?;
    if usize::from(from.u16()?) != bytes.len() || bytes.len() > LONGEST {
        return Err(Malformed::Length);
    }
    let (node, epoch) = (NodeId(from.u32()?), Epoch(from.u32()?));
    let channel = GlobalChannelId { node, epoch, local: from.u32()? };
    let (version, sequence) = (Version(from.u32()?), from.u32()?);
    let body = match kind {
        1 => Body::Ask(take_ask(&mut from)?),
        2 => Body::Refresh { changing: optional(from.u32()?), life: Epoch(from.u32()?) },
        3 => Body::Release { route: from.list(4, |from| Ok(NodeId(from.u32()?)))? },
        4 => Body::Commit { life: Epoch(from.u32()?), deadlines: from.list(8, Reader::span)? },
        5 => take_refusal(&mut from)?,
        6 => Body::Refreshed,
        7 => Body::Released { route: from.list(4, |from| Ok(NodeId(from.u32()?)))? },
        8 => Body::Unknown,
        9 => Body::Left,
        _ => return Err(Malformed::Word),
    };
    match from.bytes {
        [] => Ok(ContractMessage { channel, version, sequence, body }),
        _ => Err(Malformed::Length),
    }
}

/// The first of the messages that `bytes` are, by its length, and the bytes behind it. A length that
/// no message has takes all bytes.
pub fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let length = bytes.get(2..4).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])));
    if length < HEADER { (bytes, &[]) } else { bytes.split_at_checked(length).unwrap_or((bytes, &[])) }
}

/// Version 0 stands for none.
fn optional(version: u32) -> Option<Version> {
    (version > 0).then_some(Version(version))
}

fn put_ask(out: &mut Writer<'_>, ask: &Ask) {
    let ChannelContract { max_message, min_message, min_interval, burst, deadline } = ask.contract;
    [max_message.get(), min_message.get(), min_interval.as_ps()]
        .into_iter()
        .for_each(|number| out.u64(number));
    out.u32(burst);
    out.u64(deadline.as_ps());
    [ask.owner.0, ask.port.0].into_iter().for_each(|number| out.u32(number));
    out.u8(word(&DIVISIONS, &ask.division));
    out.u32(ask.current.map_or(0, |version| version.0));
    [ask.balance, ask.between].into_iter().for_each(|span| out.u64(span.as_ps()));
    out.list(&ask.route, |out, node| out.u32(node.0));
    out.list(&ask.hops, |out, needs| {
        out.u64(needs.least.as_ps());
        out.u64(needs.latest.as_ps());
    });
}

fn take_ask(from: &mut Reader<'_>) -> Result<Ask, Malformed> {
    let contract = ChannelContract {
        max_message: Bytes::new(from.u64()?),
        min_message: Bytes::new(from.u64()?),
        min_interval: from.span()?,
        burst: from.u32()?,
        deadline: from.span()?,
    };
    Ok(Ask {
        contract,
        owner: Owner(from.u32()?),
        port: Port(from.u32()?),
        division: from.word(&DIVISIONS)?,
        current: optional(from.u32()?),
        balance: from.span()?,
        between: from.span()?,
        route: from.list(4, |from| Ok(NodeId(from.u32()?)))?,
        hops: from.list(16, |from| Ok(Needs { least: from.span()?, latest: from.span()? }))?,
    })
}

fn put_refusal(out: &mut Writer<'_>, refused: &Denial, beyond: bool) {
    let Shortage { resource, missing, acceptable } = refused.shortage;
    out.u32(refused.node.0);
    out.u8(word(&RESOURCES, &resource));
    out.u64(missing);
    let (kind, value) = match acceptable {
        Alternative::Unknown => (0, 0),
        Alternative::Deadline(span) => (1, span.as_ps()),
        Alternative::Interval(span) => (2, span.as_ps()),
        Alternative::Burst(burst) => (3, u64::from(burst)),
        Alternative::Later => (4, 0),
    };
    out.u8(kind);
    out.u64(value);
    out.u8(u8::from(beyond));
}

fn take_refusal(from: &mut Reader<'_>) -> Result<Body, Malformed> {
    let node = NodeId(from.u32()?);
    let (resource, missing) = (from.word(&RESOURCES)?, from.u64()?);
    let acceptable = match (from.u8()?, from.u64()?) {
        (0, 0) => Alternative::Unknown,
        (1, ps) => Alternative::Deadline(Span::from_ps(ps)),
        (2, ps) => Alternative::Interval(Span::from_ps(ps)),
        (3, burst) => Alternative::Burst(u32::try_from(burst).map_err(|_| Malformed::Range)?),
        (4, 0) => Alternative::Later,
        (0 | 4, _) => return Err(Malformed::Range),
        _ => return Err(Malformed::Word),
    };
    let beyond = match from.u8()? {
        0 => false,
        1 => true,
        _ => return Err(Malformed::Range),
    };
    Ok(Body::Refuse {
        refused: Denial { node, shortage: Shortage { resource, missing, acceptable } },
        beyond,
    })
}

fn word<T: PartialEq>(words: &[T], of: &T) -> u8 {
    let at = words.iter().position(|word| word == of).expect("every word is listed");
    u8::try_from(at).expect("there are few words")
}

/// Writes as far as there is space, and counts on.
struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, number: &[u8]) {
        if let Some(space) = self.bytes.get_mut(self.at..self.at + number.len()) {
            space.copy_from_slice(number);
        }
        self.at += number.len();
    }

    fn u8(&mut self, number: u8) {
        self.put(&[number]);
    }

    fn u16(&mut self, number: u16) {
        self.put(&number.to_be_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.put(&number.to_be_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.put(&number.to_be_bytes());
    }

    fn list<T>(&mut self, list: &[T], put: impl Fn(&mut Self, &T)) {
        // A list that is too long makes the message longer than the longest, which `encode`
        // refuses.
        self.u8(u8::try_from(list.len()).unwrap_or(u8::MAX));
        list.iter().for_each(|entry| put(self, entry));
        if list.len() > MOST_HOPS {
            self.at += LONGEST;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, left) = self.bytes.split_first_chunk::<N>().ok_or(Malformed::Length)?;
        self.bytes = left;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.take::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_be_bytes)
    }

    fn span(&mut self) -> Result<Span, Malformed> {
        self.u64().map(Span::from_ps)
    }

    fn word<T: Copy>(&mut self, words: &[T]) -> Result<T, Malformed> {
        words.get(usize::from(self.u8()?)).copied().ok_or(Malformed::Word)
    }

    /// A list of entries of `size` bytes each.
    fn list<T>(
        &mut self,
        size: usize,
        entry: impl Fn(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = usize::from(self.u8()?);
        if length > MOST_HOPS {
            return Err(Malformed::List);
        }
        if self.bytes.len() < length * size {
            return Err(Malformed::Length);
        }
        (0..length).map(|_| entry(self)).collect()
    }
}
