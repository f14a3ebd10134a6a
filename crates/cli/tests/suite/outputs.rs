//! Files on disk after wrong paths, concurrent runs, or a full disk.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{CAMERA, Here, err, out};

/// With the scenario in it.
fn here(name: &str) -> Here {
    let here = Here::new(name);
    here.write("camera.toml", CAMERA);
    here
}

#[test]
fn twenty_runs_at_once_take_turns_and_leave_one_whole_outcome() {
    let here = here("twenty");
    let alone = here.laxity("run camera.toml --out alone/camera");
    assert_eq!(alone.status.code(), Some(0), "{}", err(&alone));
    let running: Vec<_> = (0..20).map(|_| here.command("run camera.toml --fresh").spawn().unwrap()).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert_eq!(out(&output), out(&alone));
    }
    for file in ["results.json", "results.parquet"] {
        let bytes = |directory: &str| fs::read(here.0.join(directory).join("camera").join(file)).unwrap();
        assert!(bytes("results") == bytes("alone"), "{file} differs");
    }
    let mut left: Vec<_> = fs::read_dir(here.0.join("results/.camera.laxity"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["lock", "points"]);
}

/// A limit of file sizes is an error at the file, and not a signal that ends the process.
#[test]
fn a_file_that_may_not_grow_is_named() {
    let here = here("limited");
    for (arguments, file) in [("run camera.toml --fresh --out o", "o"), ("trace camera.toml --pcap p", "p")] {
        let limited = format!("ulimit -f 1; exec \"$0\" {arguments}");
        let mut shell = Command::new("bash");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_laxity")]).current_dir(&here.0);
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments}: {}", err(&output));
        let said = err(&output);
        assert!(said.contains("File too large") && said.contains(file), "{said}");
    }
}

#[test]
fn no_path_that_is_named_by_a_slip_is_written() {
    let here = here("slip");
    fs::write(here.0.join("notes.json"), "[1, 2, 3]").unwrap();
    fs::create_dir(here.0.join("thesis")).unwrap();
    fs::write(here.0.join("thesis/thesis.tex"), "years").unwrap();
    for (arguments, path, why) in [
        ("trace camera.toml --perfetto camera.toml", "camera.toml", "is read by this very command"),
        ("trace camera.toml --perfetto notes.json", "notes.json", "Laxity did not write it"),
        ("trace camera.toml --pcap /dev/null", "/dev/null", "is a device"),
        ("trace camera.toml --perfetto a --pcap a", "a", "cannot be one file"),
        ("run camera.toml --out thesis", "thesis", "not the outcome of an earlier run"),
        ("run camera.toml --out camera.toml", "camera.toml", "is no directory"),
        ("calibrate --out camera.toml", "camera.toml", "Laxity did not write it"),
        ("reproduce --experiments . --table thesis/thesis.tex", "thesis.tex", "Laxity did not write it"),
    ] {
        // Experiments stand in a directory of their system.
        fs::copy(here.0.join("camera.toml"), here.0.join("thesis/camera.toml")).unwrap();
        let output = here.laxity(arguments);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(path) && said.contains(why), "{arguments}: {said}");
        assert_eq!(out(&output), "", "{arguments} began");
    }
    assert_eq!(here.read("camera.toml"), CAMERA);
    assert_eq!(here.read("notes.json"), "[1, 2, 3]");
    assert_eq!(here.read("thesis/thesis.tex"), "years");
}

#[test]
fn what_laxity_wrote_is_written_again() {
    let here = here("again");
    for _ in 0..2 {
        for arguments in ["trace camera.toml --perfetto p.json --pcap p.pcapng", "run camera.toml"] {
            let output = here.laxity(arguments);
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        }
    }
    let crossed = here.laxity("trace camera.toml --perfetto p.pcapng");
    assert!(
        err(&crossed).contains("p.pcapng exists, and Laxity did not write it as a trace"),
        "{}",
        err(&crossed)
    );
}

/// Root may write everywhere; no user can write below a file.
#[test]
fn a_place_where_nothing_can_be_written_costs_the_files_and_not_the_table() {
    let here = here("nowhere");
    fs::write(here.0.join("results"), "a file").unwrap();
    let output = here.laxity("run camera.toml");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(out(&output).contains("1 holds"), "{}", out(&output));
    let said = err(&output);
    assert!(said.contains("results/camera cannot be written") && said.contains("--no-report"), "{said}");
    let output = here.laxity("run camera.toml --no-report");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("warning"), "{}", err(&output));
    assert_eq!(here.read("results"), "a file");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_the_files_and_not_the_table() {
    let here = here("full");
    fs::create_dir(here.0.join("disk")).unwrap();
    let laxity = Path::new(env!("CARGO_BIN_EXE_laxity"));
    // A file system of its own, which is full but for a few blocks, and goes with the shell.
    let script = format!(
        "mount -t tmpfs -o size=64k none disk || exit 77
         head -c 50000 /dev/zero > disk/filler
         {laxity:?} run camera.toml --out disk/camera
         code=$?; ls -A disk/.camera.laxity >&2; exit $code"
    );
    let run = Command::new("unshare").args(["-m", "sh", "-c", &script]).current_dir(&here.0).output();
    let output = match run {
        Ok(output) if output.status.code() != Some(77) && !err(&output).starts_with("unshare:") => output,
        _ => return println!("skipped: no file system can be mounted here"),
    };
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(out(&output).contains("1 holds"), "{}", out(&output));
    let said = err(&output);
    assert!(said.contains("disk/camera cannot be written") && said.contains("No space left"), "{said}");
    assert!(!said.contains("partial"), "the half of an outcome is left: {said}");
}

#[test]
fn tuning_names_the_best_or_how_near_the_nearest_came() {
    let here = here("tune");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tune/polling.toml");
    let text = fs::read_to_string(example).unwrap();
    let write = |name: &str, text: &str| fs::write(here.0.join(name), text).unwrap();
    write("good.toml", &text);
    let good = here.laxity("tune good.toml");
    let best = "best: I = 16 ms, Q = 48: received per second 914.7, 99th percentile of latency 38.91 ms, cpu left share 55.69 %";
    assert_eq!(good.status.code(), Some(0), "{}", err(&good));
    assert!(
        out(&good).contains(best) && out(&good).contains("confirmed with 3 fresh seeds"),
        "{}",
        out(&good)
    );
    assert!(
        out(&good).contains("I = 1 ms, Q = 2: ") && out(&good).contains("% of the goal"),
        "{}",
        out(&good)
    );
    // The page shows the output of the command.
    let page = include_str!("../../../../docs/tune.md");
    assert!(page.contains(best) && out(&good).lines().filter(|line| page.contains(*line)).count() > 4);
    let drawing = fs::read_to_string(here.0.join("results/good.tune.svg")).unwrap();
    assert!(drawing.contains("keeps what is needed"));
    assert_eq!(out(&good), out(&here.laxity("tune good.toml --threads 1")));
    write("hard.toml", &text.replace("\"70 ms\"", "\"1 ms\""));
    let hard = here.laxity("tune hard.toml");
    assert_eq!(hard.status.code(), Some(1), "{}", err(&hard));
    assert!(out(&hard).contains("no setting keeps what is needed\nnearest: "), "{}", out(&hard));
    assert!(out(&hard).contains("too much 99th percentile of latency ("), "{}", out(&hard));
    let goalless = here.laxity("tune camera.toml");
    assert_eq!(goalless.status.code(), Some(2));
    assert!(err(&goalless).contains("has no `[tune]`"), "{}", err(&goalless));
}
