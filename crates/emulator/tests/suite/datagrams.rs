//! Datagrams written together through a real device: a program reads each as it was sent. Skipped,
//! with the reason, where TAP devices and namespaces are not permitted.
#![allow(unsafe_code, reason = "that a kernel is to cut what is sent is an option that no safe call sets")]

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{permitted, ports, together};
use laxity_emulator::tap_port::{Ports, Site, Wire};
use laxity_machine::offload::Offload;
use laxity_machine::tap::Tap;
use laxity_scenario::Scenario;
use laxity_units::{Span, Time};
use laxity_world::experiment::Experiment;
use laxity_world::{Input, Notice, Outside};

struct Watched {
    tap: Arc<Tap>,
    bulks: AtomicUsize,
    frames: AtomicUsize,
    /// Whether it refuses bulks, as a kernel without support does.
    refuses: bool,
}

impl Wire for Watched {
    fn receive(
        &self,
        queue: usize,
        buffer: &mut [u8],
        beyond: &mut [u8],
    ) -> io::Result<Option<(usize, Offload)>> {
        Wire::receive(&*self.tap, queue, buffer, beyond)
    }

    fn send(&self, frame: &[u8], offload: Offload) -> io::Result<bool> {
        let count = if offload.is_bulk() { &self.bulks } else { &self.frames };
        count.fetch_add(1, Ordering::Relaxed);
        match self.refuses && offload.is_bulk() {
            true => Err(io::ErrorKind::InvalidInput.into()),
            false => Wire::send(&*self.tap, frame, offload),
        }
    }
}

fn experiment(name: &str, from: IpAddr, to: IpAddr) -> Experiment {
    let ports = ports(&format!("d{name}"), [from, to]);
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "hartos-np"
        [adapter]
        kind = "null"
        per_byte = "1 ns"
        [admission]
        formula = "off"
        [network]
        kind = "point_to_point"
        stations = 2
        [run]
        time = "1 s"
        {ports}
        [[channel]]
        name = "there"
        from = 0
        to = 1
        class = "best_effort"
        max_message = "1518 B"
        burst = 64
        message_slots = 1024
        carries = "udp"
        source = {{ kind = "none" }}
        "#
    );
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first()
}

/// Sent datagrams, each by one of two sockets: runs of one length, shorter ones in between, more
/// than fit one bulk, other flows.
fn sent() -> Vec<(usize, Vec<u8>)> {
    let lengths = [22; 100].into_iter().chain([1400; 60]).chain([300, 300, 100, 300, 0, 1, 1, 2, 1]);
    let socket = |n: usize| usize::from((170..174).contains(&n) || n == 30);
    let bytes = |n: usize, length: usize| (0..length).map(|at| (n * 31 + at * 7) as u8).collect();
    let more = [40; 20];
    lengths.chain(more).enumerate().map(|(n, length)| (socket(n), bytes(n, length))).collect()
}

#[test]
fn a_program_reads_what_was_sent() {
    let _turn = together();
    through("4", IpAddr::from([10, 77, 6, 1]), IpAddr::from([10, 77, 6, 2]), false);
}

#[test]
fn so_it_does_by_the_new_protocol() {
    let _turn = together();
    let end = |number| IpAddr::from([0xfd77, 6, 0, 0, 0, 0, 0, number]);
    through("6", end(1), end(2), false);
}

#[test]
fn so_it_does_behind_a_kernel_that_does_not_know_bulks_of_datagrams() {
    let _turn = together();
    through("o", IpAddr::from([10, 77, 7, 1]), IpAddr::from([10, 77, 7, 2]), true);
}

fn through(name: &str, from: IpAddr, to: IpAddr, refuses: bool) {
    let experiment = experiment(name, from, to);
    let Some(site) = permitted(Site::new(&experiment)) else { return };
    let socket = |node: usize, at: (IpAddr, u16)| {
        let namespace = site.namespace_at(node).expect("each node has a namespace");
        namespace.within(|| UdpSocket::bind(at)).unwrap().unwrap()
    };
    let reader = socket(1, (to, 7009));
    reader.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // One socket is connected, the other not: the kernel numbers their packets differently.
    let senders = [socket(0, (from, 0)), socket(0, (from, 0))];
    senders[0].connect((to, 7009)).unwrap();
    let watch = |(node, tap)| {
        let (bulks, frames) = Default::default();
        (node, Arc::new(Watched { tap, bulks, frames, refuses }))
    };
    let wires: BTreeMap<usize, Arc<Watched>> = site.taps().into_iter().map(watch).collect();
    let there = wires[&1].clone();
    let clock = Arc::new(Mutex::new(Time::ZERO));
    let hand = clock.clone();
    let mut ports = Ports::new(&experiment, wires).unwrap().timed_by(move || *hand.lock().unwrap());

    let mut taken = 0;
    let mut expected = Vec::new();
    // As many at once as fit the reader's buffer.
    let sent = sent();
    let mut received = Vec::new();
    let mut buffer = [0; 2048];
    for part in sent.chunks(64) {
        for (which, bytes) in part {
            match which {
                0 => senders[0].send(bytes),
                _ => senders[1].send_to(bytes, (to, 7009)),
            }
            .unwrap();
            expected.push((senders[*which].local_addr().unwrap().port(), bytes.clone()));
        }
        let mut messages = Vec::new();
        let mut idle = 0;
        while idle < 3 {
            let Some(input) = ports.next_input(Time::ZERO) else {
                idle += 1;
                continue;
            };
            let Input::Message { channel, handle, .. } = input else { panic!("{input:?}") };
            ports.notice(Time::ZERO, Notice::Taken { channel, handle, message: taken });
            messages.push(taken);
            (taken, idle) = (taken + 1, 0);
        }
        assert_eq!(messages.len(), part.len(), "a datagram is a message");
        // The world is late for all of them.
        *clock.lock().unwrap() = Time::ZERO + Span::from_ms(1);
        for message in messages {
            ports.notice(Time::ZERO, Notice::Delivered { channel: 0, message });
        }
        assert!(ports.next_input(Time::ZERO).is_none());
        for _ in part {
            let (length, from) = reader.recv_from(&mut buffer).expect("as many come as were sent");
            received.push((from.port(), buffer[..length].to_vec()));
        }
    }
    assert!(received == expected, "{} of {}", received.len(), expected.len());
    let counts = ports.counts();
    let all = sent.len() as u64;
    assert_eq!(
        (counts.read, counts.written, counts.undeliverable, counts.bulks),
        (all + counts.unmatched, all, 0, 0)
    );
    assert_eq!(ports.errors(), [""; 0]);
    let (bulks, frames) = (there.bulks.load(Ordering::Relaxed), there.frames.load(Ordering::Relaxed));
    match refuses {
        true => assert_eq!((bulks, frames), (1, sent.len()), "asked once"),
        false => assert!(bulks >= 5 && bulks + frames < sent.len() / 4, "{bulks} bulks and {frames} frames"),
    }
    let delays = ports.delays().expect("frames were written");
    assert_eq!((delays.frames, delays.early), (all, 0));

    // Datagrams that the program's kernel segments are read as one bulk, if the kernel leaves that
    // to devices.
    if segment(&senders[0], 100).is_err() {
        return println!("skipped: the kernel does not cut for programs");
    }
    senders[0].send(&[9; 1030]).unwrap();
    let mut sizes = Vec::new();
    for _ in 0..20 {
        while let Some(Input::Message { channel, size, handle }) = ports.next_input(Time::ZERO) {
            ports.notice(Time::ZERO, Notice::Taken { channel, handle, message: taken });
            ports.notice(Time::ZERO, Notice::Delivered { channel, message: taken });
            taken += 1;
            sizes.push(size.get());
        }
    }
    let headers = if from.is_ipv4() { 42 } else { 62 };
    assert_eq!(sizes, [vec![headers + 100; 10], vec![headers + 30]].concat());
    let lengths: Vec<usize> = sizes.iter().map(|_| reader.recv(&mut buffer).unwrap()).collect();
    assert_eq!(lengths, [vec![100; 10], vec![30]].concat());
    println!("{} bulks read", ports.counts().bulks);
}

/// Sets the segment size of `socket` in bytes (UDP segmentation).
fn segment(socket: &UdpSocket, bytes: libc::c_int) -> io::Result<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    let value = (&raw const bytes).cast();
    // SAFETY: the option is an int, which lives through the call.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, value, size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
