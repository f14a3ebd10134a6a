//! The exchange of [`trips`](crate::trips) through a thread beside each program that passes messages on
//! and does no other work. Its threads, files and packets are those of a channel, so its time is the part
//! that the system has in that of a channel.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use laxity_client::bell::Bell;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::stay_on;
use crate::trips::{Wait, middle, sockets};

/// Bytes of a sealed packet with a message of 64 B.
const PACKET: usize = 64 + 72 + 24;
/// A relay that is awake polls its socket so often before it yields the processor, as a daemon does.
const LOOKS: u32 = 4;

/// A program and its relay.
struct End {
    processor: usize,
    socket: UdpSocket,
    /// Messages that the program sent, and the bell of the relay.
    sent: (AtomicU32, Bell),
    /// Messages for the program, and its bell.
    arrived: (AtomicU32, Bell),
}

impl End {
    fn new(processor: usize, socket: UdpSocket) -> Self {
        let counted = || (AtomicU32::new(0), Bell::new().unwrap());
        Self { processor, socket, sent: counted(), arrived: counted() }
    }

    /// The program sends, and leaves its processor to the relay.
    fn send(&self, wait: Wait) {
        add(&self.sent, wait);
        std::thread::yield_now();
    }

    /// The program waits for the message after `seen` others.
    fn receive(&self, wait: Wait, seen: &mut u32, stop: &AtomicBool) {
        let (count, bell) = &self.arrived;
        while count.load(Ordering::Acquire) == *seen && !stop.load(Ordering::Relaxed) {
            match wait {
                Wait::Asleep => {
                    bell.sleep(PollTimeout::NONE);
                    bell.silence();
                }
                Wait::Awake => std::thread::yield_now(),
            }
        }
        *seen += 1;
    }

    fn relay(&self, wait: Wait, stop: &AtomicBool) {
        stay_on(self.processor);
        let (mut seen, mut looks, mut packet) = (0, 0_u32, [0; PACKET]);
        while !stop.load(Ordering::Relaxed) {
            if wait == Wait::Asleep {
                let watched = |file| PollFd::new(file, PollFlags::POLLIN);
                let mut files = [watched(self.socket.as_fd()), watched(self.sent.1.as_fd())];
                let _ = poll(&mut files, PollTimeout::NONE);
                if files[1].any() == Some(true) {
                    self.sent.1.silence();
                }
            }
            let arrived = self.socket.recv(&mut packet).is_ok();
            if arrived {
                add(&self.arrived, wait);
            }
            let is_sent = self.sent.0.load(Ordering::Acquire) != seen;
            if is_sent {
                seen += 1;
                let _ = self.socket.send(&packet);
            }
            looks += 1;
            if wait == Wait::Awake && (arrived || is_sent || looks.is_multiple_of(LOOKS)) {
                std::thread::yield_now();
            }
        }
    }
}

fn add((count, bell): &(AtomicU32, Bell), wait: Wait) {
    count.fetch_add(1, Ordering::Release);
    if wait == Wait::Asleep {
        bell.ring();
    }
}

/// Half a round trip through the relays.
pub(crate) fn relayed(wait: Wait) -> Duration {
    let [here, there] = sockets();
    for socket in [&here, &there] {
        socket.set_nonblocking(true).unwrap();
    }
    let (here, there, stop) = (End::new(0, here), End::new(1, there), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| here.relay(wait, &stop));
        scope.spawn(|| there.relay(wait, &stop));
        scope.spawn(|| {
            stay_on(1);
            let mut seen = 0;
            while !stop.load(Ordering::Relaxed) {
                there.receive(wait, &mut seen, &stop);
                there.send(wait);
            }
        });
        let mut seen = 0;
        let median = middle(wait, || here.send(wait), || here.receive(wait, &mut seen, &stop));
        stop.store(true, Ordering::Relaxed);
        for end in [&here, &there] {
            end.sent.1.ring();
            end.arrived.1.ring();
        }
        median
    })
}
