//! The cases of the comparison, and the ways to send.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

use laxity_client::{Channel, Contract};
use laxity_machine::namespace::RunOwner;
use laxity_machine::place::{ThreadPlacement, place};

use crate::daemons::{Daemons, count};
use crate::line::{Hosts, address, device, mark, pour};
use crate::streams::{BULK, Delays, STREAM, Stream, put_datagrams, put_message};

/// The ports of the stream and of the lawful bulk stream.
const PORTS: [u16; 2] = [7300, 7301];

/// The traffic beside the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// A flood of 120 Mbit/s without marks.
    Flood,
    /// The flood has all marks that a program may set.
    Marked,
    /// A flood, and a program that sends 120 Mbit/s to the receiver of the stream, in its class.
    Inside,
    /// A flood, and a lawful stream with a longer deadline.
    Mixed,
    /// Two lines and a host between, with a flood over each line.
    Relay,
}

/// All cases.
pub(crate) const CASES: [Case; 5] = [Case::Flood, Case::Marked, Case::Inside, Case::Mixed, Case::Relay];

impl Case {
    /// The case in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::Marked => "flood with the same marks",
            Self::Inside => "violator in the class",
            Self::Mixed => "mixed deadlines",
            Self::Relay => "relay, floods of both lines",
        }
    }

    fn hosts(self) -> usize {
        if self == Self::Relay { 3 } else { 2 }
    }
}

/// How the stream is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// UDP over a line that is one queue.
    Plain,
    /// UDP with a priority and EF, which lead into a class of HTB.
    Class,
    /// UDP with a class of HTB for each flow, set up by hand.
    Flows,
    /// A channel.
    Laxity,
}

/// All ways to send.
pub(crate) const SENDERS: [Sender; 4] = [Sender::Plain, Sender::Class, Sender::Flows, Sender::Laxity];

impl Sender {
    /// The way in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Plain => "UDP",
            Self::Class => "UDP, EF in a class of HTB",
            Self::Flows => "UDP, HTB class a flow, by hand",
            Self::Laxity => "laxity",
        }
    }

    /// Limits the lines to 100 Mbit/s; the daemons do so themselves.
    fn limit(self, hosts: &Hosts) -> Result<(), String> {
        for line in 1..hosts.spaces.len() {
            let (host, device) = (line - 1, device(line, false));
            let tc = |arguments: &str| hosts.tc(host, arguments);
            let class = |minor: u32, rest: &str| {
                let front = format!("class add dev {device} parent 1:1 classid 1:{minor} htb");
                tc(&format!("{front} {rest} burst 3k cburst 3k quantum 1514"))?;
                tc(&format!("qdisc add dev {device} parent 1:{minor} pfifo limit 170"))
            };
            let filter = |of: &str, minor: u32| {
                let front = format!("filter add dev {device} parent 1: protocol ip u32 match ip");
                tc(&format!("{front} {of} flowid 1:{minor}"))
            };
            match self {
                Self::Laxity => continue,
                Self::Plain => {
                    let limit = "tbf rate 100mbit burst 16kb limit 256kb";
                    tc(&format!("qdisc add dev {device} root handle 1: {limit}"))?;
                    continue;
                }
                Self::Class | Self::Flows => {}
            }
            tc(&format!("qdisc add dev {device} root handle 1: htb default 20 r2q 1000"))?;
            let root = "htb rate 100mbit burst 3k cburst 3k quantum 1514";
            tc(&format!("class add dev {device} parent 1: classid 1:1 {root}"))?;
            class(20, "rate 60mbit ceil 100mbit prio 7")?;
            class(10, "rate 20mbit ceil 100mbit prio 0")?;
            if self == Self::Class {
                filter("tos 0xb8 0xfc", 10)?;
            } else {
                class(11, "rate 20mbit ceil 100mbit prio 0")?;
                filter(&format!("dport {} 0xffff", PORTS[0]), 10)?;
                filter(&format!("dport {} 0xffff", PORTS[1]), 11)?;
            }
        }
        Ok(())
    }
}

/// The figures of a run.
pub(crate) struct Outcome {
    pub(crate) stream: Delays,
    /// The lawful stream with the longer deadline.
    pub(crate) bulk: Option<Delays>,
    /// Mbit/s that the first line carried.
    pub(crate) carried: f64,
    /// For the service: late packets that no stop covers, and the longest stop.
    pub(crate) daemons: Option<(u64, Duration)>,
}

/// The receiving ends, running.
struct Receiving<'scope> {
    stream: std::thread::ScopedJoinHandle<'scope, Delays>,
    bulk: Option<std::thread::ScopedJoinHandle<'scope, Delays>>,
}

/// Runs a case for `seconds`.
pub(crate) fn run(owner: &RunOwner, case: Case, sender: Sender, seconds: u64) -> Result<Outcome, String> {
    let hosts = Hosts::new(owner, case.hosts())?;
    sender.limit(&hosts)?;
    if sender == Sender::Laxity {
        over_channels(&hosts, case, seconds)
    } else {
        over_udp(&hosts, case, sender, seconds)
    }
}

/// A thread of a program: before others that want the processor, and behind the daemons.
pub(crate) fn prompt() {
    // Without the right to it, all senders are equally late.
    let _ = place(ThreadPlacement { core: None, fifo: Some(5) });
}

/// Runs the flood beside `send`, which gives the sent messages of both streams; then ends all.
fn measure<'scope>(
    scope: &'scope Scope<'scope, '_>,
    (hosts, case, stop): (&'scope Hosts, Case, &'scope AtomicBool),
    receiving: Receiving<'scope>,
    send: impl FnOnce() -> (u64, u64),
) -> Result<(Delays, Option<Delays>, f64), String> {
    let flood = scope.spawn(move || {
        prompt();
        hosts.flood(case == Case::Marked, stop)
    });
    let (before, begin) = (hosts.received(1)?, crate::streams::now());
    let (sent, bulk_sent) = send();
    let bits = (hosts.received(1)? - before) as f64 * 8.0;
    let carried = bits / (crate::streams::now() - begin) as f64 * 1e3;
    // Later than any deadline.
    std::thread::sleep(Duration::from_millis(400));
    stop.store(true, Ordering::Relaxed);
    flood.join().expect("the flood ends")?;
    let mut stream = receiving.stream.join().expect("the receiver ends");
    stream.sent = sent;
    let bulk = receiving.bulk.map(|bulk| bulk.join().expect("the receiver ends"));
    let bulk = bulk.map(|bulk| Delays { sent: bulk_sent, ..bulk });
    Ok((stream, bulk, carried))
}

fn over_udp(hosts: &Hosts, case: Case, sender: Sender, seconds: u64) -> Result<Outcome, String> {
    let last = hosts.spaces.len() - 1;
    let made = |port: u16| -> Result<(UdpSocket, UdpSocket), String> {
        let to = (address(last, true), port);
        let (socket, receiver) = (hosts.socket(0, (Ipv4Addr::UNSPECIFIED, 0))?, hosts.socket(last, to)?);
        socket.connect(to).map_err(|why| why.to_string())?;
        if sender == Sender::Class {
            mark(&socket)?;
        }
        Ok((socket, receiver))
    };
    let (stream, bulk, violator) =
        (made(PORTS[0])?, made(PORTS[1])?, hosts.socket(0, (Ipv4Addr::UNSPECIFIED, 0))?);
    violator.connect((address(last, true), PORTS[0])).map_err(|why| why.to_string())?;
    if sender == Sender::Class {
        mark(&violator)?;
    }
    violator.set_nonblocking(true).map_err(|why| why.to_string())?;
    let (mixed, stop) = (case == Case::Mixed, AtomicBool::new(false));
    let (stop, stream, bulk, violator) = (&stop, &stream, &bulk, &violator);
    std::thread::scope(|scope| {
        let receive = |stream: Stream, socket| {
            scope.spawn(move || {
                prompt();
                Delays::of_datagrams(stream, socket, stop)
            })
        };
        let receiving =
            Receiving { stream: receive(STREAM, &stream.1), bulk: mixed.then(|| receive(BULK, &bulk.1)) };
        if case == Case::Inside {
            scope.spawn(move || {
                prompt();
                pour(stop, 1400, |datagram| drop(violator.send(datagram)));
            });
        }
        let send = || {
            both(mixed, seconds, |message| put_datagrams(&stream.0, message), |m| put_datagrams(&bulk.0, m))
        };
        let (stream, bulk, carried) = measure(scope, (hosts, case, stop), receiving, send)?;
        Ok(Outcome { stream, bulk, carried, daemons: None })
    })
}

/// Sends the stream, and with `mixed` the bulk stream beside it.
fn both(
    mixed: bool,
    seconds: u64,
    put: impl FnMut(&[u8]) + Send,
    put_bulk: impl FnMut(&[u8]) + Send,
) -> (u64, u64) {
    std::thread::scope(|scope| {
        let bulk = mixed.then(|| {
            scope.spawn(move || {
                prompt();
                BULK.send(seconds, put_bulk)
            })
        });
        let stream = scope.spawn(move || {
            prompt();
            STREAM.send(seconds, put)
        });
        let sent = stream.join().expect("the sender ends");
        (sent, bulk.map_or(0, |bulk| bulk.join().expect("the sender ends")))
    })
}

fn over_channels(hosts: &Hosts, case: Case, seconds: u64) -> Result<Outcome, String> {
    let daemons = Daemons::start(hosts)?;
    let last = hosts.spaces.len() - 1;
    let text = |why: laxity_client::Error| why.to_string();
    let (sender, receiver, other) = (daemons.client(0)?, daemons.client(last)?, daemons.client(0)?);
    let mut listener = receiver.listen("stream").map_err(text)?;
    let mut bulk_listener = receiver.listen("bulk").map_err(text)?;
    daemons.know(0, "bulk")?;
    let mut channel = sender.open("stream", STREAM.contract()).map_err(text)?;
    let mixed = case == Case::Mixed;
    let mut bulk = mixed.then(|| sender.open("bulk", BULK.contract())).transpose().map_err(text)?;
    let mut violator = match case {
        Case::Inside => Some(
            other
                .open("stream", Contract::periodic(1000, STREAM.period, 4 * STREAM.deadline))
                .map_err(text)?,
        ),
        _ => None,
    };
    let (names, stop) = ((channel.name(), bulk.as_ref().map(Channel::name)), &AtomicBool::new(false));
    let (stream, bulk, carried) = std::thread::scope(|scope| {
        let (listener, bulk_listener) = (&mut listener, &mut bulk_listener);
        let stream = scope.spawn(move || {
            prompt();
            Delays::of_messages(STREAM, listener, names.0, stop)
        });
        let of_bulk = |of| {
            scope.spawn(move || {
                prompt();
                Delays::of_messages(BULK, bulk_listener, of, stop)
            })
        };
        let receiving = Receiving { stream, bulk: names.1.map(of_bulk) };
        if let Some(violator) = &mut violator {
            scope.spawn(move || {
                prompt();
                // A full ring drops it, as a full queue does.
                pour(stop, 1000, |message| drop(violator.post(message)));
            });
        }
        let put_bulk = |message: &[u8]| {
            if let Some(bulk) = &mut bulk {
                put_message(bulk, message);
            }
        };
        let send = || both(mixed, seconds, |message| put_message(&mut channel, message), put_bulk);
        measure(scope, (hosts, case, stop), receiving, send)
    })?;
    let mut longest = 0;
    for host in 0..=last {
        longest = longest.max(count(&daemons.status(host)?, "stall_longest_us"));
    }
    let daemons = Some((
        daemons.sum("late_unexplained")? + daemons.sum("late_by_overruns")?,
        Duration::from_micros(longest),
    ));
    Ok(Outcome { stream, bulk, carried, daemons })
}
