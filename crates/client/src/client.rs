//! The connection of a program to its daemon.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use laxity_vi::provider::Memory;

use crate::bell::Bell;
use crate::channel::Channel;
use crate::error::Error;
use crate::listener::Listener;
use crate::outbox::{self, OutboxSlot};
use crate::owner::Owner;
use crate::packed;
use crate::protocol::{
    ChannelName, Contract, FromDaemon, LONGEST, NodeStatus, ProgramRequest, Reply, VERSION,
};
use crate::ring::{RecordProducer, RingRecord};
use crate::socket::{self, ProgramSocket};

/// A connection to the local daemon. Clones share it; it ends with the last of them and of its
/// channels and listeners, and then the daemon closes the channels of the program.
#[derive(Debug, Clone)]
pub struct Client(pub(crate) Arc<Inner>);

/// A change of a program's channels that the program did not ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A channel to a listener of the program is established.
    Connected(ChannelName),
    /// A channel to a listener of the program is over.
    Ended(ChannelName),
    /// A channel of the program has another contract from its next message on: an administrator asked
    /// for it. [`Channel::contract`] is the new one.
    Changed(ChannelName),
    /// The daemon stops; all channels are over.
    Stopping,
}

type Waiting = BTreeMap<u32, Sender<(Reply, Vec<OwnedFd>)>>;

#[derive(Debug)]
pub(crate) struct Inner {
    owner: Owner,
    socket: ProgramSocket,
    /// The requests without an answer.
    waiting: Mutex<Waiting>,
    next: AtomicU32,
    lost: AtomicBool,
    outbox: Arc<Memory>,
    producer: Mutex<RecordProducer>,
    bell: Bell,
    events: Mutex<Receiver<Event>>,
    /// Contracts for which an administrator asked, by slot, and how many there were.
    contracts: Mutex<BTreeMap<u32, Contract>>,
    changes: AtomicU32,
    /// The name of the node.
    node: String,
    largest: u32,
    datagram: u32,
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Connects to the local daemon: at the path in `LAXITY_SOCKET`, or at the only socket in
    /// `/run/laxity`.
    ///
    /// # Errors
    /// No daemon runs, or several do.
    pub fn connect() -> Result<Self, Error> {
        Self::connect_to(&socket::local()?)
    }

    /// Connects to the daemon at `path`.
    ///
    /// # Errors
    /// No daemon listens there, or it speaks another version of the protocol.
    pub fn connect_to(path: &Path) -> Result<Self, Error> {
        let of =
            |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let owner = Owner::this()?;
        let socket = ProgramSocket::connect(path).map_err(of)?;
        let hello =
            postcard::to_stdvec(&(0_u32, ProgramRequest::Hello(VERSION))).map_err(|_| Error::Garbled)?;
        socket.send(&hello, &[])?;
        let mut buffer = Box::new([0; LONGEST]);
        let (length, files) = socket.receive(&mut buffer)?.ok_or(Error::Disconnected)?;
        let (node, largest, datagram) = match postcard::from_bytes(&buffer[..length]) {
            Ok(FromDaemon::Reply(_, Reply::Welcome { node, largest, datagram })) => (node, largest, datagram),
            Ok(FromDaemon::Reply(_, Reply::Failed(why))) => return Err(Error::Failed(why)),
            _ => return Err(Error::Garbled),
        };
        let [memory, bell] = <[OwnedFd; 2]>::try_from(files).map_err(|_| Error::Garbled)?;
        let outbox = Arc::new(Memory::map(&memory, outbox::BYTES)?);
        let producer = RecordProducer::new(&outbox, outbox::RING_AT, outbox::CAPACITY);
        let (tell, events) = channel();
        let inner = Arc::new(Inner {
            owner,
            socket,
            waiting: Mutex::default(),
            next: AtomicU32::new(1),
            lost: AtomicBool::new(false),
            outbox,
            producer: Mutex::new(producer),
            bell: Bell::of(bell),
            events: Mutex::new(events),
            contracts: Mutex::default(),
            changes: AtomicU32::new(0),
            node,
            largest,
            datagram,
        });
        let weak = Arc::downgrade(&inner);
        let reader = inner.socket.as_fd().try_clone_to_owned()?;
        std::thread::Builder::new()
            .name("laxity-client".to_owned())
            .spawn(move || read(&ProgramSocket::of(reader), &weak, &tell))?;
        Ok(Self(inner))
    }

    /// The largest message that the daemon takes, in bytes.
    pub fn largest_message(&self) -> u32 {
        self.0.largest
    }

    /// The largest datagram that the daemon takes, in bytes.
    pub fn largest_datagram(&self) -> u32 {
        self.0.datagram
    }

    /// The name of the node.
    pub fn node(&self) -> &str {
        &self.0.node
    }

    /// Listens at `name`, which every node of the network can find.
    ///
    /// # Errors
    /// The name is taken at this node, or too long.
    pub fn listen(&self, name: &str) -> Result<Listener, Error> {
        let (reply, files) = self.0.ask(ProgramRequest::Listen(name.to_owned()))?;
        let Reply::Listening(port) = reply else { return Err(self.0.unexpected(reply)) };
        Listener::new(&self.0, port, files)
    }

    /// Opens a channel to the receiver `to` with `contract`, and waits for the outcome.
    ///
    /// # Errors
    /// [`Error::Refused`] with the reason, if the network does not have what the contract needs.
    pub fn open(&self, to: &str, contract: Contract) -> Result<Channel, Error> {
        let (reply, _) = self.0.ask(ProgramRequest::Open { to: to.to_owned(), contract })?;
        match reply {
            Reply::Opened { slot, channel, route } => Channel::new(&self.0, slot, channel, route, contract),
            other => Err(self.0.unexpected(other)),
        }
    }

    /// Sends a best-effort datagram of one packet to the receiver at `address`, which
    /// [`resolve`](Self::resolve) finds. Datagrams have no guarantee, and full queues drop them.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Excess`] if the outbox is full; [`Error::Forked`].
    pub fn datagram(&self, address: (u32, u32), payload: &[u8]) -> Result<(), Error> {
        if payload.len() > self.0.datagram as usize {
            return Err(Error::Length);
        }
        self.0.check_owner()?;
        if self.datagrams(address, [payload]) == 1 { Ok(()) } else { Err(Error::Excess) }
    }

    /// Sends datagrams to one receiver: short ones share packets. Answers how many the outbox had
    /// room for, the first ones. It ends before one that is too long. A child of `fork` sends none.
    pub fn datagrams<'a>(
        &self,
        (node, port): (u32, u32),
        payloads: impl IntoIterator<Item = &'a [u8]>,
    ) -> usize {
        if !self.0.owner.is_here() {
            return 0;
        }
        let record = RingRecord { kind: outbox::DATAGRAM, words: [node.into(), port.into(), 0] };
        let most = self.0.datagram as usize + packed::FRONT;
        let mut pusher = self.0.pusher();
        let (mut bytes, mut pushed, mut packed) = (Vec::with_capacity(most), 0, 0);
        for payload in payloads {
            if !packed::add(&mut bytes, payload, most) {
                if packed == 0 || !pusher.push(record, &bytes) {
                    return pushed;
                }
                pushed += packed;
                packed = 0;
                bytes.clear();
                if !packed::add(&mut bytes, payload, most) {
                    return pushed;
                }
            }
            packed += 1;
        }
        if packed > 0 && pusher.push(record, &bytes) { pushed + packed } else { pushed }
    }

    /// Node and port of the receiver `name`.
    ///
    /// # Errors
    /// No node knows the name.
    pub fn resolve(&self, name: &str) -> Result<(u32, u32), Error> {
        match self.0.ask(ProgramRequest::Resolve(name.to_owned()))?.0 {
            Reply::Resolved(node, port) => Ok((node, port)),
            other => Err(self.0.unexpected(other)),
        }
    }

    /// The state of the node.
    ///
    /// # Errors
    /// The daemon ended.
    pub fn status(&self) -> Result<NodeStatus, Error> {
        let mut whole: Option<NodeStatus> = None;
        loop {
            let from = whole.as_ref().map_or(0, |status| status.rows.len() as u32);
            let Reply::Status(part) = self.0.ask(ProgramRequest::Status(from))?.0 else {
                return Err(Error::Garbled);
            };
            let done = part.rows.is_empty() || from as usize + part.rows.len() >= part.channels as usize;
            match &mut whole {
                None => whole = Some(*part),
                Some(status) => status.rows.extend(part.rows),
            }
            if let Some(status) = whole.take_if(|_| done) {
                return Ok(status);
            }
        }
    }

    /// Closes a channel of any program; the daemon permits it to its own user and to root.
    ///
    /// # Errors
    /// The channel does not begin at this node, or the user may not.
    pub fn delete(&self, channel: ChannelName) -> Result<(), Error> {
        match self.0.ask(ProgramRequest::Delete(channel))?.0 {
            Reply::Done => Ok(()),
            other => Err(self.0.unexpected(other)),
        }
    }

    /// Asks for another contract of a channel of any program, and waits for the outcome: the old one
    /// stays if it is refused. The daemon permits it to its own user and to root.
    ///
    /// # Errors
    /// [`Error::Refused`]; the channel does not begin at this node, or the user may not.
    pub fn renegotiate(&self, channel: ChannelName, contract: Contract) -> Result<(), Error> {
        match self.0.ask(ProgramRequest::Renegotiate(channel, contract))?.0 {
            Reply::Done => Ok(()),
            other => Err(self.0.unexpected(other)),
        }
    }

    /// The next event; `None` if none happens within `most`, and in a child of `fork`.
    pub fn event(&self, most: Duration) -> Option<Event> {
        self.0.check_owner().ok()?;
        guard(&self.0.events).recv_timeout(most).ok()
    }
}

impl Inner {
    /// Sends a request, and waits for its answer.
    pub(crate) fn ask(&self, request: ProgramRequest) -> Result<(Reply, Vec<OwnedFd>), Error> {
        self.check_owner()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let bytes = postcard::to_stdvec(&(number, request)).map_err(|_| Error::Garbled)?;
        let (send, answer) = channel();
        guard(&self.waiting).insert(number, send);
        if self.is_lost() {
            return Err(Error::Disconnected);
        }
        self.socket.send(&bytes, &[])?;
        answer.recv().map_err(|_| Error::Disconnected)
    }

    /// The error of an answer that is not the one hoped for.
    pub(crate) fn unexpected(&self, reply: Reply) -> Error {
        match reply {
            Reply::Failed(why) => Error::Failed(why),
            Reply::Refused(refusal) => Error::Refused(refusal),
            _ => Error::Garbled,
        }
    }

    /// Puts a record into the outbox; `None` if it is full. Whether the daemon slept.
    pub(crate) fn push(&self, record: RingRecord, payload: &[u8]) -> Option<bool> {
        let mut pusher = self.pusher();
        let pushed = pusher.push(record, payload);
        let slept = pusher.ring();
        pushed.then_some(slept)
    }

    fn pusher(&self) -> Pusher<'_> {
        Pusher { producer: guard(&self.producer), bell: &self.bell }
    }

    /// How often an administrator changed contracts: without a change no lock is taken.
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    /// The last contract of a slot for which an administrator asked.
    pub(crate) fn contract(&self, slot: u32) -> Option<Contract> {
        guard(&self.contracts).get(&slot).copied()
    }

    /// The program asks for another contract itself.
    pub(crate) fn forget_contract(&self, slot: u32) {
        guard(&self.contracts).remove(&slot);
    }

    pub(crate) fn slot(&self, number: u32) -> Result<OutboxSlot, Error> {
        OutboxSlot::of(&self.outbox, number).ok_or(Error::Garbled)
    }

    /// Checks that the calling process opened the connection: in a child of it the reader's thread is
    /// not there, and locks may be held for ever.
    ///
    /// # Errors
    /// [`Error::Forked`] in a child.
    pub(crate) fn check_owner(&self) -> Result<(), Error> {
        if self.owner.is_here() { Ok(()) } else { Err(Error::Forked) }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }
}

/// Puts records into the outbox, and rings once for all of them.
struct Pusher<'a> {
    producer: MutexGuard<'a, RecordProducer>,
    bell: &'a Bell,
}

impl Pusher<'_> {
    fn push(&mut self, record: RingRecord, payload: &[u8]) -> bool {
        self.producer.push(record, payload)
    }

    /// Whether the daemon slept.
    fn ring(&self) -> bool {
        self.bell.ring_if(self.producer.armed())
    }
}

impl Drop for Pusher<'_> {
    fn drop(&mut self) {
        // The bell of a daemon that is awake does not ring.
        self.ring();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.owner.is_here() {
            self.socket.close();
        }
    }
}

/// Reads the datagrams of the daemon until its end or that of the program's last handle.
fn read(socket: &ProgramSocket, inner: &std::sync::Weak<Inner>, tell: &Sender<Event>) {
    let mut buffer = Box::new([0; LONGEST]);
    while let Ok(Some((length, files))) = socket.receive(&mut buffer) {
        let Some(inner) = inner.upgrade() else { return };
        match postcard::from_bytes(&buffer[..length]) {
            Ok(FromDaemon::Reply(number, reply)) => {
                if let Reply::Opened { slot, .. } = reply {
                    guard(&inner.contracts).remove(&slot);
                }
                if let Some(answer) = guard(&inner.waiting).remove(&number) {
                    let _ = answer.send((reply, files));
                }
            }
            // The slot says so, which the daemon has written.
            Ok(FromDaemon::Lost(_)) => {}
            Ok(FromDaemon::Connected(_, channel)) => drop(tell.send(Event::Connected(channel))),
            Ok(FromDaemon::Ended(channel)) => drop(tell.send(Event::Ended(channel))),
            Ok(FromDaemon::Changed(slot, channel, contract)) => {
                guard(&inner.contracts).insert(slot, contract);
                inner.changes.fetch_add(1, Ordering::Release);
                let _ = tell.send(Event::Changed(channel));
            }
            Ok(FromDaemon::Stopping) => drop(tell.send(Event::Stopping)),
            Err(_) => break,
        }
    }
    if let Some(inner) = inner.upgrade() {
        inner.lost.store(true, Ordering::Release);
        guard(&inner.waiting).clear();
    }
}
