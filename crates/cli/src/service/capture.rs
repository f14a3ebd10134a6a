//! `laxity capture`: the frames in a daemon's log, as pcapng for network analysers.
//!
//! A frame has headers of Ethernet, IP and UDP before its own, and no seal. The UDP port of the
//! receiver is that of the dissector. Times count from the start of the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use etherparse::PacketBuilder;
use laxity_engine::{FrameCapture, LinkType};
use laxity_report::capture::PORT;
use laxity_report::output::{self, FileKind};
use laxity_service::Passed;
use laxity_units::Bytes;
use laxity_world::text::clean_lines;

use crate::Exit;
use crate::arguments::Capture;
use crate::terminal::Terminal;

/// The captured length of a frame: all of a packet.
const SNAP: Bytes = Bytes::new(9216);
const HOPS: u8 = 64;

pub(crate) fn capture(options: &Capture, terminal: &mut Terminal) -> Exit {
    if let Err(error) = output::check(&options.out, FileKind::Capture, std::slice::from_ref(&options.log)) {
        return terminal.unwritten(&error);
    }
    let (mut frames, mut links, mut count) = (Vec::new(), BTreeSet::new(), 0_u64);
    let mut take = |passed: Passed<'_>| {
        links.insert(passed.neighbour.to_owned());
        count += 1;
        frames.push((passed.at, passed.neighbour.to_owned(), framed(passed.between, passed.bytes)));
    };
    let replayed = match laxity_service::replay(&options.log, &mut take) {
        Ok(replayed) => replayed,
        Err(why) => {
            terminal.error(&clean_lines(&why));
            return Exit::BadInput;
        }
    };
    let mut capture = FrameCapture::new(Vec::new(), SNAP);
    let label = |peer: &String| format!("{} to {peer}", replayed.name);
    let interfaces: BTreeMap<String, _> = links
        .into_iter()
        .map(|peer| (peer.clone(), capture.interface(&label(&peer), LinkType::Ethernet)))
        .collect();
    for (at, peer, frame) in frames {
        capture.frame(interfaces[&peer], at, &frame, None);
    }
    let written =
        capture.finish().map_err(|error| output::OutputError::Failed { path: options.out.clone(), error });
    match written.and_then(|bytes| {
        output::write(&options.out, FileKind::Capture, std::slice::from_ref(&options.log), &bytes)
    }) {
        Ok(()) => {
            terminal.note(&format!("{count} frames in {}", replayed.end));
            Exit::Holds
        }
        Err(error) => terminal.unwritten(&error),
    }
}

/// A frame with the headers of Ethernet, IP and UDP.
fn framed([from, to]: [SocketAddr; 2], bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(bytes.len() + 64);
    let ethernet = PacketBuilder::ethernet2(station(from), station(to));
    let ip = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ethernet.ipv4(from.octets(), to.octets(), HOPS),
        (from, to) => ethernet.ipv6(six(from), six(to), HOPS),
    };
    ip.udp(from.port(), PORT).write(&mut frame, bytes).expect("a packet is shorter than a datagram");
    frame
}

fn six(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// A locally administered address with the end of the one of IP.
fn station(address: SocketAddr) -> [u8; 6] {
    let octets = six(address.ip());
    [0x02, b'L', octets[12], octets[13], octets[14], octets[15]]
}
