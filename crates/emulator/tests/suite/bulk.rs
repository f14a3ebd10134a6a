//! Bulk TCP between two namespaces through a link with delay and loss: all bytes arrive intact, in
//! frames as on a link, and none early. Skipped, with the reason, where TAP devices and namespaces
//! are not permitted.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::common::{alone, at_ports, permitted, ports};
use laxity_emulator::emulate::{EmulationOptions, start};
use laxity_emulator::tap_port::{Ports, Site};
use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_scenario::Scenario;
use laxity_units::Span;

const BYTES: usize = 2_000_000;
/// Timeout, so that the test does not wait for a run that has ended.
const PATIENCE: Duration = Duration::from_secs(5);

fn scenario(name: &str, from: IpAddr, to: IpAddr) -> String {
    let ports = ports(&format!("b{name}"), [from, to]);
    format!(
        r#"
        title = "a test"
        seed = 3
        [host]
        profile = "hartos-np"
        speedup = 1000
        [adapter]
        kind = "generic"
        [[adapter.transmit]]
        name = "link"
        phase = [{{ fixed = "5 us", rate = "1 Gbit/s" }}]
        [admission]
        formula = "off"
        [network]
        kind = "point_to_point"
        stations = 2
        impairments = {{ loss = 0.01 }}
        [run]
        time = "4 s"
        {ports}
        [[channel]]
        name = "there"
        from = 0
        to = 1
        class = "best_effort"
        max_message = "1518 B"
        burst = 64
        message_slots = 1024
        carries = "all"
        source = {{ kind = "none" }}
        [[channel]]
        name = "back"
        from = 1
        to = 0
        class = "best_effort"
        max_message = "1518 B"
        burst = 64
        message_slots = 1024
        carries = "all"
        source = {{ kind = "none" }}
        "#
    )
}

/// Bytes without repetition within the length of a frame.
fn sent() -> Vec<u8> {
    (0..BYTES as u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8).collect()
}

#[test]
fn bulk_goes_through_as_frames_and_arrives_whole() {
    let _turn = alone();
    through("4", IpAddr::from([10, 77, 4, 1]), IpAddr::from([10, 77, 4, 2]));
}

#[test]
fn so_it_does_by_the_new_protocol() {
    let _turn = alone();
    let end = |number| IpAddr::from([0xfd77, 4, 0, 0, 0, 0, 0, number]);
    through("6", end(1), end(2));
}

fn through(name: &str, from: IpAddr, to: IpAddr) {
    let text = scenario(name, from, to);
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = Arc::new(scenario.first());
    let Some(site) = permitted(Site::new(&experiment)) else { return };
    let inside = |node: usize| site.namespace_at(node).expect("each node has a namespace");
    let listener = inside(1).within(|| TcpListener::bind((to, 7009))).unwrap().unwrap();
    let epoch = TickEpoch::starting_in(Span::from_ms(20), Ticks::calibrate(), Dilation::NONE);
    let ports = Ports::new(&experiment, site.taps()).unwrap().timed_by(move || epoch.now());
    let emulation = at_ports(&experiment, ports, epoch, None);
    let running = start(emulation, &EmulationOptions::on(None)).unwrap();
    let receiver = thread::spawn(move || {
        let mut bytes = Vec::new();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut stream = inside(0).within(|| TcpStream::connect((to, 7009))).unwrap().unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&sent()).unwrap();
    drop(stream);
    let received = receiver.join().unwrap();
    let driven = running.watch(&mut |_| {});

    assert!(received == sent(), "{} of {BYTES} bytes, or others", received.len());
    let counts = driven.outside.counts();
    assert_eq!(driven.outside.errors(), [""; 0]);
    assert_eq!(
        (counts.oversize, counts.unmatched, counts.undeliverable, counts.strays),
        (0, 0, 0, 0),
        "{counts:?}"
    );
    assert!(
        counts.bulks > 0 && counts.bulks < counts.read / 2,
        "the kernel left the cutting to END: {counts:?}"
    );
    let there = &driven.outside.frames(&experiment)[0];
    assert!(there.read as usize >= BYTES / 1460, "each frame is one as the link carries them: {there:?}");
    assert!(driven.run.channels[0].lost_packets > 0, "and lost by itself");
    let delays = driven.outside.delays().expect("frames were written");
    assert_eq!(delays.early, 0, "{delays:?}");
}
