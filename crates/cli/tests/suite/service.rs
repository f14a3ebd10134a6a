//! The running service as a user has it: daemons of `laxity serve`, and programs of the client.

mod change;
mod chaos;
mod clocks;
mod crowd;
mod fork;
mod line;
mod lossy;
mod names;
mod net;
mod network;
mod quota;
mod reload;
mod replay;
mod steady;
mod within;

use std::process::{Command, Stdio};
use std::time::Duration;

use laxity_client::protocol::Acceptable;
use laxity_client::{Channel, Client, Contract, Error, Event, Listener};
use net::Net;

const MS: Duration = Duration::from_millis(1);
/// Longer than any step takes on a busy machine.
const LONG: Duration = Duration::from_secs(20);

fn film() -> Contract {
    Contract::periodic(1000, 10 * MS, 50 * MS)
}

fn text(number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (number as usize * 7 + at) as u8).collect()
}

fn collect(listener: &mut Listener, count: usize) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while messages.len() < count {
        match listener.recv_timeout(LONG).unwrap() {
            Some(message) => messages.push(message.payload),
            None => panic!("{} of {count} messages arrived", messages.len()),
        }
    }
    messages
}

fn refused(opened: Result<Channel, Error>) -> laxity_client::Refusal {
    match opened {
        Err(Error::Refused(refusal)) => refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is admitted"),
    }
}

/// Waits until `done`; the cause is that of a failure.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..400 {
        if done() {
            return;
        }
        std::thread::park_timeout(50 * MS);
    }
    panic!("{what}: not within 20 s");
}

#[test]
fn messages_of_every_size_arrive_whole_and_in_order() {
    let net = Net::loopback(10, &["a", "b"]);
    let (sender, receiver) = (net.client("a"), net.client("b"));
    let mut listener = receiver.listen("film").unwrap();
    net.know("a", "film");
    let contract = Contract { max_message: 9000, ..Contract::periodic(0, 4 * MS, 60 * MS) };
    let mut channel = sender.open("film", contract).unwrap();
    assert_eq!(channel.route(), ["a", "b"]);
    assert!(matches!(receiver.event(LONG), Some(Event::Connected(name)) if name == channel.name()));
    let sizes = [1, 1000, 1344, 1345, 9000, 2, 8999];
    for (number, size) in sizes.iter().enumerate() {
        channel.send(&text(number as u64, *size)).unwrap();
    }
    let received = collect(&mut listener, sizes.len());
    for (number, (size, message)) in sizes.iter().zip(&received).enumerate() {
        assert_eq!(*message, text(number as u64, *size));
    }
    assert!(matches!(channel.post(&[0; 9001]), Err(Error::Length)));
    assert!(matches!(channel.post(&[]), Err(Error::Length)));
    assert_eq!((channel.accepted(), channel.excess()), (7, 0), "send waits for the contract");
    // Twice the burst at once: what is beyond the contract is refused, and counted.
    let outcomes: Vec<bool> = (0..4).map(|_| channel.try_send(&[1]).is_ok()).collect();
    assert!(outcomes.contains(&false), "{outcomes:?}");
    let accepted = channel.accepted();
    channel.close().unwrap();
    let all = accepted as usize;
    assert_eq!(collect(&mut listener, all - sizes.len()).len(), all - sizes.len(), "close loses no message");
    let status = receiver.status().unwrap();
    assert_eq!(status.channels, 0);
}

#[test]
fn a_refusal_says_what_would_do_and_leaves_nothing() {
    let net = Net::loopback(20, &["a", "b", "c"]);
    let client = net.client("a");
    let receiver = net.client("c");
    let _listener = receiver.listen("film").unwrap();
    net.know("a", "film");
    let asked = Contract::periodic(1000, 10 * MS, MS / 10);
    let refusal = refused(client.open("film", asked));
    let Acceptable::Deadline(ns) = refusal.acceptable else { panic!("{refusal}") };
    // As far as the nodes up to the one that refuses are concerned: ask again until it fits.
    let mut deadline = ns;
    let mut channel = loop {
        match client.open("film", Contract { deadline_ns: deadline, ..asked }) {
            Ok(channel) => break channel,
            Err(Error::Refused(refusal)) => match refusal.acceptable {
                Acceptable::Deadline(more) if more > deadline => deadline = more,
                _ => panic!("{refusal}"),
            },
            Err(other) => panic!("{other}"),
        }
    };
    let share = |node: &str| net.client(node).status().unwrap().links.iter().map(|link| link.2).max();
    assert!(share("a") > Some(0) && share("b") > Some(0));
    // More bandwidth than the link has is refused, and the old contract stays.
    let refusal = channel.renegotiate(Contract::periodic(60_000, 5 * MS, 100 * MS)).unwrap_err();
    assert!(matches!(&refusal, Error::Refused(refusal) if refusal.resource.contains("link")), "{refusal}");
    channel.send(&[1; 1000]).unwrap();
    channel.renegotiate(Contract::periodic(3000, 10 * MS, 60 * MS)).unwrap();
    channel.send(&[1; 3000]).unwrap();
    channel.close().unwrap();
    for node in ["a", "b", "c"] {
        until("no reservation stays", || share(node) == Some(0));
        assert_eq!(net.client(node).status().unwrap().channels, 0);
    }
    assert!(matches!(client.open("nobody", film()), Err(Error::Failed(why)) if why.contains("nobody")));
}

#[test]
fn names_are_found_everywhere_and_end_with_their_program() {
    let net = Net::loopback(30, &["a", "b", "c"]);
    let (client, receiver) = (net.client("a"), net.client("c"));
    let listener = receiver.listen("film").unwrap();
    assert!(matches!(receiver.listen("film"), Err(Error::Failed(why)) if why.contains("already")));
    net.know("a", "film");
    let address = client.resolve("film").unwrap();
    let mut datagrams = net.client("b").listen("mail").unwrap();
    net.know("a", "mail");
    client.datagram(client.resolve("mail").unwrap(), b"hello").unwrap();
    let message = datagrams.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!((message.channel, message.payload.as_slice()), (None, b"hello".as_slice()));
    let mut channel = client.open("film", film()).unwrap();
    drop(listener);
    until("the name is gone", || client.resolve("film").is_err());
    until("the channel is over", || matches!(channel.try_send(&[1]), Err(Error::Ended)));
    // A program that is killed is a connection that ends.
    let mut program = net.program("c", &["recv", "film", "--report"]);
    net.know("a", "film");
    assert_ne!(client.resolve("film").unwrap(), address);
    let mut channel = client.open("film", film()).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    until("the channel is over", || matches!(channel.try_send(&[1]), Err(Error::Ended)));
    until("nothing is held", || net.client("c").status().unwrap().channels == 0);
}

/// What a receiver has counted is told when it is interrupted, and when its daemon ends.
#[test]
fn a_receiver_that_is_interrupted_reports_what_came() {
    let net = Net::loopback(140, &["a", "b"]);
    let client = net.client("a");
    for (ends, code) in [("by a signal", 0), ("with the daemon", 3)] {
        let mut command = net.laxity();
        command.args(["recv", "mail", "--report"]).env("LAXITY_SOCKET", net.socket("b"));
        let program = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        net.know("a", "mail");
        let to = client.resolve("mail").unwrap();
        for _ in 0..3 {
            client.datagram(to, b"hello").unwrap();
        }
        // The program looks for messages all the time; it has these when it sees the signal.
        std::thread::park_timeout(200 * MS);
        match code {
            0 => {
                let id = program.id().to_string();
                assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
            }
            _ => net.stop("b"),
        }
        let output = program.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{ends}: {said}");
        let row = said.lines().nth(1).unwrap_or_default().split_whitespace().take(3).collect::<Vec<_>>();
        assert_eq!(row, ["datagrams", "3", "15"], "{ends}: {said}");
        until("the name is free", || code != 0 || client.resolve("mail").is_err());
    }
}

#[test]
fn a_dead_relay_is_told_within_the_lease_and_all_is_free() {
    let net = Net::loopback(40, &["a", "b", "c"]);
    let (client, receiver) = (net.client("a"), net.client("c"));
    let _listener = receiver.listen("film").unwrap();
    net.know("a", "film");
    let mut channel = client.open("film", film()).unwrap();
    channel.send(&[1; 1000]).unwrap();
    net.kill("b");
    until("the program is told", || {
        matches!(channel.try_send(&[1]), Err(Error::Lost | Error::Excess))
            && channel.try_send(&[1]).is_err_and(|why| matches!(why, Error::Lost))
    });
    assert!(matches!(channel.close(), Err(Error::Lost)), "its message may not have arrived");
    for node in ["a", "c"] {
        until("nothing is held", || net.client(node).status().unwrap().channels == 0);
    }
    until("no route", || client.open("film", film()).is_err());
    // The relay starts again with another epoch.
    net.start("b");
    let mut again = None;
    until("it is established", || {
        again = client.open("film", film()).ok();
        again.is_some()
    });
    let mut channel = again.unwrap();
    channel.send(&[2; 10]).unwrap();
    channel.close().unwrap();
}

#[test]
fn a_stopped_daemon_says_so_and_leaves_nothing() {
    let net = Net::loopback(50, &["a", "b"]);
    let client = net.client("a");
    let _listener = net.client("b").listen("film").unwrap();
    net.know("a", "film");
    let mut channel = client.open("film", film()).unwrap();
    net.stop("a");
    assert_eq!(client.event(LONG), Some(Event::Stopping));
    until("it is over", || channel.try_send(&[1]).is_err());
    assert!(!net.socket("a").exists());
    assert!(Client::connect_to(&net.socket("a")).is_err());
    until("nothing is held", || net.client("b").status().unwrap().channels == 0);
}

#[test]
fn strangers_reach_no_channel() {
    let net = Net::loopback(60, &["a", "b"]);
    let (client, receiver) = (net.client("a"), net.client("b"));
    let mut listener = receiver.listen("film").unwrap();
    net.know("a", "film");
    let mut channel = client.open("film", film()).unwrap();
    // Programs that do not follow the protocol.
    for garbage in [&b"x"[..], &[0xff; 4000], &[]] {
        let socket = laxity_client::socket::ProgramSocket::connect(&net.socket("b")).unwrap();
        socket.send(garbage, &[]).unwrap();
    }
    let silent: Vec<_> =
        (0..50).map(|_| laxity_client::socket::ProgramSocket::connect(&net.socket("b")).unwrap()).collect();
    for number in 0..20 {
        channel.send(&text(number, 500)).unwrap();
    }
    let received = collect(&mut listener, 20);
    assert!(received.iter().enumerate().all(|(number, message)| *message == text(number as u64, 500)));
    drop(silent);
    assert_eq!(receiver.status().unwrap().rows[0].messages, 20);
    // Garbage from the address of the neighbour itself, as another program of its host may send it.
    net.kill("a");
    let forger = std::net::UdpSocket::bind(net.address("a", 1)).unwrap();
    for length in 1..=200 {
        forger.send_to(&text(length, length as usize), net.address("b", 0)).unwrap();
    }
    let forged = || {
        let counters = receiver.status().unwrap().counters;
        counters.iter().find(|(name, _)| name == "link_1_forged").map(|(_, count)| *count)
    };
    until("each is counted", || forged() == Some(200));
}

#[test]
fn a_program_cannot_touch_channels_of_others() {
    let net = Net::loopback(70, &["a", "b"]);
    let (one, other) = (net.client("a"), net.client("a"));
    let mut listener = net.client("b").listen("film").unwrap();
    net.know("a", "film");
    let mut channel = one.open("film", film()).unwrap();
    let mut second = other.open("film", Contract::periodic(100, 20 * MS, 40 * MS)).unwrap();
    assert!(second.renegotiate(Contract { interval_ns: 0, ..film() }).is_err());
    // Ten times the contract: what is within it arrives, and so does all of the neighbour's.
    let posted = (0..400).filter(|_| second.post(&[9; 100]).is_ok()).count() as u64;
    for number in 0..30 {
        channel.send(&text(number, 1000)).unwrap();
    }
    until("the daemon has decided", || second.accepted() + second.excess() == posted);
    assert!(second.excess() > posted / 2, "{} of {posted}", second.excess());
    let expected = 30 + second.accepted() as usize;
    let all = collect(&mut listener, expected);
    let of_one: Vec<_> = all.iter().filter(|message| message.len() == 1000).collect();
    assert!(of_one.iter().enumerate().all(|(number, message)| **message == text(number as u64, 1000)));
    assert_eq!(of_one.len(), 30);
}

/// A program in C, with the header that is shipped.
#[test]
fn a_program_in_c_sends_and_receives() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let net = Net::loopback(80, &["a", "b"]);
    let program = net.path("stream");
    let built = std::process::Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .args([&format!("{root}/examples/nodes/stream.c"), &format!("-I{root}/crates/rtc/include")])
        .arg(format!("-L{}", libraries.display()))
        .arg("-llaxity_rtc")
        .status();
    assert!(built.unwrap().success());
    let run = |node: &str, what: &str| {
        let mut command = std::process::Command::new(&program);
        command.args([what, "film", "50"]).env("LAXITY_SOCKET", net.socket(node));
        command.env("LD_LIBRARY_PATH", &libraries).spawn().unwrap()
    };
    let mut receiver = run("b", "recv");
    net.know("a", "film");
    assert!(run("a", "send").wait().unwrap().success());
    assert!(receiver.wait().unwrap().success());
}

/// Programs that speak UDP, at both ends of a channel.
#[test]
fn datagrams_of_unchanged_programs_ride_a_channel() {
    let net = Net::loopback(90, &["a", "b"]);
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(LONG)).unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let mut back = net.program("b", &["bridge", "--from", "film", "--send", &to]);
    net.know("a", "film");
    let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    // A port that is free now.
    let at = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let contract = ["--size", "1400", "--interval", "2 ms", "--burst", "50", "--deadline", "60 ms"];
    let mut forth = net.program("a", &[&["bridge", "--listen", &at, "--to", "film"], &contract[..]].concat());
    let client = net.client("a");
    until("the channel is there", || client.status().unwrap().channels == 1);
    let mut buffer = [0; 2000];
    for number in 0..40 {
        sender.send_to(&text(number, 30 * number as usize + 1), &at).unwrap();
    }
    for number in 0..40 {
        let length = receiver.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], text(number, 30 * number as usize + 1));
    }
    for program in [&mut forth, &mut back] {
        program.kill().unwrap();
        program.wait().unwrap();
    }
}

/// A client and a server that speak UDP: answers come from where the client sent to.
#[test]
fn answers_of_unchanged_programs_come_back() {
    let net = Net::loopback(94, &["a", "b"]);
    let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(LONG)).unwrap();
    }
    let to = server.local_addr().unwrap().to_string();
    // A port that is free now.
    let at = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let contract = ["--size", "1400", "--interval", "2 ms", "--burst", "50", "--deadline", "60 ms"];
    let bridge =
        |node: &str, way: [&str; 6]| net.program(node, &[&["bridge"], &way[..], &contract[..]].concat());
    // Each end waits for the name of the other.
    let mut near = bridge("a", ["--listen", &at, "--to", "server", "--from", "client"]);
    let mut far = bridge("b", ["--send", &to, "--from", "server", "--to", "client"]);
    for node in ["a", "b"] {
        let program = net.client(node);
        until("both channels are there", || program.status().unwrap().channels == 2);
    }
    let mut buffer = [0; 2000];
    for number in 0..20 {
        client.send_to(&text(number, 100), &at).unwrap();
        let (length, bridge) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(buffer[..length], text(number, 100));
        server.send_to(&text(1000 + number, 200), bridge).unwrap();
        let (length, from) = client.recv_from(&mut buffer).unwrap();
        assert_eq!(buffer[..length], text(1000 + number, 200));
        assert_eq!(from.to_string(), at);
    }
    for program in [&mut near, &mut far] {
        program.kill().unwrap();
        program.wait().unwrap();
    }
}
