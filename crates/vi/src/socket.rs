//! Unix socket between a program and the provider: datagrams with boundaries, each with at most one
//! file.

#![allow(unsafe_code, reason = "a file that comes with a datagram is a number until it is owned")]

use std::io::{self, IoSlice};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, accept4, bind, connect,
    getsockopt, listen, sendmsg, socket,
};

use crate::control::{WORDS, Words};

/// Bytes of a datagram.
const BYTES: usize = 8 * WORDS;
/// Maximum number of files that the kernel passes with one datagram (`SCM_MAX_FD`).
const MOST_FILES: usize = 253;
/// Words for one control message with [`MOST_FILES`], so that it is aligned as its header.
// SAFETY: `CMSG_SPACE` only calculates.
const CONTROL: usize =
    unsafe { libc::CMSG_SPACE((MOST_FILES * size_of::<libc::c_int>()) as u32) as usize }.div_ceil(8);

/// End of a connection.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// Received datagram.
#[derive(Debug)]
pub struct Datagram {
    /// Contents.
    pub words: Words,
    /// File received with it.
    pub file: Option<OwnedFd>,
}

impl Socket {
    fn new(flags: SockFlag) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | flags;
        Ok(Self(socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?))
    }

    /// Connects to the listener at `path`.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let made = Self::new(SockFlag::empty())?;
        connect(made.0.as_raw_fd(), &UnixAddr::new(path)?)?;
        Ok(made)
    }

    /// Listens at `path`, which must not exist.
    pub fn listen(path: &Path) -> io::Result<Self> {
        let made = Self::new(SockFlag::SOCK_NONBLOCK)?;
        bind(made.0.as_raw_fd(), &UnixAddr::new(path)?)?;
        listen(&made.0, Backlog::new(64)?)?;
        Ok(made)
    }

    /// Next connection of a listener; `None` if there is none.
    pub fn accept(&self) -> io::Result<Option<Self>> {
        match accept4(self.0.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) {
            // SAFETY: the kernel has just opened this file descriptor for this call.
            Ok(accepted) => Ok(Some(Self(unsafe { OwnedFd::from_raw_fd(accepted) }))),
            Err(Errno::EAGAIN | Errno::ECONNABORTED | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// User of the connected process, from the kernel (`SO_PEERCRED`).
    pub fn user(&self) -> io::Result<u32> {
        Ok(getsockopt(&self.0, PeerCredentials)?.uid())
    }

    /// Sends a datagram; an error if the peer does not accept it.
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

    /// Whether the peer has hung up.
    pub fn has_hung_up(&self) -> bool {
        let mut asked = [PollFd::new(self.0.as_fd(), PollFlags::empty())];
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR;
        poll(&mut asked, PollTimeout::ZERO).is_ok()
            && asked[0].revents().is_some_and(|told| told.intersects(gone))
    }

    /// Received datagram, or `None` if the peer has hung up. A non-blocking socket returns
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    ///
    /// A datagram of another length, with more than one file, or whose files could not be received
    /// is no request: its first word is 0, and its files are closed.
    pub fn receive(&self) -> io::Result<Option<Datagram>> {
        let mut bytes = [0_u8; BYTES];
        let mut control = [0_u64; CONTROL];
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: BYTES };
        // SAFETY: a message header may be all zeros: it then has no buffers.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        message.msg_control = control.as_mut_ptr().cast();
        let length = loop {
            message.msg_controllen = mem::size_of_val(&control) as _;
            // SAFETY: the message names buffers of the given lengths, which live through the call.
            let length =
                unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
            match Errno::result(length) {
                Ok(length) => break length as usize,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        // SAFETY: the kernel has just filled the message in.
        let mut files = unsafe { files_of(&message) };
        if length == 0 && files.is_empty() {
            return Ok(None);
        }
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().expect("a chunk has eight bytes"));
        }
        let is_cut = message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
        let file = files.pop();
        if length != BYTES || is_cut || !files.is_empty() {
            words[0] = 0;
            return Ok(Some(Datagram { words, file: None }));
        }
        Ok(Some(Datagram { words, file }))
    }
}

/// Files received with `message`, each owned. The kernel cuts the list at the process's limit of
/// open files; files opened up to then are in the list.
///
/// # Safety
/// The kernel has filled `message` in, and no file was taken from it before.
#[allow(clippy::unnecessary_cast, reason = "the type of a length is the C library's choice")]
unsafe fn files_of(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut files = Vec::new();
    // SAFETY: the control messages are the kernel's, within the given buffer.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: as above; the pointer is null behind the last.
    while let Some(header) = unsafe { next.as_ref() } {
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: the function only calculates.
            let bytes = header.cmsg_len as usize - unsafe { libc::CMSG_LEN(0) } as usize;
            // SAFETY: this many bytes follow the header.
            let numbers = unsafe { libc::CMSG_DATA(next) }.cast::<libc::c_int>();
            for place in 0..bytes / size_of::<libc::c_int>() {
                // SAFETY: the number lies among those bytes and is a file that the kernel has just
                // opened, without an owner.
                files.push(unsafe { OwnedFd::from_raw_fd(numbers.add(place).read_unaligned()) });
            }
        }
        // SAFETY: as for the first.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    files
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// Sends `words` with `files`, as a program without the library may.
    fn send_raw(to: &Socket, words: &[u64], files: &[libc::c_int]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let rights = [ControlMessage::ScmRights(files)];
        let control = if files.is_empty() { &rights[..0] } else { &rights[..] };
        sendmsg::<UnixAddr>(to.0.as_raw_fd(), &[IoSlice::new(&bytes)], control, MsgFlags::empty(), None)
            .unwrap();
    }

    fn pair() -> (Socket, Socket) {
        let flags = SockFlag::SOCK_CLOEXEC;
        let (a, b) =
            nix::sys::socket::socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags).unwrap();
        (Socket(a), Socket(b))
    }

    /// Number of descriptors of this process for the file `like`. Other tests open other files
    /// meanwhile.
    fn opened(like: &File) -> usize {
        let this = nix::sys::stat::fstat(like).unwrap();
        let same = |entry: io::Result<std::fs::DirEntry>| {
            let other = nix::sys::stat::stat(&entry.unwrap().path());
            other.is_ok_and(|other| (other.st_dev, other.st_ino) == (this.st_dev, this.st_ino))
        };
        std::fs::read_dir("/proc/self/fd").unwrap().map(same).filter(|same| *same).count()
    }

    #[test]
    fn every_file_that_comes_is_closed_whether_it_was_asked_for_or_not() {
        let (here, there) = pair();
        let file =
            File::from(nix::sys::memfd::memfd_create("test", nix::sys::memfd::MFdFlags::empty()).unwrap());
        let number = file.as_raw_fd();
        for count in 0..=MOST_FILES {
            send_raw(&here, &[1; WORDS], &vec![number; count]);
            let datagram = there.receive().unwrap().unwrap();
            assert_eq!(datagram.file.is_some(), count == 1, "{count}");
            assert_eq!(datagram.words[0], u64::from(count < 2), "{count}: {:?}", datagram.words);
            assert_eq!(opened(&file), 1 + usize::from(count == 1), "{count}");
        }
        // Datagrams of another length, or empty.
        for words in [&[1; WORDS - 1][..], &[1; WORDS + 1], &[]] {
            send_raw(&here, words, &[number; 7]);
            assert_eq!(there.receive().unwrap().unwrap().words[0], 0);
            assert_eq!(opened(&file), 1);
        }
        drop(here);
        assert!(there.receive().unwrap().is_none());
    }
}
