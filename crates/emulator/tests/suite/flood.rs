//! A flood at a port, beside frames of a real-time channel, while no frame is read: the kernel
//! drops only frames of the flood. Order and accounting are asserted, no times. Skipped, with the
//! reason, where TAP devices, namespaces and programs for frames are not permitted.
#![allow(unsafe_code, reason = "a thread's capabilities are taken away by no safe call")]

use std::net::{Ipv4Addr, UdpSocket};
use std::process::id;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{alone, at_ports, permitted, ports};
use laxity_emulator::emulate::{EmulationOptions, start};
use laxity_emulator::tap_port::{Ports, Site};
use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_scenario::Scenario;
use laxity_units::Span;

/// Several times the capacity of a queue of the kernel.
const FLOOD: u32 = 20_000;
/// Frames of the flood per frame of the stream.
const EVERY: u32 = 100;
const TO: Ipv4Addr = Ipv4Addr::new(10, 77, 7, 2);

fn scenario() -> Scenario {
    read(&two_namespaces())
}

fn read(text: &str) -> Scenario {
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn two_namespaces() -> String {
    let ports = ports("f", ["10.77.7.1", "10.77.7.2"]);
    format!(
        r#"
        title = "a test"
        [host]
        profile = "hartos-np"
        speedup = 1000
        [host.subsystem]
        packet = "1600 B"
        [adapter]
        kind = "generic"
        [[adapter.transmit]]
        name = "link"
        phase = [{{ rate = "1 Gbit/s" }}]
        [admission]
        formula = "off"
        [network]
        kind = "point_to_point"
        stations = 2
        [run]
        time = "1 s"
        {ports}
        [[channel]]
        name = "flood"
        from = 0
        to = 1
        class = "best_effort"
        max_message = "1518 B"
        burst = 16
        carries = "udp 7010"
        source = {{ kind = "none" }}
        [[channel]]
        name = "stream"
        from = 0
        to = 1
        class = "real_time"
        max_message = "200 B"
        burst = 256
        message_slots = 512
        min_interval = "1 ms"
        deadline = "500 us"
        carries = "udp"
        source = {{ kind = "periodic" }}
        "#
    )
}

#[test]
fn a_flood_pushes_out_nothing_of_a_real_time_channel() {
    let _turn = alone();
    let scenario = scenario();
    let experiment = Arc::new(scenario.experiment(&scenario.points().next().unwrap()));
    let Some(site) = permitted(Site::new(&experiment)) else { return };
    if let [why, ..] = site.unsteered() {
        println!("skipped: {why}");
        return;
    }
    let socket = |node: usize, address: Ipv4Addr, port: u16| {
        let namespace = site.namespace_at(node).expect("each node has a namespace");
        namespace.within(|| UdpSocket::bind((address, port))).unwrap().unwrap()
    };
    let here = Ipv4Addr::new(10, 77, 7, 1);
    let (stream, to) = (socket(0, here, 7009), socket(1, TO, 7009));
    // Several flows: a kernel that distributes flows at random might otherwise put all of the flood
    // in another queue than the stream.
    let flood: Vec<UdpSocket> = (7020..7036).map(|port| socket(0, here, port)).collect();
    // Without a listener for the flood its host would send ICMP errors.
    let _there = socket(1, TO, 7010);
    // A full queue causes neither an error nor a wait at the sender.
    for number in 0..FLOOD {
        flood[number as usize % flood.len()].send_to(&[0; 900], (TO, 7010)).unwrap();
        if number % EVERY == 0 {
            stream.send_to(&(number / EVERY).to_be_bytes(), (TO, 7009)).unwrap();
        }
    }

    let epoch = TickEpoch::starting_in(Span::from_ms(5), Ticks::calibrate(), Dilation::NONE);
    let ports = Ports::new(&experiment, site.taps()).unwrap().timed_by(move || epoch.now());
    let emulation = at_ports(&experiment, ports, epoch, None);
    let driven = start(emulation, &EmulationOptions::on(None)).unwrap().watch(&mut |_| {});

    let mut received = Vec::new();
    let mut message = [0; 16];
    to.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    while let Ok(length) = to.recv(&mut message) {
        received.push(u32::from_be_bytes(message[..length].try_into().expect("a number was sent")));
    }
    assert_eq!(received, (0..FLOOD / EVERY).collect::<Vec<_>>(), "none is missing, and all are in order");
    let (counts, unread) = (driven.outside.counts(), site.drops()[&0].unread);
    assert_eq!(driven.outside.errors(), [""; 0]);
    assert_eq!(counts.read + unread, u64::from(FLOOD + FLOOD / EVERY), "{counts:?}");
    assert!(unread > u64::from(FLOOD) / 2, "the flood was more than a queue holds: {unread}");
    let [flood, stream] = &driven.outside.frames(&experiment)[..] else { panic!("two channels") };
    assert_eq!(stream.read, u64::from(FLOOD / EVERY));
    assert!(flood.read > 0, "what is guaranteed is not all that is read");
}

/// Removes the capabilities to load a program from the calling thread. Programs that it starts
/// regain them.
fn without_programs() {
    const WORDS: usize = 2;
    #[repr(C)]
    struct Header {
        version: u32,
        thread: i32,
    }
    let header = Header { version: 0x2008_0522, thread: 0 };
    // Effective, permitted and inheritable; capabilities 0 to 31, then the higher ones.
    let mut sets = [[0_u32; 3]; WORDS];
    let (system, program) = (21, 39 - 32);
    // SAFETY: both calls get the header and the sets of its version, which live through them.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()), 0);
        sets[0][0] &= !(1 << system);
        sets[1][0] &= !(1 << program);
        assert_eq!(libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()), 0);
    }
}

#[test]
fn where_the_kernel_takes_no_program_there_is_one_queue_and_it_is_said() {
    let _turn = alone();
    let closed = std::fs::read_to_string("/proc/sys/kernel/unprivileged_bpf_disabled");
    if closed.is_ok_and(|closed| closed.trim() == "0") {
        println!("skipped: the kernel takes programs of this kind from everybody");
        return;
    }
    let (a, b) = (format!("lxf{}a", id()), format!("lxf{}b", id()));
    let kept = |line: &&str| !line.trim().starts_with("namespace") && !line.trim().starts_with("address");
    let text: String = two_namespaces().lines().filter(kept).map(|line| format!("{line}\n")).collect();
    let text = text.replacen("\"tap0\"", &format!("\"{a}\""), 1).replacen("\"tap0\"", &format!("\"{b}\""), 1);
    let scenario = read(&text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let made = std::thread::spawn(move || {
        without_programs();
        Site::new(&experiment)
    });
    let Some(site) = permitted(made.join().unwrap()) else { return };
    let [said] = site.unsteered() else { panic!("one port has a real-time channel: {:?}", site.unsteered()) };
    assert!(said.contains("node 0") && said.contains(&a) && said.contains("CAP_BPF"), "{said}");
    assert!(site.taps().values().all(|tap| tap.queues() == 1));
}
