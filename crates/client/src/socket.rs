//! Sequenced datagrams over a Unix socket, with files.

#![allow(unsafe_code, reason = "files from the kernel are taken into ownership")]

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    accept4, bind, connect, getsockopt, listen, recvmsg, sendmsg, shutdown, socket, sockopt,
};

use crate::protocol::LONGEST;

/// Where daemons listen, `NODE.sock` each.
pub const DIRECTORY: &str = "/run/laxity";
/// The variable with the path of the socket.
pub const VARIABLE: &str = "LAXITY_SOCKET";
/// Files with one datagram at most.
const FILES: usize = 2;

/// A connection, or a listener.
#[derive(Debug)]
pub struct ProgramSocket(OwnedFd);

/// User, group and process at the other end, from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Process.
    pub pid: i32,
}

impl ProgramSocket {
    /// A socket of this process.
    pub fn of(file: OwnedFd) -> Self {
        Self(file)
    }

    /// Connects to the daemon at `path`.
    ///
    /// # Errors
    /// No daemon listens there, or the user has no access.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let made = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
        connect(made.as_raw_fd(), &UnixAddr::new(path)?)?;
        Ok(Self(made))
    }

    /// Listens at `path`, which must not exist. The socket does not block.
    ///
    /// # Errors
    /// The path exists or cannot be made.
    pub fn listen(path: &Path) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let made = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
        bind(made.as_raw_fd(), &UnixAddr::new(path)?)?;
        listen(&made, Backlog::new(64)?)?;
        Ok(Self(made))
    }

    /// The next connection; it does not block.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn accept(&self) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let number = accept4(self.0.as_raw_fd(), flags)?;
        // SAFETY: the kernel has just opened this file for this call.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// The process at the other end (`SO_PEERCRED`).
    ///
    /// # Errors
    /// The socket is no connection.
    pub fn peer(&self) -> io::Result<Peer> {
        let peer = getsockopt(&self.0, sockopt::PeerCredentials)?;
        Ok(Peer { uid: peer.uid(), gid: peer.gid(), pid: peer.pid() })
    }

    /// Sends a datagram with files.
    ///
    /// # Errors
    /// The other end is gone, or, without blocking, does not read.
    pub fn send(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let numbers: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&numbers)];
        let control = if numbers.is_empty() { &rights[..0] } else { &rights[..] };
        loop {
            let parts = [IoSlice::new(bytes)];
            match sendmsg::<UnixAddr>(self.0.as_raw_fd(), &parts, control, MsgFlags::MSG_NOSIGNAL, None) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }

    /// Receives a datagram into `buffer`, and returns its length and files; `None` at the end. A
    /// datagram that was cut off has length 0.
    ///
    /// # Errors
    /// Without blocking, [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn receive(&self, buffer: &mut [u8; LONGEST]) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
        let mut control = nix::cmsg_space!([RawFd; FILES]);
        loop {
            let mut parts = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            match recvmsg::<UnixAddr>(self.0.as_raw_fd(), &mut parts, Some(&mut control), flags) {
                Ok(message) => {
                    let mut files = Vec::new();
                    for part in message.cmsgs()? {
                        if let ControlMessageOwned::ScmRights(numbers) = part {
                            // SAFETY: the kernel has just opened these files for this call.
                            files.extend(
                                numbers.into_iter().map(|file| unsafe { OwnedFd::from_raw_fd(file) }),
                            );
                        }
                    }
                    if message.bytes == 0 && files.is_empty() {
                        return Ok(None);
                    }
                    let cut = message.flags.intersects(MsgFlags::MSG_TRUNC | MsgFlags::MSG_CTRUNC);
                    return Ok(Some((if cut { 0 } else { message.bytes }, files)));
                }
                Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }

    /// Ends the connection; a thread that receives sees the end.
    pub fn close(&self) {
        let _ = shutdown(self.0.as_raw_fd(), nix::sys::socket::Shutdown::Both);
    }
}

impl AsFd for ProgramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for ProgramSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// The socket of the local daemon: [`VARIABLE`] if it is set, else the only one in [`DIRECTORY`].
///
/// # Errors
/// No daemon runs, or several do.
pub fn local() -> io::Result<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Ok(path.into());
    }
    let entries = std::fs::read_dir(DIRECTORY).into_iter().flatten().filter_map(Result::ok);
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sock");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_socket).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path),
        (None, _) => {
            let why =
                format!("no daemon runs: {DIRECTORY} has no socket; `laxity serve NODE.toml` starts one");
            Err(io::Error::new(io::ErrorKind::NotFound, why))
        }
        (Some(_), false) => {
            let why = format!("several daemons run: set {VARIABLE} to one of the sockets in {DIRECTORY}");
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
    }
}
