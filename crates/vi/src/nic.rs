//! An adapter that a program has opened.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::completion::CompletionQueue;
use crate::control::{Address, Answer, Attributes, Bandwidth, Request};
use crate::doorbell::{Doorbell, Ringer};
use crate::error::{Error, Refusal};
use crate::layout::bells;
use crate::memory::Memory;
use crate::region::{Access, Region};
use crate::socket::Socket;
use crate::vi::{Vi, ViAttributes};
use crate::wait::{self, Patience};

/// The longest that anybody sleeps without looking whether the provider is there.
const LOOK: Duration = Duration::from_millis(100);
/// Turns in vain for room among the doorbells before a look whether anybody hears them.
const SPINS: u32 = 1 << 16;

/// The connection to the provider, which all that a program has of an adapter holds on to.
#[derive(Debug)]
pub(crate) struct Link {
    socket: Socket,
    /// Held from a request to its answer.
    asking: Mutex<()>,
    /// The provider is known to be gone.
    lost: AtomicBool,
    bells: Memory,
    ringer: Mutex<Ringer>,
    attributes: Attributes,
}

impl Link {
    /// Asks the provider, and waits for its answer.
    pub(crate) fn ask(
        &self,
        request: Request,
        file: Option<&OwnedFd>,
    ) -> Result<(Answer, Option<OwnedFd>), Error> {
        let _one = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = asked(&self.socket, request, file);
        if matches!(answer, Err(Error::Lost)) {
            self.lost.store(true, Ordering::Release);
        }
        answer
    }

    /// Whether the provider is known to be gone. Makes no system call, so that it is not known before somebody has
    /// [looked](Self::look).
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Looks whether the provider is gone.
    pub(crate) fn look(&self) -> bool {
        if !self.is_lost() && self.socket.has_hung_up() {
            self.lost.store(true, Ordering::Release);
        }
        self.is_lost()
    }

    /// Sleeps while `word` is `seen`, for `left` at the longest, and may come back sooner. Nobody changes a word when the provider dies, so
    /// nobody sleeps for long without looking whether it is there.
    pub(crate) fn sleep(&self, word: &AtomicU32, seen: u32, awaited: &AtomicU32, left: Option<Duration>) {
        wait::sleep(word, seen, awaited, left.unwrap_or(LOOK).min(LOOK));
        self.look();
    }

    /// The number of what was asked for.
    pub(crate) fn make(&self, request: Request) -> Result<(u32, Option<OwnedFd>), Error> {
        match self.ask(request, None)? {
            (Answer::Made(number), file) => Ok((number, file)),
            _ => Err(garbled()),
        }
    }

    /// Rings a doorbell, as soon as the provider has heard enough of the others; one that is gone hears nothing.
    pub(crate) fn ring(&self, doorbell: Doorbell) {
        let mut ringer = self.ringer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spins = 0_u32;
        while !ringer.ring(&self.bells, doorbell) {
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(SPINS) && self.look() {
                return;
            }
        }
    }
}

fn asked(
    socket: &Socket,
    request: Request,
    file: Option<&OwnedFd>,
) -> Result<(Answer, Option<OwnedFd>), Error> {
    socket.send(&request.to_words(), file)?;
    let datagram = socket.receive()?.ok_or(Error::Lost)?;
    match Answer::of(&datagram.words).ok_or_else(garbled)? {
        Answer::Refused(refusal) => Err(refusal.into()),
        answer => Ok((answer, datagram.file)),
    }
}

pub(crate) fn garbled() -> Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "the provider's answer means nothing").into()
}

/// A protection tag: what has it belongs together, and touches nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(pub(crate) u32);

impl Tag {
    /// The provider's number of it, which C programs have.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The tag of that number. One that is none is refused wherever it is used.
    pub fn numbered(number: u32) -> Self {
        Self(number)
    }
}

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
        let socket = Socket::connect(path.as_ref())?;
        let (Answer::Opened(attributes), Some(file)) = asked(&socket, Request::Open, None)? else {
            return Err(garbled());
        };
        let bells = Memory::map(&file, bells::LENGTH)?;
        let (asking, ringer) = (Mutex::new(()), Mutex::new(Ringer::new()));
        let lost = AtomicBool::new(false);
        Ok(Self { link: Arc::new(Link { socket, asking, lost, bells, ringer, attributes }) })
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
