//! The dissector, run by tshark over a capture of a scenario. Where there is no tshark, it says so
//! and passes over it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{CAMERA, Here, err};

const BULK: &str = r#"
[[channel]]
name = "bulk"
class = "best_effort"
max_message = "60 KiB"
burst = 10
source = { kind = "continuous" }
"#;

/// A link with VLAN tags, and one before it without tags.
const TAGGED: &str = r#"title = "Tags"
[host]
profile = "mc68040"
subsystem = { packet = "1400 B", cpu = "fixed_priority", link = { paradigm = "O1", order = "fixed_priority" } }
[adapter]
kind = "null"
[admission]
formula = "off"
[node.plc]
[node.sw]
kind = "switch"
[node.drive]
[network]
rate = "100 Mbit/s"
[network.old]
joins = ["plc", "sw"]
framing = "ethernet"
[network.new]
joins = ["sw", "drive"]
framing = "ethernet_vlan"
[run]
time = "50 ms"
[[channel]]
name = "motion"
class = "real_time"
from = "plc"
to = "drive"
level = 2
max_message = "200 B"
burst = 1
min_interval = "5 ms"
deadline = "5 ms"
source = { kind = "periodic" }
[[channel]]
name = "state"
class = "real_time"
from = "plc"
to = "drive"
level = 10
max_message = "200 B"
burst = 1
min_interval = "5 ms"
deadline = "5 ms"
source = { kind = "periodic" }
[[channel]]
name = "log"
class = "best_effort"
from = "plc"
to = "drive"
max_message = "1400 B"
burst = 1
source = { kind = "periodic", interval = "5 ms" }
"#;

fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = found.is_ok_and(|status| status.success());
    if !has {
        eprintln!("passed over: there is no tshark here");
    }
    has
}

/// What tshark with the dissector says of a capture, for arguments without spaces in them.
fn read(here: &Here, capture: &str, arguments: &str) -> String {
    read_by(here, capture, &arguments.split_whitespace().collect::<Vec<_>>())
}

fn read_by(here: &Here, capture: &str, arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dissector/laxity.lua");
    let output = Command::new("tshark")
        .arg("-X")
        .arg(format!("lua_script:{}", script.display()))
        .args(["-o", "ip.check_checksum:TRUE", "-r", capture])
        .args(arguments)
        .current_dir(&here.0)
        .output()
        .expect("tshark was there a moment ago");
    let said = err(&output);
    assert!(output.status.success() && !said.contains("Lua"), "{said}");
    String::from_utf8(output.stdout).expect("tshark writes text")
}

/// The framing shows the level if it has a field for it: levels 0 to 3 are 7 of eight, 8 to 11 are
/// 5, best effort is 0.
#[test]
fn an_analyser_reads_how_urgent_a_tagged_frame_is() {
    if !has_tshark() {
        return;
    }
    let here = Here::new("tags");
    here.write("tags.toml", TAGGED);
    let traced = here.laxity("trace tags.toml --pcap tags.pcapng");
    assert_eq!(traced.status.code(), Some(0), "{}", String::from_utf8_lossy(&traced.stderr));
    let fields = "-T fields -e frame.interface_name -e laxity.channel -e vlan.priority -e vlan.id -e vlan.etype -e frame.len";
    let said = read(&here, "tags.pcapng", fields);
    let (mut tagged, mut plain) = (0, 0);
    for line in said.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [station, channel, priority, vlan, inner, length] = fields[..] else {
            panic!("{line}: fields are missing")
        };
        let size = if channel == "2" { 1400 } else { 200 };
        match station {
            "plc" => {
                plain += 1;
                assert_eq!((priority, vlan, inner), ("", "", ""), "{line}");
                assert_eq!(length, (size + 14).to_string(), "{line}");
            }
            station if station.starts_with("sw") => {
                tagged += 1;
                let expected = ["7", "5", "0"][channel.parse::<usize>().unwrap()];
                assert_eq!((priority, vlan, inner), (expected, "0", "0x0800"), "{line}");
                assert_eq!(length, (size + 18).to_string(), "{line}");
            }
            _ => panic!("{line}: who is that"),
        }
    }
    assert!(tagged >= 24 && plain >= tagged, "{tagged} and {plain} frames");
}

/// A frame of 60 bytes has 18 of our header: the class, the channel and the number of the message.
#[test]
fn an_analyser_reads_what_fits_of_a_header() {
    if !has_tshark() {
        return;
    }
    let here = Here::new("short");
    here.write("short.toml", &TAGGED.replace("\"200 B\"", "\"40 B\"").replace("ethernet_vlan", "ethernet"));
    let traced = here.laxity("trace short.toml --pcap short.pcapng");
    assert_eq!(traced.status.code(), Some(0), "{}", String::from_utf8_lossy(&traced.stderr));
    let short = ["-Y", "frame.len == 60", "-T", "fields", "-e", "laxity.class", "-e", "laxity.channel"];
    let numbers = ["-e", "laxity.message", "-e", "laxity.fragment"];
    let said = read_by(&here, "short.pcapng", &[&short[..], &numbers].concat());
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split('\t').collect()).collect();
    // Two channels, ten messages each, of which the last may be under way, over two links.
    assert!((36..=40).contains(&lines.len()), "{said}");
    assert_eq!(lines[0], ["0", "0", "0", ""]);
    assert!(
        lines.iter().all(|line| line[0] == "0" && ["0", "1"].contains(&line[1]) && line[3].is_empty()),
        "{said}"
    );
}

#[test]
fn an_analyser_reads_what_a_run_has_sent() {
    if !has_tshark() {
        return;
    }
    let here = Here::new("dissector");
    here.write("camera.toml", &format!("{CAMERA}{BULK}"));
    let traced = here.laxity("trace camera.toml --pcap camera.pcapng");
    assert_eq!(traced.status.code(), Some(0), "{}", String::from_utf8_lossy(&traced.stderr));
    let read = |arguments: &str| read(&here, "camera.pcapng", arguments);
    let fields = "-T fields -e laxity.class -e laxity.channel -e laxity.fragment -e laxity.fragments -e laxity.payload_length \
                  -e laxity.laxity -e laxity.late -e ip.checksum.status -e ip.host -N n";
    let (mut real, mut other) = (0, 0);
    for line in read(fields).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [class, channel, fragment, fragments, payload, laxity, late, sum, hosts] = fields[..] else {
            panic!("{line}: fields are missing")
        };
        assert_eq!((sum, hosts.starts_with("node0")), ("1", true), "{line}");
        assert!(fragment.parse::<u32>().unwrap() < fragments.parse().unwrap(), "{line}");
        assert!((1..=4096).contains(&payload.parse::<u32>().unwrap()), "{line}");
        if class == "0" {
            real += 1;
            // The claim of the scenario says the same of all of its frames.
            let laxity: f64 = laxity.parse().unwrap();
            assert!((0.0..0.03).contains(&laxity) && channel == "0", "{line}");
            assert!(["0", "False"].contains(&late), "{line}");
        } else {
            other += 1;
            assert_eq!((channel, laxity, late), ("1", "", ""), "{line}");
        }
    }
    assert!(real > 100 && other > 100, "{real} and {other} packets");
    assert_eq!(read("-Y laxity.malformed||_ws.malformed"), "");
    assert_eq!(read("-Y laxity&&laxity.late==1"), "");
}

/// Nodes with signalling: a film over two links of 10 Mbit/s, beside best effort that fills them.
#[test]
fn an_analyser_reads_the_frames_of_nodes() {
    if !has_tshark() {
        return;
    }
    let here = Here::new("nodes-pcap");
    let text = "title = \"x\"\nnode = { a = {}, b = {}, c = {} }\nsignalling = {}\n[run]\ntime = \"500 ms\"\n\
        [network]\nrate = \"10 Mbit/s\"\nframing = \"ethernet\"\n[network.ab]\njoins = [\"a\", \"b\"]\n\
        [network.bc]\njoins = [\"b\", \"c\"]\n\
        [[channel]]\nname = \"film\"\nclass = \"real_time\"\nroute = [\"a\", \"b\", \"c\"]\nmax_message = \"4000 B\"\n\
        burst = 1\nmin_interval = \"40 ms\"\ndeadline = \"60 ms\"\nsource = { kind = \"periodic\" }\n\
        [[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nroute = [\"a\", \"b\", \"c\"]\nmax_message = \"900 B\"\n\
        burst = 1\nsource = { kind = \"continuous\" }\n";
    here.write("row.toml", text);
    let traced = here.laxity("trace row.toml --pcap row.pcapng");
    assert_eq!(traced.status.code(), Some(0), "{}", String::from_utf8_lossy(&traced.stderr));
    let fields = "-T fields -e frame.time_epoch -e frame.len -e eth.src -e eth.dst -e laxity.channel -e laxity.class \
                  -e laxity.malformed";
    let said = read(&here, "row.pcapng", fields);
    let (mut last, mut counts, mut before) = (std::collections::BTreeMap::new(), [0; 3], 0.0);
    for line in said.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [at, length, from, to, channel, class, malformed] = fields[..] else {
            panic!("{line}: fields are missing")
        };
        assert_eq!(malformed, "", "{line}");
        let (at, length): (f64, f64) = (at.parse().unwrap(), length.parse().unwrap());
        assert!(at >= before, "{line}: after {before}");
        before = at;
        // Preamble, check sequence and gap take time beside the captured bytes: 24 at 800 ns.
        let free = last.insert((from, to), at).unwrap_or(0.0) + (length + 24.0) * 800e-9;
        assert!(at >= free - 2e-9, "{line}: the link was in use until {free}");
        counts[match (channel, class) {
            ("4294967295", _) => 0,
            ("4294967294", "1") => 2,
            (_, "0") => 1,
            other => panic!("{line}: {other:?}"),
        }] += 1;
    }
    // Ask and commit cross both links, as do twelve messages of four packets; the rest fills them.
    let [signalling, film, flood] = counts;
    assert!(signalling >= 4 && (88..=104).contains(&film) && flood > 800, "{counts:?}");
}
