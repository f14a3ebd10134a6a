//! A newcomer's wrong file never ends green: whatever is wrong with it, reading it says so, or the
//! verdict does.

use laxity_lab::campaign::{self, RunOptions};
use laxity_world::results::Standing;

use super::read;

/// The README's camera, and a claim that holds of it.
const CAMERA: &str = r#"title = "A camera beside a bulk transfer"

[host]
profile = "mc68040"

[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"

[run]
time = "2 s"
warmup = "100 ms"

[[channel]]
name = "camera"
class = "real_time"
max_message = "16 KiB"
burst = 2
min_interval = "40 ms"
deadline = "30 ms"
source = { kind = "periodic" }

[[channel]]
name = "bulk"
class = "best_effort"
max_message = "60 KiB"
burst = 10
source = { kind = "continuous" }

[[claim]]
id = "on-time"
says = "Every frame of the camera is sent by its deadline, and none exceeds its bound"
holds = 'runs.all(|r| r.rt.all(|c| c.on_time == 1 && c.worst <= c.bound))'
shows = '"worst " + ms(runs[0].channel("camera").worst) + " of " + ms(runs[0].channel("camera").bound)'
"#;

fn ends_green(text: &str) -> bool {
    let Ok(scenario) = read(text) else { return false };
    let outcome = campaign::run(&scenario, &RunOptions::default(), &mut |_| ()).expect("what is valid runs");
    outcome.standing() == Standing::Holds
}

/// [`CAMERA`] with one text put for another wherever it stands.
fn changed(old: &str, new: &str) -> String {
    assert!(CAMERA.contains(old), "{old}");
    CAMERA.replace(old, new)
}

#[test]
fn the_right_file_ends_green() {
    assert!(ends_green(CAMERA));
}

#[test]
fn a_hundred_wrong_files_do_not() {
    let mut wrong: Vec<String> = Vec::new();
    // A key misspelt, or left out where it is needed.
    let lines: Vec<&str> = CAMERA.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        let with = |new: Option<String>| {
            let line =
                |(i, line): (usize, &&str)| if i == at { new.clone() } else { Some((*line).to_string()) };
            lines.iter().enumerate().filter_map(line).collect::<Vec<_>>().join("\n")
        };
        wrong.push(with(Some(format!("{} = {value}", &key[..key.len() - 1]))));
        wrong.push(with(Some(format!("{key}x = {value}"))));
        wrong.push(with(Some(format!("{key} = -1"))));
        wrong.push(with(Some(format!("{key} = []"))));
        if !matches!(key, "warmup" | "shows" | "startup" | "per_byte") {
            wrong.push(with(None));
        }
    }
    for (old, new) in [
        // Zero, or less than the minimum.
        ("deadline = \"30 ms\"", "deadline = \"0 ms\""),
        ("deadline = \"30 ms\"", "deadline = \"1 us\""),
        ("deadline = \"30 ms\"", "deadline = \"1 ms\""),
        ("min_interval = \"40 ms\"", "min_interval = \"0 ms\""),
        ("min_interval = \"40 ms\"", "min_interval = \"1 us\""),
        ("max_message = \"16 KiB\"", "max_message = \"0 KiB\""),
        ("max_message = \"16 KiB\"", "max_message = \"16 MiB\""),
        ("burst = 2", "burst = 0"),
        ("time = \"2 s\"", "time = \"0 s\""),
        // Empty windows, and runs too short to carry a message.
        ("warmup = \"100 ms\"", "warmup = \"2 s\""),
        ("warmup = \"100 ms\"", "warmup = \"3 s\""),
        ("warmup = \"100 ms\"", "warmup = \"1 s\"\ncooldown = \"1 s\""),
        ("time = \"2 s\"\nwarmup = \"100 ms\"", "time = \"1 us\""),
        ("time = \"2 s\"\nwarmup = \"100 ms\"", "time = \"1 ms\""),
        ("time = \"2 s\"\nwarmup = \"100 ms\"", "packets = 1"),
        // No sender, or a source that contradicts the contract.
        ("source = { kind = \"periodic\" }", "source = { kind = \"none\" }"),
        ("source = { kind = \"periodic\" }", "source = { kind = \"periodic\", phase = \"5 s\" }"),
        ("source = { kind = \"periodic\" }", "source = { kind = \"periodic\", multiple = 1.1 }"),
        ("source = { kind = \"periodic\" }", "source = { kind = \"periodic\", size = \"0 KiB\" }"),
        ("source = { kind = \"periodic\" }", "source = { kind = \"peridic\" }"),
        ("source = { kind = \"periodic\" }", "source = \"periodic\""),
        // Contradictions.
        ("min_interval = \"40 ms\"", "min_interval = \"40 ms\"\nrate = \"400 KiB/s\""),
        ("time = \"2 s\"", "time = \"2 s\"\npackets = 100"),
        ("name = \"bulk\"", "name = \"camera\""),
        ("burst = 10", "burst = 10\ndeadline = \"10 ms\""),
        ("burst = 10", "burst = 10\ncarries = \"all\""),
        ("burst = 10", "burst = 10\nrefusal = \"expected\""),
        ("burst = 2", "burst = 2\nmin_message = \"17 KiB\""),
        ("burst = 2", "burst = 2\nrefusal = \"maybe\""),
        ("[run]", "[admission]\nformula = \"off\"\n\n[run]"),
        ("[run]", "[admission]\nformula = \"offf\"\n\n[run]"),
        ("id = \"on-time\"", "id = \"on-time\"\nrange = \"load\""),
        // Values of another kind.
        ("\"40 us\"", "\"40\""),
        ("\"40 us\"", "\"40 kg\""),
        ("\"40 us\"", "\"-40 us\""),
        ("\"16 KiB\"", "\"16 KiB/s\""),
        ("real_time", "realtime"),
        ("best_effort", "besteffort"),
        ("mc68040", "mc68041"),
        ("kind = \"null\"", "kind = \"nul\""),
        ("[[channel]]", "[[chanel]]"),
        ("[[claim]]", "[claim]"),
        // Claims that ask for something else.
        ("r.rt.all", "r.rts.all"),
        ("runs.all", "run.all"),
        ("runs.all", "runs.al"),
        ("c.on_time", "c.ontime"),
        ("c.worst", "c.wrst"),
        ("c.bound", "c.bond"),
        ("r.rt.all(|c| ", "r.rt.all(|d| "),
        ("r.rt.all", "r.rt.filter(|c| c.name == \"cam\").all"),
        ("r.rt.all", "r.channel(\"camra\").all"),
        ("runs.all", "where(\"load\", 1).all"),
        ("c.on_time == 1", "c.on_time > 1"),
        ("c.on_time == 1", "c.drops.tardy == 0"),
        ("c.on_time == 1", "c.laxity.least > 0"),
        ("c.on_time == 1", "r.figures.resets == 0"),
        ("c.on_time == 1", "r.figures.driver_resets == 0"),
        ("c.on_time == 1", "r.real_time.stalled == 0"),
        ("c.on_time == 1", "c.delivered == c.messages"),
        ("c.on_time == 1", "c.on_time == \"all\""),
        ("c.on_time == 1", "c.on_time"),
        ("r.rt.all", "r.be.all"),
        ("channel(\"camera\").bound", "channel(\"camera\").bond"),
        ("ms(runs[0].channel(\"camera\").worst)", "msec(runs[0].channel(\"camera\").worst)"),
    ] {
        wrong.push(changed(old, new));
    }
    assert!(wrong.len() >= 100, "{}", wrong.len());
    let green: Vec<&String> = wrong.iter().filter(|text| ends_green(text)).collect();
    assert!(green.is_empty(), "{} of {} end green, such as:\n{}", green.len(), wrong.len(), green[0]);
}
