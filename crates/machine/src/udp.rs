//! UDP in batches: many datagrams a system call, and trains of equal segments where the kernel has
//! them (`UDP_SEGMENT`, `UDP_GRO`).

#![allow(
    unsafe_code,
    reason = "the batch calls and their control messages have no safe form without allocation"
)]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, c_void, iovec, mmsghdr, msghdr};

/// Datagrams a call.
pub const BATCH: usize = 32;
/// The longest datagram, or train of segments.
const LONGEST: usize = 65_535;
/// Segments of a train at most (`UDP_MAX_SEGMENTS` was 64 before Linux 6.9).
const SEGMENTS: usize = 64;
/// Space for the control messages of a datagram, in words.
const CONTROL: usize = 12;

/// Sets a socket up: trains are received as one, and arrivals have time stamps. Answers whether the
/// kernel has trains.
pub fn prepare(socket: &impl AsFd) -> bool {
    let on = |level, name| {
        let one: c_int = 1;
        let (value, length) = ((&raw const one).cast::<c_void>(), size_of::<c_int>() as libc::socklen_t);
        // SAFETY: the value lives through the call and has the length that is said.
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, length) == 0 }
    };
    on(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    on(libc::SOL_UDP, libc::UDP_GRO)
}

/// Sets the priority of the packets of a socket (`SO_PRIORITY`). Above 6 the kernel asks for
/// `CAP_NET_ADMIN`; a priority that equals a class of a discipline leads into that class.
///
/// # Errors
/// The capability is missing.
pub fn set_priority(socket: &impl AsFd, priority: u32) -> io::Result<()> {
    set(socket, (libc::SOL_SOCKET, libc::SO_PRIORITY), priority)
}

/// Sets the field TOS of the IPv4 packets of a socket: six bits of DSCP, and two of ECN.
///
/// # Errors
/// The socket is none of IPv4.
pub fn set_tos(socket: &impl AsFd, tos: u8) -> io::Result<()> {
    set(socket, (libc::IPPROTO_IP, libc::IP_TOS), tos.into())
}

fn set(socket: &impl AsFd, (level, name): (c_int, c_int), value: u32) -> io::Result<()> {
    let (value, length) = ((&raw const value).cast::<c_void>(), size_of::<u32>() as libc::socklen_t);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the value lives through the call and has the length that is said.
    let set = unsafe { libc::setsockopt(socket, level, name, value, length) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A received datagram, or a train of segments.
#[derive(Debug)]
pub struct ReceivedDatagram<'a> {
    /// The bytes.
    pub bytes: &'a mut [u8],
    /// The length of each segment but the last.
    pub segment: usize,
    /// When the kernel had it, in nanoseconds of `CLOCK_REALTIME`.
    pub stamp: Option<u64>,
}

/// Receives batches.
pub struct UdpReceiver {
    buffers: Box<[u8]>,
    control: Box<[[u64; CONTROL]]>,
    // They point into the boxes above, which do not move.
    parts: Box<[iovec]>,
    headers: Box<[mmsghdr]>,
}

// SAFETY: the pointers are into memory that the value owns.
unsafe impl Send for UdpReceiver {}

impl Default for UdpReceiver {
    fn default() -> Self {
        Self::new()
    }
}

impl UdpReceiver {
    /// A receiver with buffers for a batch.
    pub fn new() -> Self {
        let mut buffers = vec![0; BATCH * LONGEST].into_boxed_slice();
        let mut control = vec![[0; CONTROL]; BATCH].into_boxed_slice();
        let mut parts: Box<[iovec]> = buffers
            .chunks_exact_mut(LONGEST)
            .map(|buffer| iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: LONGEST })
            .collect();
        let headers = parts
            .iter_mut()
            .zip(control.iter_mut())
            .map(|(part, control)| {
                // SAFETY: a plain structure of integers and pointers, for which zeros are valid.
                let mut header: msghdr = unsafe { mem::zeroed() };
                (header.msg_iov, header.msg_iovlen) = (part, 1);
                header.msg_control = control.as_mut_ptr().cast();
                mmsghdr { msg_hdr: header, msg_len: 0 }
            })
            .collect();
        Self { buffers, control, parts, headers }
    }

    /// Receives what is there, and passes each datagram to `take`. Answers how many there were.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn receive(
        &mut self,
        socket: &impl AsFd,
        mut take: impl FnMut(ReceivedDatagram<'_>),
    ) -> io::Result<usize> {
        debug_assert_eq!(self.parts.len(), BATCH);
        for header in &mut self.headers {
            header.msg_hdr.msg_controllen = size_of::<[u64; CONTROL]>() as _;
        }
        // SAFETY: the headers name buffers that this value owns.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = count as usize;
        let buffers = self.buffers.chunks_exact_mut(LONGEST);
        for ((header, buffer), control) in self.headers.iter().zip(buffers).zip(&self.control).take(count) {
            let length = (header.msg_len as usize).min(LONGEST);
            let (stamp, segment) = notes(control, header.msg_hdr.msg_controllen);
            let segment = segment.filter(|segment| *segment > 0).unwrap_or(length.max(1));
            take(ReceivedDatagram { bytes: &mut buffer[..length], segment, stamp });
        }
        Ok(count)
    }
}

/// Time stamp and length of segments in the control messages of a datagram.
fn notes(control: &[u64; CONTROL], length: usize) -> (Option<u64>, Option<usize>) {
    let (mut stamp, mut segment) = (None, None);
    let bytes: &[u8] =
        // SAFETY: an array of words is as many bytes.
        unsafe { std::slice::from_raw_parts(control.as_ptr().cast(), size_of::<[u64; CONTROL]>()) };
    let mut rest = &bytes[..length.min(bytes.len())];
    let front = size_of::<libc::cmsghdr>();
    while rest.len() >= front {
        let word = |at: usize| i32::from_ne_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_ne_bytes(rest[at..at + 8].try_into().expect("eight bytes"));
        let size = long(0) as usize;
        if size < front || size > rest.len() {
            break;
        }
        match (word(8), word(12)) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) if size >= front + 16 => {
                stamp = Some(long(front) * 1_000_000_000 + long(front + 8));
            }
            (libc::SOL_UDP, libc::UDP_GRO) if size >= front + 4 => {
                segment = usize::try_from(word(front)).ok();
            }
            _ => {}
        }
        rest = &rest[size.next_multiple_of(8).min(rest.len())..];
    }
    (stamp, segment)
}

/// A datagram or train to send: its bytes within the arena, and the length of a segment.
#[derive(Debug, Clone, Copy)]
struct Train {
    begin: usize,
    end: usize,
    segment: usize,
    count: usize,
    /// Its last segment is shorter, so no further one fits.
    closed: bool,
}

/// Sends batches over a connected socket.
#[derive(Debug)]
pub struct UdpSender {
    arena: Vec<u8>,
    /// Bytes of the arena in the batch.
    used: usize,
    trains: Vec<Train>,
    /// The kernel has trains.
    segments: usize,
}

impl UdpSender {
    /// A sender; `trains` as [`prepare`] answered.
    pub fn new(trains: bool) -> Self {
        Self { arena: Vec::new(), used: 0, trains: Vec::new(), segments: if trains { SEGMENTS } else { 1 } }
    }

    /// Adds a datagram to the batch.
    pub fn add(&mut self, datagram: &[u8]) {
        self.add_with(datagram.len(), |out| out.copy_from_slice(datagram));
    }

    /// Adds a datagram of `length` bytes that `fill` writes.
    pub fn add_with(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        let begin = self.used;
        let end = begin + length;
        // The arena keeps its length, so that its bytes are not set to zero again and again.
        if self.arena.len() < end {
            self.arena.resize(end.next_power_of_two(), 0);
        }
        fill(&mut self.arena[begin..end]);
        self.used = end;
        if let Some(train) = self.trains.last_mut()
            && !train.closed
            && train.count < self.segments
            && length <= train.segment
            && length > 0
            && end - train.begin <= LONGEST - 28
        {
            (train.end, train.count) = (end, train.count + 1);
            train.closed = length < train.segment;
            return;
        }
        self.trains.push(Train { begin, end, segment: length, count: 1, closed: false });
    }

    /// Datagrams and trains in the batch.
    pub fn len(&self) -> usize {
        self.trains.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.trains.is_empty()
    }

    /// Sends the batch, and answers how many datagrams and trains the kernel did not take.
    pub fn flush(&mut self, socket: &impl AsFd) -> usize {
        let mut lost = 0;
        for trains in self.trains.chunks(BATCH) {
            lost += send(socket, &self.arena, trains);
        }
        self.trains.clear();
        self.used = 0;
        lost
    }
}

/// Sends trains of the arena; answers how many were lost.
fn send(socket: &impl AsFd, arena: &[u8], trains: &[Train]) -> usize {
    // SAFETY: plain structures of integers and pointers, for which zeros are valid.
    let mut headers: [mmsghdr; BATCH] = unsafe { mem::zeroed() };
    let mut parts = [iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    let mut control = [[0_u64; 3]; BATCH];
    for (number, train) in trains.iter().enumerate() {
        let bytes = &arena[train.begin..train.end];
        parts[number] = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let header = &mut headers[number].msg_hdr;
        (header.msg_iov, header.msg_iovlen) = (&raw mut parts[number], 1);
        if train.count > 1 {
            // cmsghdr: length (8), level (4), kind (4); then a 16-bit segment length.
            let front = size_of::<libc::cmsghdr>();
            let kind = (libc::UDP_SEGMENT as u64) << 32 | libc::SOL_UDP as u64;
            control[number] = [front as u64 + 2, kind, train.segment as u64];
            header.msg_control = control[number].as_mut_ptr().cast();
            header.msg_controllen = size_of::<[u64; 3]>() as _;
        }
    }
    let (mut from, mut lost) = (0, 0);
    while from < trains.len() {
        // SAFETY: the headers name memory that lives through the call, which the kernel only reads.
        let sent = unsafe {
            let first = headers.as_mut_ptr().add(from);
            libc::sendmmsg(
                socket.as_fd().as_raw_fd(),
                first,
                (trains.len() - from) as u32,
                libc::MSG_DONTWAIT,
            )
        };
        if sent > 0 {
            from += sent as usize;
            continue;
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            // The kernel refuses this one: a full queue, or an unreachable peer.
            (from, lost) = (from + 1, lost + 1);
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket, bool) {
        let (a, b) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        let trains = prepare(&b);
        (a, b, trains)
    }

    /// Datagrams of every mixture of lengths arrive as they were, in order, with a time stamp.
    #[test]
    fn datagrams_arrive_as_they_were_sent() {
        let (a, b, trains) = pair();
        let lengths = [100, 100, 100, 40, 100, 1400, 1400, 1400, 1399, 1400, 1, 1, 1, 9000];
        for trains in [false, trains] {
            let mut sender = UdpSender::new(trains);
            let sent: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(n, length)| vec![n as u8; *length]).collect();
            sent.iter().for_each(|datagram| sender.add(datagram));
            assert_eq!(sender.len() < lengths.len(), trains);
            assert_eq!(sender.flush(&a), 0);
            assert!(sender.is_empty());
            let (mut receiver, mut received) = (UdpReceiver::new(), Vec::new());
            while received.len() < sent.len() {
                let taken = receiver.receive(&b, |datagram| {
                    assert!(datagram.stamp.is_some());
                    received.extend(datagram.bytes.chunks(datagram.segment).map(<[u8]>::to_vec));
                });
                assert!(taken.is_ok_and(|count| count > 0));
            }
            assert_eq!(received, sent);
        }
        assert_eq!(UdpReceiver::new().receive(&b, |_| {}).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_peer_that_is_gone_costs_its_datagrams_only() {
        let (a, b, _) = pair();
        drop(b);
        let mut sender = UdpSender::new(false);
        (0..40).for_each(|_| sender.add(&[1; 10]));
        // Loopback reports the missing peer at every other call.
        assert!(sender.flush(&a) <= 40);
        assert!(sender.is_empty());
    }
}
