//! The receiving end of channels.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use laxity_vi::provider::Memory;
use nix::poll::PollTimeout;

use crate::bell::{Bell, arm};
use crate::client::Inner;
use crate::error::Error;
use crate::packed::Packed;
use crate::protocol::{ChannelName, ProgramRequest};
use crate::ring::{self, RecordConsumer};

/// Bytes of the ring of a listener.
pub const CAPACITY: usize = 1 << 20;
/// Kind of a record: a message of a channel; words: node and epoch, local number and messages that were
/// lost before it, delay in nanoseconds.
pub const MESSAGE: u32 = 0;
/// Kind of a record: the datagrams of a packet.
pub const DATAGRAM: u32 = 1;
/// A sleep is at most so long, so that the end of the daemon is noticed.
const LOOK: u16 = 50;

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its channel; `None` for a datagram.
    pub channel: Option<ChannelName>,
    /// The bytes.
    pub payload: Vec<u8>,
    /// From the logical arrival at the source to the delivery, as the nodes on the route counted
    /// it; zero for a datagram.
    pub delay: Duration,
    /// Messages of the channel since the one before it that did not arrive.
    pub lost: u32,
}

/// The receiving end of all channels to a name. Dropping it ends them.
#[derive(Debug)]
pub struct Listener {
    inner: Arc<Inner>,
    port: u32,
    consumer: RecordConsumer,
    bell: Bell,
    /// The last sleep ended by a ring. It is forgotten before the next sleep, behind the message.
    rung: bool,
    /// Datagrams of the last packet.
    packed: Packed,
}

impl Listener {
    pub(crate) fn new(inner: &Arc<Inner>, port: u32, files: Vec<OwnedFd>) -> Result<Self, Error> {
        let [memory, bell] = <[OwnedFd; 2]>::try_from(files).map_err(|_| Error::Garbled)?;
        let memory = Arc::new(Memory::map(&memory, ring::bytes(CAPACITY))?);
        let consumer = RecordConsumer::new(&memory, 0, CAPACITY);
        let (bell, packed) = (Bell::of(bell), Packed::default());
        Ok(Self { inner: inner.clone(), port, consumer, bell, rung: false, packed })
    }

    /// The next message; waits for it.
    ///
    /// # Errors
    /// The daemon ended; [`Error::Forked`].
    pub fn recv(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.try_recv()? {
                return Ok(message);
            }
            self.sleep(PollTimeout::from(LOOK))?;
        }
    }

    /// The next message, if one arrives within `most`.
    ///
    /// # Errors
    /// The daemon ended; [`Error::Forked`].
    pub fn recv_timeout(&mut self, most: Duration) -> Result<Option<Message>, Error> {
        if let Some(message) = self.try_recv()? {
            return Ok(Some(message));
        }
        let mut left = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        while left > 0 {
            let part = left.min(LOOK.into());
            self.sleep(PollTimeout::from(part as u16))?;
            if let Some(message) = self.try_recv()? {
                return Ok(Some(message));
            }
            left -= part;
        }
        Ok(None)
    }

    /// The next message, if there is one.
    ///
    /// # Errors
    /// The daemon ended; [`Error::Forked`].
    pub fn try_recv(&mut self) -> Result<Option<Message>, Error> {
        self.inner.check_owner()?;
        loop {
            if let Some(payload) = self.packed.next() {
                return Ok(Some(Message { channel: None, payload, delay: Duration::ZERO, lost: 0 }));
            }
            let mut payload = Vec::new();
            let Some(record) = self.consumer.pop(&mut payload).map_err(|_| Error::Garbled)? else {
                return if self.inner.is_lost() { Err(Error::Disconnected) } else { Ok(None) };
            };
            if record.kind == MESSAGE {
                let [source, of, delay] = record.words;
                let name =
                    ChannelName { node: source as u32, epoch: (source >> 32) as u32, local: of as u32 };
                let (delay, lost) = (Duration::from_nanos(delay), (of >> 32) as u32);
                return Ok(Some(Message { channel: Some(name), payload, delay, lost }));
            }
            self.packed = Packed::new(payload);
        }
    }

    /// Asks for a ring of the file of [`as_fd`](AsFd::as_fd) at the next message, for an event
    /// loop; false if a message is there already, and in a child of `fork`. Call
    /// [`silence`](Self::silence) after each ring.
    pub fn arm(&mut self) -> bool {
        if self.inner.check_owner().is_err() {
            return false;
        }
        arm(self.consumer.armed());
        self.packed.is_empty() && self.consumer.is_empty()
    }

    /// Forgets the rings until now.
    pub fn silence(&self) {
        if self.inner.check_owner().is_ok() {
            self.bell.silence();
        }
    }

    fn sleep(&mut self, most: PollTimeout) -> Result<(), Error> {
        if self.inner.is_lost() {
            return Err(Error::Disconnected);
        }
        if std::mem::take(&mut self.rung) {
            self.bell.silence();
        }
        if self.arm() {
            self.rung = self.bell.sleep(most);
        }
        Ok(())
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if !self.inner.is_lost() {
            let _ = self.inner.ask(ProgramRequest::Unlisten(self.port));
        }
    }
}
