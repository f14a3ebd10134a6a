//! Control requests of programs to the provider, for everything but sending and receiving, and the
//! responses.
//!
//! A request is one datagram of sixteen 64-bit words on a Unix socket that preserves message
//! boundaries, optionally with one file (memory); so is the response. The provider validates all
//! words and refuses an invalid request.

use crate::descriptor::MOST_BYTES;
use crate::error::ViRefusal;
use crate::layout::DEPTH;
pub use crate::state::{Reliability, State, ViFault};

/// Words of a request or a response.
pub(crate) const WORDS: usize = 16;

/// Maximum rate of a virtual interface in bytes per second.
const MOST_RATE: u64 = 1_000_000_000_000;

/// Maximum playout delay, in nanoseconds: one hour.
const MOST_PLAYOUT: u64 = 3_600_000_000_000;

/// Words of a datagram.
pub type Words = [u64; WORDS];

/// Address of a virtual interface: the adapter, and a number that two programs agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Adapter number in the network.
    pub host: u32,
    /// Number that distinguishes programs that wait at this adapter.
    pub discriminator: u64,
}

/// Bandwidth guarantee of a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bandwidth {
    /// Best effort.
    #[default]
    None,
    /// Constant rate, for messages of one size.
    Constant {
        /// The rate.
        bytes_per_second: u64,
        /// Message size in bytes.
        message: u64,
    },
    /// Variable rate: its mean is reserved, and a burst beyond it is queued.
    Variable {
        /// Mean rate.
        bytes_per_second: u64,
        /// Size of the largest message in bytes.
        message: u64,
    },
}

impl Bandwidth {
    /// Reserved rate and message size; `None` for best effort.
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

    /// `None` if the words are no bandwidth, or exceed the limits.
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

/// Attributes and limits of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The adapter's number in its network.
    pub host: u32,
    /// Number of adapters, which are numbered from 0.
    pub hosts: u32,
    /// Maximum number of virtual interfaces of a process.
    pub virtual_interfaces: u32,
    /// Maximum number of registrations of a process.
    pub registrations: u32,
    /// Maximum number of bytes that a process may register.
    pub registered_bytes: u64,
    /// Maximum number of descriptors of a queue that are posted and not complete.
    pub depth: u32,
    /// Maximum number of protection tags of a process.
    pub tags: u32,
    /// Maximum number of completion queues of a process.
    pub completion_queues: u32,
    /// Maximum size of a message in bytes; a longer one completes with a length error.
    pub longest: u64,
}

/// Request to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlRequest {
    /// Open the adapter; the response has the process's doorbells as a file, and the attributes.
    Open,
    /// Create a protection tag.
    CreateTag,
    /// Destroy a tag.
    DestroyTag(u32),
    /// Register memory, which is passed as a file.
    Register {
        /// Address of its first byte in the program.
        base: u64,
        /// Bytes.
        length: u64,
        /// Tag of the virtual interfaces that may access it.
        tag: u32,
        /// Whether RDMA may write to it.
        write: bool,
        /// Whether RDMA may read from it.
        read: bool,
    },
    /// Deregister memory.
    Deregister(u32),
    /// Create a virtual interface; the response has a file with its queues.
    CreateVi {
        /// Protection tag.
        tag: u32,
        /// Handling of a message that cannot be delivered.
        reliability: Reliability,
        /// Whether it accepts RDMA writes.
        write: bool,
        /// Whether it serves RDMA reads.
        read: bool,
        /// Bandwidth guarantee.
        bandwidth: Bandwidth,
        /// Completion queues for sent and received messages.
        queues: [Option<u32>; 2],
        /// Playout delay: minimum time from the doorbell to the completion here, in nanoseconds.
        playout: u64,
    },
    /// Destroy a virtual interface.
    DestroyVi(u32),
    /// Create a completion queue of this many entries; the response has a file.
    CreateQueue(u32),
    /// Destroy a completion queue.
    DestroyQueue(u32),
    /// Connect to a program that waits at an address.
    Connect {
        /// Virtual interface.
        vi: u32,
        /// Destination.
        to: Address,
        /// Discriminator of the caller.
        from: u64,
    },
    /// Fetch the next connection request for this discriminator.
    Await(u64),
    /// Accept a connection request.
    Accept {
        /// Number of the request.
        call: u64,
        /// Virtual interface of this side.
        vi: u32,
    },
    /// Reject a connection request.
    Reject(u64),
    /// End a connection.
    Disconnect(u32),
    /// Change the bandwidth of a virtual interface.
    Renegotiate(u32, Bandwidth),
    /// Change the access rights of memory.
    SetMemory {
        /// Memory handle.
        handle: u32,
        /// New tag.
        tag: u32,
        /// Whether RDMA may write to it.
        write: bool,
        /// Whether RDMA may read from it.
        read: bool,
    },
    /// Change the attributes of an idle virtual interface.
    SetVi {
        /// Virtual interface.
        vi: u32,
        /// New tag.
        tag: u32,
        /// Handling of a message that cannot be delivered.
        reliability: Reliability,
        /// Whether it accepts RDMA writes.
        write: bool,
        /// Whether it serves RDMA reads.
        read: bool,
        /// Bandwidth guarantee.
        bandwidth: Bandwidth,
        /// Playout delay: minimum time from the doorbell to the completion here, in nanoseconds.
        playout: u64,
    },
    /// Query the peer of a virtual interface; the response is [`Answer::Called`].
    Peer(u32),
}

const NO_QUEUE: u64 = u64::MAX;

impl ControlRequest {
    /// Request as the words of a datagram.
    pub fn to_words(self) -> Words {
        let mut words = [0; WORDS];
        let mut put = |values: &[u64]| words[..values.len()].copy_from_slice(values);
        match self {
            ControlRequest::Open => put(&[1]),
            ControlRequest::CreateTag => put(&[2]),
            ControlRequest::DestroyTag(tag) => put(&[3, tag.into()]),
            ControlRequest::Register { base, length, tag, write, read } => {
                put(&[4, base, length, tag.into(), write.into(), read.into()]);
            }
            ControlRequest::Deregister(handle) => put(&[5, handle.into()]),
            ControlRequest::CreateVi { tag, reliability, write, read, bandwidth, queues, playout } => {
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
            ControlRequest::DestroyVi(vi) => put(&[7, vi.into()]),
            ControlRequest::CreateQueue(entries) => put(&[8, entries.into()]),
            ControlRequest::DestroyQueue(queue) => put(&[9, queue.into()]),
            ControlRequest::Connect { vi, to, from } => {
                put(&[10, vi.into(), to.host.into(), to.discriminator, from]);
            }
            ControlRequest::Await(discriminator) => put(&[11, discriminator]),
            ControlRequest::Accept { call, vi } => put(&[12, call, vi.into()]),
            ControlRequest::Reject(call) => put(&[13, call]),
            ControlRequest::Disconnect(vi) => put(&[14, vi.into()]),
            ControlRequest::Renegotiate(vi, bandwidth) => {
                let [kind, rate, message] = bandwidth.to_words();
                put(&[15, vi.into(), kind, rate, message]);
            }
            ControlRequest::SetMemory { handle, tag, write, read } => {
                put(&[16, handle.into(), tag.into(), write.into(), read.into()]);
            }
            ControlRequest::SetVi { vi, tag, reliability, write, read, bandwidth, playout } => {
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
            ControlRequest::Peer(vi) => put(&[20, vi.into()]),
        }
        words
    }

    /// Request in the words of a datagram; `None` if they are invalid.
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
            1 => ControlRequest::Open,
            2 => ControlRequest::CreateTag,
            3 => ControlRequest::DestroyTag(small(1)?),
            4 => ControlRequest::Register {
                base: words[1],
                length: words[2],
                tag: small(3)?,
                write: flag(4)?,
                read: flag(5)?,
            },
            5 => ControlRequest::Deregister(small(1)?),
            6 => ControlRequest::CreateVi {
                tag: small(1)?,
                reliability: if flag(2)? { Reliability::Reliable } else { Reliability::Unreliable },
                write: flag(3)?,
                read: flag(4)?,
                bandwidth: Bandwidth::of([words[5], words[6], words[7]])?,
                queues: [queue(8)?, queue(9)?],
                playout: span(10)?,
            },
            7 => ControlRequest::DestroyVi(small(1)?),
            8 => ControlRequest::CreateQueue(small(1)?),
            9 => ControlRequest::DestroyQueue(small(1)?),
            10 => ControlRequest::Connect {
                vi: small(1)?,
                to: Address { host: small(2)?, discriminator: words[3] },
                from: words[4],
            },
            11 => ControlRequest::Await(words[1]),
            12 => ControlRequest::Accept { call: words[1], vi: small(2)? },
            13 => ControlRequest::Reject(words[1]),
            14 => ControlRequest::Disconnect(small(1)?),
            15 => ControlRequest::Renegotiate(small(1)?, Bandwidth::of([words[2], words[3], words[4]])?),
            16 => ControlRequest::SetMemory {
                handle: small(1)?,
                tag: small(2)?,
                write: flag(3)?,
                read: flag(4)?,
            },
            17 => ControlRequest::SetVi {
                vi: small(1)?,
                tag: small(2)?,
                reliability: if flag(3)? { Reliability::Reliable } else { Reliability::Unreliable },
                write: flag(4)?,
                read: flag(5)?,
                bandwidth: Bandwidth::of([words[6], words[7], words[8]])?,
                playout: span(9)?,
            },
            20 => ControlRequest::Peer(small(1)?),
            _ => return None,
        })
    }
}

/// Response of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The request is refused.
    Refused(ViRefusal),
    /// The request is done.
    Done,
    /// The request is done and created this number: a tag, a handle, a virtual interface or a
    /// completion queue.
    Made(u32),
    /// Attributes of the adapter.
    Opened(Attributes),
    /// A connection request.
    Called {
        /// Number of the request.
        call: u64,
        /// Address of the caller.
        from: Address,
        /// Bandwidth guarantee of the caller's virtual interface.
        bandwidth: Bandwidth,
    },
}

impl Answer {
    /// Response as the words of a datagram.
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

    /// Response in the words of a datagram; `None` if they are invalid.
    pub fn of(words: &Words) -> Option<Self> {
        let small = |place: usize| u32::try_from(words[place]).ok();
        Some(match words[0] {
            0 => Answer::Refused(ViRefusal::of(words[1])?),
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
