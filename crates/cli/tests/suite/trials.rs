//! `laxity run` of folders and of adapters' descriptions.

use std::path::PathBuf;
use std::process::Output;

use crate::common::{CAMERA, Here};

/// An adapter of two stages, as any user could describe one.
const BOARD: &str = r#"
title = "A board"
about = "None that there is."
[adapter]
kind = "generic"
transmit_buffers = { shared = 4, overload = "block", source = "own choice: a test's" }
[[adapter.transmit]]
name = "dma"
phase = [{ per_byte = "10 ns", source = "own choice: a test's" }]
[[adapter.transmit]]
name = "link"
phase = [{ per_byte = "80 ns", medium = true, source = "own choice: a test's" }]
"#;

const BUFFERS: &str =
    "transmit_buffers = { shared = 4, overload = \"block\", source = \"own choice: a test's\" }\n";
/// A stage that reports progress to the host, and one slot for the report.
const TALKS: &str = r#"response_queue = [{ slots = 1, source = "own choice: a test's" }]
[[adapter.receive]]
name = "rx"
phase = [{ fixed = "1 us", source = "own choice: a test's" }]
[[adapter.transmit]]
name = "first"
phase = [{ fixed = "1 us", tells = "progress", source = "own choice: a test's" }]
"#;

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// The real-time channels of an outcome: name, bound and worst in seconds.
fn channels(here: &Here, name: &str) -> Vec<(String, Option<f64>, Option<f64>)> {
    let text = here.read(&format!("results/{name}/results.json"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let runs = json["results"]["runs"].as_array().unwrap().clone();
    let channels = runs.iter().flat_map(|run| run["channels"].as_array().unwrap().clone());
    let real_time = channels.filter(|channel| channel["class"] == "real_time");
    real_time
        .map(|c| (c["name"].as_str().unwrap().to_string(), c["bound"].as_f64(), c["worst"].as_f64()))
        .collect()
}

#[test]
fn every_adapter_that_comes_with_laxity_has_a_bound_and_nears_it_in_the_median() {
    let here = Here::new("adapters");
    let adapters = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
    let output = here.command("run").arg(&adapters).output().unwrap();
    let said = told(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let names = laxity_scenario::built_in_adapters();
    assert_eq!(said.matches("kept  holds").count(), names.len(), "{said}");
    for name in names {
        let channels = channels(&here, name);
        assert!(channels.len() >= 2, "{name}: {channels:?}");
        let mut parts = Vec::new();
        for (channel, bound, worst) in channels {
            let (bound, worst) = (bound.expect("it has a bound"), worst.expect("it was measured"));
            assert!(0.0 < worst && worst <= bound, "{name}: {channel} took {worst} of {bound}");
            assert!(said.contains(name), "{said}");
            parts.push(worst / bound);
        }
        // Of an even number the lower of the two in the middle.
        parts.sort_unstable_by(f64::total_cmp);
        let median = parts[(parts.len() - 1) / 2];
        assert!(median >= 0.5, "{name}: the median of worst over bound is {median}");
    }
    // Each trial scenario is a scenario itself, and can run.
    let output = here.command("check").arg(adapters.join("trials")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_description_is_tried_by_what_is_beside_it_or_else_by_what_it_says() {
    let here = Here::new("trials-own");
    here.write("board.toml", BOARD);
    let output = here.laxity("run board.toml");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("A board. 256 packets in the adapter, 90 %"), "{}", told(&output));
    let tried = channels(&here, "board");
    let names: Vec<&str> = tried.iter().map(|(name, ..)| &name[..]).collect();
    assert_eq!(names, ["stream0", "loop0", "stream1", "loop1"]);
    // The same scenario can be had as a file, to change it.
    here.write("copy.toml", &String::from_utf8_lossy(&here.laxity("adapter trial board.toml").stdout));
    assert_eq!(here.laxity("run copy.toml").status.code(), Some(0));
    assert_eq!(channels(&here, "copy"), tried);
    // Its own trial is with the adapter that is described, whatever that trial names.
    let trial =
        |adapter: &str| CAMERA.replace("kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"", adapter);
    here.write("trials/board.toml", &trial("file = \"cim250\""));
    let output = here.laxity("run board.toml");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let (name, bound, _) = channels(&here, "board").remove(0);
    assert_eq!(name, "camera");
    here.write("plain.toml", &trial("file = \"board.toml\""));
    assert_eq!(here.laxity("run plain.toml").status.code(), Some(0));
    assert_eq!(channels(&here, "plain").remove(0).1, bound);
    assert!(told(&here.laxity("admit board.toml")).contains("channel camera: admitted"));
    // A trial scenario without a place for the description is refused with that reason.
    here.write("trials/board.toml", CAMERA);
    let output = here.laxity("run board.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("as the trial of `board` it has no `file` in its `[adapter]`"),
        "{}",
        told(&output)
    );
}

#[test]
fn the_exit_code_of_a_trial_says_what_came_of_it() {
    for (name, change, to, exit, says) in [
        // 1500 B take 15 ms on such a link, and the load is as slow.
        ("slow", "80 ns", "10 us", 0, "kept  holds"),
        // Its reports must be read before it continues.
        ("talkative", BUFFERS, TALKS, 4, "NOT JUDGED"),
        (
            "unsourced",
            "{ per_byte = \"10 ns\", source = \"own choice: a test's\" }",
            "{ per_byte = \"10 ns\" }",
            2,
            "no `source`",
        ),
        ("unknown", "kind = \"generic\"", "kind = \"generic\"\npol = \"1 us\"", 2, "did you mean `poll`?"),
    ] {
        let here = Here::new(&format!("trials-{name}"));
        assert!(BOARD.contains(change));
        here.write("board.toml", &BOARD.replacen(change, to, 1));
        let output = here.laxity("run board.toml");
        assert_eq!(output.status.code(), Some(exit), "{name}: {}", told(&output));
        assert!(told(&output).contains(says), "{name}: {}", told(&output));
    }
}

#[test]
fn a_folder_stands_for_the_files_that_are_right_in_it() {
    let here = Here::new("trials-folder");
    here.write("all/b.toml", BOARD);
    here.write("all/a.toml", CAMERA);
    here.write("all/notes.txt", "not for us");
    here.write("all/.c.toml.swp.toml", "an editor's");
    here.write("all/deeper/d.toml", "not TOML");
    let output = here.laxity("run all --out out");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let said = told(&output);
    assert!(said.find("A camera") < said.find("A board"), "in the order of their names: {said}");
    assert!(here.path("out/a/results.json").is_file() && here.path("out/b/results.json").is_file());
    assert_eq!(here.laxity("check all").status.code(), Some(0));
    // A wrong file costs the right ones no hours: no file runs.
    here.write("all/c.toml", "title = 3");
    assert_eq!(here.laxity("run all --out other").status.code(), Some(2));
    assert!(!here.path("other").exists());
    std::fs::create_dir(here.path("empty")).unwrap();
    for (folder, why) in
        [("empty", "name a file, or a folder with some"), (".", "folders in it are all, empty")]
    {
        let output = here.laxity(&format!("run {folder}"));
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(why), "{}", told(&output));
    }
}
