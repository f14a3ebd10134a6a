//! State of sockets in the kernel, and socket files without a listener.

#![allow(unsafe_code, reason = "the option has a value that the standard library does not read")]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// Removes the file at `path` if it is that of a socket without a listening process; returns
/// whether it did.
///
/// A process that has ended does not listen, but its file stays.
pub fn remove_dead(path: &Path) -> io::Result<bool> {
    let is_socket = match fs::symlink_metadata(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
        about => about?.file_type().is_socket(),
    };
    // A listener with a full queue, or of another type, returns an error other than "refused".
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let asking = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    if !is_socket || connect(asking.as_raw_fd(), &UnixAddr::new(path)?) != Err(Errno::ECONNREFUSED) {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}

/// Receive side of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiveSide {
    /// Memory of the queued data in bytes, including headers and rounding.
    pub used: u32,
    /// Limit of that memory in bytes, beyond which the kernel drops.
    pub limit: u32,
    /// Datagrams dropped since the socket was created, mostly because of the limit.
    pub dropped: u32,
}

/// Number of values of a socket's memory (linux/sock_diag.h) up to the drops, which exist since
/// Linux 4.6.
const NUMBERS: usize = 9;
const USED: usize = 0;
const LIMIT: usize = 1;
const DROPPED: usize = 8;

/// State of the receive side of `socket`.
pub fn received(socket: &impl AsFd) -> io::Result<ReceiveSide> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, into an array that lives through the call.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match answer {
        0 => Ok(ReceiveSide { used: numbers[USED], limit: numbers[LIMIT], dropped: numbers[DROPPED] }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the limit of queued memory at `socket` to `bytes`: beyond the system's limit if permitted,
/// else up to it.
pub fn limit_received(socket: &impl AsFd, bytes: u32) -> io::Result<()> {
    // The kernel doubles the value.
    let half = (bytes / 2) as libc::c_int;
    let set = |option| {
        // SAFETY: the option is a number, which lives through the call.
        unsafe {
            libc::setsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const half).cast(),
                size_of_val(&half) as libc::socklen_t,
            )
        }
    };
    if set(libc::SO_RCVBUFFORCE) == 0 || set(libc::SO_RCVBUF) == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn what_waits_takes_memory_and_what_finds_none_is_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        limit_received(&receiver, 16 << 10).unwrap();
        let empty = super::received(&receiver).unwrap();
        assert_eq!((empty.used, empty.limit, empty.dropped), (0, 16 << 10, 0));
        for _ in 0..64 {
            sender.send_to(&[0; 512], receiver.local_addr().unwrap()).unwrap();
        }
        let full = super::received(&receiver).unwrap();
        assert!(full.used > 0 && full.dropped > 0, "{full:?}");
        receiver.set_nonblocking(true).unwrap();
        let got = std::iter::from_fn(|| receiver.recv(&mut [0; 600]).ok()).count();
        assert_eq!(got as u32 + full.dropped, 64);
    }

    #[test]
    fn only_the_file_of_a_socket_that_nobody_listens_at_is_removed() {
        use nix::sys::socket::{Backlog, bind, listen};
        let path = std::env::temp_dir().join(format!("laxity-dead-{}", std::process::id()));
        let open = |kind| {
            let made = socket(AddressFamily::Unix, kind, SockFlag::SOCK_CLOEXEC, None).unwrap();
            bind(made.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
            listen(&made, Backlog::new(1).unwrap()).unwrap();
            made
        };
        assert!(!remove_dead(&path).unwrap(), "there is nothing");
        fs::write(&path, "a file").unwrap();
        assert!(!remove_dead(&path).unwrap() && fs::read(&path).unwrap() == b"a file");
        fs::remove_file(&path).unwrap();
        for kind in [SockType::SeqPacket, SockType::Stream] {
            let living = open(kind);
            assert!(!remove_dead(&path).unwrap() && path.exists(), "{kind:?}");
            drop(living);
            assert!(remove_dead(&path).unwrap() && !path.exists(), "{kind:?}");
        }
    }
}
