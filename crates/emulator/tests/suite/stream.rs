//! A program that sends at its contract's rate beside a flood, and measures the delays of its
//! datagrams. Order and accounting are asserted, and that none is early; delays are printed.
//! Skipped, with the reason, where TAP devices and namespaces are not permitted.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::common::{alone, at_ports, permitted, ports};
use laxity_emulator::emulate::{EmulationOptions, start};
use laxity_emulator::tap_port::{Ports, Site};
use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_scenario::Scenario;
use laxity_units::{Span, Time};

const SENT: u64 = 60;
const INTERVAL: Span = Span::from_ms(10);
const DELAY: Span = Span::from_ms(1);
const TO: Ipv4Addr = Ipv4Addr::new(10, 77, 8, 2);

fn scenario() -> String {
    let ports = ports("s", ["10.77.8.1", "10.77.8.2"]);
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
        phase = [{{ fixed = "1 ms", rate = "1 Gbit/s" }}]
        [admission]
        formula = "off"
        [network]
        kind = "point_to_point"
        stations = 2
        [run]
        time = "1 s"
        {ports}
        [[channel]]
        name = "stream"
        from = 0
        to = 1
        class = "real_time"
        max_message = "200 B"
        burst = 4
        message_slots = 64
        min_interval = "10 ms"
        deadline = "5 ms"
        carries = "udp 7009"
        source = {{ kind = "periodic" }}
        [[channel]]
        name = "flood"
        from = 0
        to = 1
        class = "best_effort"
        max_message = "1518 B"
        burst = 16
        carries = "udp"
        source = {{ kind = "none" }}
        "#
    )
}

#[test]
fn a_stream_beside_a_flood_is_whole_in_order_and_never_early() {
    let _turn = alone();
    let scenario = Scenario::from_text("test.toml", scenario()).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = Arc::new(scenario.first());
    assert_eq!(experiment.channels[0].spec.min_message.get(), 42, "not what the virtual source would send");
    let Some(site) = permitted(Site::new(&experiment)) else { return };
    let socket = |node: usize, address: Ipv4Addr, port: u16| {
        let namespace = site.namespace_at(node).expect("each node has a namespace");
        namespace.within(|| UdpSocket::bind((address, port))).unwrap().unwrap()
    };
    let here = Ipv4Addr::new(10, 77, 8, 1);
    let (from, flood, to) = (socket(0, here, 7009), socket(0, here, 7010), socket(1, TO, 7009));
    to.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    // There are no responses: the timeout serves as a delay.
    flood.set_read_timeout(Some(Duration::from_millis(1))).unwrap();

    let epoch = TickEpoch::starting_in(Span::from_ms(20), Ticks::calibrate(), Dilation::NONE);
    let ports = Ports::new(&experiment, site.taps()).unwrap().timed_by(move || epoch.now());
    let emulation = at_ports(&experiment, ports, epoch, None);
    let running = start(emulation, &EmulationOptions::on(None)).unwrap();
    let sender = thread::spawn(move || {
        let mut next = Time::ZERO + Span::from_ms(30);
        for number in 0..SENT {
            while epoch.now() < next {
                thread::yield_now();
            }
            let message = [number.to_be_bytes(), epoch.now().as_ps().to_be_bytes()].concat();
            from.send_to(&message, (TO, 7009)).unwrap();
            next += INTERVAL;
        }
    });
    let flooder = thread::spawn(move || {
        while epoch.now() < Time::ZERO + Span::from_ms(650) {
            for _ in 0..8 {
                // The kernel counts drops at a full queue.
                let _ = flood.send_to(&[0; 1400], (TO, 7010));
            }
            let _ = flood.recv(&mut [0; 16]);
        }
    });
    let receiver = thread::spawn(move || {
        let (mut received, mut message) = (Vec::new(), [0; 16]);
        while let Ok(16) = to.recv(&mut message) {
            let now = epoch.now();
            let word = |at: usize| u64::from_be_bytes(message[at..at + 8].try_into().unwrap());
            received.push((word(0), now.saturating_since(Time::from_ps(word(8)))));
        }
        received
    });
    let driven = running.watch(&mut |_| {});
    sender.join().unwrap();
    flooder.join().unwrap();
    let received = receiver.join().unwrap();

    let frames = &driven.outside.frames(&experiment)[0];
    let unread = site.drops()[&0].unread;
    assert!(received.is_sorted_by(|a, b| a.0 < b.0), "in order, and none twice: {received:?}");
    assert_eq!(received.len() as u64, frames.written, "what was written was received");
    assert!(frames.read + unread >= SENT || driven.run.real_time.as_ref().unwrap().stall_total > 0.1);
    assert!(received.iter().all(|(_, took)| *took >= DELAY), "early: {received:?}");
    let delays = driven.outside.delays().expect("frames were written");
    assert_eq!(delays.early, 0, "{delays:?}");
    let counts = driven.outside.counts();
    assert_eq!((counts.undersized, counts.oversize, counts.unadmitted), (0, 0, 0), "{counts:?}");
    let mut took: Vec<Span> = received.iter().map(|(_, took)| *took).collect();
    took.sort_unstable();
    if let (Some(median), Some(most)) = (took.get(took.len() / 2), took.last()) {
        println!(
            "the program: median {median}, most {most}; here: {frames:?}; {unread} not read; {delays:?}"
        );
    }
}
