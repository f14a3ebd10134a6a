//! Adapter that a program has opened.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::completion::CompletionQueue;
use crate::control::{Address, Answer, Attributes, Bandwidth, ControlRequest};
use crate::error::{ViError, ViRefusal};
use crate::layout::bells;
use crate::link::{Link, garbled};
use crate::memory::Memory;
use crate::region::{Access, Region, RegionTag};
use crate::vi::{Vi, ViAttributes};
use crate::wait::Patience;

/// Connection request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivedConnection {
    call: u64,
    /// Address of the caller.
    pub from: Address,
    /// Bandwidth guarantee of the caller's virtual interface.
    pub bandwidth: Bandwidth,
}

/// Opened adapter. It closes when everything made with it is dropped.
#[derive(Debug, Clone)]
pub struct Nic {
    link: Arc<Link>,
}

impl Nic {
    /// Opens the adapter of the provider that listens at `path` (`VipOpenNic`).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ViError> {
        Ok(Self { link: Arc::new(Link::open(path.as_ref())?) })
    }

    /// Whether the provider is lost. Sleeping calls detect the loss themselves; a program that only
    /// polls calls this, which is a system call.
    pub fn is_lost(&self) -> bool {
        self.link.look()
    }

    /// Attributes of the adapter (`VipQueryNic`).
    pub fn attributes(&self) -> Attributes {
        self.link.attributes
    }

    /// Creates a protection tag (`VipCreatePtag`).
    pub fn create_tag(&self) -> Result<RegionTag, ViError> {
        self.link.make(ControlRequest::CreateTag).map(|(tag, _)| RegionTag(tag))
    }

    /// Destroys a tag (`VipDestroyPtag`); refused while it is in use.
    pub fn destroy_tag(&self, tag: RegionTag) -> Result<(), ViError> {
        self.link.ask(ControlRequest::DestroyTag(tag.0), None).map(drop)
    }

    /// Registers new memory of `length` bytes for virtual interfaces with `tag` (`VipRegisterMem`).
    pub fn register(&self, length: usize, tag: RegionTag, access: Access) -> Result<Region, ViError> {
        let (memory, file) = Memory::create("laxity-vi", length)?;
        let handle = self.register_file(&file, memory.base(), length as u64, tag, access)?;
        Ok(Region { link: self.link.clone(), memory, handle, length })
    }

    /// Registers existing memory of the program: its pages become shared and keep their contents.
    /// The address must be the start of a page. The returned handle, which descriptors use, must be
    /// [deregistered](Self::deregister).
    ///
    /// # Safety
    /// The pages are writable by the program, mapped privately, and no thread writes to them during
    /// the call. No reference into them may exist while another process changes them.
    #[allow(unsafe_code, reason = "it replaces pages of the program")]
    pub unsafe fn register_in_place(
        &self,
        address: *mut u8,
        length: usize,
        tag: RegionTag,
        access: Access,
    ) -> Result<u32, ViError> {
        if !address.addr().is_multiple_of(crate::memory::PAGE) || length == 0 {
            return Err(ViRefusal::InvalidParameter.into());
        }
        // SAFETY: the caller's contract.
        let file = unsafe { crate::memory::share_in_place(address, length)? };
        self.register_file(&file, address as u64, length as u64, tag, access)
    }

    /// Deregisters the memory of a handle (`VipDeregisterMem`).
    pub fn deregister(&self, handle: u32) -> Result<(), ViError> {
        self.link.ask(ControlRequest::Deregister(handle), None).map(drop)
    }

    /// Changes the tag and the RDMA access of the memory of a handle (`VipSetMemAttributes`).
    pub fn set_memory(&self, handle: u32, tag: RegionTag, access: Access) -> Result<(), ViError> {
        let Access { rdma_write: write, rdma_read: read } = access;
        self.link.ask(ControlRequest::SetMemory { handle, tag: tag.0, write, read }, None).map(drop)
    }

    /// Registers memory that is in `file` and lies at `base` in this process; returns its handle.
    pub(crate) fn register_file(
        &self,
        file: &OwnedFd,
        base: u64,
        length: u64,
        tag: RegionTag,
        access: Access,
    ) -> Result<u32, ViError> {
        let Access { rdma_write: write, rdma_read: read } = access;
        match self.link.ask(ControlRequest::Register { base, length, tag: tag.0, write, read }, Some(file))? {
            (Answer::Made(handle), _) => Ok(handle),
            _ => Err(garbled()),
        }
    }

    /// Creates a virtual interface (`VipCreateVi`). Refused with
    /// [`InvalidQos`](ViRefusal::InvalidQos) if the adapter's residual bandwidth is too low.
    pub fn create_vi(&self, attributes: &ViAttributes<'_>) -> Result<Vi, ViError> {
        Vi::create(&self.link, attributes)
    }

    /// Creates a completion queue of at least `entries` (`VipCreateCQ`).
    pub fn create_completion_queue(&self, entries: u32) -> Result<CompletionQueue, ViError> {
        CompletionQueue::create(&self.link, entries)
    }

    /// Waits for the next connection request to `discriminator` here (`VipConnectWait`).
    pub fn wait_connection(
        &self,
        discriminator: u64,
        most: Option<Duration>,
    ) -> Result<ArrivedConnection, ViError> {
        let patience = Patience::new(most);
        let calls = self.link.bells.word32(bells::CALLS);
        loop {
            let seen = calls.load(Ordering::Acquire);
            match self.link.ask(ControlRequest::Await(discriminator), None) {
                Ok((Answer::Called { call, from, bandwidth }, _)) => {
                    return Ok(ArrivedConnection { call, from, bandwidth });
                }
                Ok(_) => return Err(garbled()),
                Err(error) if error.is(ViRefusal::NotDone) => {}
                Err(error) => return Err(error),
            }
            let left = patience.left().ok_or(ViRefusal::Timeout)?;
            self.link.sleep(calls, seen, self.link.bells.word32(bells::CALLS_AWAITED), left);
        }
    }

    /// Accepts the connection with `vi` (`VipConnectAccept`).
    pub fn accept(&self, arrived: ArrivedConnection, vi: &Vi) -> Result<(), ViError> {
        self.link.ask(ControlRequest::Accept { call: arrived.call, vi: vi.id() }, None).map(drop)
    }

    /// Rejects the connection (`VipConnectReject`).
    pub fn reject(&self, arrived: ArrivedConnection) -> Result<(), ViError> {
        self.link.ask(ControlRequest::Reject(arrived.call), None).map(drop)
    }
}
