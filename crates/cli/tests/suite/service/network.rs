//! The network of the node files, predicted and compared with what daemons measure.

use std::process::Output;

use laxity_machine::ip::Ip;
use laxity_machine::namespace::RunOwner;

use super::line::{flood, namespaces, space};
use super::net::Net;
use super::steady::numbered;
use super::{LONG, MS, until};

const CHANNEL: &str = "[[channel]]\nfrom = \"a\"\nto = \"c\"\nname = \"film\"\nsize = 1000\ninterval = \"10 ms\"\n\
    deadline = \"50 ms\"\n";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &*String::from_utf8_lossy(&output.stderr)
}

/// The columns of the row of a channel.
fn row(output: &Output, name: &str) -> Vec<String> {
    let text = said(output);
    let row = text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{text}"));
    row.split('┆').map(|cell| cell.trim_matches(['│', ' ']).to_owned()).collect()
}

/// The example of the documentation runs as it is.
#[test]
fn the_example_keeps_its_bounds_and_refuses_the_excess() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nodes/network.toml");
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_laxity")).args(["run", root]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(row(&output, "film")[5..], ["0", "0"], "{}", said(&output));
    let excess: u64 = row(&output, "greedy")[5].parse().unwrap();
    assert!(excess > 8000, "{excess}");
}

#[test]
fn a_measurement_stands_beside_its_prediction() {
    let net = Net::loopback(170, &["a", "b", "c"]);
    let nodes = ["a", "b", "c"].map(|node| format!("\"{node}.toml\"")).join(", ");
    std::fs::write(net.path("network.toml"), format!("nodes = [{nodes}]\ntime = \"1 s\"\n{CHANNEL}"))
        .unwrap();
    let run = |words: &[&str]| net.laxity().args(words).output().unwrap();
    let compared = run(&["compare", "network.toml"]);
    assert_eq!(compared.status.code(), Some(4), "no channel is there: {}", said(&compared));
    let mut listener = net.client("c").listen("film").unwrap();
    net.know("a", "film");
    let client = net.client("a");
    let mut channel = client.open("film", super::film()).unwrap();
    for number in 0..50 {
        channel.send(&numbered(number, 1000)).unwrap();
        listener.recv_timeout(LONG).unwrap();
    }
    let compared = run(&["compare", "network.toml"]);
    // Late messages of a busy machine are explained by stops, or this test found a bug.
    assert_eq!(compared.status.code(), Some(0), "{}", said(&compared));
    let cells = row(&compared, "film");
    assert_eq!((&cells[1][..], &cells[4][..]), ("50 ms", "50"), "{}", said(&compared));
    // The same from what each node printed.
    for node in ["a", "b", "c"] {
        let mut command = net.laxity();
        let printed =
            command.args(["node", "--json"]).env("LAXITY_SOCKET", net.socket(node)).output().unwrap();
        std::fs::write(net.path(&format!("{node}.json")), printed.stdout).unwrap();
    }
    drop(channel);
    let files = ["--status", "a.json", "--status", "b.json", "--status", "c.json"];
    let again = run(&[&["compare", "network.toml"][..], &files].concat());
    assert_eq!(row(&again, "film"), cells);
}

/// Frames of all kinds are in the capture of a daemon's log.
#[test]
fn a_log_is_a_capture() {
    let net = Net::loopback(180, &["a", "b"]);
    net.stop("b");
    net.set_text("b", &format!("log = \"b.log.bin\"\n{}", net.text("b")));
    net.start("b");
    let receiver = net.client("b");
    let mut listener = receiver.listen("film").unwrap();
    net.know("a", "film");
    let client = net.client("a");
    let mut channel = None;
    until("it is established", || {
        channel = client.open("film", super::film()).ok();
        channel.is_some()
    });
    let mut channel = channel.unwrap();
    channel.send(&numbered(7, 900)).unwrap();
    listener.recv_timeout(LONG).unwrap();
    channel.close().unwrap();
    net.stop("b");
    let output = net.laxity().args(["capture", "b.log.bin", "b.pcapng"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let bytes = std::fs::read(net.path("b.pcapng")).unwrap();
    let message = numbered(7, 900);
    assert_eq!(bytes.windows(message.len()).filter(|window| *window == message).count(), 1);
    // Each frame has a header: the message, and signalling in both directions.
    assert!(bytes.windows(3).filter(|window| *window == b"LX\x02").count() > 4);
}

/// Incoming traffic beside the link is limited, and the table is there while the daemon is.
#[test]
fn other_traffic_that_comes_in_is_limited() {
    let Ok(owner) = RunOwner::claim() else { return };
    if std::process::Command::new("nft").arg("--version").output().is_err() {
        return eprintln!("left out: nft is not installed");
    }
    let Some(spaces) = namespaces(&owner, &["a", "b"]) else { return };
    let net = Net::in_namespaces(0, &["a", "b"], space);
    net.stop("b");
    let limited = net.text("b").replace("[[link]]\n", "[[link]]\ningress = \"10 Mbit/s\"\n");
    net.set_text("b", &limited);
    net.start("b");
    until("the session is up", || net.client("b").status().unwrap().links.iter().all(|link| link.1));
    let tables = || Ip::here().run(&["netns", "exec", &space("b"), "nft", "list", "ruleset"]).unwrap();
    assert!(tables().contains("laxity-lxs1b"), "{}", tables());
    let mut listener = net.client("b").listen("film").unwrap();
    net.know("a", "film");
    let client = net.client("a");
    let mut channel = client.open("film", super::film()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&spaces[0], "10.78.1.2:9", &stop));
        for number in 0..100 {
            channel.send(&numbered(number, 1000)).unwrap();
            assert!(listener.recv_timeout(LONG).unwrap().is_some());
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let text = tables();
    let dropped =
        text.split("counter packets ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    assert!(dropped.is_some_and(|dropped| dropped > 100), "{text}");
    // A daemon that is killed leaves its table, which the next one replaces.
    net.kill("b");
    net.start("b");
    assert_eq!(tables().matches("laxity-lxs1b").count(), 1);
    std::thread::park_timeout(MS);
    net.stop("b");
    assert!(!tables().contains("laxity"), "{}", tables());
}
