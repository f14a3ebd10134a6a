//! Hosts in a row, joined by lines of 100 Mbit/s, and floods of the lines.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_machine::ip::Ip;
use laxity_machine::namespace::{Namespace, RunOwner};
use laxity_machine::udp::{set_priority, set_tos};
use nix::sys::socket::{setsockopt, sockopt};

/// The rate of the flood in bytes per millisecond: 120 Mbit/s.
const FLOOD: u64 = 15_000;
const DATAGRAM: usize = 1400;
/// Expedited forwarding, as the field TOS of IPv4 (RFC 3246).
const EF: u8 = 0xb8;

/// Hosts in a row.
pub(crate) struct Hosts {
    pub(crate) spaces: Vec<Namespace>,
}

/// The interface of line `number` at its left or right end.
pub(crate) fn device(number: usize, right: bool) -> String {
    format!("lxc{number}{}", if right { 'b' } else { 'a' })
}

/// The address of the left or right end of line `number`.
pub(crate) fn address(number: usize, right: bool) -> Ipv4Addr {
    Ipv4Addr::new(10, 79, number as u8, if right { 2 } else { 1 })
}

impl Hosts {
    /// Makes `count` hosts; line `n` joins host `n - 1` and host `n`, and hosts forward packets.
    pub(crate) fn new(owner: &RunOwner, count: usize) -> Result<Self, String> {
        let name = |host| format!("lxc-{}-{host}", std::process::id());
        let made = (0..count).map(|host| owner.namespace(&name(host)));
        let spaces: Vec<Namespace> = made.collect::<Result<_, _>>().map_err(|why| why.to_string())?;
        let hosts = Self { spaces };
        for number in 1..count {
            let (left, right) = (device(number, false), device(number, true));
            let (from, to) = (name(number - 1), name(number));
            let pair =
                ["link", "add", &left, "netns", &from, "type", "veth", "peer", "name", &right, "netns", &to];
            Ip::here().run(&pair).map_err(|why| why.to_string())?;
            for (host, right) in [(number - 1, false), (number, true)] {
                let (inside, device) = (Ip::inside(&hosts.spaces[host]), device(number, right));
                let set = inside.address(&device, address(number, right).into(), 24);
                set.and_then(|()| inside.up(&device)).map_err(|why| why.to_string())?;
            }
        }
        for host in 0..count {
            let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
            hosts.within(host, forward)?.map_err(|why| format!("forwarding: {why}"))?;
            for line in (1..count).filter(|line| *line != host && *line != host + 1) {
                let via = if line < host { address(host, false) } else { address(host + 1, true) };
                let (net, via) = (format!("10.79.{line}.0/24"), via.to_string());
                let route = ["route", "add", &net, "via", &via];
                Ip::inside(&hosts.spaces[host]).run(&route).map_err(|why| why.to_string())?;
            }
        }
        Ok(hosts)
    }

    /// Runs `f` in a host.
    pub(crate) fn within<R: Send>(&self, host: usize, f: impl FnOnce() -> R + Send) -> Result<R, String> {
        self.spaces[host].within(f).map_err(|why| why.to_string())
    }

    /// A socket of a host.
    pub(crate) fn socket(&self, host: usize, at: (Ipv4Addr, u16)) -> Result<UdpSocket, String> {
        let made = self.within(host, || UdpSocket::bind(SocketAddrV4::new(at.0, at.1)))?;
        let socket = made.map_err(|why| format!("{}:{}: {why}", at.0, at.1))?;
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &(4 << 20));
        Ok(socket)
    }

    /// Runs `tc` in a host with the words of `arguments`.
    pub(crate) fn tc(&self, host: usize, arguments: &str) -> Result<(), String> {
        let run = || Command::new("tc").args(arguments.split_whitespace()).output();
        let output = self.within(host, run)?.map_err(|why| format!("tc: {why}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("tc {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// Bytes that the right end of a line has received.
    pub(crate) fn received(&self, line: usize) -> Result<u64, String> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let text = self.within(line, read)?.map_err(|why| why.to_string())?;
        let front = format!("{}:", device(line, true));
        let counts = text.lines().find_map(|row| row.trim_start().strip_prefix(&front));
        let bytes = counts.and_then(|counts| counts.split_whitespace().next()?.parse().ok());
        bytes.ok_or_else(|| format!("no counts of {front}"))
    }

    /// Sends 120 Mbit/s over each line until `stop`; with the marks of the stream if `marked`.
    pub(crate) fn flood(&self, marked: bool, stop: &AtomicBool) -> Result<(), String> {
        let mut sockets = Vec::new();
        for line in 1..self.spaces.len() {
            let socket = self.socket(line - 1, (Ipv4Addr::UNSPECIFIED, 0))?;
            socket.set_nonblocking(true).map_err(|why| why.to_string())?;
            if marked {
                mark(&socket)?;
            }
            sockets.push((socket, SocketAddrV4::new(address(line, true), 9)));
        }
        pour(stop, DATAGRAM, |datagram| {
            for (socket, to) in &sockets {
                // A full queue drops it.
                let _ = socket.send_to(datagram, to);
            }
        });
        Ok(())
    }
}

/// Gives `put` 120 Mbit/s in datagrams of `length` bytes until `stop`.
pub(crate) fn pour(stop: &AtomicBool, length: usize, mut put: impl FnMut(&[u8])) {
    let (begin, mut sent, datagram) = (Instant::now(), 0, vec![0xff; length]);
    while !stop.load(Ordering::Relaxed) {
        let due = begin.elapsed().as_micros() as u64 * FLOOD / 1000;
        // After a stop of the platform it does not make up for more than a few milliseconds.
        sent = sent.max(due.saturating_sub(4 * FLOOD));
        while sent < due {
            put(&datagram);
            sent += length as u64;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The marks that a program without privileges can give to its packets.
pub(crate) fn mark(socket: &UdpSocket) -> Result<(), String> {
    set_priority(socket, 6).map_err(|why| why.to_string())?;
    set_tos(socket, EF).map_err(|why| why.to_string())
}
