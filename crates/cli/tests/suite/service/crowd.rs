//! Two hundred channels beside floods of all lines, a program that breaks its contract, and channels
//! that come and go.

#![allow(clippy::disallowed_methods, reason = "programs in real time read the machine's clock and sleep")]

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use laxity_client::{Channel, ChannelName, Client, Contract, Direction, Listener};
use laxity_machine::namespace::RunOwner;

use super::line::{flood, namespaces, space};
use super::net::Net;
use super::steady::{number, numbered};
use super::{LONG, MS, until};

const NODES: [&str; 3] = ["a", "b", "c"];
/// Channels from each of the first two nodes to the third.
const CHANNELS: usize = 100;
const INTERVAL: Duration = Duration::from_millis(20);
const LENGTH: usize = 100;

fn contract() -> Contract {
    Contract::periodic(LENGTH as u32, INTERVAL, Duration::from_millis(80)).with_burst(4)
}

/// Sends a message on each channel at each interval until `all` messages were sent. A sender that
/// comes late leaves intervals out: catching up would break the contract.
fn send(channels: &mut [Channel], all: &AtomicU64) {
    let (begin, mut due, mut round) = (Instant::now(), Duration::ZERO, 0);
    while all.load(Ordering::Relaxed) > 0 {
        for channel in &mut *channels {
            if channel.post(&numbered(round, LENGTH)).is_ok() {
                let left = |left: u64| left.checked_sub(1);
                let _ = all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
            }
        }
        round += 1;
        due = (due + INTERVAL).max(begin.elapsed());
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
}

/// Messages of each channel until `stop` and a silence: how many, and the longest delay. All are whole
/// and in order.
fn collect(listener: &mut Listener, stop: &AtomicBool) -> BTreeMap<ChannelName, (u64, Duration)> {
    let (mut seen, mut last) = (BTreeMap::<_, (u64, Duration)>::new(), BTreeMap::new());
    loop {
        let Some(message) = listener.recv_timeout(500 * MS).unwrap() else {
            if stop.load(Ordering::Relaxed) {
                return seen;
            }
            continue;
        };
        let (channel, number) = (message.channel.unwrap(), number(&message.payload));
        let before = last.insert(channel, number);
        assert!(before.is_none_or(|before| before < number), "{channel}: {before:?} before {number}");
        let (count, worst) = seen.entry(channel).or_default();
        (*count, *worst) = (*count + 1, (*worst).max(message.delay));
    }
}

/// The class of the daemon asks for a capability that an ordinary user lacks.
fn no_other_user_has_the_mark_of_the_daemon() {
    let script = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        s.setsockopt(socket.SOL_SOCKET, 12, 6)\ns.setsockopt(socket.SOL_SOCKET, 12, 0x4c580010)\n";
    match Command::new("python3").args(["-c", script]).uid(65534).gid(65534).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains("PermissionError"), "{said}");
        }
        Err(why) => eprintln!("left out: python3: {why}"),
    }
}

fn open(client: &Client, count: usize) -> Vec<Channel> {
    (0..count).map(|_| client.open("sink", contract()).unwrap()).collect()
}

/// Runs until `messages` were handed over.
fn crowd(messages: u64) {
    let Ok(owner) = RunOwner::claim() else { return };
    let Some(spaces) = namespaces(&owner, &NODES) else { return };
    no_other_user_has_the_mark_of_the_daemon();
    let net = Net::in_namespaces(0, &NODES, space);
    let receiver = net.client("c");
    let mut listener = receiver.listen("sink").unwrap();
    let _other = receiver.listen("other").unwrap();
    let programs = ["a", "b"].map(|node| {
        net.know(node, "sink");
        net.know(node, "other");
        net.client(node)
    });
    let mut channels = programs.each_ref().map(|program| open(program, CHANNELS));
    let mut violator = programs[0].open("other", contract()).unwrap();
    let (stop, left, came) = (AtomicBool::new(false), AtomicU64::new(messages), AtomicU64::new(0));
    let begin = Instant::now();
    let seen = std::thread::scope(|scope| {
        for (place, to) in [(0, "10.78.1.2:9"), (1, "10.78.1.1:9"), (1, "10.78.2.2:9"), (2, "10.78.2.1:9")] {
            let (spaces, stop) = (&spaces, &stop);
            scope.spawn(move || flood(&spaces[place], to, stop));
        }
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = violator.post(&numbered(0, LENGTH));
                std::thread::sleep(INTERVAL / 10);
            }
        });
        scope.spawn(|| {
            let program = net.client("a");
            while !stop.load(Ordering::Relaxed) {
                let asked = Instant::now();
                drop(program.open("other", contract()));
                came.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep((100 * MS).saturating_sub(asked.elapsed()));
            }
        });
        let collected = scope.spawn(|| collect(&mut listener, &stop));
        let left = &left;
        let senders = channels.each_mut().map(|channels| scope.spawn(move || send(channels, left)));
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        collected.join().unwrap()
    });
    let time = begin.elapsed();
    until("the last messages are answered", || {
        let answered = |channel: &Channel| channel.accepted() + channel.excess();
        let total = |channels: &Vec<Channel>| channels.iter().map(answered).sum::<u64>();
        channels.iter().map(total).sum::<u64>() >= messages
    });
    let states = NODES.map(|node| net.client(node).status().unwrap());
    let sum = |name| -> u64 { states.iter().map(|state| state.counter(name)).sum() };
    let (stopped, longest) = (sum("stalls_us"), sum("stall_longest_us"));
    let (mut accepted, mut refused) = (0, 0);
    for channel in channels.iter().flatten() {
        let (count, worst) = seen.get(&channel.name()).copied().unwrap_or_default();
        (accepted, refused) = (accepted + channel.accepted(), refused + channel.excess());
        // Late and lost messages are those of stops of the platform, which the daemons list. A message can
        // meet several; below the daemons judge each by those that it met.
        let late = worst.saturating_sub(contract().deadline());
        assert!(late.as_micros() as u64 <= stopped, "{}: {worst:?}, stops {stopped} us", channel.name());
        let lost = channel.accepted() - count;
        assert!(lost == 0 || longest > INTERVAL.as_micros() as u64, "{}: {lost} lost", channel.name());
    }
    let delivered: u64 = seen.values().map(|(count, _)| count).sum();
    let rows = states[2].rows.iter().filter(|row| row.direction == Direction::Destination);
    let missed: u64 = rows.map(|row| row.missed).sum();
    let worst = seen.values().map(|(_, worst)| *worst).max().unwrap();
    eprintln!(
        "{accepted} messages of {} channels in {time:.1?}, {refused} refused: {delivered} delivered, {missed} late, \
         worst {worst:.2?} of {:?}; the violator {} accepted, {} refused; {} other channels came and went",
        2 * CHANNELS,
        contract().deadline(),
        violator.accepted(),
        violator.excess(),
        came.into_inner()
    );
    for state in &states {
        let counts =
            ["stalls", "stalls_us", "stall_longest_us", "turn_longest_us"].map(|name| state.counter(name));
        let shown: Vec<Duration> = state.stalls.iter().map(|(_, ns)| Duration::from_nanos(*ns)).collect();
        eprintln!(
            "{}: stops, their us, the longest, the longest turn {counts:?}; the last {shown:.0?}",
            state.name
        );
        assert_eq!(state.counter("late_unexplained"), 0, "{}", state.name);
    }
    assert!(violator.excess() > 3 * violator.accepted(), "what is beyond the contract is refused");
    drop((channels, violator));
    for node in NODES {
        until("nothing is held", || net.client(node).status().unwrap().channels == 0);
    }
    assert!(delivered > accepted / 2 && time < LONG * 60);
}

#[test]
fn two_hundred_channels_keep_their_promises_beside_floods() {
    crowd(20_000);
}

/// `cargo xtask soak --service`.
#[test]
#[ignore = "takes minutes"]
fn a_million_messages_keep_their_promises_beside_floods() {
    crowd(1_000_000);
}
