//! Packet generator: a real program's socket in a namespace, behind the device under test.
//!
//! It sends batches of UDP datagrams to an address behind the device, and receives the returned
//! ones. Every datagram has a number and its send time, so losses, duplicates and reordering are
//! counted, and the round trip is timed. The kernel limits it to the device's queue: a full send
//! buffer refuses, and the generator turns to receiving.

#![allow(unsafe_code, reason = "batches of datagrams are sent and received by no safe call")]

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_engine::{Lateness, Ticks};
use laxity_machine::ip::Ip;
use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::place::{PlacedThread, ThreadPlacement, spawn_on};
use laxity_machine::tap::{Tap, TapSetup};
use laxity_machine::{Mac, RefusedBySystem};
use laxity_units::Span;

/// Addresses of the generator and of its destination, in both layers.
pub(crate) const HERE: (Mac, Ipv4Addr) = (Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 77, 0, 1));
pub(crate) const THERE: (Mac, Ipv4Addr) = (Mac([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(10, 77, 0, 2));
/// Port of both ends, so that an echo need not exchange ports.
const PORT: u16 = 4000;
/// Bytes of a frame before the datagram's payload: Ethernet, IP, UDP.
pub(crate) const HEADERS: usize = 14 + 20 + 8;
const BATCH: usize = 32;

/// Namespace with a TAP device as its only interface.
pub(crate) struct Site {
    pub(crate) tap: Tap,
    pub(crate) namespace: Namespace,
}

impl Site {
    /// Creates both, with the addresses of this module, with or without offloads.
    pub(crate) fn new(owner: &RunOwner, offloads: bool) -> Result<Self, RefusedBySystem> {
        let namespace = owner.namespace(&format!("lx-bench-{}-{offloads}", std::process::id()))?;
        let setup =
            TapSetup { name: "tap0".into(), mac: HERE.0, mtu: 1500, ipv6: false, queues: 1, offloads };
        let tap = Tap::open(&setup, Some(&namespace))?;
        let ip = Ip::inside(&namespace);
        ip.address("tap0", IpAddr::V4(HERE.1), 24)?;
        ip.neighbour("tap0", IpAddr::V4(THERE.1), THERE.0)?;
        Ok(Self { tap, namespace })
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Datagrams sent.
    pub(crate) sent: u64,
    /// Datagrams returned in order.
    pub(crate) returned: u64,
    /// Datagrams returned after a later one, or twice.
    pub(crate) disordered: u64,
    /// Time from sending to receiving.
    pub(crate) round_trip: Lateness,
    /// Duration in seconds.
    pub(crate) seconds: f64,
}

pub(crate) struct Generator {
    socket: UdpSocket,
    ticks: Ticks,
    frame: usize,
}

impl Generator {
    /// Sender of frames of `frame` bytes, including all headers, inside `namespace`.
    pub(crate) fn new(namespace: &Namespace, ticks: Ticks, frame: usize) -> io::Result<Self> {
        assert!(
            (HEADERS + 16..=1514).contains(&frame),
            "a frame of {frame} bytes does not hold a number and a time"
        );
        let socket = namespace.within(|| UdpSocket::bind((HERE.1, PORT))).map_err(io::Error::other)??;
        socket.connect((THERE.1, PORT))?;
        socket.set_nonblocking(true)?;
        let bytes: libc::c_int = 8 << 20;
        let (level, option, size) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, size_of::<libc::c_int>());
        // SAFETY: the option is an int, which lives through the call. If refused, the buffer keeps
        // its size.
        unsafe {
            let value = (&raw const bytes).cast();
            libc::setsockopt(socket.as_raw_fd(), level, option, value, size as libc::socklen_t);
        }
        Ok(Self { socket, ticks, frame })
    }

    /// Sends at the maximum rate for `time`, on its own thread at `placement`.
    pub(crate) fn flood(self, placement: ThreadPlacement, time: Span) -> PlacedThread<(Self, Seen)> {
        spawn_on(placement, "generate", move || {
            let seen = self.run(time);
            (self, seen)
        })
        .expect("there is a thread to be had")
    }

    fn run(&self, time: Span) -> Seen {
        let mut seen = Seen::default();
        let mut out = vec![vec![0_u8; self.frame - HEADERS]; BATCH];
        let mut back = vec![vec![0_u8; 2048]; BATCH];
        let mut expected = 0;
        let began = self.ticks.read();
        let end = began + self.ticks.in_span(time);
        // Waits for datagrams in flight at the end, or the next run would receive them; the other
        // thread may be asleep.
        let quiet = self.ticks.in_span(Span::from_ms(50));
        let (mut now, mut last) = (began, began);
        while now < end || now - last < quiet {
            now = self.ticks.read();
            if now < end {
                for (number, datagram) in (seen.sent..).zip(&mut out) {
                    datagram[..8].copy_from_slice(&number.to_ne_bytes());
                    datagram[8..16].copy_from_slice(&now.to_ne_bytes());
                }
                seen.sent += self.send(&mut out) as u64;
                last = now;
            }
            let count = self.receive(&mut back);
            let came = self.ticks.read();
            for datagram in &back[..count] {
                let [number, sent] = [0, 8].map(|at| {
                    u64::from_ne_bytes(datagram[at..at + 8].try_into().expect("eight bytes are eight bytes"))
                });
                if sent < began {
                    // From an earlier run, delayed in the device.
                    continue;
                }
                if number < expected {
                    seen.disordered += 1;
                } else {
                    expected = number + 1;
                    seen.returned += 1;
                }
                seen.round_trip.record(self.ticks.span(came.saturating_sub(sent)));
                last = came;
            }
        }
        seen.seconds = self.ticks.span(end - began).as_secs_f64();
        seen
    }

    /// Sends as many of `datagrams`, from the first, as the host takes, and returns their number.
    fn send(&self, datagrams: &mut [Vec<u8>]) -> usize {
        self.move_batch(datagrams, |fd, headers, count| {
            // SAFETY: `move_batch` passes this many headers.
            unsafe { libc::sendmmsg(fd, headers, count, libc::MSG_DONTWAIT) }
        })
    }

    /// Receives into `datagrams`, from the first, and returns their number.
    fn receive(&self, datagrams: &mut [Vec<u8>]) -> usize {
        self.move_batch(datagrams, |fd, headers, count| {
            // SAFETY: as in `send`.
            unsafe { libc::recvmmsg(fd, headers, count, libc::MSG_DONTWAIT, ptr::null_mut()) }
        })
    }

    fn move_batch(
        &self,
        datagrams: &mut [Vec<u8>],
        call: impl Fn(i32, *mut libc::mmsghdr, u32) -> i32,
    ) -> usize {
        assert!(datagrams.len() <= BATCH, "a batch is at most {BATCH}");
        // SAFETY: both are plain structures for which all zeros are valid; the pointers are to
        // buffers that live through the call, with their lengths.
        let mut vectors: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for ((vector, header), datagram) in vectors.iter_mut().zip(&mut headers).zip(&mut *datagrams) {
            vector.iov_base = datagram.as_mut_ptr().cast();
            vector.iov_len = datagram.len();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        let moved = call(self.socket.as_raw_fd(), headers.as_mut_ptr(), datagrams.len() as u32);
        // A full or empty buffer and a port without a listener all count as zero.
        usize::try_from(moved).unwrap_or(0)
    }
}

/// Thread that handles the frames of a TAP device until it is stopped.
pub(crate) struct Handler {
    stop: Arc<AtomicBool>,
    thread: PlacedThread<u64>,
}

impl Handler {
    /// Passes every frame of `tap` to `handle` on a spinning thread at `placement`, and sends it
    /// back if that returns true.
    pub(crate) fn start(
        tap: Arc<Tap>,
        placement: ThreadPlacement,
        mut handle: impl FnMut(&mut [u8]) -> bool + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = spawn_on(placement, "handle", move || {
            let (mut buffer, mut handled) = ([0; 2048], 0);
            while !stopped.load(Ordering::Relaxed) {
                let Some((length, offload)) = tap.receive(0, &mut buffer, &mut []).expect("the device is up")
                else {
                    std::hint::spin_loop();
                    continue;
                };
                handled += 1;
                if handle(&mut buffer[..length]) {
                    // A frame that the host refuses is lost for the generator.
                    let _ = tap.send(&buffer[..length], offload).expect("the device is up");
                }
            }
            handled
        });
        Self { stop, thread: thread.expect("there is a thread to be had") }
    }

    /// Stops the thread, and returns the number of frames handled.
    pub(crate) fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the device stays up")
    }
}

/// Exchanges the addresses of a frame; the checksums of IP and UDP do not depend on the order of
/// their terms.
pub(crate) fn turn_round(frame: &mut [u8]) {
    let (ethernet, packet) = frame.split_at_mut(14);
    ethernet[..12].rotate_left(6);
    packet[12..20].rotate_left(4);
}
