//! `laxity compare --log`: logs of measuring programs beside bound and simulated worst case.

use std::process::Output;

use crate::common::{Here, err, out};

/// A channel to a drive and one from it, over a line of 100 Mbit/s. Hosts take no time.
const LOOP: &str = r#"
title = "A controller and a drive"
host = { profile = "mc68040", costs = { context_switch = "0 us", cache_miss = "0 us", first_packet = "0 us", packet = "0 us", link_scheduling = "0 us", hand_over = "0 us", interrupt = "0 us", thread_creation = "0 us", receive_packet = "0 us", receive_message = "0 us", send_call = "0 us" }, subsystem = { packet = "128 B" } }
adapter = { kind = "null", rate = "100 Gbit/s" }
run = { time = "20 ms" }
[node.controller]
[node.drive]
[network.line]
joins = ["controller", "drive"]
rate = "100 Mbit/s"
framing = "ethernet"
[[channel]]
name = "setpoint"
class = "real_time"
from = "controller"
to = "drive"
max_message = "128 B"
burst = 1
min_interval = "1 ms"
deadline = "1 ms"
source = { kind = "periodic" }
[[channel]]
name = "position"
class = "real_time"
from = "drive"
to = "controller"
max_message = "128 B"
burst = 1
min_interval = "1 ms"
deadline = "1 ms"
source = { kind = "periodic" }
[[channel]]
name = "copy"
class = "best_effort"
from = "drive"
to = "controller"
max_message = "128 B"
burst = 1
source = { kind = "periodic", interval = "5 ms" }
"#;

/// `isochron.dat` of packets with these delays in nanoseconds and a wake-up each millisecond. A packet
/// with a delay of 0 is lost. The adapters have timestamps 1 us inside of these times.
fn isochron(delays: &[i64]) -> Vec<u8> {
    let count = delays.len() as u32;
    let mut bytes = [&b"ISOCHRON"[..], &4u32.to_be_bytes(), &count.to_be_bytes(), &[0, 64, 0, 2]].concat();
    bytes.extend([0; 4 + 5 * 8]);
    bytes.extend([96, 96 + u64::from(count) * 48].map(u64::to_be_bytes).concat());
    bytes.extend([count * 48, count * 32, 0, 0].map(u32::to_be_bytes).concat());
    let woken = |i: usize| 1_700_000_000_000_000_000 + i as i64 * 1_000_000;
    for i in 0..delays.len() {
        bytes.extend([i as u32 + 1, 0].map(u32::to_be_bytes).concat());
        bytes.extend([woken(i), woken(i), woken(i) + 1000, 0, 0].map(i64::to_be_bytes).concat());
    }
    for (i, delay) in delays.iter().enumerate() {
        let arrived = *delay != 0;
        bytes.extend([if arrived { i as u32 + 1 } else { 0 }, 0].map(u32::to_be_bytes).concat());
        let at = |time: i64| if arrived { time } else { 0 };
        let times = [at(woken(i) + delay), at(woken(i) + delay - 1000), 0];
        bytes.extend(times.map(i64::to_be_bytes).concat());
    }
    bytes
}

/// Statistics of one class.
fn testbench(sent: u64, received: u64, trip: u64, way: u64) -> String {
    format!(
        "[      42.     1234]: [INFO]: RtcSent={sent} | RtcReceived={received} | RtcRttMin=1000 [us] | RtcRttMax={trip} \
         [us] | RtcRttAvg=1000.500000 [us] | RtcOnewayMin=4 [us] | RtcOnewayMax={way} [us] | RtcOnewayAvg=4.500000 [us] \
         | RtcRttOutliers=0 | RtcOnewayOutliers=0 | \n"
    )
}

/// The cells of each row.
fn rows(output: &Output) -> Vec<Vec<String>> {
    let text = out(output);
    let lines = text.lines().filter(|line| line.contains('┆')).skip(1);
    let cells = |line: &str| line.split('┆').map(|cell| cell.trim_matches(['│', ' ']).to_owned()).collect();
    lines.map(cells).collect()
}

/// Refuses these arguments for that reason.
fn refused(here: &Here, arguments: &str, reason: &str) {
    let said = here.laxity(&format!("compare {arguments}"));
    assert_eq!(said.status.code(), Some(2), "{arguments}: {}", err(&said));
    assert!(err(&said).contains(reason), "{arguments}: {}", err(&said));
}

/// The node files of daemons.
const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nodes/network.toml");

#[test]
fn a_log_of_isochron_stands_beside_bound_and_simulation() {
    let here = Here::new("compare-isochron");
    here.write("loop.toml", LOOP);
    std::fs::write(here.path("iso.dat"), isochron(&[12_000, 13_001, 11_000])).unwrap();
    let compared = here.laxity("compare loop.toml --log setpoint=iso.dat");
    let rows = rows(&compared);
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    let [bound, simulated] = [2, 3].map(|column| rows[0][column].clone());
    assert_eq!(
        rows,
        [
            ["setpoint", "wake-up to arrival", &bound, &simulated, "13.001 us", "3", "0", "within the bound"],
            ["setpoint", "adapter to adapter", &bound, &simulated, "11.001 us", "3", "-", "within the bound"],
        ]
    );
    // 128 bytes of payload with the headers take 13.28 us at 100 Mbit/s: the simulation has that at least.
    let us = |cell: &str| cell.strip_suffix(" us").unwrap().parse::<f64>().unwrap();
    assert!(us(&bound) >= us(&simulated) && us(&simulated) > 10.0, "{bound} {simulated}");
    std::fs::write(here.path("late.dat"), isochron(&[14_000, 990_000])).unwrap();
    std::fs::write(here.path("lost.dat"), isochron(&[12_000, 0])).unwrap();
    for (log, worst, lost, word) in
        [("late.dat", "990.000 us", "0", "ABOVE the bound"), ("lost.dat", "12.000 us", "1", "1 lost")]
    {
        let compared = here.laxity(&format!("compare loop.toml --log setpoint={log}"));
        assert_eq!(compared.status.code(), Some(1), "{}", out(&compared));
        let row = &self::rows(&compared)[0];
        assert_eq!((&row[4][..], &row[6][..], &row[7][..]), (worst, lost, word), "{}", out(&compared));
    }
    // The bound of a camera alone ends with its last transmission.
    here.write("camera.toml", crate::common::CAMERA);
    std::fs::write(here.path("slow.dat"), isochron(&[900_000_000])).unwrap();
    let compared = here.laxity("compare camera.toml --log camera=slow.dat");
    assert_eq!(compared.status.code(), Some(4), "{}{}", out(&compared), err(&compared));
    assert!(out(&compared).contains("the bound ends with the last transmission"), "{}", out(&compared));
    // A channel without a bound has no judgement.
    let compared = here.laxity("compare loop.toml --log copy=iso.dat");
    assert_eq!(compared.status.code(), Some(4), "{}", out(&compared));
    assert!(out(&compared).contains("not judged: the channel has no bound"), "{}", out(&compared));
}

/// The file is of isochron 0.9, of ten packets over a pair of virtual adapters, which have no hardware
/// timestamps. The longest time from a wake-up to an arrival by `isochron report` is that of packet 1.
#[test]
fn a_file_of_isochron_itself_is_read() {
    let here = Here::new("compare-itself");
    here.write("loop.toml", LOOP);
    std::fs::write(here.path("iso.dat"), include_bytes!("compare/isochron.dat")).unwrap();
    let compared = here.laxity("compare loop.toml --log setpoint=iso.dat");
    let rows = rows(&compared);
    let measured: Vec<&str> = rows[0][4..7].iter().map(String::as_str).collect();
    assert_eq!((rows.len(), &measured[..]), (1, &["63.752 us", "10", "0"][..]), "{}", out(&compared));
    assert!(err(&compared).contains("did not wait until the clocks were synchronised"), "{}", err(&compared));
}

/// tcpdump captured twelve packets with a header of RTP at both ends of a pair of virtual adapters. The
/// numbers wrap after the sixth, and `editcap` removed the fifth from what the receiver has. The times by
/// tshark have 3893 ns as the longest delay.
#[test]
fn two_captures_of_a_stream_are_matched() {
    let here = Here::new("compare-captures");
    here.write("loop.toml", LOOP);
    std::fs::write(here.path("sent.pcap"), include_bytes!("compare/sent.pcap")).unwrap();
    std::fs::write(here.path("received,1.pcapng"), include_bytes!("compare/received.pcapng")).unwrap();
    let log = "--log setpoint=sent.pcap,received,1.pcapng";
    for sequence in ["rtp", "2+2", "rtp --port 5004", "frame:44+2", "4+4"] {
        let compared = here.laxity(&format!("compare loop.toml {log} --sequence {sequence}"));
        assert_eq!(compared.status.code(), Some(1), "{sequence}: {}{}", out(&compared), err(&compared));
        let rows = rows(&compared);
        let [bound, simulated] = [2, 3].map(|column| rows[0][column].clone());
        let row = ["setpoint", "capture to capture", &bound, &simulated, "3.893 us", "11", "1", "1 lost"];
        assert_eq!(rows, [row], "{sequence}");
        assert!(bound.ends_with(" us") && err(&compared).is_empty(), "{}", err(&compared));
    }
    // Without loss the packets are within the bound: the sender's capture is that of a receiver, too.
    let compared = here.laxity("compare loop.toml --log setpoint=sent.pcap,sent.pcap --sequence rtp");
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    assert_eq!(rows(&compared)[0][4..], ["0.000 us", "12", "0", "within the bound"]);
    // The receiver's capture ends after six packets, which are 24 + 6 (16 + 74) bytes.
    let sent = include_bytes!("compare/sent.pcap");
    std::fs::write(here.path("half.pcap"), &sent[..sent.len() / 2 + 12]).unwrap();
    let half = here.laxity("compare loop.toml --log setpoint=sent.pcap,half.pcap --sequence rtp");
    assert_eq!(half.status.code(), Some(4), "{}{}", out(&half), err(&half));
    assert_eq!(rows(&half)[0][5..7], ["6", "0 to 6"]);
    // The directions are exchanged, so packets arrive before they are sent.
    let swapped = here.laxity("compare loop.toml --log setpoint=received,1.pcapng,sent.pcap --sequence rtp");
    assert_eq!(swapped.status.code(), Some(4), "{}{}", out(&swapped), err(&swapped));
    assert_eq!(rows(&swapped)[0][4..7], ["-3.893 us", "11", "0"]);
    assert!(err(&swapped).contains("1 packet arrived that the sender's capture does not have"));
    for (arguments, reason) in [
        (format!("{log} --port 9 --sequence rtp"), "sent.pcap: no packet has the number `rtp`"),
        (log.to_string(), "captures need `--sequence`"),
        (format!("{log} --sequence 8+4"), "sent.pcap: byte 114: the number 7 has been sent before"),
        (format!("{log} --sequence 3"), "valid is `OFFSET+BYTES`"),
        ("--log setpoint=sent.pcap".into(), "sent.pcap: a capture alone has no delays"),
        ("--log setpoint=sent.pcap,loop.toml --sequence rtp".into(), "loop.toml: this is no capture"),
        ("--log setpoint=sent.pcap,no.pcap --sequence rtp".into(), "no.pcap: it cannot be read"),
        ("--log setpoint:a=sent.pcap,sent.pcap --sequence rtp".into(), "captures have no traffic classes"),
        ("--log setpoint,position=sent.pcap,sent.pcap --sequence rtp".into(), "captures measure one way"),
        ("--sequence rtp".into(), "--log"),
    ] {
        refused(&here, &format!("loop.toml {arguments}"), reason);
    }
}

/// The file is of cyclictest 2.4 with `-H 20 -t 2`, in which each thread has latenesses beyond the range.
#[test]
fn wake_ups_stand_beside_the_interval_of_the_contract() {
    let here = Here::new("compare-wakeups");
    here.write("loop.toml", LOOP);
    here.write("hist.txt", include_str!("compare/cyclictest.txt"));
    let compared = here.laxity("compare loop.toml --log setpoint=hist.txt --log setpoint:1=hist.txt");
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    let row =
        |worst, wakeups| ["setpoint", "wake-up", "1000.000 us", "-", worst, wakeups, "-", "within the bound"];
    assert_eq!(rows(&compared), [row("253.000 us", "2000"), row("30.000 us", "1000")]);
    here.write(
        "late.txt",
        "T: 0 (   9) P:80 I:1000 C:     10 Min:      4 Act:    5 Avg:    5 Max:    1001\n",
    );
    let compared = here.laxity("compare loop.toml --log setpoint=late.txt");
    assert_eq!(compared.status.code(), Some(1), "{}", out(&compared));
    assert_eq!(rows(&compared)[0][4..], ["1001.000 us", "10", "-", "ABOVE the bound"]);
    // Best effort has no contract that a late program could break.
    let compared = here.laxity("compare loop.toml --log copy=hist.txt");
    assert_eq!(compared.status.code(), Some(4), "{}", out(&compared));
    assert_eq!(
        rows(&compared)[0][2..],
        ["-", "-", "253.000 us", "2000", "-", "not judged: the channel has no bound"]
    );
    // The camera states 500 us of its host, which is shorter than the 10 ms of the contract.
    let compared = here.laxity(&format!("compare {NETWORK} --log film=hist.txt --log film=late.txt"));
    assert_eq!(compared.status.code(), Some(1), "{}{}", out(&compared), err(&compared));
    let judged: Vec<_> = rows(&compared).into_iter().map(|row| [row[2].clone(), row[7].clone()]).collect();
    assert_eq!(judged, [["500.000 us", "within the bound"], ["500.000 us", "ABOVE the bound"]]);
    for (log, reason) in [
        ("setpoint:2=hist.txt", "hist.txt: it has no thread `2`; it has 0, 1"),
        ("setpoint,position=hist.txt", "hist.txt: cyclictest measures one host"),
    ] {
        refused(&here, &format!("loop.toml --log {log}"), reason);
    }
}

/// The nodes of daemons have channels, too. The film has a message each 10 ms.
#[test]
fn channels_of_node_files_have_rows() {
    let here = Here::new("compare-nodes");
    std::fs::write(here.path("iso.dat"), isochron(&[14_000, 13_000])).unwrap();
    let compared = here.laxity(&format!("compare {NETWORK} --log film=iso.dat"));
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    let row = &rows(&compared)[0];
    assert_eq!((&row[0][..], &row[2][..], &row[7][..]), ("film", "5000.000 us", "within the bound"));
    assert!(row[3] != "-" && row[3] != "0.000 us", "{row:?}");
    // Ten messages in 10 ms are none of its contract, and its bound covers none of them.
    std::fs::write(here.path("iso.dat"), isochron(&[14_000; 10])).unwrap();
    let compared = here.laxity(&format!("compare {NETWORK} --log film=iso.dat"));
    assert_eq!(compared.status.code(), Some(4), "{}", out(&compared));
    assert!(rows(&compared).iter().all(|row| row[7] == "not judged: packets are beyond the contract"));
    assert!(err(&compared).contains("8 packets are beyond the contract of `film`"), "{}", err(&compared));
}

#[test]
fn a_round_trip_stands_beside_both_channels() {
    let here = Here::new("compare-testbench");
    here.write("loop.toml", LOOP);
    here.write("ref.log", &[testbench(100, 98, 1020, 14), testbench(200, 198, 1022, 15)].concat());
    let compared = here.laxity("compare loop.toml --log setpoint,position:Rtc=ref.log --turnaround 1ms");
    assert_eq!(compared.status.code(), Some(0), "{}{}", out(&compared), err(&compared));
    let both = rows(&compared);
    let us = |cell: &str| cell.strip_suffix(" us").unwrap().parse::<f64>().unwrap();
    let alone = rows(&here.laxity("compare loop.toml --log setpoint:Rtc=ref.log"));
    let sum = us(&both[0][2]) + us(&alone[0][2]) + 1000.0;
    assert!((us(&both[1][2]) - sum).abs() < 0.0015, "{both:?} {alone:?}");
    assert_eq!(both[0][4..], ["15.000 us", "198", "-", "within the bound"]);
    assert_eq!((&both[0][0][..], &both[1][0][..]), ("position", "setpoint + position"));
    assert_eq!(both[1][3..], ["-", "1022.000 us", "198", "0 to 2", "within the bound"]);
    // One channel is not what bounds a round trip, and the mirror's time is not known.
    assert_eq!(alone[1][7], "not judged: a round trip is two channels: `THERE,BACK=FILE` names them");
    let unknown = here.laxity("compare loop.toml --log setpoint,position=ref.log");
    assert_eq!(unknown.status.code(), Some(4));
    assert!(out(&unknown).contains("`--turnaround` says"), "{}", out(&unknown));
    // The same round trips as a histogram; several logs make one table.
    here.write(
        "hist.txt",
        "Testbench RTT Histogram: Tsn Rtc\n00001022: 0  198  \nOverflow: 0  0  \nUnderflow: 0  0  \n",
    );
    let logs = "--log setpoint,position=hist.txt --log setpoint,position=ref.log --turnaround 1ms";
    let compared = here.laxity(&format!("compare loop.toml {logs}"));
    let three = rows(&compared);
    assert_eq!((three.len(), &three[0][4..7]), (3, &["1022.000 us", "198", "-"].map(String::from)[..]));
    assert!(err(&compared).contains("hist.txt: a histogram has no count"), "{}", err(&compared));
}

#[test]
fn a_log_that_does_not_fit_says_why() {
    let here = Here::new("compare-unfit");
    here.write("loop.toml", LOOP);
    here.write("ref.log", &testbench(100, 98, 1020, 14));
    here.write("cut.log", "[1.2]: [INFO]: RtcSent=3 | RtcRec");
    std::fs::write(here.path("iso.dat"), isochron(&[14_000])).unwrap();
    std::fs::write(here.path("cut.dat"), &isochron(&[14_000])[..150]).unwrap();
    here.write("network.toml", "nodes = [\"a.toml\", \"b.toml\"]\n");
    for (arguments, reason) in [
        ("loop.toml --log setpoint=nothing.dat", "nothing.dat: it cannot be read"),
        ("loop.toml --log setpoint=cut.dat", "cut.dat: byte 72: the part of the receiver ends at byte 176"),
        ("loop.toml --log setpoint=cut.log", "cut.log:1: `RtcRec` has no value"),
        ("loop.toml --log setpoint=loop.toml", "loop.toml: this is none of the logs"),
        ("loop.toml --log other=iso.dat", "`--log other`: there is no channel called `other`"),
        ("loop.toml --log setpoint:Rtc=iso.dat", "iso.dat: a log of isochron has no traffic classes"),
        ("loop.toml --log setpoint,position=iso.dat", "iso.dat: isochron measures one way"),
        ("loop.toml --log setpoint:Dcp=ref.log", "ref.log: it has no traffic class `Dcp`; it has Rtc"),
        ("loop.toml --log setpoint", "valid is a channel, `=` and the name of a log"),
        ("loop.toml --log setpoint=iso.dat --point 1", "there is no point 1"),
        ("loop.toml --turnaround 1ms", "--log"),
        ("loop.toml", "loop.toml is no network of node files"),
        (
            "network.toml --log a=iso.dat --point 1",
            "network.toml is a network of node files: it has no points",
        ),
    ] {
        refused(&here, arguments, reason);
    }
}
