//! Connection to a provider: requests and responses, doorbells, and whether the provider is alive.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::control::{Answer, Attributes, ControlRequest};
use crate::doorbell::{Doorbell, Ringer};
use crate::error::ViError;
use crate::layout::bells;
use crate::memory::Memory;
use crate::socket::Socket;
use crate::wait;

/// Maximum sleep between two checks of whether the provider is alive.
const LOOK: Duration = Duration::from_millis(100);
/// Iterations on a full doorbell queue between two checks of whether the provider is alive.
const SPINS: u32 = 1 << 16;

/// Connection to the provider, which all objects of an adapter share.
#[derive(Debug)]
pub(crate) struct Link {
    socket: Socket,
    /// Held from a request to its response.
    asking: Mutex<()>,
    /// The provider is known to be lost.
    lost: AtomicBool,
    pub(crate) bells: Memory,
    ringer: Mutex<Ringer>,
    pub(crate) attributes: Attributes,
}

impl Link {
    pub(crate) fn open(path: &Path) -> Result<Self, ViError> {
        let socket = Socket::connect(path)?;
        let (Answer::Opened(attributes), Some(file)) = asked(&socket, ControlRequest::Open, None)? else {
            return Err(garbled());
        };
        let bells = Memory::map(&file, bells::LENGTH)?;
        let (asking, ringer) = (Mutex::new(()), Mutex::new(Ringer::new()));
        let lost = AtomicBool::new(false);
        Ok(Self { socket, asking, lost, bells, ringer, attributes })
    }

    /// Sends a request, and waits for the response.
    pub(crate) fn ask(
        &self,
        request: ControlRequest,
        file: Option<&OwnedFd>,
    ) -> Result<(Answer, Option<OwnedFd>), ViError> {
        let _one = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = asked(&self.socket, request, file);
        if matches!(answer, Err(ViError::Lost)) {
            self.lost.store(true, Ordering::Release);
        }
        answer
    }

    /// Whether the provider is known to be lost. Makes no system call: [`look`](Self::look) detects
    /// the loss.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(crate) fn look(&self) -> bool {
        if !self.is_lost() && self.socket.has_hung_up() {
            self.lost.store(true, Ordering::Release);
        }
        self.is_lost()
    }

    /// Sleeps while `word` is `seen`, for at most `left`; may return earlier. A provider that dies
    /// changes no word, so each sleep is short and followed by a check.
    pub(crate) fn sleep(&self, word: &AtomicU32, seen: u32, awaited: &AtomicU32, left: Option<Duration>) {
        wait::sleep(word, seen, awaited, left.unwrap_or(LOOK).min(LOOK));
        self.look();
    }

    /// Number of the object that the request creates.
    pub(crate) fn make(&self, request: ControlRequest) -> Result<(u32, Option<OwnedFd>), ViError> {
        match self.ask(request, None)? {
            (Answer::Made(number), file) => Ok((number, file)),
            _ => Err(garbled()),
        }
    }

    /// Rings a doorbell, as soon as the doorbell queue has a free entry; a lost provider drops it.
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
    request: ControlRequest,
    file: Option<&OwnedFd>,
) -> Result<(Answer, Option<OwnedFd>), ViError> {
    socket.send(&request.to_words(), file)?;
    let datagram = socket.receive()?.ok_or(ViError::Lost)?;
    match Answer::of(&datagram.words).ok_or_else(garbled)? {
        Answer::Refused(refusal) => Err(refusal.into()),
        answer => Ok((answer, datagram.file)),
    }
}

pub(crate) fn garbled() -> ViError {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "the provider's answer means nothing").into()
}
