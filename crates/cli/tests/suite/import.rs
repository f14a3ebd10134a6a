//! `laxity import`: networks of other tools as scenarios.

use std::fs;

use laxity_lab::import::{ImportInput, import};

use crate::common::{Here, err, out};

const INPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/import");
const FIVE_LINKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/afdx/five-links.toml");

/// The examples: their names and their files.
const EXAMPLES: [(&str, &[&str]); 7] = [
    ("five-links", &["five-links.csv"]),
    ("tree", &["tree.csv"]),
    ("ports", &["ports.json"]),
    ("stations", &["stations.xml"]),
    ("ring", &["ring.json"]),
    ("streams", &["task.csv", "topo.csv"]),
    ("schedule", &["task.csv", "topo.csv", "gcl.csv", "offset.csv", "route.csv", "queue.csv"]),
];

/// Imports an example into `NAME.toml`.
fn imported(here: &Here, name: &str, files: &[&str]) {
    let files: Vec<String> = files.iter().map(|file| format!("{INPUTS}/{file}")).collect();
    let output = here.laxity(&format!("import {} -o {name}.toml", files.join(" ")));
    assert_eq!(output.status.code(), Some(0), "{name}: {}", err(&output));
}

#[test]
fn each_example_is_checked_admitted_and_run() {
    let here = Here::new("import");
    for (name, files) in EXAMPLES {
        imported(&here, name, files);
        // Admission knows no schedule, and is off beside one.
        let undecided = if name == "schedule" { 4 } else { 0 };
        for (command, code) in [("check", 0), ("admit", undecided), ("run --no-report", 0)] {
            let output = here.laxity(&format!("{command} {name}.toml"));
            assert_eq!(
                output.status.code(),
                Some(code),
                "{command} {name}: {}{}",
                out(&output),
                err(&output)
            );
            assert!(!out(&output).contains("refused"), "{command} {name}: {}", out(&output));
        }
    }
}

/// The bounds of channels by `laxity admit --json`, in nanoseconds.
fn bounds(here: &Here, file: &str) -> Vec<(String, f64)> {
    let output = here.laxity(&format!("admit --json {file}"));
    let json: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    let channels = json["answers"][0]["channels"].as_array().unwrap_or_else(|| panic!("{json:#}"));
    let bound = |channel: &serde_json::Value| channel["bound"].as_f64().unwrap_or_else(|| panic!("{json:#}"));
    channels.iter().map(|c| (c["name"].as_str().unwrap().to_string(), bound(c) * 1e9)).collect()
}

/// Bauer, Scharbarg and Fraboul (2010) give 232 us for v1 and 272 us for v3.
#[test]
fn five_links_have_the_bounds_of_the_experiment() {
    let here = Here::new("import-five");
    imported(&here, "five", &["five-links.csv"]);
    let (ours, theirs) = (bounds(&here, "five.toml"), bounds(&here, FIVE_LINKS));
    assert_eq!(ours.len(), 5);
    for ((name, bound), (other, wanted)) in ours.iter().zip(&theirs) {
        assert!(name == other && (bound - wanted).abs() <= 0.01, "{name}: {bound} ns and {wanted} ns");
        let exact = if name == "v1" || name == "v2" { 232_000.0 } else { 272_000.0 };
        assert!(*bound >= exact && *bound <= 1.002 * exact, "{name}: {bound} ns");
    }
}

/// The rate of the bucket with the least burst is more than that of the server. The other bucket holds in the
/// long run.
#[test]
fn several_buckets_are_limits() {
    let here = Here::new("import-buckets");
    let ports = fs::read_to_string(format!("{INPUTS}/ports.json")).unwrap();
    here.write("fast.json", &ports.replace("\"800kbps\", 500", "\"10Mbps\", 500"));
    let output = here.laxity("import fast.json -o fast.toml");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(here.read("fast.toml").contains("limits = [{ burst = 40, min_interval = \"800 us\" }]"));
    let found = bounds(&here, "fast.toml");
    assert!(found.iter().all(|(_, bound)| *bound < 10e6), "{found:?}");
}

/// A schedule without waiting: each frame takes its transmissions and the processing between them.
#[test]
fn a_schedule_has_its_delays() {
    let here = Here::new("import-schedule");
    imported(&here, "schedule", EXAMPLES[6].1);
    let output = here.laxity("run schedule.toml");
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    let json: serde_json::Value = serde_json::from_str(&here.read("results/schedule/results.json")).unwrap();
    let channels = json["results"]["runs"][0]["channels"].as_array().unwrap_or_else(|| panic!("{json:#}"));
    let worst = |name: &str| {
        let channel = channels.iter().find(|channel| channel["name"] == name).unwrap();
        channel["delivery_worst"].as_f64().unwrap_or_else(|| panic!("{channel:#}"))
    };
    for (name, wanted) in
        [("stream-0", 13_600.0), ("stream-1", 8800.0), ("stream-1-h8", 5200.0), ("stream-2", 6400.0)]
    {
        let delay = worst(name) * 1e9;
        assert!((delay - wanted).abs() < 1.0, "{name}: {delay} ns and not {wanted} ns");
    }
}

/// Two receivers behind a common link get copies of one frame, which its window has room for.
#[test]
fn a_schedule_sends_a_multicast_once() {
    let here = Here::new("import-multicast");
    let shared = fs::read_to_string(format!("{INPUTS}/task.csv")).unwrap().replace("[9, 8]", "[9, 1]");
    here.write("shared.csv", &shared);
    let tables: Vec<String> = EXAMPLES[6].1[1..3].iter().map(|file| format!("{INPUTS}/{file}")).collect();
    let output = here.laxity(&format!("import shared.csv {} -o shared.toml", tables.join(" ")));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let written = here.read("shared.toml");
    assert!(written.contains(r#"receivers = [{ route = ["h10", "s0", "s0-1", "s1", "h1"] }]"#), "{written}");
}

/// The link from s1 to s3 has a frame of v1 once, which 20 receivers would otherwise have 20 times. Two paths
/// that part at the sender are two channels.
#[test]
fn a_virtual_link_loads_a_common_link_once() {
    let here = Here::new("import-virtual-link");
    let paths = |parts: &str| {
        let ends: Vec<String> = (0..20).map(|end| format!("e1 {parts} r{end}")).collect();
        format!("name,bag,smax,path\nv1,4,462,{}\nv2,4,462,e2 s1 s3 r0\n", ends.join("; "))
    };
    here.write("links.csv", &paths("s1 s3"));
    let output = here.laxity("import links.csv -o links.toml");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let found = bounds(&here, "links.toml");
    // Four transmissions of 462 B, two of them at the common link, and two switches.
    let at_most = (4.0 * 36_960.0 + 2.0 * 16_000.0) * 1.002;
    assert!(found.len() == 21 && found.iter().all(|(_, bound)| *bound <= at_most), "{found:?}");
    here.write("apart.csv", "name,bag,smax,path\nv1,4,462,e1 s1 r0; e1 s2 r1\n");
    let output = here.laxity("import apart.csv -o apart.toml");
    assert!(err(&output).contains("has a channel for each"), "{}", err(&output));
    assert!(here.read("apart.toml").contains("name = \"v1-2\""));
}

#[test]
fn errors_have_a_place() {
    let here = Here::new("import-errors");
    let topo = fs::read_to_string(format!("{INPUTS}/topo.csv")).unwrap();
    for (name, text, says) in [
        ("empty.json", "", "empty.json:1: the file is empty"),
        ("open.json", "{\n\"flows\": [\n", "open.json:2: this is no JSON: Unterminated array"),
        ("other.json", "{\"a\": 1}", "other.json:1: this JSON is no network of Saihu"),
        (
            "server.json",
            "{\"flows\": [\n{\"name\": \"f\", \"path\": [\"x\"],\n\"arrival_curve\": {\"bursts\": [\"1B\"], \"rates\": [\"1kbps\"]}}],\n\"servers\": []}",
            "server.json:2: no server is called `x`",
        ),
        (
            "unit.json",
            "{\"flows\": [],\n\"servers\": [{\"name\": \"s\",\n\"service_curve\": {\"latencies\": [\"1 mile\"],\n\"rates\": [1]}}]}",
            "unit.json:3: `1 mile` is no time",
        ),
        ("open.xml", "<elements>\n<station", "open.xml:1: this is no XML"),
        (
            "link.xml",
            "<elements>\n<station name=\"a\"/>\n<link from=\"a\" to=\"b\"/></elements>",
            "link.xml:3: no station or switch is called `b`",
        ),
        (
            "unit.xml",
            "<elements><station name=\"a\"/>\n<switch name=\"s\"/><link from=\"a\" to=\"s\"/>\n<flow name=\"f\" source=\"a\" lb-burst=\"5\" lb-rate=\"1\"/></elements>",
            "unit.xml:3: `lb-burst`: `5` is no size",
        ),
        (
            "row.csv",
            "name,bag,smax,path\nv,4,100,a s b\nw,4\n",
            "row.csv:3: the row has 2 cells, and there are 4 headings",
        ),
        ("bag.csv", "name,bag,smax,path\nv,often,100,a s b\n", "bag.csv:2: `often` is no time"),
        (
            "ends.csv",
            "name,bag,smax,path\nv,4,100,a s b\nw,4,100,s a b\n",
            "ends.csv:3: `s` is an end of one path and a switch of another",
        ),
        (
            "source.csv",
            "name,bag,smax,source,path\nv,4,100,a,a s b\nw,4,100,c,a s b\n",
            "source.csv:3: the source is `c`, and a path begins with `a`",
        ),
        (
            "later.csv",
            "name,bag,smax,source,path\nv,4,100,a,s a b\n",
            "later.csv:2: the source is `a`, and a path begins with `s`",
        ),
        (
            "twice.csv",
            "name,bag,smax,path\nv,4,100,a s b\nv,4,100,b s a\n",
            "twice.csv:3: line 2 has a virtual link `v` already",
        ),
        ("zero.csv", "name,bag,smax,path\nv,0,100,a s b\n", "zero.csv:2: the interval of `v` is 0"),
        ("foreign.csv", "a,b\n1,2\n", "foreign.csv:1: this is none of the formats"),
        (
            "alone.csv",
            "id,src,dst,size,period,deadline,jitter\n0,1,[2],1,1,1,0\n",
            "alone.csv:1: no table of links is given",
        ),
        ("topo.csv", topo.as_str(), "topo.csv:1: no table of streams is given"),
    ] {
        here.write(name, text);
        let output = here.laxity(&format!("import {name}"));
        assert_eq!(output.status.code(), Some(2), "{name}: {}", out(&output));
        assert!(err(&output).contains(says), "{name}: {}", err(&output));
    }
    fs::write(here.path("bytes.json"), b"{\n\xff").unwrap();
    let output = here.laxity("import bytes.json");
    assert!(
        output.status.code() == Some(2) && err(&output).contains("bytes.json:2: this is no text in UTF-8")
    );
    here.write("mine.toml", "mine");
    let output = here.laxity(&format!("import {INPUTS}/tree.csv -o mine.toml"));
    assert_eq!((output.status.code(), here.read("mine.toml").as_str()), (Some(2), "mine"));
}

/// Each example cut off at each byte, and with each byte changed, is an error with a place or a valid
/// scenario, and never a panic.
#[test]
fn damaged_files_are_errors_or_valid() {
    let (mut valid, mut wrong) = (0, 0);
    for (_, files) in EXAMPLES {
        let inputs: Vec<ImportInput> = files
            .iter()
            .map(|file| ImportInput {
                name: (*file).into(),
                text: fs::read_to_string(format!("{INPUTS}/{file}")).unwrap(),
            })
            .collect();
        for damaged in 0..inputs.len() {
            let bytes = inputs[damaged].text.as_bytes();
            let cut = (0..bytes.len()).map(|end| bytes[..end].to_vec());
            let flipped = (0..bytes.len()).map(|at| {
                let mut bytes = bytes.to_vec();
                // Another bit each time; the highest would be no text.
                bytes[at] ^= 1 << (at % 7);
                bytes
            });
            for bytes in cut.chain(flipped) {
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let mut inputs = inputs.clone();
                inputs[damaged].text = text;
                match import(&inputs, None) {
                    // The import has read the scenario again.
                    Ok(_) => valid += 1,
                    Err(fault) => {
                        wrong += 1;
                        let said = fault.to_string();
                        let line = said.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
                        assert!(line.is_some_and(|line| line > 0), "{said}");
                    }
                }
            }
        }
    }
    assert!(valid > 500 && wrong > 500, "{valid} valid, {wrong} wrong");
}
