//! Three hosts at one emulated switch: every host reaches every other, and broadcasts reach all.
//! Skipped, with the reason, where TAP devices and namespaces are not permitted.
#![allow(clippy::disallowed_methods, reason = "an answer that does not come is waited for so long")]
#![allow(
    unsafe_code,
    reason = "echo requests are sent by a raw socket, which the standard library does not open"
)]

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::id;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{alone, permitted};
use laxity_emulator::emulate::{Emulation, EmulationOptions, no_reports, start};
use laxity_emulator::tap_port::{FrameCounts, Ports, Site, TapBell};
use laxity_engine::{Dilation, InputDoorbell, TickEpoch, Ticks};
use laxity_machine::ip::Ip;
use laxity_scenario::Scenario;
use laxity_units::{Span, Time};
use laxity_world::experiment::{Experiment, Task};
use laxity_world::{Input, Notice, Outside};

/// Three hosts at a switch of 1 Gbit/s, with a channel for `all` in each direction between any two;
/// `udp 7009` has its own channel from the first to the third.
fn scenario() -> Experiment {
    let mut text = r#"
        title = "three hosts at a switch"
        [host]
        profile = "hartos-np"
        speedup = 1000
        [host.subsystem]
        packet = "1600 B"
        [adapter]
        kind = "null"
        [node.a]
        [node.b]
        [node.c]
        [node.switch]
        kind = "switch"
        [network.hall]
        joins = ["switch", "a", "b", "c"]
        rate = "1 Gbit/s"
        [admission]
        formula = "off"
        [run]
        time = "20 s"
        [[channel]]
        name = "control"
        from = "a"
        to = "c"
        class = "real_time"
        max_message = "1518 B"
        burst = 8
        min_interval = "1 ms"
        deadline = "1 ms"
        carries = "udp 7009"
        source = { kind = "none" }
        "#
    .to_string();
    let names = ["a", "b", "c"];
    for (i, from) in names.iter().enumerate() {
        text += &format!(
            "[[port]]\nnode = \"{from}\"\ninterface = \"tap0\"\nnamespace = \"lx-sw-{}-{from}\"\naddress = \"10.77.11.{}/24\"\n",
            id(),
            i + 1
        );
        for to in names.iter().filter(|to| *to != from) {
            text += &format!(
                "[[channel]]\nname = \"{from}{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"best_effort\"\nmax_message = \"1518 B\"\n\
                 burst = 16\ncarries = \"all\"\nsource = {{ kind = \"none\" }}\n"
            );
        }
    }
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 11, node as u8 + 1)
}

/// Socket for echo requests, opened in the namespace of a node.
fn echo(site: &Site, node: usize) -> OwnedFd {
    let open = || {
        // SAFETY: numbers; the call makes the descriptor, which has no other owner.
        unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_ICMP);
            assert!(socket >= 0, "{}", std::io::Error::last_os_error());
            OwnedFd::from_raw_fd(socket)
        }
    };
    site.namespace_at(node).unwrap().within(open).unwrap()
}

/// Whether `to` responds to an echo request with that number, sent up to ten times.
fn pings(socket: &OwnedFd, to: Ipv4Addr, number: u8) -> bool {
    // The standard library's socket sends and receives packets on any IPv4 socket.
    let socket = UdpSocket::from(socket.try_clone().unwrap());
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut request = [8, 0, 0, 0, 0, 77, 0, number];
    let sum = !(0x0800 + 77 + u16::from(number));
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    for _ in 0..10 {
        socket.send_to(&request, (to, 0)).unwrap();
        let until = Instant::now() + Duration::from_millis(500);
        let mut packet = [0; 128];
        while Instant::now() < until {
            let Ok((length, from)) = socket.recv_from(&mut packet) else { break };
            if from.ip() == to && length >= 28 && packet[20] == 0 && packet[27] == number {
                return true;
            }
        }
    }
    false
}

/// Doorbell that also rings at the end of the run.
struct Over<D>(D, Arc<AtomicBool>);

impl<D: InputDoorbell> InputDoorbell for Over<D> {
    fn is_rung(&mut self) -> bool {
        self.0.is_rung() || self.1.load(Ordering::Relaxed)
    }

    fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
        self.0.is_rung_before(now, due) || self.1.load(Ordering::Relaxed)
    }
}

struct Stopped<O>(O, Arc<AtomicBool>);

impl<O: Outside> Outside for Stopped<O> {
    fn next_input(&mut self, now: Time) -> Option<Input> {
        match self.1.swap(false, Ordering::Relaxed) {
            true => Some(Input::Stop),
            false => self.0.next_input(now),
        }
    }

    fn notice(&mut self, now: Time, notice: Notice<'_>) {
        self.0.notice(now, notice);
    }
}

#[test]
fn every_host_reaches_every_other_and_a_broadcast_reaches_all() {
    let _turn = alone();
    let experiment = Arc::new(scenario());
    let Task::Simulate(length) = experiment.task else { panic!("a test is simulated") };
    let Some(site) = permitted(Site::new(&experiment)) else { return };
    let ports = Ports::new(&experiment, site.taps()).unwrap();
    let epoch = TickEpoch::starting_in(Span::from_ms(5), Ticks::calibrate(), Dilation::NONE);
    let ports = ports.timed_by(move || epoch.now());
    let over = Arc::new(AtomicBool::new(false));
    let emulation = Emulation {
        experiment: experiment.clone(),
        length,
        doorbell: Over(TapBell::new(&ports, epoch), over.clone()),
        channels: ports.channels(),
        outside: Stopped(ports, over.clone()),
        hosts: Vec::new(),
        epoch,
        reports: no_reports(),
        journal: None,
    };
    let running = start(emulation, &EmulationOptions::on(None)).unwrap();

    let mut number = 0;
    for from in 0..3 {
        let socket = echo(&site, from);
        for to in (0..3).filter(|to| *to != from) {
            number += 1;
            assert!(pings(&socket, address(to), number), "{from} does not reach {to}");
        }
    }
    // A host without a neighbour entry broadcasts a request.
    let asks = Ip::inside(site.namespace_at(1).unwrap());
    asks.run(&["neighbour", "del", &address(2).to_string(), "dev", "tap0"]).unwrap();
    assert!(pings(&echo(&site, 1), address(2), 99), "ARP does not come through");

    let socket = |node: usize, port: u16, bound: Ipv4Addr| {
        let socket =
            site.namespace_at(node).unwrap().within(|| UdpSocket::bind((bound, port))).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        socket
    };
    let mut buffer = [0; 16];
    for port in [7009, 7010] {
        let readers = [1, 2].map(|node| socket(node, port, Ipv4Addr::UNSPECIFIED));
        let sender = socket(0, 0, address(0));
        sender.set_broadcast(true).unwrap();
        sender.send_to(b"all", (Ipv4Addr::new(10, 77, 11, 255), port)).unwrap();
        for (reader, node) in readers.iter().zip(1..) {
            assert_eq!(reader.recv(&mut buffer).ok(), Some(3), "node {node} misses a broadcast to {port}");
        }
        // Delivered to one host, without a copy to another.
        sender.send_to(b"one", (address(2), port)).unwrap();
        assert_eq!(readers[1].recv(&mut buffer).ok(), Some(3));
        readers[0].set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        assert!(readers[0].recv(&mut buffer).is_err(), "node 1 has what is for node 2");
    }
    over.store(true, Ordering::Relaxed);
    let driven = running.watch(&mut |_| {});
    let counts: FrameCounts = driven.outside.0.counts();
    assert!(counts.copies >= 3, "two broadcasts and a request for an address: {counts:?}");
    assert_eq!((counts.oversize, counts.refused, counts.undeliverable), (0, 0, 0));
    let delivered = |name: &str| {
        let channel = driven.run.channels.iter().find(|channel| channel.name == name).unwrap();
        channel.delivered.unwrap()
    };
    assert_eq!(delivered("control"), 2, "the broadcast and the message to 7009");
}
