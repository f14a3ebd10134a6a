//! The Unix socket between a program and the provider: datagrams with bounds, each with a file or none.

#![allow(unsafe_code, reason = "a file that comes with a datagram is a number until it is owned")]

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    accept4, bind, connect, listen, recvmsg, sendmsg, socket,
};

use crate::control::{WORDS, Words};

/// Bytes of a datagram.
const BYTES: usize = 8 * WORDS;
/// More files than any datagram has that is right; what comes beyond is closed.
const FILES: usize = 4;

/// One end of a connection.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// A datagram that came.
#[derive(Debug)]
pub struct Datagram {
    /// What it says.
    pub words: Words,
    /// The file that came with it.
    pub file: Option<OwnedFd>,
}

impl Socket {
    fn new(flags: SockFlag) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | flags;
        Ok(Self(socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?))
    }

    /// Connects to who listens at `path`.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let made = Self::new(SockFlag::empty())?;
        connect(made.0.as_raw_fd(), &UnixAddr::new(path)?)?;
        Ok(made)
    }

    /// Listens at `path`, which must not be there.
    pub fn listen(path: &Path) -> io::Result<Self> {
        let made = Self::new(SockFlag::SOCK_NONBLOCK)?;
        bind(made.0.as_raw_fd(), &UnixAddr::new(path)?)?;
        listen(&made.0, Backlog::new(64)?)?;
        Ok(made)
    }

    /// Who has connected, of one that listens; `None` if nobody has.
    pub fn accept(&self) -> io::Result<Option<Self>> {
        match accept4(self.0.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) {
            // SAFETY: the number is that of a file which the kernel has just opened for this call.
            Ok(accepted) => Ok(Some(Self(unsafe { OwnedFd::from_raw_fd(accepted) }))),
            Err(Errno::EAGAIN | Errno::ECONNABORTED | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends; an error if the other side takes nothing.
    pub fn send(&self, words: &Words, file: Option<&OwnedFd>) -> io::Result<()> {
        let mut bytes = [0; BYTES];
        for (word, bytes) in words.iter().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        let files = file.map(|file| [file.as_raw_fd()]);
        let control: Vec<ControlMessage<'_>> =
            files.iter().map(|files| ControlMessage::ScmRights(files)).collect();
        let parts = [IoSlice::new(&bytes)];
        loop {
            match sendmsg::<UnixAddr>(self.0.as_raw_fd(), &parts, &control, MsgFlags::MSG_NOSIGNAL, None) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether the other side is gone.
    pub fn has_hung_up(&self) -> bool {
        let mut asked = [PollFd::new(self.0.as_fd(), PollFlags::empty())];
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR;
        poll(&mut asked, PollTimeout::ZERO).is_ok()
            && asked[0].revents().is_some_and(|told| told.intersects(gone))
    }

    /// What has come: `None` if the other side has hung up. One that does not block answers with an error of the kind
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has.
    pub fn receive(&self) -> io::Result<Option<Datagram>> {
        let mut bytes = [0; BYTES];
        let mut space = nix::cmsg_space!([i32; FILES]);
        let (length, files) = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            match recvmsg::<UnixAddr>(self.0.as_raw_fd(), &mut parts, Some(&mut space), flags) {
                Ok(message) => {
                    let mut files = Vec::new();
                    for control in message.cmsgs().into_iter().flatten() {
                        if let ControlMessageOwned::ScmRights(numbers) = control {
                            // SAFETY: the kernel has just opened them for this call. Each is owned once, here.
                            files.extend(numbers.iter().map(|file| unsafe { OwnedFd::from_raw_fd(*file) }));
                        }
                    }
                    break (message.bytes, files);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        if length == 0 {
            return Ok(None);
        }
        // What is too short has zeros behind it, and so is no request.
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().expect("a chunk has eight bytes"));
        }
        if length != BYTES {
            words[0] = 0;
        }
        Ok(Some(Datagram { words, file: files.into_iter().next() }))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
