//! `laxity trace` of a part of a run.

use crate::common::{CAMERA, Here};
use serde_json::Value;

/// Records of the trace that `arguments` ask for.
fn records(here: &Here, arguments: &str) -> Vec<Value> {
    let output = here.laxity(format!("trace camera.toml --perfetto p.json {arguments}").trim_end());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&here.read("p.json")).unwrap()
}

#[test]
fn a_window_has_what_happens_in_it_and_no_more() {
    let here = Here::new("trace-window");
    here.write("camera.toml", CAMERA);
    let all = records(&here, "");
    let some = records(&here, "--from 1s --for 100ms");
    let spans = |records: &[Value]| -> Vec<Value> {
        records.iter().filter(|record| record["ph"] == "X").cloned().collect()
    };
    // Microseconds.
    let (from, to) = (1_000_000.0, 1_100_000.0);
    let within = |span: &Value| {
        let begin = span["ts"].as_f64().unwrap();
        let end = begin + span["dur"].as_f64().unwrap();
        begin >= from && begin < to || begin < from && end > from
    };
    let expected: Vec<Value> = spans(&all).into_iter().filter(within).collect();
    // Of a message every 40 ms, those at 1.00, 1.04 and 1.08 s; each is four packets of 4 KiB.
    let transmitted = expected.iter().filter(|span| span["name"] == "transmit").count();
    assert_eq!(transmitted, 12);
    assert_eq!(spans(&some), expected);
    let after = here.laxity("trace camera.toml --perfetto p.json --from 3s");
    assert_eq!(after.status.code(), Some(4), "the run ends before");
    assert_eq!(
        String::from_utf8_lossy(&after.stderr),
        "nothing happened in the part of the run that was asked for\n"
    );
}

#[test]
fn a_window_of_packets_is_a_part_of_the_capture() {
    let here = Here::new("trace-window-pcap");
    here.write("camera.toml", CAMERA);
    let size = |arguments: &str| {
        let output = here.laxity(&format!("trace camera.toml --pcap p.pcapng{arguments}"));
        let code = if arguments == " --from 3s" { 4 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::metadata(here.path("p.pcapng")).unwrap().len()
    };
    let (all, none) = (size(""), size(" --from 3s"));
    let some = size(" --from 1s --for 1s");
    // Half of the run has half of the packets, but for one at an edge.
    let (whole, half) = (all - none, some - none);
    assert!(none < 2000 && (2 * half).abs_diff(whole) < whole / 50, "{all} {some} {none}");
}

/// Perfetto's own format is chosen by the name, and a second run replaces the file.
#[test]
fn a_trace_in_the_format_of_perfetto_is_a_fifth_of_its_json() {
    let here = Here::new("trace-formats");
    here.write("camera.toml", CAMERA);
    let written = |name: &str| {
        let output = here.laxity(&format!("trace camera.toml --perfetto {name}"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(here.path(name)).unwrap()
    };
    let (json, protobuf) = (written("p.json"), written("p.pftrace"));
    assert!(5 * protobuf.len() < json.len(), "{} of {}", protobuf.len(), json.len());
    assert!(json.starts_with(b"[\n") && !protobuf.starts_with(b"["));
    assert_eq!(written("p.pftrace"), protobuf);
}

#[test]
fn a_capture_without_frames_is_refused() {
    let here = Here::new("trace-no-frames");
    assert_eq!(here.laxity("new receiver --out here.toml").status.code(), Some(0));
    let output = here.laxity("trace here.toml --pcap p.pcapng");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("this scenario has no frames"), "{said}");
    assert!(!here.path("p.pcapng").exists());
}
