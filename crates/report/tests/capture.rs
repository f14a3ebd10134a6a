//! A second parser reads a capture back and finds the values of the experiment.

use std::collections::{BTreeMap, BTreeSet};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use laxity_qos::wire::Header;
use laxity_report::capture::{Capture, PORT};
use laxity_scenario::Scenario;
use laxity_units::Time;
use laxity_world::Departed;
use laxity_world::experiment::Experiment;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::name_resolution::Record;
use pcap_file::pcapng::{Block, PcapNgReader};

/// Small packets, so that a capture has all of them and sums can be checked: headers of 90 bytes,
/// and 64 behind them.
const NETWORK: &str = r#"
title = "What is captured"

[host]
profile = "mc68040"
speedup = 8.0
subsystem = { packet = "154 B" }

[node.camera]
[node.far]
[node.near]

[node.hall]
kind = "switch"

[network.hall]
joins = ["hall", "camera", "near"]
rate = "100 Mbit/s"

[network.up]
joins = ["hall", "far"]
rate = "100 Mbit/s"

[run]
time = "50 ms"

[[channel]]
name = "film"
class = "real_time"
from = "camera"
to = "far"
max_message = "308 B"
burst = 4
min_interval = "10 ms"
deadline = "10 ms"
source = { kind = "periodic" }

[[channel]]
name = "copy"
class = "best_effort"
from = "near"
to = "far"
max_message = "154 B"
burst = 4
source = { kind = "periodic", interval = "5 ms" }
"#;

/// One host, without a receiver.
const ALONE: &str = r#"
title = "What is captured"

[host]
profile = "mc68040"

[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"

[run]
time = "50 ms"

[[channel]]
name = "film"
class = "real_time"
max_message = "154 B"
burst = 4
min_interval = "10 ms"
deadline = "10 ms"
source = { kind = "periodic" }
"#;

/// Our header at the beginning of `payload`, of a packet of `size` bytes including other headers.
fn header_of(payload: &[u8], size: usize) -> Header {
    let mut packet = payload.to_vec();
    packet.resize(48 + size, 0);
    Header::decode(&packet).expect("a header of ours is in it").0
}

fn experiment(text: &str) -> Experiment {
    Scenario::from_text("net.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first()
}

/// A frame as it stands in the file.
struct Seen {
    interface: String,
    at: Time,
    remark: Option<String>,
    bytes: Vec<u8>,
}

fn captured(experiment: &Experiment) -> (Vec<Seen>, BTreeMap<[u8; 4], String>) {
    let mut capture = Capture::new(Vec::new(), experiment);
    let mut record = |departed: Departed<'_>| capture.record(departed);
    laxity_world::observe(experiment, &mut laxity_engine::trace::NoTrace, Some(&mut record));
    let file = capture.finish().expect("memory takes all");
    let mut reader = PcapNgReader::new(file.as_slice()).expect("a section begins it");
    let (mut interfaces, mut frames, mut names) = (Vec::new(), Vec::new(), BTreeMap::new());
    while let Some(block) = reader.next_block() {
        match block.expect("every block is whole") {
            Block::InterfaceDescription(interface) => {
                let name = interface.options.into_iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.into_owned()),
                    _ => None,
                });
                interfaces.push(name.expect("interfaces have names"));
            }
            Block::NameResolution(block) => {
                for record in block.records {
                    let Record::Ipv4(record) = record else { continue };
                    let address = record.ip_addr.as_ref().try_into().expect("four bytes");
                    names.insert(address, record.names[0].to_string());
                }
            }
            Block::EnhancedPacket(frame) => {
                let remark = frame.options.into_iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(text) => Some(text.into_owned()),
                    _ => None,
                });
                assert_eq!(frame.original_len as usize, frame.data.len(), "nothing is cut off here");
                frames.push(Seen {
                    interface: interfaces[frame.interface_id as usize].clone(),
                    at: Time::from_ps(frame.timestamp.as_nanos() as u64 * 1000),
                    remark,
                    bytes: frame.data.into_owned(),
                });
            }
            block => panic!("{block:?} was not written"),
        }
    }
    (frames, names)
}

#[test]
fn frames_are_whole_and_say_who_sent_what_to_whom() {
    let experiment = experiment(NETWORK);
    let (frames, names) = captured(&experiment);
    let mut remarks = Vec::new();
    let mut links = BTreeSet::new();
    for frame in &frames {
        let parsed = SlicedPacket::from_ethernet(&frame.bytes).expect("it is a frame");
        let Some(NetSlice::Ipv4(ip)) = &parsed.net else { panic!("it is not IPv4") };
        let Some(TransportSlice::Udp(udp)) = &parsed.transport else { panic!("it is not UDP") };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        assert_eq!(usize::from(header.total_len) + 14, frame.bytes.len());
        let sum = udp.to_header().calc_checksum_ipv4(&header, udp.payload()).expect("it is short");
        assert_eq!(udp.checksum(), sum);
        let ours = header_of(udp.payload(), 154);
        let channel = &experiment.channels[ours.channel as usize];
        assert_eq!((udp.source_port(), udp.destination_port()), (1024 + ours.channel as u16, PORT));
        assert_eq!(header.dscp.value(), if channel.name == "film" { 46 } else { 0 });
        assert_eq!(
            (udp.payload().len(), frame.bytes.len()),
            (48 + 64, 154),
            "all that took time, and no more"
        );
        let from = if channel.name == "film" { "camera" } else { "near" };
        assert_eq!((names[&header.source].as_str(), names[&header.destination].as_str()), (from, "far"));
        assert_eq!(header.time_to_live, 64, "a switch counts as no hop");
        assert!(frame.at.as_ps() < 50_000_000_000 && ours.logical_arrival <= frame.at);
        let link = parsed.link.expect("it has a link").to_header().expect("it is Ethernet").ethernet2();
        let link = link.expect("it is Ethernet II");
        links.insert((from, link.source[5], link.destination[5]));
        remarks.extend(frame.remark.clone().map(|remark| (frame.interface.clone(), remark)));
    }
    // The Ethernet addresses are those of the two hosts, before the switch and behind it.
    assert_eq!(links.into_iter().collect::<Vec<_>>(), [("camera", 1, 2), ("near", 3, 2)]);
    remarks.sort();
    let expected = [
        ("camera", "channel 0: film"),
        ("hall.far", "channel 0: film"),
        ("hall.far", "channel 1: copy"),
        ("near", "channel 1: copy"),
    ];
    assert_eq!(remarks, expected.map(|(i, r)| (i.to_string(), r.to_string())));
    // 5 messages of two packets and 10 of one, each sent by its host and by the port.
    let on = |name: &str| frames.iter().filter(|frame| frame.interface == name).count();
    assert_eq!((on("camera"), on("near"), on("hall.far")), (10, 10, 20));
}

/// A multicast has one group address and one source port on all links. Its packets leave the camera once, and
/// the switch twice.
#[test]
fn a_multicast_is_for_a_group() {
    let several = NETWORK.replacen("to = \"far\"\n", "to = \"far\"\nreceivers = [{ to = \"near\" }]\n", 1);
    let (frames, _) = captured(&experiment(&several));
    let film = frames.iter().filter_map(|frame| {
        let parsed = SlicedPacket::from_ethernet(&frame.bytes).expect("it is a frame");
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (&parsed.net, &parsed.transport)
        else {
            panic!("it is UDP over IPv4")
        };
        let film = ip.header().to_header().dscp.value() == 46;
        film.then(|| (frame, ip.header().destination(), udp.source_port()))
    });
    let film: Vec<_> = film.collect();
    assert!(film.iter().all(|(frame, to, port)| {
        frame.bytes[..6] == [1, 0, 0x5E, 64, 0, 1] && *to == [239, 192, 0, 1] && *port == 1024
    }));
    let on = |name: &str| film.iter().filter(|(frame, ..)| frame.interface == name).count();
    assert_eq!((on("camera"), on("hall.far"), on("hall.near")), (10, 10, 10));
}

/// A video stream that is shown to a host and returns to the camera. Each hop is a frame from its
/// sender to the next station, with a hop limit lower by one behind each host.
#[test]
fn what_turns_back_is_seen_each_time() {
    let back = NETWORK.replace(
        "from = \"camera\"\nto = \"far\"",
        "route = [\"camera\", \"hall\", \"near\", \"hall\", \"camera\", \"hall\", \"near\"]",
    );
    let (frames, names) = captured(&experiment(&back));
    let seen = frames.iter().filter_map(|frame| {
        let parsed = SlicedPacket::from_ethernet(&frame.bytes).expect("it is a frame");
        let Some(NetSlice::Ipv4(ip)) = &parsed.net else { panic!("it is not IPv4") };
        let ends = [ip.header().source(), ip.header().destination()].map(|address| names[&address].as_str());
        let (to, from) = (frame.bytes[5], frame.bytes[11]);
        (ends == ["camera", "near"]).then(|| (frame.interface.as_str(), from, to, ip.header().ttl()))
    });
    let mut seen: Vec<_> = seen.step_by(2).take(6).collect();
    seen.sort_by_key(|(.., hops)| std::cmp::Reverse(*hops));
    let (camera, near) = (1, 3);
    assert_eq!(
        seen,
        [
            ("camera", camera, near, 64),
            ("hall.near", camera, near, 64),
            ("near", near, camera, 63),
            ("hall.camera", near, camera, 63),
            ("camera", camera, near, 62),
            ("hall.near", camera, near, 62),
        ]
    );
}

#[test]
fn what_nobody_receives_is_addressed_to_nobody() {
    let (frames, names) = captured(&experiment(ALONE));
    assert_eq!(names[&[10, 0, 0, 1]], "node0");
    assert_eq!(frames.len(), 5);
    for frame in frames {
        let parsed = SlicedPacket::from_ethernet(&frame.bytes).expect("it is a frame");
        let Some(NetSlice::Ipv4(ip)) = parsed.net else { panic!("it is not IPv4") };
        assert_eq!(ip.header().destination(), [192, 0, 2, 1]);
        assert_eq!((frame.interface.as_str(), &frame.bytes[..6]), ("node0", &[0xFF; 6][..]));
    }
}

/// Offloads hand a packet that no datagram can be to an adapter like this; readers take the length
/// of the frame.
#[test]
fn a_packet_longer_than_a_datagram_has_no_length() {
    let long =
        ALONE.replace("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { packet = \"80 KiB\" }");
    let experiment = experiment(&long.replace("\"154 B\"", "\"80 KiB\""));
    let mut lengths = Vec::new();
    let mut capture = Capture::new(Vec::new(), &experiment);
    let mut record = |departed: Departed<'_>| {
        lengths.push(departed.bytes.len());
        capture.record(departed);
    };
    laxity_world::observe(&experiment, &mut laxity_engine::trace::NoTrace, Some(&mut record));
    let file = capture.finish().expect("memory takes all");
    let mut reader = PcapNgReader::new(file.as_slice()).expect("a section begins it");
    let mut frames = 0;
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(frame) = block.expect("every block is whole") {
            assert_eq!(frame.original_len as usize + 48, lengths[frames]);
            assert_eq!((&frame.data[16..18], &frame.data[38..42]), (&[0, 0][..], &[0, 0, 0, 0][..]));
            frames += 1;
        }
    }
    assert_eq!((frames, lengths[0]), (lengths.len(), 48 + 80 * 1024));
}

/// The form of a packet in a capture, by its link: the length of the frame, and the remark where
/// headers do not fit.
#[test]
fn a_frame_has_the_bytes_that_took_time() {
    let of = |framing: &str, size: u32| {
        let framing = format!("rate = \"100 Mbit/s\"\nframing = \"{framing}\"");
        let text = NETWORK.replace("rate = \"100 Mbit/s\"", &framing).replace("154 B", &format!("{size} B"));
        let (frames, _) = captured(&experiment(&text.replace("308 B", &format!("{} B", 2 * size))));
        let lengths: BTreeSet<usize> = frames.iter().map(|frame| frame.bytes.len()).collect();
        let remarks = frames.iter().filter(|frame| frame.remark.is_some()).count();
        (lengths.into_iter().collect::<Vec<_>>(), remarks == frames.len(), frames[0].remark.clone())
    };
    let film = |message: &str| Some(format!("channel 0: film{message}"));
    let cut = film(", message 0, fragment 1 of 2");
    // 14 bytes of Ethernet, 20 of IPv4, 8 of UDP and 48 of ours are 90.
    assert_eq!(of("none", 90), (vec![90], false, film("")));
    assert_eq!(of("none", 89), (vec![89], true, cut.clone()));
    assert_eq!(of("none", 1), (vec![1], true, cut.clone()));
    assert_eq!(of("ethernet", 76), (vec![90], false, film("")));
    assert_eq!(of("ethernet", 75), (vec![89], true, cut.clone()));
    // Filled up to 60.
    assert_eq!(of("ethernet", 46), (vec![60], true, cut.clone()));
    assert_eq!(of("ethernet", 1), (vec![60], true, cut.clone()));
    assert_eq!(of("ethernet_vlan", 42), (vec![60], true, cut.clone()));
    assert_eq!(of("ethernet_vlan", 43), (vec![61], true, cut));
    assert_eq!(of("ethernet_vlan", 76), (vec![94], false, film("")));
}
