//! Sender and receiver on one host: a channel within a node.

use std::process::Stdio;

use laxity_client::Direction;

use super::*;

/// Messages of several packets beside a flood of the only link: they are whole and in order, and the
/// contract is policed.
#[test]
fn a_channel_within_a_node_is_one_like_others() {
    let net = Net::loopback(210, &["a", "b"]);
    let (sender, receiver) = (net.client("a"), net.client("a"));
    let mut listener = receiver.listen("film").unwrap();
    // The host takes 500 us at most, and no link has a part in it.
    let refusal = refused(sender.open("film", Contract::periodic(9000, 4 * MS, MS / 10)));
    let Acceptable::Deadline(ns) = refusal.acceptable else { panic!("{refusal}") };
    assert!(refusal.node == "a" && (500_000..501_000).contains(&ns), "{refusal}");
    let asked = Contract { deadline_ns: ns, ..Contract::periodic(9000, 4 * MS, MS) };
    let mut channel = sender.open("film", asked).unwrap();
    assert_eq!(channel.route(), ["a"]);
    assert!(matches!(receiver.event(LONG), Some(Event::Connected(name)) if name == channel.name()));
    let far = net.client("b");
    let _far = far.listen("far").unwrap();
    net.know("a", "far");
    let flood = sender.resolve("far").unwrap();
    let sizes = [1, 1000, 1344, 1345, 9000, 2, 8999];
    for (number, size) in sizes.iter().enumerate() {
        for _ in 0..50 {
            let _ = sender.datagram(flood, &[0; 1300]);
        }
        channel.send(&text(number as u64, *size)).unwrap();
    }
    channel.drain().unwrap();
    let received = collect(&mut listener, sizes.len());
    assert!(received.iter().enumerate().all(|(at, message)| *message == text(at as u64, sizes[at])));
    let outcomes: Vec<bool> = (0..4).map(|_| channel.try_send(&[1]).is_ok()).collect();
    assert!(outcomes.contains(&false), "{outcomes:?}");
    channel.renegotiate(Contract { max_message: 20_000, ..asked }).unwrap();
    channel.send(&text(1, 20_000)).unwrap();
    let all = channel.accepted() as usize;
    until("all are counted", || {
        let status = sender.status().unwrap();
        let rows = status.rows.iter().filter(|row| row.channel == channel.name());
        rows.clone().all(|row| (row.direction, &row.name[..]) == (Direction::Within, "film"))
            && rows.clone().any(|row| row.messages == all as u64 && row.excess > 0)
    });
    assert_eq!(sender.status().unwrap().links[0].2, 0, "no link is reserved");
    channel.close().unwrap();
    assert_eq!(collect(&mut listener, all - sizes.len()).last(), Some(&text(1, 20_000)));
    until("nothing is held", || sender.status().unwrap().channels == 0);
    // The end of the receiver is the end of its channels.
    let mut channel = sender.open("film", asked).unwrap();
    drop(listener);
    until("the channel is over", || matches!(channel.try_send(&[1]), Err(Error::Ended)));
    // Best effort within the node.
    let mut mail = receiver.listen("mail").unwrap();
    sender.datagram(sender.resolve("mail").unwrap(), b"hello").unwrap();
    let message = mail.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!((message.channel, message.payload.as_slice()), (None, b"hello".as_slice()));
}

/// The commands of the manual on one host.
#[test]
fn commands_of_one_host_reach_each_other() {
    let net = Net::loopback(214, &["a", "b"]);
    let run = |arguments: &[&str]| {
        let mut command = net.laxity();
        command.args(arguments).env("LAXITY_SOCKET", net.socket("a")).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (film, mut echo) = (run(&["recv", "film", "--count", "5"]), run(&["recv", "echo", "--echo"]));
    net.know("a", "film");
    net.know("a", "echo");
    let contract = ["--size", "1000", "--interval", "10 ms", "--deadline", "50 ms"];
    let mut sender = run(&[&["send", "film"], &contract[..]].concat());
    let client = net.client("a");
    until("the channel is there", || client.status().unwrap().channels == 1);
    let show = run(&["channel", "show"]).wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&show.stdout).into_owned();
    assert!(shown.contains("within") && shown.contains("film") && shown.contains("50 ms"), "{shown}");
    std::io::Write::write_all(&mut sender.stdin.take().unwrap(), &text(7, 5000)).unwrap();
    let sent = sender.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&sent.stderr);
    assert!(sent.status.success() && said.contains("5 messages, all accepted"), "{said}");
    let received = film.wait_with_output().unwrap();
    assert!(received.status.success() && received.stdout == text(7, 5000));
    let ping = run(&["ping", "echo", "--count", "5"]).wait_with_output().unwrap();
    // A stop of this machine may make a round trip late.
    let said = String::from_utf8_lossy(&ping.stdout).into_owned();
    let failed = String::from_utf8_lossy(&ping.stderr);
    assert!(matches!(ping.status.code(), Some(0 | 1)) && said.contains("round trips"), "{said}{failed}");
    echo.kill().unwrap();
    echo.wait().unwrap();
    let unknown = run(&["send", "nobody", "--count", "1"]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(unknown.status.code() == Some(1) && said.contains("no node knows"), "{said}");
}
