//! What programs ask of the provider, which is everything but sending and receiving, and what it answers.
//!
//! A request is one datagram of sixteen words of 64 bits on a Unix socket that keeps their bounds, perhaps with one file (memory), and
//! is answered by one such. Words that are no request are refused; the provider takes nothing for granted that stands in them.

use crate::descriptor::MOST_BYTES;
use crate::error::Refusal;
use crate::layout::DEPTH;
pub use crate::state::{Fault, Reliability, State};

/// Words of a request or an answer.
pub(crate) const WORDS: usize = 16;

/// Bytes in a second that a virtual interface can have: a terabyte.
const MOST_RATE: u64 = 1_000_000_000_000;

/// Nanoseconds of a playout, at most: an hour.
const MOST_PLAYOUT: u64 = 3_600_000_000_000;

/// Words of a datagram.
pub type Words = [u64; WORDS];

/// Where a virtual interface is to be found: the adapter, and a number that two programs agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The adapter, by its number in the network.
    pub host: u32,
    /// What tells apart who waits there.
    pub discriminator: u64,
}

/// What a virtual interface is guaranteed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bandwidth {
    /// Nothing: best effort.
    #[default]
    None,
    /// A constant rate, for messages of one size.
    Constant {
        /// The rate.
        bytes_per_second: u64,
        /// Bytes of a message.
        message: u64,
    },
    /// A rate that varies: its mean is set aside, and what a burst has beyond it waits its turn.
    Variable {
        /// The mean.
        bytes_per_second: u64,
        /// Bytes of the largest message.
        message: u64,
    },
}

impl Bandwidth {
    /// Its rate and the message that it is counted by; `None` for best effort.
    pub fn reserved(self) -> Option<(u64, u64)> {
        match self {
            Bandwidth::None => None,
            Bandwidth::Constant { bytes_per_second, message }
            | Bandwidth::Variable { bytes_per_second, message } => Some((bytes_per_second, message)),
        }
    }

    fn to_words(self) -> [u64; 3] {
        match self {
            Bandwidth::None => [0, 0, 0],
            Bandwidth::Constant { bytes_per_second, message } => [1, bytes_per_second, message],
            Bandwidth::Variable { bytes_per_second, message } => [2, bytes_per_second, message],
        }
    }

    /// `None` for what is no bandwidth of any adapter: nothing, or more than a number of the provider's holds.
    fn of([kind, bytes_per_second, message]: [u64; 3]) -> Option<Self> {
        let right = (1..=MOST_RATE).contains(&bytes_per_second) && (1..=MOST_BYTES).contains(&message);
        match kind {
            0 => Some(Bandwidth::None),
            1 if right => Some(Bandwidth::Constant { bytes_per_second, message }),
            2 if right => Some(Bandwidth::Variable { bytes_per_second, message }),
            _ => None,
        }
    }
}

/// What the provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The adapter's number in its network.
    pub host: u32,
    /// How many adapters there are, numbered from 0.
    pub hosts: u32,
    /// Virtual interfaces that a process may have.
    pub virtual_interfaces: u32,
    /// Registrations that a process may have.
    pub registrations: u32,
    /// Bytes that a process may have registered.
    pub registered_bytes: u64,
    /// Descriptors of a queue that may be posted and not complete.
    pub depth: u32,
    /// Protection tags that a process may have.
    pub tags: u32,
    /// Completion queues that a process may have.
    pub completion_queues: u32,
    /// Bytes of a message that the adapter sends; a longer one completes with a length error.
    pub longest: u64,
}

/// What is asked of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The doorbells of this process, as a file, and what there is.
    Open,
    /// A protection tag.
    CreateTag,
    /// A tag is no longer needed.
    DestroyTag(u32),
    /// Memory, as a file.
    Register {
        /// The address of its first byte in the program.
        base: u64,
        /// Bytes.
        length: u64,
        /// Only virtual interfaces with this tag may touch it.
        tag: u32,
        /// Whether RDMA may write to it.
        write: bool,
        /// Whether RDMA may read from it.
        read: bool,
    },
    /// Memory is no longer to be touched.
    Deregister(u32),
    /// A virtual interface; answered with a file, its queues.
    CreateVi {
        /// Its tag.
        tag: u32,
        /// What happens to what cannot be delivered.
        reliability: Reliability,
        /// Whether it takes RDMA writes.
        write: bool,
        /// Whether it answers RDMA reads.
        read: bool,
        /// What it is guaranteed.
        bandwidth: Bandwidth,
        /// The completion queues of what it sends and receives.
        queues: [Option<u32>; 2],
        /// Nanoseconds after its doorbell before which a message is not seen here.
        playout: u64,
    },
    /// A virtual interface is no longer needed.
    DestroyVi(u32),
    /// A completion queue of so many entries; answered with a file.
    CreateQueue(u32),
    /// A completion queue is no longer needed.
    DestroyQueue(u32),
    /// A connection, to whoever waits at an address.
    Connect {
        /// The virtual interface.
        vi: u32,
        /// To where.
        to: Address,
        /// What the caller calls itself.
        from: u64,
    },
    /// The next who wants to be connected to this discriminator here.
    Await(u64),
    /// The connection that was asked for, with this virtual interface.
    Accept {
        /// Which.
        call: u64,
        /// The virtual interface of this side.
        vi: u32,
    },
    /// No such connection.
    Reject(u64),
    /// The end of a connection.
    Disconnect(u32),
    /// Another bandwidth for a virtual interface.
    Renegotiate(u32, Bandwidth),
    /// Memory is to be touched by others than before.
    SetMemory {
        /// Which.
        handle: u32,
        /// Its new tag.
        tag: u32,
        /// Whether RDMA may write to it.
        write: bool,
        /// Whether RDMA may read from it.
        read: bool,
    },
    /// A virtual interface that is idle is to be another.
    SetVi {
        /// Which.
        vi: u32,
        /// Its new tag.
        tag: u32,
        /// What happens to what cannot be delivered.
        reliability: Reliability,
        /// Whether it takes RDMA writes.
        write: bool,
        /// Whether it answers RDMA reads.
        read: bool,
        /// What it is guaranteed.
        bandwidth: Bandwidth,
        /// Nanoseconds after its doorbell before which a message is not seen here.
        playout: u64,
    },
    /// So many entries for a completion queue, in place of those that it has; answered with a file.
    ResizeQueue {
        /// Which.
        queue: u32,
        /// How many.
        entries: u32,
    },
    /// A connection with whoever asks for one with this side, too.
    ConnectPeer {
        /// The virtual interface.
        vi: u32,
        /// With whom.
        to: Address,
        /// What this side calls itself.
        from: u64,
    },
    /// To what a virtual interface is connected; answered as a call.
    Peer(u32),
}

const NO_QUEUE: u64 = u64::MAX;

impl Request {
    /// As the words of a datagram.
    pub fn to_words(self) -> Words {
        let mut words = [0; WORDS];
        let mut put = |values: &[u64]| words[..values.len()].copy_from_slice(values);
        match self {
            Request::Open => put(&[1]),
            Request::CreateTag => put(&[2]),
            Request::DestroyTag(tag) => put(&[3, tag.into()]),
            Request::Register { base, length, tag, write, read } => {
                put(&[4, base, length, tag.into(), write.into(), read.into()]);
            }
            Request::Deregister(handle) => put(&[5, handle.into()]),
            Request::CreateVi { tag, reliability, write, read, bandwidth, queues, playout } => {
                let [kind, rate, message] = bandwidth.to_words();
                let [send, receive] = queues.map(|queue| queue.map_or(NO_QUEUE, u64::from));
                let reliability = reliability as u64;
                put(&[
                    6,
                    tag.into(),
                    reliability,
                    write.into(),
                    read.into(),
                    kind,
                    rate,
                    message,
                    send,
                    receive,
                    playout,
                ]);
            }
            Request::DestroyVi(vi) => put(&[7, vi.into()]),
            Request::CreateQueue(entries) => put(&[8, entries.into()]),
            Request::DestroyQueue(queue) => put(&[9, queue.into()]),
            Request::Connect { vi, to, from } => {
                put(&[10, vi.into(), to.host.into(), to.discriminator, from]);
            }
            Request::Await(discriminator) => put(&[11, discriminator]),
            Request::Accept { call, vi } => put(&[12, call, vi.into()]),
            Request::Reject(call) => put(&[13, call]),
            Request::Disconnect(vi) => put(&[14, vi.into()]),
            Request::Renegotiate(vi, bandwidth) => {
                let [kind, rate, message] = bandwidth.to_words();
                put(&[15, vi.into(), kind, rate, message]);
            }
            Request::SetMemory { handle, tag, write, read } => {
                put(&[16, handle.into(), tag.into(), write.into(), read.into()]);
            }
            Request::SetVi { vi, tag, reliability, write, read, bandwidth, playout } => {
                let [kind, rate, message] = bandwidth.to_words();
                let reliability = reliability as u64;
                put(&[
                    17,
                    vi.into(),
                    tag.into(),
                    reliability,
                    write.into(),
                    read.into(),
                    kind,
                    rate,
                    message,
                    playout,
                ]);
            }
            Request::ResizeQueue { queue, entries } => put(&[18, queue.into(), entries.into()]),
            Request::ConnectPeer { vi, to, from } => {
                put(&[19, vi.into(), to.host.into(), to.discriminator, from]);
            }
            Request::Peer(vi) => put(&[20, vi.into()]),
        }
        words
    }

    /// What the words of a datagram say; `None` if that is no request.
    pub fn of(words: &Words) -> Option<Self> {
        let small = |place: usize| u32::try_from(words[place]).ok();
        let flag = |place: usize| match words[place] {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let span = |place: usize| Some(words[place]).filter(|span| *span <= MOST_PLAYOUT);
        let queue = |place: usize| match words[place] {
            NO_QUEUE => Some(None),
            _ => small(place).map(Some),
        };
        Some(match words[0] {
            1 => Request::Open,
            2 => Request::CreateTag,
            3 => Request::DestroyTag(small(1)?),
            4 => Request::Register {
                base: words[1],
                length: words[2],
                tag: small(3)?,
                write: flag(4)?,
                read: flag(5)?,
            },
            5 => Request::Deregister(small(1)?),
            6 => Request::CreateVi {
                tag: small(1)?,
                reliability: if flag(2)? { Reliability::Reliable } else { Reliability::Unreliable },
                write: flag(3)?,
                read: flag(4)?,
                bandwidth: Bandwidth::of([words[5], words[6], words[7]])?,
                queues: [queue(8)?, queue(9)?],
                playout: span(10)?,
            },
            7 => Request::DestroyVi(small(1)?),
            8 => Request::CreateQueue(small(1)?),
            9 => Request::DestroyQueue(small(1)?),
            10 => Request::Connect {
                vi: small(1)?,
                to: Address { host: small(2)?, discriminator: words[3] },
                from: words[4],
            },
            11 => Request::Await(words[1]),
            12 => Request::Accept { call: words[1], vi: small(2)? },
            13 => Request::Reject(words[1]),
            14 => Request::Disconnect(small(1)?),
            15 => Request::Renegotiate(small(1)?, Bandwidth::of([words[2], words[3], words[4]])?),
            16 => Request::SetMemory { handle: small(1)?, tag: small(2)?, write: flag(3)?, read: flag(4)? },
            17 => Request::SetVi {
                vi: small(1)?,
                tag: small(2)?,
                reliability: if flag(3)? { Reliability::Reliable } else { Reliability::Unreliable },
                write: flag(4)?,
                read: flag(5)?,
                bandwidth: Bandwidth::of([words[6], words[7], words[8]])?,
                playout: span(9)?,
            },
            18 => Request::ResizeQueue { queue: small(1)?, entries: small(2)? },
            19 => Request::ConnectPeer {
                vi: small(1)?,
                to: Address { host: small(2)?, discriminator: words[3] },
                from: words[4],
            },
            20 => Request::Peer(small(1)?),
            _ => return None,
        })
    }
}

/// What the provider answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It would not.
    Refused(Refusal),
    /// It is so.
    Done,
    /// It is so, and has this number: a tag, a handle, a virtual interface, a completion queue.
    Made(u32),
    /// What there is.
    Opened(Attributes),
    /// Somebody wants to be connected.
    Called {
        /// Which call.
        call: u64,
        /// Who.
        from: Address,
        /// What the caller's virtual interface is guaranteed.
        bandwidth: Bandwidth,
    },
}

impl Answer {
    /// As the words of a datagram.
    pub fn to_words(self) -> Words {
        let mut words = [0; WORDS];
        let mut put = |values: &[u64]| words[..values.len()].copy_from_slice(values);
        match self {
            Answer::Refused(refusal) => put(&[0, refusal as u64]),
            Answer::Done => put(&[1]),
            Answer::Made(number) => put(&[2, number.into()]),
            Answer::Opened(attributes) => {
                let Attributes { host, virtual_interfaces, registrations, .. } = attributes;
                let Attributes { registered_bytes, depth, tags, completion_queues, longest, hosts, .. } =
                    attributes;
                let [vis, registrations] = [virtual_interfaces.into(), registrations.into()];
                let made = [tags.into(), completion_queues.into()];
                let rest = [registered_bytes, depth.into(), made[0], made[1], longest, hosts.into()];
                put(&[3, host.into(), vis, registrations]);
                words[4..10].copy_from_slice(&rest);
            }
            Answer::Called { call, from, bandwidth } => {
                let [kind, rate, message] = bandwidth.to_words();
                put(&[4, call, from.host.into(), from.discriminator, kind, rate, message]);
            }
        }
        words
    }

    /// What the words of a datagram say; `None` if that is no answer.
    pub fn of(words: &Words) -> Option<Self> {
        let small = |place: usize| u32::try_from(words[place]).ok();
        Some(match words[0] {
            0 => Answer::Refused(Refusal::of(words[1])?),
            1 => Answer::Done,
            2 => Answer::Made(small(1)?),
            3 => Answer::Opened(Attributes {
                host: small(1)?,
                virtual_interfaces: small(2)?,
                registrations: small(3)?,
                registered_bytes: words[4],
                depth: small(5).filter(|depth| *depth == DEPTH)?,
                tags: small(6)?,
                completion_queues: small(7)?,
                longest: Some(words[8]).filter(|longest| *longest <= MOST_BYTES)?,
                hosts: small(9)?,
            }),
            4 => Answer::Called {
                call: words[1],
                from: Address { host: small(2)?, discriminator: words[3] },
                bandwidth: Bandwidth::of([words[4], words[5], words[6]])?,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
