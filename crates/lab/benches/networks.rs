//! The cost of an event in a network of a thousand hosts and ten thousand channels, compared with a
//! single host.
//!
//! Hosts are alike and send the same: each ten channels of two packets every 100 ms. In the network
//! they are at fifty switches, joined by one, and a hundred more hosts receive. All channels are
//! admitted, so every packet arrives. Both are timed in turns over the same number of events, after
//! an equal number of untimed events; processor time where the system measures it.
//!
//! `cargo bench -p laxity-lab --bench networks`, or with `-- --quick` for fewer events. `-- --once
//! 1000 2000000` runs the network alone, with 1000 hosts (with 1, the host), for 2000000 events:
//! for counting instructions or cache misses.

#[path = "../../engine/benches/support/timing.rs"]
mod timing;

use std::fmt::Write as _;

use laxity_scenario::Scenario;
use laxity_world::Steps;
use timing::{median, timed};

/// That of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOST: &str = r#"
title = "What an event costs"
[host]
profile = "mc68040"
speedup = 100.0
subsystem = { packet = "1500 B" }
[run]
time = "1000000 s"
"#;

const CHANNEL: &str = r#"
class = "real_time"
max_message = "3000 B"
burst = 2
min_interval = "100 ms"
deadline = "50 ms"
source = { kind = "periodic", phase = "random" }
"#;

const HOSTS: usize = 1000;
/// That send to one receiver.
const SENDERS: usize = 10;

fn alone() -> String {
    let adapter = "[adapter]\nkind = \"null\"\nstartup = \"304 ns\"\nper_byte = \"8 ns\"\n";
    format!("{HOST}{adapter}[[channel]]\nname = \"c\"\ncount = 10{CHANNEL}")
}

fn network(hosts: usize) -> String {
    let receivers = hosts / SENDERS;
    let switches = hosts / 20;
    let mut text = format!(
        "{HOST}[node.r]\ncount = {receivers}\n[node.core]\nkind = \"switch\"\n[node.sw]\nkind = \"switch\"\ncount = \
         {switches}\n[network]\nrate = \"1 Gbit/s\"\nframing = \"ethernet\"\n"
    );
    let mut add = |line: String| writeln!(text, "{line}").expect("a string takes all");
    // The hosts that send to receiver 7 are h7-1, h7-2 and so on, each at another switch.
    for receiver in 1..=receivers {
        add(format!("[node.h{receiver}]\ncount = {SENDERS}"));
    }
    let senders = (0..hosts).map(|i| format!("h{}-{}", i % receivers + 1, i / receivers + 1));
    let nodes: Vec<String> = senders.chain((1..=receivers).map(|i| format!("r-{i}"))).collect();
    for switch in 0..switches {
        let at = |i: &usize| (i / receivers + i) % switches == switch;
        let joined: Vec<String> = (0..nodes.len()).filter(at).map(|i| format!("\"{}\"", nodes[i])).collect();
        add(format!("[network.a{switch}]\njoins = [\"sw-{}\", {}]", switch + 1, joined.join(", ")));
    }
    add("[network.trunk]\njoins = [\"core\", \"sw\"]\nrate = \"100 Gbit/s\"".into());
    // The channels of a name start at each of its nodes in turn.
    for receiver in 1..=receivers {
        add(format!(
            "[[channel]]\nname = \"c{receiver}\"\ncount = {}\nfrom = \"h{receiver}\"\nto = \"r-{receiver}\"{CHANNEL}",
            10 * SENDERS
        ));
    }
    text
}

/// Nanoseconds an event, over `events` events.
fn cost(text: &str, events: u64) -> f64 {
    let scenario = Scenario::from_text("network.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = scenario.first();
    let mut steps = Steps::open(&experiment).expect("it is a run");
    assert!(!steps.finish_within(events), "it ended before it was timed");
    let (ended, took) = timed(|| steps.finish_within(events));
    assert!(!ended, "it ended while it was timed");
    let run = steps.close();
    let (sent, lost) = run.channels.iter().fold((0, 0), |(sent, lost), channel| {
        (sent + channel.packets, lost + channel.lost_packets + channel.dropped_packets)
    });
    assert!(sent > 0 && lost == 0, "{lost} packets are lost of {sent}");
    took.as_secs_f64() * 1e9 / events as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, once, hosts, events, ..] = &arguments[..]
        && once == "--once"
    {
        let text = if hosts == "1" { alone() } else { network(hosts.parse().expect("a number")) };
        println!("{}", cost(&text, events.parse().expect("a number")));
        return;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let (rounds, events) = if quick { (3, 500_000) } else { (7, 2_000_000) };
    let texts = [alone(), network(HOSTS)];
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (text, costs) in texts.iter().zip(&mut costs) {
            costs.push(cost(text, events));
        }
    }
    let [alone, network] = costs.map(|mut costs| median(&mut costs));
    println!(
        "one host: {alone:.0} ns an event; {HOSTS} hosts and 10 000 channels: {network:.0} ns, {:.2} times that",
        network / alone
    );
}
