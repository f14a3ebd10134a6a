//! The cost of a simulated packet on the whole path from source to meters, and its growth with the
//! number of channels.
//!
//! Three paths: a host with the papers' null device as its adapter; the same host with an adapter
//! of three stages; six stations on a token ring, of which one is measured, as in thesis §6.4.
//! Times are processor time where the system measures it, medians of runs that take turns. To
//! compare two versions of the simulator, run both on the same machine.
//!
//! `cargo bench -p laxity-lab --bench packets`, or with `-- --quick` for fewer runs. Time depends
//! on other load of the machine. With `-- --instructions` valgrind, if installed, counts the
//! instructions of each path instead: the difference of two lengths of a run. That is reproducible,
//! so a change of 1 % is visible.

#[path = "../../engine/benches/support/timing.rs"]
mod timing;

use laxity_scenario::Scenario;
use laxity_world::experiment::Experiment;
use timing::{median, timed};

/// That of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOST: &str = r#"
title = "The way of a packet"
[host]
profile = "mc68040"
[admission]
formula = "off"
[run]
packets = PACKETS
[[channel]]
name = "flood"
class = "best_effort"
max_message = "16 KiB"
burst = 4
source = { kind = "continuous" }
[[channel]]
name = "rt"
class = "real_time"
count = CHANNELS
max_message = "4 KiB"
burst = 2
min_interval = "INTERVAL ms"
deadline = "20 ms"
source = { kind = "periodic", phase = "random" }
"#;

const NULL: &str = r#"
[adapter]
kind = "null"
startup = "1 us"
per_byte = "1 ns"
"#;

const STAGES: &str = r#"
[adapter]
kind = "generic"
[[adapter.transmit]]
name = "fetch"
phase = [{ fixed = "20 us" }]
[[adapter.transmit]]
name = "dma"
phase = [{ fixed = "50 us", per_byte = "1 ns", holds = ["bus"] }]
[[adapter.transmit]]
name = "link"
phase = [{ fixed = "20 us", per_byte = "1 ns", medium = true }]
"#;

const RING: &str = r#"
[network]
kind = "token_ring"
rotation = "10 ms"
holding = "1 ms"
"#;

fn experiment(parts: &[&str], channels: u64, packets: u64) -> Experiment {
    let text = format!("{HOST}{}", parts.concat());
    // Whatever the number of channels, they send a tenth of the packets.
    let interval = 20 * channels;
    let text = text.replace("CHANNELS", &channels.to_string()).replace("PACKETS", &packets.to_string());
    let text = text.replace("INTERVAL", &interval.to_string());
    let scenario = Scenario::from_text("packets.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    scenario.first()
}

/// Nanoseconds a packet.
fn cost(experiment: &Experiment, packets: u64) -> f64 {
    let (run, took) = timed(|| laxity_world::run(experiment));
    let sent: u64 = run.channels.iter().map(|channel| channel.packets).sum();
    assert!(sent * 100 >= packets * 99, "{sent} of {packets} packets were sent");
    took.as_secs_f64() * 1e9 / packets as f64
}

/// The ways by their names.
const WAYS: [(&str, &[&str]); 3] = [
    ("host and null adapter", &[NULL]),
    ("host and three stages", &[STAGES]),
    ("three stages on a token ring", &[STAGES, RING]),
];

/// Instructions of this program for one path and this number of packets.
fn instructions(way: usize, packets: u64) -> u64 {
    let program = std::env::current_exe().expect("a running program has a path");
    let arguments = ["--once".to_owned(), way.to_string(), packets.to_string()];
    let mut counter = std::process::Command::new("valgrind");
    counter.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let output =
        counter.output().unwrap_or_else(|error| panic!("valgrind, which counts, does not start: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = counted.unwrap_or_else(|| panic!("valgrind has counted nothing:\n{said}"));
    count.trim().parse().expect("a count is a number")
}

/// Counts the instructions of a packet of each way.
fn count() {
    println!("{:<30} {:>20}", "way", "instructions/packet");
    for (way, (name, _)) in WAYS.iter().enumerate() {
        let (less, more) = (10_000, 30_000);
        println!("{name:<30} {:>20}", (instructions(way, more) - instructions(way, less)) / (more - less));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, once, way, packets, ..] = &arguments[..]
        && once == "--once"
    {
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (_, parts) = WAYS[number(way) as usize];
        cost(&experiment(parts, 1, number(packets)), number(packets));
        return;
    }
    if arguments.iter().any(|argument| argument == "--instructions") {
        return count();
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let (rounds, packets) = if quick { (3, 100_000) } else { (9, 1_000_000) };
    let mut costs = WAYS.map(|_| Vec::new());
    for _ in 0..rounds {
        for ((_, parts), costs) in WAYS.iter().zip(&mut costs) {
            costs.push(cost(&experiment(parts, 1, packets), packets));
        }
    }
    println!("{:<30} {:>10} {:>14}", "way", "ns/packet", "packets/s");
    for ((name, _), costs) in WAYS.iter().zip(&mut costs) {
        let ns = median(costs);
        println!("{name:<30} {ns:>10.0} {:>14.0}", 1e9 / ns);
    }
    println!("\n{:<30} {:>10}", "channels on the null adapter", "ns/packet");
    for channels in [1, 10, 100, 1_000, 5_000] {
        let mut costs: Vec<f64> =
            (0..3).map(|_| cost(&experiment(&[NULL], channels, packets / 4), packets / 4)).collect();
        println!("{channels:<30} {:>10.0}", median(&mut costs));
    }
}
