//! The connection to a provider: what is asked of it and answered, doorbells rung, and whether it is there.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::control::{Answer, Attributes, Request};
use crate::doorbell::{Doorbell, Ringer};
use crate::error::Error;
use crate::layout::bells;
use crate::memory::Memory;
use crate::socket::Socket;
use crate::wait;

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
    pub(crate) bells: Memory,
    ringer: Mutex<Ringer>,
    pub(crate) attributes: Attributes,
}

impl Link {
    /// The connection to the provider that listens at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let socket = Socket::connect(path)?;
        let (Answer::Opened(attributes), Some(file)) = asked(&socket, Request::Open, None)? else {
            return Err(garbled());
        };
        let bells = Memory::map(&file, bells::LENGTH)?;
        let (asking, ringer) = (Mutex::new(()), Mutex::new(Ringer::new()));
        let lost = AtomicBool::new(false);
        Ok(Self { socket, asking, lost, bells, ringer, attributes })
    }

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
