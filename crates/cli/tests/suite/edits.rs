//! Scenarios from standard input, changed on the command line, and two runs compared.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::common::{CAMERA, Here, err, out};

/// `laxity` with `arguments` and `input` as standard input.
fn fed(here: &Here, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
    command.args(arguments).current_dir(&here.0);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_key_is_set_in_place_of_the_files() {
    let here = Here::new("set");
    here.write("camera.toml", CAMERA);
    let admit = |set: &str| fed(&here, &["admit", "--json", "--set", set, "camera.toml"], "");
    assert_eq!(admit("channel.camera.deadline=29 ms").status.code(), Some(0));
    let refused = admit("channel.camera.deadline=1 ms");
    assert!(refused.status.code() == Some(1) && out(&refused).contains("\"refused\""), "{}", out(&refused));
    let wrong = admit("channel.camera.dedline=1 ms");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("settings:1:1") && err(&wrong).contains("`deadline`"), "{}", err(&wrong));
    let malformed = admit("host.speedup");
    assert_eq!(malformed.status.code(), Some(2));
    let seeded = fed(&here, &["run", "--set", "seed=7", "--no-report", "camera.toml"], "");
    assert!(out(&seeded).contains("seed 7"), "{}", out(&seeded));
}

#[test]
fn standard_input_is_a_file() {
    let here = Here::new("stdin");
    let run = fed(&here, &["run", "-"], CAMERA);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(here.path("results/stdin/results.json").is_file());
    let wrong = fed(&here, &["check", "-"], &CAMERA.replace("deadline", "dedline"));
    assert!(wrong.status.code() == Some(2) && err(&wrong).contains("stdin:2"), "{}", err(&wrong));
}

#[test]
fn results_are_written_for_spreadsheets_and_build_servers() {
    let here = Here::new("formats");
    here.write("camera.toml", CAMERA);
    assert_eq!(here.laxity("run camera.toml").status.code(), Some(0));
    let csv = here.read("results/camera/results.csv");
    assert!(csv.starts_with("run,simulated,window,channel,class,") && csv.lines().count() == 2, "{csv}");
    let junit = here.read("results/camera/junit.xml");
    assert!(junit.contains("tests=\"4\" failures=\"0\"") && junit.contains("on-time"), "{junit}");
    // They are ours, and so replaced.
    assert_eq!(here.laxity("run --fresh camera.toml").status.code(), Some(0));
    here.write("results/camera/results.csv", "mine");
    assert_eq!(here.laxity("run camera.toml").status.code(), Some(2));
}

#[test]
fn two_runs_are_compared_by_rows() {
    let here = Here::new("diff");
    here.write("camera.toml", CAMERA);
    let run = |set: &str, out: &str| {
        let ran = fed(&here, &["run", "--set", set, "--out", out, "camera.toml"], "");
        assert!(here.path(out).is_dir(), "{}", err(&ran));
    };
    run("host.speedup=1.0", "slow");
    run("host.speedup=1.0", "again");
    run("host.speedup=2.0", "fast");
    let same = here.laxity("diff slow again");
    assert_eq!(same.status.code(), Some(0), "{}", out(&same));
    assert!(out(&same).contains(" compared, 0 differ"), "{}", out(&same));
    let differs = here.laxity("diff --metric worst slow fast/results.json");
    assert_eq!(differs.status.code(), Some(1));
    assert!(out(&differs).contains("1 figure compared, 1 differ; 1 in one draw only"), "{}", out(&differs));
    let json: serde_json::Value = serde_json::from_str(&out(&here.laxity("diff -j slow fast"))).unwrap();
    assert!(json["differences"].as_array().unwrap().iter().any(|d| d["metric"] == "worst"), "{json}");
    let unknown = here.laxity("diff --metric wurst slow fast");
    assert!(
        unknown.status.code() == Some(2) && err(&unknown).contains("is not a metric"),
        "{}",
        err(&unknown)
    );
    assert_eq!(here.laxity("diff slow nowhere").status.code(), Some(2));
}

#[test]
fn shells_and_manual_pages_know_every_command() {
    let here = Here::new("shell");
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&here.laxity(&format!("completions {shell}")));
        assert!(script.contains("reproduce") && script.contains("no-report"), "{shell}");
    }
    let page = out(&here.laxity("man adapter show"));
    assert!(page.contains(".TH laxity-adapter-show 1") && page.contains("block diagram"), "{page}");
    assert_eq!(here.laxity("man fly").status.code(), Some(2));
    let version = out(&here.laxity("--version"));
    assert!(version.contains("format of scenarios: 1") && version.contains("nic-25g"), "{version}");
}
