//! A hop between two daemons that loses, repeats and delays packets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A wait for a packet is at most so long, so that the end is noticed.
const LOOK: Duration = Duration::from_millis(50);

/// Chances and counts of the hop.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Packets to lose, in percent.
    loss: AtomicU32,
    /// Packets to send twice, in percent.
    twice: AtomicU32,
    /// How long each packet stays, in milliseconds.
    stay: AtomicU64,
    lost: AtomicU64,
    repeated: AtomicU64,
}

/// The hop; dropped, it ends.
pub(crate) struct Lossy {
    /// Its address as the daemon with the lower number sees it.
    pub(crate) left: SocketAddr,
    /// Its address as the other daemon sees it.
    pub(crate) right: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Lossy {
    /// A hop between the daemons at these addresses, without losses yet.
    pub(crate) fn between(left: SocketAddr, right: SocketAddr) -> Self {
        let local = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let far = local();
        // The lower number connects; packets have the same port.
        let (near, sessions) = std::iter::repeat_with(local)
            .find_map(|near| Some((TcpListener::bind(near.local_addr().unwrap()).ok()?, near)))
            .map(|(sessions, near)| (near, sessions))
            .unwrap();
        let shared = Arc::new(Shared::default());
        let (near_at, far_at) = (near.local_addr().unwrap(), far.local_addr().unwrap());
        near.connect(left).unwrap();
        far.connect(right).unwrap();
        let mut threads = Vec::new();
        for (seed, from, to) in [(1, &near, &far), (2, &far, &near)] {
            let (from, to, shared) = (from.try_clone().unwrap(), to.try_clone().unwrap(), shared.clone());
            threads.push(std::thread::spawn(move || pass(seed, &from, &to, &shared)));
        }
        let of = shared.clone();
        threads.push(std::thread::spawn(move || join(&sessions, right, &of)));
        Self { left: near_at, right: far_at, shared, threads }
    }

    /// Sets the chances of a loss and of a repeated packet, in percent.
    pub(crate) fn set(&self, loss: u32, twice: u32) {
        self.shared.loss.store(loss, Ordering::Relaxed);
        self.shared.twice.store(twice, Ordering::Relaxed);
    }

    /// Sets how long each packet stays in the hop, one after the other.
    pub(crate) fn delay(&self, ms: u64) {
        self.shared.stay.store(ms, Ordering::Relaxed);
    }

    /// Packets that were lost, and that were repeated.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.shared.lost.load(Ordering::Relaxed), self.shared.repeated.load(Ordering::Relaxed))
    }
}

/// Passes packets on. The chances follow a sequence of the seed.
fn pass(seed: u64, from: &UdpSocket, to: &UdpSocket, shared: &Shared) {
    let (mut state, mut buffer) = (seed, [0; 65_535]);
    from.set_read_timeout(Some(LOOK)).unwrap();
    while !shared.stop.load(Ordering::Relaxed) {
        // A daemon that is not up yet refuses.
        let Ok(length) = from.recv(&mut buffer) else { continue };
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (state >> 33) as u32 % 100;
        let loss = shared.loss.load(Ordering::Relaxed);
        if chance < loss {
            shared.lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let stay = shared.stay.load(Ordering::Relaxed);
        if stay > 0 {
            std::thread::park_timeout(Duration::from_millis(stay));
        }
        let _ = to.send(&buffer[..length]);
        if chance < loss + shared.twice.load(Ordering::Relaxed) {
            shared.repeated.fetch_add(1, Ordering::Relaxed);
            let _ = to.send(&buffer[..length]);
        }
    }
}

/// Joins sessions without losses.
fn join(sessions: &TcpListener, to: SocketAddr, shared: &Shared) {
    sessions.set_nonblocking(true).unwrap();
    while !shared.stop.load(Ordering::Relaxed) {
        let Ok((one, _)) = sessions.accept() else {
            std::thread::park_timeout(LOOK);
            continue;
        };
        let Ok(other) = TcpStream::connect(to) else { continue };
        one.set_nonblocking(false).unwrap();
        for (mut from, mut to) in [(&one, &other), (&other, &one)]
            .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
        {
            to.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(std::net::Shutdown::Both);
                let _ = from.shutdown(std::net::Shutdown::Both);
            });
        }
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
