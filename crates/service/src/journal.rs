//! The log of a daemon: all inputs of its node, each with its time.
//!
//! The node is a function of its description and its inputs. A log with both repeats a run in virtual
//! time ([`replay`](crate::replay)). An input goes through a ring to a thread that writes, so a slow
//! disk delays no packet: if the ring is full, the log ends there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use laxity_node::Command;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port};
use laxity_signalling::quota::{Quota, Quotas};
use laxity_units::{Bytes, Span, Time};
use rtrb::{Consumer, Producer, RingBuffer};
use serde::{Deserialize, Serialize};

/// The first bytes of a log.
pub(crate) const MAGIC: &[u8] = b"laxity node log 2\n";
/// Inputs that may wait for the disk.
const RING: usize = 1 << 16;
/// From one look of the writer to the next.
const LOOK: Duration = Duration::from_millis(20);

/// The first record of a log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The version of the program.
    pub(crate) version: String,
    /// The life of the node.
    pub(crate) epoch: u32,
    /// The node file.
    pub(crate) text: String,
}

/// An input of the node; times in picoseconds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Input<'a> {
    /// A frame arrived from a neighbour, and was handled after that wait.
    Frame((u64, u64), u32, &'a [u8]),
    /// A program gave a command.
    Command(u64, u32, #[serde(borrow)] What<'a>),
    /// Something was due.
    Timeout(u64),
    /// The next frame for a link was asked for, and there was one with this hash.
    Sent(u64, u32, u64),
    /// A link has transmitted its frame.
    Free(u32),
    /// Neighbours towards other nodes.
    Routes(Vec<(u32, u32)>),
    /// Other quotas: of owners by number, and first of those without one of their own.
    Quotas((Limit, Vec<(u32, Limit)>)),
}

/// A channel: source, its life, and the number there.
type Name = (u32, u32, u32);
/// Largest and smallest message, interval and deadline in picoseconds, and burst.
type Numbers = [u64; 5];

/// A command.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum What<'a> {
    Listen(u32),
    Unlisten(u32),
    Open { owner: u32, port: u32, contract: Numbers, route: Vec<u32> },
    Change(Name, Numbers),
    Close(Name),
    Send(Name, &'a [u8]),
    Receive(u32),
    Datagram { to: u32, port: u32, payload: &'a [u8] },
    Renew,
}

/// The amounts of a quota.
type Limit = [u64; 4];

/// The limits of quotas.
pub(crate) fn limits(quotas: &Quotas) -> (Limit, Vec<(u32, Limit)>) {
    let (default, each) = quotas.limits();
    (default.amounts(), each.map(|(owner, quota)| (owner.0, quota.amounts())).collect())
}

/// The quotas with these limits.
pub(crate) fn quotas((default, each): (Limit, Vec<(u32, Limit)>)) -> Quotas {
    let mut quotas = Quotas::new(Quota::of(default));
    for (owner, limit) in each {
        quotas.set(Owner(owner), Quota::of(limit));
    }
    quotas
}

fn name(channel: GlobalChannelId) -> Name {
    (channel.node.0, channel.epoch.0, channel.local)
}

fn channel((node, epoch, local): Name) -> GlobalChannelId {
    GlobalChannelId { node: NodeId(node), epoch: Epoch(epoch), local }
}

fn numbers(contract: &ChannelContract) -> Numbers {
    let ChannelContract { max_message, min_message, min_interval, burst, deadline } = *contract;
    [max_message.get(), min_message.get(), min_interval.as_ps(), deadline.as_ps(), burst.into()]
}

fn contract([max_message, min_message, min_interval, deadline, burst]: Numbers) -> ChannelContract {
    ChannelContract {
        max_message: Bytes::new(max_message),
        min_message: Bytes::new(min_message),
        min_interval: Span::from_ps(min_interval),
        burst: burst as u32,
        deadline: Span::from_ps(deadline),
    }
}

impl<'a> What<'a> {
    /// A message.
    pub(crate) fn send(channel: GlobalChannelId, payload: &'a [u8]) -> Self {
        Self::Send(name(channel), payload)
    }
}

impl<'a> From<&'a Command> for What<'a> {
    fn from(command: &'a Command) -> Self {
        match command {
            Command::Listen(port) => Self::Listen(port.0),
            Command::Unlisten(port) => Self::Unlisten(port.0),
            Command::Open { owner, port, contract, route } => Self::Open {
                owner: owner.0,
                port: port.0,
                contract: numbers(contract),
                route: route.iter().map(|node| node.0).collect(),
            },
            Command::Change(channel, contract) => Self::Change(name(*channel), numbers(contract)),
            Command::Close(channel) => Self::Close(name(*channel)),
            Command::Send(channel, payload) => Self::Send(name(*channel), payload),
            Command::Receive(port) => Self::Receive(port.0),
            Command::Datagram { to, port, payload } => Self::Datagram { to: to.0, port: port.0, payload },
            Command::Renew => Self::Renew,
        }
    }
}

impl From<What<'_>> for Command {
    fn from(what: What<'_>) -> Self {
        match what {
            What::Listen(port) => Self::Listen(Port(port)),
            What::Unlisten(port) => Self::Unlisten(Port(port)),
            What::Open { owner, port, contract: of, route } => Self::Open {
                owner: Owner(owner),
                port: Port(port),
                contract: contract(of),
                route: route.into_iter().map(NodeId).collect(),
            },
            What::Change(name, of) => Self::Change(channel(name), contract(of)),
            What::Close(name) => Self::Close(channel(name)),
            What::Send(name, payload) => Self::Send(channel(name), payload.to_vec()),
            What::Receive(port) => Self::Receive(Port(port)),
            What::Datagram { to, port, payload } => {
                Self::Datagram { to: NodeId(to), port: Port(port), payload: payload.to_vec() }
            }
            What::Renew => Self::Renew,
        }
    }
}

/// The engine's end of a log.
pub(crate) struct Journal(Option<Producer<Vec<u8>>>);

impl Journal {
    /// No log.
    pub(crate) const OFF: Self = Self(None);

    /// Begins a log at `path`. That of the life before gets the ending `.1`: it may show why that life
    /// ended. The thread that writes ends with the journal.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn begin(path: &Path, epoch: Epoch, text: &str) -> io::Result<(Self, JoinHandle<()>)> {
        let mut before = path.as_os_str().to_owned();
        before.push(".1");
        match std::fs::rename(path, before) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        let mut file = BufWriter::new(File::create(path)?);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let head = Head { version, epoch: epoch.0, text: text.to_owned() };
        file.write_all(MAGIC)?;
        put(&mut file, &postcard::to_stdvec(&head).map_err(io::Error::other)?)?;
        file.flush()?;
        let (inputs, written) = RingBuffer::new(RING);
        let thread =
            thread::Builder::new().name("laxity-log".to_owned()).spawn(move || write(written, file))?;
        Ok((Self(Some(inputs)), thread))
    }

    /// Logs an input.
    #[inline]
    pub(crate) fn log<'a>(&mut self, input: impl FnOnce() -> Input<'a>) {
        let Some(inputs) = &mut self.0 else { return };
        let full = match postcard::to_stdvec(&input()) {
            Ok(bytes) => inputs.push(bytes).is_err(),
            Err(_) => true,
        };
        if full {
            // A log with a gap could not be replayed: it ends here.
            self.0 = None;
        }
    }

    /// The number of an instant.
    pub(crate) fn at(now: Time) -> u64 {
        now.as_ps()
    }
}

fn put(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(bytes)
}

/// Writes inputs until the engine's end is gone, or the disk is full.
fn write(mut inputs: Consumer<Vec<u8>>, mut file: BufWriter<File>) {
    loop {
        // In this order: what was put in before the end is written.
        let ended = inputs.is_abandoned();
        while let Ok(input) = inputs.pop() {
            if put(&mut file, &input).is_err() {
                return;
            }
        }
        if file.flush().is_err() || ended {
            return;
        }
        thread::park_timeout(LOOK);
    }
}

/// A hash of a frame (FNV-1a).
pub(crate) fn hash(frame: &[u8]) -> u64 {
    frame
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
