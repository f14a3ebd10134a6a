//! Nodes in network namespaces, on lines that others flood.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use laxity_client::{Contract, Direction};
use laxity_machine::ip::Ip;
use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::udp::{set_priority, set_tos};

use super::net::Net;
use super::steady::{count, numbered};
use super::{LONG, MS, until};

/// A row of namespaces, joined by pairs of interfaces.
pub(crate) fn namespaces(owner: &RunOwner, nodes: &[&str]) -> Option<Vec<Namespace>> {
    let made: Result<Vec<_>, _> = nodes.iter().map(|node| owner.namespace(&space(node))).collect();
    let made = match made {
        Ok(made) => made,
        Err(refused) => {
            eprintln!("left out: {refused}");
            return None;
        }
    };
    for number in 1..nodes.len() {
        let (left, right) = (format!("lxs{number}a"), format!("lxs{number}b"));
        let (from, to) = (&space(nodes[number - 1]), &space(nodes[number]));
        let pair = ["link", "add", &left, "netns", from, "type", "veth", "peer", "name", &right, "netns", to];
        Ip::here().run(&pair).unwrap();
        for (place, device, host) in [(number - 1, &left, 1), (number, &right, 2)] {
            let inside = Ip::inside(&made[place]);
            inside.address(device, [10, 78, number as u8, host].into(), 24).unwrap();
            inside.up(device).unwrap();
        }
    }
    Some(made)
}

pub(crate) fn space(node: &str) -> String {
    format!("lxs-{}-{node}", std::process::id())
}

/// Sends as fast as 120 Mbit/s to the neighbour, with the marks that daemons' packets could have.
pub(crate) fn flood(namespace: &Namespace, to: &str, stop: &AtomicBool) {
    let socket = namespace.within(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    set_priority(&socket, 6).unwrap();
    // Expedited forwarding, as packets of daemons could have it.
    set_tos(&socket, 0xb8).unwrap();
    socket.set_nonblocking(true).unwrap();
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..22 {
            // A full queue drops it.
            let _ = socket.send_to(&[0; 1400], to);
        }
        std::thread::park_timeout(2 * MS);
    }
}

/// Admitted channels lose no message and are late by stops of the platform at most, beside floods of
/// both lines, a program that breaks its contract, and channels that come and go.
#[test]
fn admitted_channels_keep_their_promises_beside_floods() {
    let Ok(owner) = RunOwner::claim() else { return };
    let Some(spaces) = namespaces(&owner, &["a", "b", "c"]) else { return };
    let net = Net::in_namespaces(0, &["a", "b", "c"], space);
    let (sender, receiver) = (net.client("a"), net.client("c"));
    let mut listeners: Vec<_> = ["one", "two", "three"].map(|name| receiver.listen(name).unwrap()).into();
    let _other = receiver.listen("other").unwrap();
    net.know("a", "other");
    let contract = Contract::periodic(1000, 10 * MS, 20 * MS);
    let mut channels: Vec<_> =
        ["one", "two", "three"].map(|name| sender.open(name, contract).unwrap()).into();
    let mut violator = sender.open("other", Contract { deadline_ns: 30_000_000, ..contract }).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&spaces[0], "10.78.1.2:9", &stop));
        scope.spawn(|| flood(&spaces[1], "10.78.2.2:9", &stop));
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = violator.post(&[7; 1000]);
                std::thread::park_timeout(MS);
            }
        });
        scope.spawn(|| {
            let program = net.client("a");
            while !stop.load(Ordering::Relaxed) {
                // One that is refused, or opened and closed.
                drop(program.open("other", Contract::periodic(500, 20 * MS, 40 * MS)));
                std::thread::park_timeout(50 * MS);
            }
        });
        let senders: Vec<_> = channels
            .iter_mut()
            .map(|channel| {
                scope.spawn(move || (0..300).for_each(|n| channel.send(&numbered(n, 1000)).unwrap()))
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    // A stop of the platform for longer than an interval may cost messages: those that it holds back
    // find no room behind it.
    let longest = ["a", "b", "c"].map(|node| count(&net.client(node).status().unwrap(), "stall_longest_us"));
    let stopped = longest.iter().any(|us| *us > 10_000);
    for (of, listener) in listeners.iter_mut().enumerate() {
        let mut numbers = Vec::new();
        while numbers.len() < 300 {
            let wait = if stopped { Duration::from_secs(2) } else { LONG };
            let Some(message) = listener.recv_timeout(wait).unwrap() else { break };
            let number = u64::from_be_bytes(message.payload[..8].try_into().unwrap());
            assert_eq!(message.payload, numbered(number, 1000), "{of}");
            numbers.push(number);
        }
        assert!(numbers.is_sorted_by(|a, b| a < b), "{of}: in order");
        assert!(
            numbers.len() == 300 || stopped,
            "{of}: {} of 300, and no stop above {longest:?}",
            numbers.len()
        );
    }
    assert!(violator.excess() > 3 * violator.accepted(), "what is beyond the contract is refused");
    for node in ["a", "b", "c"] {
        let status = net.client(node).status().unwrap();
        assert_eq!(count(&status, "late_unexplained"), 0, "{node}: {:?} {:?}", status.rows, status.stalls);
        for row in status.rows.iter().filter(|row| row.direction == Direction::Destination) {
            let worst = Duration::from_nanos(row.worst_ns);
            assert!(worst <= row.contract.deadline() || count(&status, "stalls") > 0, "{node}: {row:?}");
            assert!(row.messages >= 300 || row.name == "other" || stopped, "{row:?}");
        }
    }
    channels.clear();
    drop(violator);
    for node in ["a", "b", "c"] {
        until("nothing is held", || net.client(node).status().unwrap().channels == 0);
    }
    // The discipline is there while the daemon is, and no longer.
    let tc = |node: &str, device: &str| {
        let arguments = ["netns", "exec", &space(node), "tc", "qdisc", "show", "dev", device];
        Ip::here().run(&arguments).unwrap()
    };
    assert!(tc("b", "lxs1b").contains("htb") && tc("b", "lxs2a").contains("htb"));
    net.stop("b");
    assert!(!tc("b", "lxs1b").contains("htb") && !tc("b", "lxs2a").contains("htb"));
}
