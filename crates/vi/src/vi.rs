//! Virtual interface, as seen by a program.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::completion::CompletionQueue;
use crate::control::{Address, Answer, Bandwidth, ControlRequest, Reliability, State, ViFault};
use crate::descriptor::{Completion, Descriptor};
use crate::doorbell::{Doorbell, Which};
use crate::error::{ViError, ViRefusal};
use crate::layout::queues;
use crate::link::{Link, garbled};
use crate::memory::Memory;
use crate::queue::Queue;
use crate::region::{Access, RegionTag};
use crate::sleeper::Sleeper;
use crate::wait::Patience;

/// Attributes of a virtual interface.
#[derive(Debug, Clone, Copy)]
pub struct ViAttributes<'a> {
    /// Tag of the memory that it accesses.
    pub tag: RegionTag,
    /// Bandwidth guarantee.
    pub bandwidth: Bandwidth,
    /// Handling of a message that cannot be delivered.
    pub reliability: Reliability,
    /// RDMA that it accepts from the peer.
    pub access: Access,
    /// Minimum time from the adapter's reading of the sender's doorbell to the completion here, at
    /// most an hour. If no message takes longer, all take exactly this time, whatever the load.
    /// Zero for no delay.
    pub playout: Duration,
    /// Completion queue for sent messages, besides the virtual interface itself.
    pub send_completions: Option<&'a CompletionQueue>,
    /// Completion queue for received messages.
    pub receive_completions: Option<&'a CompletionQueue>,
}

impl ViAttributes<'_> {
    /// Best effort, unreliable, without RDMA and completion queues.
    pub fn new(tag: RegionTag) -> Self {
        Self {
            tag,
            bandwidth: Bandwidth::None,
            reliability: Reliability::Unreliable,
            access: Access::default(),
            playout: Duration::ZERO,
            send_completions: None,
            receive_completions: None,
        }
    }
}

/// Virtual interface. Dropping it destroys it: posted descriptors no longer complete.
#[derive(Debug)]
pub struct Vi {
    link: Arc<Link>,
    id: u32,
    memory: Arc<Memory>,
    sends: Queue,
    receives: Queue,
}

impl Vi {
    pub(crate) fn create(link: &Arc<Link>, attributes: &ViAttributes<'_>) -> Result<Self, ViError> {
        let ViAttributes { send_completions, receive_completions, .. } = *attributes;
        let ViAttributes { tag, bandwidth, reliability, access, playout, .. } = *attributes;
        let (id, file) = link.make(ControlRequest::CreateVi {
            tag: tag.0,
            reliability,
            write: access.rdma_write,
            read: access.rdma_read,
            bandwidth,
            queues: [send_completions, receive_completions].map(|queue| queue.map(CompletionQueue::id)),
            playout: nanoseconds(playout),
        })?;
        let memory = Arc::new(Memory::map(&file.ok_or_else(garbled)?, queues::LENGTH)?);
        let (sends, receives) = (Queue::new(Which::Send), Queue::new(Which::Receive));
        Ok(Self { link: link.clone(), id, memory, sends, receives })
    }

    /// Number in completion queues.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// State (`VipQueryVi`).
    pub fn state(&self) -> State {
        match self.link.is_lost() {
            true => State::Error,
            false => State::of(self.memory.word32(queues::STATE).load(Ordering::Acquire)),
        }
    }

    /// Cause, if it is broken.
    pub fn fault(&self) -> Option<ViFault> {
        match self.link.is_lost() {
            true => Some(ViFault::Catastrophic),
            false => ViFault::of(self.memory.word32(queues::STATE).load(Ordering::Acquire)),
        }
    }

    /// Handle with which another thread sleeps until a descriptor of a queue is complete.
    pub fn sleeper(&self, which: Which) -> Sleeper {
        let words = (queues::COMPLETED[which as usize], queues::AWAITED[which as usize]);
        Sleeper::new(&self.link, &self.memory, words)
    }

    /// Descriptors that are posted and not reaped: to send, and to receive.
    pub fn outstanding(&self) -> (u32, u32) {
        (self.sends.outstanding(), self.receives.outstanding())
    }

    /// Connects to a program that waits at `to` (`VipConnectRequest`), and waits for the
    /// connection.
    pub fn connect(&mut self, to: Address, most: Option<Duration>) -> Result<(), ViError> {
        self.link.ask(ControlRequest::Connect { vi: self.id, to, from: u64::from(self.id) }, None)?;
        self.wait_connected(most)
    }

    /// Waits until a requested connection exists (`VipConnectPeerWait`); withdraws the request
    /// after `most`.
    fn wait_connected(&mut self, most: Option<Duration>) -> Result<(), ViError> {
        let patience = Patience::new(most);
        let word = self.memory.word32(queues::STATE);
        loop {
            let seen = word.load(Ordering::Acquire);
            if self.link.is_lost() {
                return Err(ViError::Lost);
            }
            match State::of(seen) {
                State::Connected => return Ok(()),
                State::Pending => {}
                State::Idle => return Err(ViRefusal::Reject.into()),
                State::Error => return Err(ViRefusal::InvalidState.into()),
            }
            let Some(left) = patience.left() else {
                // The provider decides: the request may have been accepted just now.
                self.link.ask(ControlRequest::Disconnect(self.id), None)?;
                return Err(ViRefusal::Timeout.into());
            };
            self.link.sleep(word, seen, self.memory.word32(queues::STATE_AWAITED), left);
        }
    }

    /// Address and bandwidth guarantee of the peer.
    pub fn peer(&self) -> Result<(Address, Bandwidth), ViError> {
        match self.link.ask(ControlRequest::Peer(self.id), None)? {
            (Answer::Called { from, bandwidth, .. }, _) => Ok((from, bandwidth)),
            _ => Err(garbled()),
        }
    }

    /// Changes the attributes while idle (`VipSetViAttributes`). Its completion queues stay.
    pub fn set(&mut self, attributes: &ViAttributes<'_>) -> Result<(), ViError> {
        let ViAttributes { tag, bandwidth, reliability, access, playout, .. } = *attributes;
        let (Access { rdma_write: write, rdma_read: read }, playout) = (access, nanoseconds(playout));
        let request =
            ControlRequest::SetVi { vi: self.id, tag: tag.0, reliability, write, read, bandwidth, playout };
        self.link.ask(request, None).map(drop)
    }

    /// Ends the connection (`VipDisconnect`): posted descriptors complete as flushed on both sides.
    pub fn disconnect(&mut self) -> Result<(), ViError> {
        self.link.ask(ControlRequest::Disconnect(self.id), None).map(drop)
    }

    /// Requests another bandwidth; consumption under the old one still counts.
    pub fn renegotiate(&mut self, bandwidth: Bandwidth) -> Result<(), ViError> {
        self.link.ask(ControlRequest::Renegotiate(self.id, bandwidth), None).map(drop)
    }

    /// Posts a send descriptor and rings the doorbell (`VipPostSend`).
    pub fn post_send(&mut self, descriptor: &Descriptor<'_>) -> Result<(), ViError> {
        self.post_sends(std::slice::from_ref(descriptor))
    }

    /// Posts a chain of send descriptors with one doorbell: all, or none if they do not fit.
    pub fn post_sends(&mut self, chain: &[Descriptor<'_>]) -> Result<(), ViError> {
        self.sends.write(&self.memory, chain)?;
        let count = self.ring(Which::Send, chain);
        self.sends.posted(count);
        Ok(())
    }

    /// Posts a receive descriptor (`VipPostRecv`).
    pub fn post_receive(&mut self, descriptor: &Descriptor<'_>) -> Result<(), ViError> {
        self.post_receives(std::slice::from_ref(descriptor))
    }

    /// Posts a chain of receive descriptors with one doorbell: all, or none if they do not fit.
    pub fn post_receives(&mut self, chain: &[Descriptor<'_>]) -> Result<(), ViError> {
        self.receives.write(&self.memory, chain)?;
        let count = self.ring(Which::Receive, chain);
        self.receives.posted(count);
        Ok(())
    }

    fn ring(&self, queue: Which, chain: &[Descriptor<'_>]) -> u32 {
        // At most the depth of a queue, which 16 bits hold.
        let count = chain.len() as u16;
        if count > 0 {
            self.link.ring(Doorbell { vi: self.id, queue, count });
        }
        u32::from(count)
    }

    /// Completion of the oldest send descriptor, if complete (`VipSendDone`). Makes no system call.
    #[inline]
    pub fn poll_send(&mut self) -> Option<Completion> {
        self.sends.poll(&self.memory, &self.link)
    }

    /// Completion of the oldest receive descriptor, if complete (`VipRecvDone`). Makes no system
    /// call.
    #[inline]
    pub fn poll_receive(&mut self) -> Option<Completion> {
        self.receives.poll(&self.memory, &self.link)
    }

    /// Sleeps until the oldest send descriptor is complete (`VipSendWait`).
    pub fn wait_send(&mut self, most: Option<Duration>) -> Result<Completion, ViError> {
        self.sends.wait(&self.memory, &self.link, most)
    }

    /// Sleeps until the oldest receive descriptor is complete (`VipRecvWait`).
    pub fn wait_receive(&mut self, most: Option<Duration>) -> Result<Completion, ViError> {
        self.receives.wait(&self.memory, &self.link, most)
    }
}

/// Playout delay in nanoseconds; the provider refuses values over its limit.
fn nanoseconds(playout: Duration) -> u64 {
    u64::try_from(playout.as_nanos()).unwrap_or(u64::MAX)
}

impl Drop for Vi {
    fn drop(&mut self) {
        // A lost provider has no such virtual interface.
        let _ = self.link.ask(ControlRequest::DestroyVi(self.id), None);
    }
}
