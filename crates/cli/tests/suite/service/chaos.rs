//! Daemons, programs and links that fail: other channels go on, and all is released.
//!
//! The tests assert order and accounts, which are the same on a busy machine.

use std::time::Duration;

use laxity_client::protocol::{ProgramRequest, VERSION};
use laxity_client::socket::ProgramSocket;
use laxity_client::{Channel, Client, Contract, Error};
use laxity_machine::ip::Ip;
use laxity_machine::namespace::RunOwner;

use super::line::{namespaces, space};
use super::net::Net;
use super::steady::{beside_a_stream, count, number, numbered};
use super::{LONG, MS, film, until};

/// Channels that a node holds, and whether something of its links is reserved.
fn holds(net: &Net, node: &str) -> (u32, bool) {
    let status = net.client(node).status().unwrap();
    (status.channels, status.links.iter().any(|link| link.2 > 0))
}

/// Opens a channel as soon as there is a route.
fn reopened(client: &Client, name: &str, contract: Contract) -> Channel {
    let mut channel = None;
    until("it is established", || {
        channel = client.open(name, contract).ok();
        channel.is_some()
    });
    channel.unwrap()
}

/// Sends until the channel is over.
fn until_over(channel: &mut Channel) {
    until("the channel is over", || matches!(channel.try_send(&[1; 100]), Err(Error::Lost)));
}

/// How long a program lives until it is killed.
fn lives(seed: u64) -> impl Iterator<Item = Duration> {
    let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    std::iter::successors(Some(seed), next).map(|state| Duration::from_millis((state >> 33) % 60))
}

#[test]
fn a_daemon_that_is_killed_takes_only_its_own_channels() {
    let net = Net::loopback(100, &["a", "b", "c"]);
    for _ in 0..2 {
        let client = net.client("b");
        let _listener = net.client("c").listen("film").unwrap();
        net.know("b", "film");
        let mut channel = reopened(&client, "film", film());
        beside_a_stream(&net, "a", "b", || {
            channel.send(&[1; 1000]).unwrap();
            net.kill("c");
            until_over(&mut channel);
            until("only the stream is held", || holds(&net, "b").0 == 1);
        });
        assert!(matches!(channel.try_send(&[1]), Err(Error::Lost)));
        drop(channel);
        // The files that the killed daemon left are replaced.
        net.start("c");
    }
    for node in ["a", "b", "c"] {
        until("nothing is held", || holds(&net, node) == (0, false));
        net.stop(node);
        assert!(!net.socket(node).exists());
    }
}

#[test]
fn a_daemon_that_is_stopped_keeps_its_channels_for_a_lease() {
    let net = Net::loopback(110, &["a", "b", "c"]);
    let client = net.client("b");
    let mut listener = net.client("c").listen("film").unwrap();
    net.know("b", "film");
    let mut channel = client.open("film", film()).unwrap();
    beside_a_stream(&net, "a", "b", || {
        // Shorter than the lease of 2 s: the channel is still there.
        for number in 0..5 {
            channel.send(&numbered(number, 500)).unwrap();
        }
        net.signal("c", "-STOP");
        std::thread::park_timeout(700 * MS);
        net.signal("c", "-CONT");
        for number in 5..10 {
            channel.send(&numbered(number, 500)).unwrap();
        }
        let mut numbers = Vec::new();
        while numbers.last() != Some(&9) {
            numbers.push(number(&listener.recv_timeout(LONG).unwrap().unwrap().payload));
        }
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        // Longer: it is over at both ends.
        net.signal("c", "-STOP");
        until_over(&mut channel);
        until("only the stream is held", || holds(&net, "b").0 == 1);
        net.signal("c", "-CONT");
        until("nothing is held", || holds(&net, "c") == (0, false));
    });
    // The receiver was there all the time.
    net.know("b", "film");
    let mut again = reopened(&client, "film", film());
    again.send(&numbered(10, 500)).unwrap();
    // Behind what `until_over` sent.
    until("it arrives", || listener.recv_timeout(LONG).unwrap().unwrap().payload == numbered(10, 500));
    again.close().unwrap();
}

/// A link with losses of 1, 10 and 30 % and repeated packets, as no real link repeats them.
#[test]
fn a_link_that_loses_packets_costs_those_messages_alone() {
    let net = Net::lossy(120, &["a", "b", "c"]);
    let (client, hop) = (net.client("b"), net.hop("b"));
    let receiver = net.client("c");
    let mut listener = receiver.listen("film").unwrap();
    net.know("b", "film");
    beside_a_stream(&net, "a", "b", || {
        for loss in [1, 10, 30] {
            hop.set(loss, 20);
            let before = hop.counts().0;
            // Signalling repeats what is lost.
            let mut channel = reopened(&client, "film", film());
            let messages = 100;
            for number in 0..messages {
                channel.send(&numbered(number, 500)).unwrap();
            }
            assert_eq!(channel.accepted(), messages);
            channel.close().unwrap();
            let (mut numbers, mut told) = (Vec::new(), 0);
            while let Some(message) = listener.recv_timeout(300 * MS).unwrap() {
                numbers.push(number(&message.payload));
                told += u64::from(message.lost);
            }
            let sent = numbers.last().map_or(0, |last| last + 1);
            assert_eq!(told, sent - numbers.len() as u64, "{loss} %: {numbers:?}");
            let lost = hop.counts().0 - before;
            assert!(numbers.is_sorted_by(|a, b| a < b), "{loss} %: in order, each once: {numbers:?}");
            let stopped = ["b", "c"].map(|node| net.client(node).status().unwrap());
            let stopped = stopped.iter().any(|status| count(status, "stall_longest_us") > 10_000);
            let missing = messages - numbers.len() as u64;
            assert!(missing <= lost || stopped, "{loss} %: {missing} missing, {lost} packets lost");
            until("nothing but the stream is held", || holds(&net, "b").0 == 1);
            until("nothing is held", || holds(&net, "c") == (0, false));
        }
        hop.set(0, 0);
    });
    let replayed = || count(&receiver.status().unwrap(), "link_2_replayed");
    assert!(replayed() > 0 && hop.counts().1 > 0, "{} of {:?}", replayed(), hop.counts());
    assert_eq!(count(&receiver.status().unwrap(), "link_2_forged"), 0);
}

#[test]
fn a_link_that_is_down_takes_only_its_own_channels() {
    let Ok(owner) = RunOwner::claim() else { return };
    let Some(spaces) = namespaces(&owner, &["d", "e", "f"]) else { return };
    let net = Net::in_namespaces(140, &["d", "e", "f"], space);
    let set = |state: &str| Ip::inside(&spaces[1]).run(&["link", "set", "lxs2a", state]).unwrap();
    let client = net.client("e");
    let mut listener = net.client("f").listen("film").unwrap();
    net.know("e", "film");
    let mut channel = client.open("film", film()).unwrap();
    beside_a_stream(&net, "d", "e", || {
        channel.send(&numbered(0, 500)).unwrap();
        set("down");
        std::thread::park_timeout(500 * MS);
        set("up");
        // Shorter than the lease.
        channel.send(&numbered(1, 500)).unwrap();
        until("it goes on", || {
            let received = listener.recv_timeout(100 * MS).unwrap();
            received.is_some_and(|message| number(&message.payload) > 0)
                || channel.send(&numbered(2, 500)).is_err()
        });
        set("down");
        until_over(&mut channel);
        until("only the stream is held", || holds(&net, "e").0 == 1);
        until("nothing is held", || holds(&net, "f") == (0, false));
        set("up");
        drop(reopened(&client, "film", film()));
    });
    // A discipline that a killed daemon left goes with the next one.
    let tc = || {
        let arguments = ["netns", "exec", spaces[1].name(), "tc", "qdisc", "show", "dev", "lxs2a"];
        Ip::here().run(&arguments).unwrap()
    };
    net.kill("e");
    assert!(tc().contains("htb"));
    net.start("e");
    assert!(tc().contains("htb"));
    net.stop("e");
    assert!(!tc().contains("htb"), "{}", tc());
}

/// A program that is gone in the middle of a call, whichever.
#[test]
fn programs_that_end_in_a_call_leave_nothing() {
    let net = Net::loopback(130, &["a", "b", "c"]);
    let _listener = net.client("c").listen("film").unwrap();
    net.know("b", "film");
    let requests = || {
        let open = ProgramRequest::Open { to: "film".to_owned(), contract: film() };
        let listen = |n: u32| ProgramRequest::Listen(format!("name{n}"));
        let calls = [
            open.clone(),
            ProgramRequest::Resolve("film".to_owned()),
            ProgramRequest::Status(0),
            ProgramRequest::Close(0),
        ];
        let change = ProgramRequest::Change(0, Contract { max_message: 2000, ..film() });
        // Alone, behind the others, and behind a channel of the same program.
        let mut rows: Vec<Vec<ProgramRequest>> = calls.iter().cloned().map(|call| vec![call]).collect();
        rows.push(vec![open.clone(), change.clone()]);
        rows.push(vec![open.clone(), ProgramRequest::Close(0)]);
        rows.push(vec![open.clone(), open.clone(), listen(0)]);
        rows.push(vec![listen(1), ProgramRequest::Unlisten(1)]);
        rows
    };
    // The programs of the setup are gone.
    until("no program is connected", || net.held("b").1 == 0);
    let (before, _) = net.held("b");
    beside_a_stream(&net, "a", "b", || {
        for (number, row) in requests().into_iter().cycle().take(64).enumerate() {
            let socket = ProgramSocket::connect(&net.socket("b")).unwrap();
            let hello = ProgramRequest::Hello(VERSION);
            for (number, request) in std::iter::once(hello).chain(row).enumerate() {
                // A program that the daemon has disconnected is gone, too.
                let _ = socket.send(&postcard::to_stdvec(&(number as u32, request)).unwrap(), &[]);
            }
            if number % 2 == 0 {
                std::thread::park_timeout(5 * MS);
            }
            drop(socket);
        }
        // Programs that are killed by the system.
        let commands: [&[&str]; 6] = [
            &[
                "send",
                "film",
                "--size",
                "500",
                "--interval",
                "5 ms",
                "--deadline",
                "50 ms",
                "--count",
                "9999",
            ],
            &["recv", "mine", "--report"],
            &["ping", "film"],
            &["channel", "show"],
            &["top"],
            &["bridge", "--from", "other", "--send", "127.0.0.1:9"],
        ];
        for (command, life) in commands.iter().cycle().take(24).zip(lives(7)) {
            let mut program = net.program("b", command);
            std::thread::park_timeout(life);
            program.kill().unwrap();
            program.wait().unwrap();
        }
        until("only the stream is held", || holds(&net, "b").0 == 1);
        until("nothing is held", || holds(&net, "c") == (0, false));
    });
    until("nothing is held", || holds(&net, "b") == (0, false));
    until("files and memory of programs are gone", || {
        let (files, maps) = net.held("b");
        files <= before && maps == 0
    });
    let names = net.client("b").status().unwrap().names;
    assert_eq!(names, [("film".to_owned(), "c".to_owned())]);
}
