//! Real programs through an emulated network, and a replay from the log. Skipped, with the reason,
//! where TAP devices and namespaces are not permitted.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Written, alone, at_ports, permitted, ports};
use laxity_emulator::emulate::{EmulationOptions, replay, start};
use laxity_emulator::log::{End, Log, LogHeader, RecordedFiles, Recorder};
use laxity_emulator::tap_port::{Ports, Site};
use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_scenario::Scenario;
use laxity_scenario::claim::Unread;
use laxity_units::Span;
use laxity_world::experiment::Task;
use laxity_world::results::Run;

/// They are read only at the end: fewer than a socket's default buffer holds, whatever its
/// overhead.
const SENT: u32 = 240;

/// Two nodes with a loss of one frame in ten.
fn scenario() -> String {
    let ports = ports("t", ["10.77.9.1", "10.77.9.2"]);
    format!(
        r#"
        title = "a test"
        [host]
        profile = "hartos-np"
        speedup = 1000
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
        impairments = {{ loss = 0.1 }}
        [run]
        time = "700 ms"
        {ports}
        [[channel]]
        name = "there"
        from = 0
        to = 1
        class = "best_effort"
        max_message = "1518 B"
        burst = 64
        message_slots = 1024
        carries = "udp 7009"
        source = {{ kind = "none" }}
        "#
    )
}

#[test]
fn datagrams_go_through_in_order_and_the_log_replays_them() {
    let _turn = alone();
    let path = PathBuf::from("test.toml");
    let files = BTreeMap::from([(path.clone(), scenario().into_bytes())]);
    let files = RecordedFiles::of(&files);
    let scenario = Scenario::read(&path, &files, &Unread).unwrap_or_else(|errors| panic!("{errors}"));
    let point = scenario.points().next().unwrap();
    let experiment = Arc::new(scenario.experiment(&point));
    let Task::Simulate(length) = experiment.task else { panic!("a test is simulated") };
    let Some(site) = permitted(Site::new(&experiment)) else { return };
    let socket = |node: usize, address: [u8; 4], port: u16| {
        let namespace = site.namespace_at(node).expect("each node has a namespace");
        namespace.within(|| UdpSocket::bind((Ipv4Addr::from(address), port))).unwrap().unwrap()
    };
    let (from, to) = (socket(0, [10, 77, 9, 1], 7009), socket(1, [10, 77, 9, 2], 7009));
    to.set_read_timeout(Some(Duration::from_millis(500))).unwrap();

    let ports = Ports::new(&experiment, site.taps()).unwrap();
    let mut header = LogHeader::new(&scenario, &point, length, &path, &files);
    header.channels = ports.channels();
    let file = Written::default();
    let (journal, recorder) = Recorder::start(file.clone(), &header).unwrap();
    let epoch = TickEpoch::starting_in(Span::from_ms(5), Ticks::calibrate(), Dilation::NONE);
    let ports = ports.timed_by(move || epoch.now());
    let emulation = at_ports(&experiment, ports, epoch, Some(journal));
    let running = start(emulation, &EmulationOptions::on(None)).unwrap();
    for number in 0..SENT {
        from.send_to(&number.to_be_bytes(), (Ipv4Addr::new(10, 77, 9, 2), 7009)).unwrap();
    }
    // No channel carries another port.
    let other = socket(0, [10, 77, 9, 1], 7010);
    other.send_to(b"no", (Ipv4Addr::new(10, 77, 9, 2), 7010)).unwrap();
    let driven = running.watch(&mut |_| {});
    recorder.finish(End::new(driven.inputs, driven.end, driven.departures)).unwrap();
    drop((from, other));

    let mut received = Vec::new();
    let mut datagram = [0; 16];
    to.set_nonblocking(true).unwrap();
    while let Ok(length) = to.recv(&mut datagram) {
        received.push(u32::from_be_bytes(datagram[..length].try_into().expect("a number was sent")));
    }
    assert!(received.is_sorted_by(|a, b| a < b), "in order, and none twice: {received:?}");
    let counts = driven.outside.counts();
    assert_eq!(driven.outside.errors(), [""; 0]);
    let delays = driven.outside.delays().expect("frames were written");
    assert_eq!((delays.frames, delays.early), (counts.written, 0));
    let frames = &driven.outside.frames(&experiment)[0];
    assert_eq!((frames.read, frames.written), (driven.inputs, counts.written));
    assert_eq!(site.drops()[&0].unread, 0, "{SENT} frames fit a queue");
    assert_eq!((counts.written, counts.undeliverable, counts.strays), (received.len() as u64, 0, 0));
    let channel = &driven.run.channels[0];
    assert_eq!(channel.delivered, Some(counts.written));
    assert!(channel.lost_packets > 0 && counts.written > 0, "a tenth of {SENT} is lost: {counts:?}");
    assert_eq!((counts.unmatched, counts.read), (1, 1 + driven.inputs));
    assert!(driven.outside.held() as u64 <= channel.lost_packets, "what is held is lost, or was just taken");

    let bytes = file.0.lock().unwrap().clone();
    let log = Log::open(bytes.as_slice()).unwrap();
    let (_, _, again) = log.header().experiment().unwrap();
    let replayed = replay(log, &again).unwrap();
    assert_eq!(replayed.departures, driven.departures);
    assert_eq!(replayed.run, Run { real_time: None, ..driven.run });

    let names: Vec<String> = [0, 1].map(|node| site.namespace_at(node).unwrap().name().to_string()).to_vec();
    drop((driven.outside, site));
    for name in names {
        assert!(!PathBuf::from("/run/netns").join(&name).exists(), "{name} is left");
    }
}
