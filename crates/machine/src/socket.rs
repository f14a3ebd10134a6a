//! What the kernel says of a socket that programs cannot see from what they receive.

#![allow(unsafe_code, reason = "the option has a value that the standard library does not read")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The receiving side of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Bytes of memory that what waits takes, headers and rounding included.
    pub used: u32,
    /// So many bytes may wait before the kernel drops.
    pub limit: u32,
    /// Datagrams that were dropped since it was made, mostly for want of room.
    pub dropped: u32,
}

/// The kernel's order of the numbers of a socket's memory (linux/sock_diag.h): as far as the drops, which came with Linux 4.6.
const NUMBERS: usize = 9;
const USED: usize = 0;
const LIMIT: usize = 1;
const DROPPED: usize = 8;

/// How the receiving side of `socket` stands.
pub fn received(socket: &impl AsFd) -> io::Result<Received> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the kernel writes at most as many bytes as it is told of, into an array that lives through the call.
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
        0 => Ok(Received { used: numbers[USED], limit: numbers[LIMIT], dropped: numbers[DROPPED] }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets `bytes` of memory wait at `socket`: beyond the system's limit if that is permitted, else up to it.
pub fn limit_received(socket: &impl AsFd, bytes: u32) -> io::Result<()> {
    // The kernel doubles what it is told.
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
}
