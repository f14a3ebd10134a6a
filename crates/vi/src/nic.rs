//! An adapter that a program has opened.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::completion::CompletionQueue;
use crate::control::{Address, Answer, Attributes, Bandwidth, Request};
use crate::error::{Error, Refusal};
use crate::layout::bells;
use crate::link::{Link, garbled};
use crate::memory::Memory;
use crate::region::{Access, Region, Tag};
use crate::vi::{Vi, ViAttributes};
use crate::wait::Patience;

/// Somebody who wants to be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    call: u64,
    /// Who.
    pub from: Address,
    /// What the virtual interface there is guaranteed.
    pub bandwidth: Bandwidth,
}

/// An adapter that this program has opened. It closes when everything made with it is dropped.
#[derive(Debug, Clone)]
pub struct Nic {
    link: Arc<Link>,
}

impl Nic {
    /// Opens the adapter whose provider listens at `path` (`VipOpenNic`).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { link: Arc::new(Link::open(path.as_ref())?) })
    }

    /// Whether the provider is gone. Who sleeps finds that out; who only polls asks for it here, which takes a system call.
    pub fn is_lost(&self) -> bool {
        self.link.look()
    }

    /// What it has (`VipQueryNic`).
    pub fn attributes(&self) -> Attributes {
        self.link.attributes
    }

    /// A protection tag (`VipCreatePtag`).
    pub fn create_tag(&self) -> Result<Tag, Error> {
        self.link.make(Request::CreateTag).map(|(tag, _)| Tag(tag))
    }

    /// A tag is no longer needed (`VipDestroyPtag`); refused while something has it.
    pub fn destroy_tag(&self, tag: Tag) -> Result<(), Error> {
        self.link.ask(Request::DestroyTag(tag.0), None).map(drop)
    }

    /// Memory of `length` bytes for virtual interfaces with `tag` (`VipRegisterMem`).
    pub fn register(&self, length: usize, tag: Tag, access: Access) -> Result<Region, Error> {
        let (memory, file) = Memory::create("laxity-vi", length)?;
        let handle = self.register_file(&file, memory.base(), length as u64, tag, access)?;
        Ok(Region { link: self.link.clone(), memory, handle, length })
    }

    /// Registers memory that the program has already: its pages are shared from now on, with what is in them. The handle that descriptors
    /// name it by is to be [deregistered](Self::deregister). The address must be that of a page.
    ///
    /// # Safety
    /// The pages are the program's to write to, are mapped privately, and nobody writes to them during the call. References into them
    /// are none to what another process changes.
    #[allow(unsafe_code, reason = "it replaces pages of the program")]
    pub unsafe fn register_in_place(
        &self,
        address: *mut u8,
        length: usize,
        tag: Tag,
        access: Access,
    ) -> Result<u32, Error> {
        if !address.addr().is_multiple_of(crate::memory::PAGE) || length == 0 {
            return Err(Refusal::InvalidParameter.into());
        }
        // SAFETY: as the caller vouches.
        let file = unsafe { crate::memory::share_in_place(address, length)? };
        self.register_file(&file, address as u64, length as u64, tag, access)
    }

    /// The adapter touches memory of that handle no longer (`VipDeregisterMem`).
    pub fn deregister(&self, handle: u32) -> Result<(), Error> {
        self.link.ask(Request::Deregister(handle), None).map(drop)
    }

    /// Memory of that handle is to be touched by virtual interfaces with `tag`, and by RDMA as `access` says (`VipSetMemAttributes`).
    pub fn set_memory(&self, handle: u32, tag: Tag, access: Access) -> Result<(), Error> {
        let Access { rdma_write: write, rdma_read: read } = access;
        self.link.ask(Request::SetMemory { handle, tag: tag.0, write, read }, None).map(drop)
    }

    /// The handle of memory that is in `file`, and lies at `base` in this process.
    pub(crate) fn register_file(
        &self,
        file: &OwnedFd,
        base: u64,
        length: u64,
        tag: Tag,
        access: Access,
    ) -> Result<u32, Error> {
        let Access { rdma_write: write, rdma_read: read } = access;
        match self.link.ask(Request::Register { base, length, tag: tag.0, write, read }, Some(file))? {
            (Answer::Made(handle), _) => Ok(handle),
            _ => Err(garbled()),
        }
    }

    /// A virtual interface (`VipCreateVi`). Refused for [`InvalidQos`](Refusal::InvalidQos) if the adapter has not so much bandwidth left.
    pub fn create_vi(&self, attributes: &ViAttributes<'_>) -> Result<Vi, Error> {
        Vi::create(&self.link, attributes)
    }

    /// A completion queue of `entries` (`VipCreateCQ`).
    pub fn create_completion_queue(&self, entries: u32) -> Result<CompletionQueue, Error> {
        CompletionQueue::create(&self.link, entries)
    }

    /// The next who wants to be connected to `discriminator` here (`VipConnectWait`).
    pub fn wait_connection(&self, discriminator: u64, most: Option<Duration>) -> Result<Arrived, Error> {
        let patience = Patience::new(most);
        let calls = self.link.bells.word32(bells::CALLS);
        loop {
            let seen = calls.load(Ordering::Acquire);
            match self.link.ask(Request::Await(discriminator), None) {
                Ok((Answer::Called { call, from, bandwidth }, _)) => {
                    return Ok(Arrived { call, from, bandwidth });
                }
                Ok(_) => return Err(garbled()),
                Err(error) if error.is(Refusal::NotDone) => {}
                Err(error) => return Err(error),
            }
            let left = patience.left().ok_or(Refusal::Timeout)?;
            self.link.sleep(calls, seen, self.link.bells.word32(bells::CALLS_AWAITED), left);
        }
    }

    /// Connects `vi` to who has called (`VipConnectAccept`).
    pub fn accept(&self, arrived: Arrived, vi: &Vi) -> Result<(), Error> {
        self.link.ask(Request::Accept { call: arrived.call, vi: vi.id() }, None).map(drop)
    }

    /// Tells who has called that there will be no connection (`VipConnectReject`).
    pub fn reject(&self, arrived: Arrived) -> Result<(), Error> {
        self.link.ask(Request::Reject(arrived.call), None).map(drop)
    }
}
