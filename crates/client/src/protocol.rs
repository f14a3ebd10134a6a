//! Requests of programs and answers of the daemon, each one datagram in postcard form.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Version of the protocol; the first request states it.
pub const VERSION: u32 = 4;
/// The longest datagram in bytes.
pub const LONGEST: usize = 64 * 1024;
/// The longest name of a receiver in bytes.
pub const LONGEST_NAME: usize = 64;

/// The traffic of a channel and its delay bound: a linear bounded arrival process (resource
/// management, section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// `M_max`: the largest message in bytes.
    pub max_message: u32,
    /// The smallest message in bytes, at least 1 and at most `max_message`.
    pub min_message: u32,
    /// `I_min`: the least average spacing of messages, in nanoseconds.
    pub interval_ns: u64,
    /// `B_max`: the longest burst in messages, at least 1.
    pub burst: u32,
    /// `D`: a message is delivered so long after its logical arrival, in nanoseconds.
    pub deadline_ns: u64,
}

impl Contract {
    /// One message of at most `size` bytes in each `interval`, delivered within `deadline`.
    pub fn periodic(size: u32, interval: Duration, deadline: Duration) -> Self {
        let nanoseconds = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self {
            max_message: size,
            min_message: 1,
            interval_ns: nanoseconds(interval),
            burst: 1,
            deadline_ns: nanoseconds(deadline),
        }
    }

    /// The same with a burst of `messages`.
    #[must_use]
    pub fn with_burst(self, messages: u32) -> Self {
        Self { burst: messages, ..self }
    }

    /// `I_min`.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_ns)
    }

    /// `D`.
    pub fn deadline(&self) -> Duration {
        Duration::from_nanos(self.deadline_ns)
    }
}

/// A channel, unique in the network: its source, the source's life, and a number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChannelName {
    /// The source.
    pub node: u32,
    /// The life of the source.
    pub epoch: u32,
    /// The number in that life.
    pub local: u32,
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, self.epoch, self.local)
    }
}

/// Why a contract is refused, and what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The node that refuses.
    pub node: String,
    /// The resource of which it has too little.
    pub resource: String,
    /// How much is missing, with its unit.
    pub missing: String,
    /// A contract that the node would accept.
    pub acceptable: Acceptable,
}

/// A contract that would be accepted in place of the refused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Acceptable {
    /// No change of the contract is known to help.
    Unknown,
    /// At least this deadline, in nanoseconds.
    Deadline(u64),
    /// At least this interval, in nanoseconds.
    Interval(u64),
    /// At most this burst, in messages.
    Burst(u32),
    /// The same contract at a later time.
    Later,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} has too little of: {}", self.node, self.resource)?;
        if !self.missing.is_empty() {
            write!(f, " ({} missing)", self.missing)?;
        }
        match self.acceptable {
            Acceptable::Unknown => Ok(()),
            Acceptable::Deadline(ns) => {
                write!(f, "; up to that node, a deadline of {} us would do", in_us(ns))
            }
            Acceptable::Interval(ns) => {
                write!(f, "; up to that node, an interval of {} us would do", in_us(ns))
            }
            Acceptable::Burst(messages) => write!(f, "; up to that node, a burst of {messages} would do"),
            Acceptable::Later => f.write_str("; it may do later"),
        }
    }
}

/// Nanoseconds as microseconds with all digits.
fn in_us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// A request of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramRequest {
    /// The first request: the version of the protocol.
    Hello(u32),
    /// Registers the program as the receiver `name`.
    Listen(String),
    /// Ends the receiver of that port.
    Unlisten(u32),
    /// Opens a channel to the receiver `to`.
    Open {
        /// The receiver.
        to: String,
        /// The contract.
        contract: Contract,
    },
    /// Asks for another contract of the channel in this slot.
    Change(u32, Contract),
    /// Closes the channel in this slot.
    Close(u32),
    /// Finds a receiver.
    Resolve(String),
    /// The state of the node, with the channels from this row on.
    Status(u32),
    /// Closes a channel of any program; for the administrator.
    Delete(ChannelName),
    /// Asks for another contract of a channel of any program; for the administrator.
    Renegotiate(ChannelName, Contract),
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Hello`: the name of the node. The files of the outbox and of its bell are attached.
    Welcome {
        /// The name of the node.
        node: String,
        /// The largest message in bytes.
        largest: u32,
        /// The largest datagram in bytes.
        datagram: u32,
    },
    /// Done.
    Done,
    /// To `Listen`: the port. The files of the ring and of its bell are attached.
    Listening(u32),
    /// To `Open`: the channel is established.
    Opened {
        /// The slot for messages.
        slot: u32,
        /// The channel.
        channel: ChannelName,
        /// The names of the nodes on the route, the ends included.
        route: Vec<String>,
    },
    /// To `Open`, `Change` and `Renegotiate`: refused.
    Refused(Refusal),
    /// To `Resolve`: node and port.
    Resolved(u32, u32),
    /// To `Status`.
    Status(Box<NodeStatus>),
    /// The request cannot be carried out; a sentence.
    Failed(String),
}

/// A datagram of the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromDaemon {
    /// The answer to the request of that number.
    Reply(u32, Reply),
    /// The channel in this slot broke: a node or a link on its route failed.
    Lost(u32),
    /// A channel to the receiver of that port is established.
    Connected(u32, ChannelName),
    /// A channel to a receiver of the program is over.
    Ended(ChannelName),
    /// The daemon stops.
    Stopping,
    /// The channel in this slot has another contract from the next message on, for which an
    /// administrator asked.
    Changed(u32, ChannelName, Contract),
}

/// Which end of a channel is at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// The source.
    Source,
    /// Neither.
    Relay,
    /// The destination.
    Destination,
    /// Both ends: the channel is within the node.
    Within,
}

impl Direction {
    /// Whether the messages of the channel are delivered at the node.
    pub fn is_destination(self) -> bool {
        matches!(self, Self::Destination | Self::Within)
    }
}

/// A channel at a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The channel.
    pub channel: ChannelName,
    /// Which end is here.
    pub direction: Direction,
    /// The name of the receiver, where it is known.
    pub name: String,
    /// The contract.
    pub contract: Contract,
    /// The local deadline, in nanoseconds.
    pub local_ns: u64,
    /// Messages: accepted at the source, delivered at the destination; packets at a relay.
    pub messages: u64,
    /// Messages beyond the contract, at the source.
    pub excess: u64,
    /// The longest delay: from end to end at the destination, else of a packet in this node.
    pub worst_ns: u64,
    /// Packets that left after their local deadline; at the destination, messages after theirs.
    pub missed: u64,
    /// Of them, those that a stop of the platform covers.
    pub attributed: u64,
    /// At the destination, messages that did not arrive, though one behind them did.
    pub lost: u64,
    /// When the counts begin, in nanoseconds since the start of the daemon.
    pub since_ns: u64,
}

/// The reservations of an owner of channels at a node, beside its quota.
///
/// Both have channels, bandwidth in bytes per second, buffers, and the processor in millionths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaShare {
    /// A tenant by its name, or a user by number.
    pub owner: String,
    /// The sums over its channels.
    pub used: [u64; 4],
    /// The limits; `None` for no limit.
    pub limit: [Option<u64>; 4],
}

/// The state of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The name.
    pub name: String,
    /// The number.
    pub id: u32,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Channels in all.
    pub channels: u32,
    /// The rows from the one asked for on; fewer than fit in a datagram if they are the last.
    pub rows: Vec<Row>,
    /// Neighbours: name, whether the session is up, and the reserved part of the link in millionths.
    pub links: Vec<(String, bool, u32)>,
    /// The reserved part of the processor of the real-time thread, in millionths.
    pub processor: u32,
    /// The time of the processor that the node file states for a packet, in nanoseconds.
    pub packet_ns: u64,
    /// Owners with channels, 64 at most.
    pub owners: Vec<QuotaShare>,
    /// Receivers that are known: name and node.
    pub names: Vec<(String, String)>,
    /// Counters by name.
    pub counters: Vec<(String, u64)>,
    /// The last stops of the platform, the newest first: begin, in nanoseconds since the start, and
    /// length in nanoseconds.
    pub stalls: Vec<(u64, u64)>,
    /// When the clock of the node began, in nanoseconds of `CLOCK_MONOTONIC` of its host.
    pub began_ns: u64,
    /// Clocks of neighbours: name, their clock less that of the node, and the bound of the error; both
    /// in nanoseconds. Without a bound a clock has stepped.
    pub clocks: Vec<(String, i64, Option<u64>)>,
}

impl NodeStatus {
    /// The time of the processor that a packet sent or received took on average, in nanoseconds;
    /// `None` before the first.
    pub fn packet_took_ns(&self) -> Option<u64> {
        let packets = self.counter("frames_received") + self.counter("frames_sent");
        (self.counter("work_us") * 1000).checked_div(packets)
    }

    /// A counter by its name; zero if there is none.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value)
    }
}
