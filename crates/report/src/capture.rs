//! Packets of a simulated network as frames that a network analyser decodes: Ethernet, IPv4 and UDP
//! around a packet's own header.
//!
//! Standard frames let an analyser filter, follow and draw the packets of a run. A host has an
//! address of a private network by its number, and a channel has a source port of its own.
//! Real-time packets have the code point of expedited forwarding.
//! [`laxity.lua`](../../../dissector/laxity.lua) decodes the header behind them. The file holds the
//! hosts' names, so that an analyser shows names for addresses. The first packet of a channel at
//! each station has the channel's name as a remark.
//!
//! The bytes of a frame are those that took time on its link, so a capture of a full link shows the
//! rate of that link and no more. With the framing of Ethernet, a packet of `S` bytes is a frame of
//! `S + 14`, filled up to 60; with a VLAN tag, a frame of `S + 18`, also filled up to 60. Preamble,
//! check sequence and interframe gap take time on the link but are in no capture. Without framing,
//! the frame is the `S` bytes of the packet.
//!
//! Frames of nodes with signalling are whole, behind a header of Ethernet of the type for local
//! experiments. They have the header of the service (72 bytes) and none of IP or UDP, which takes no
//! time there either. Without framing, the header of Ethernet is in the capture and takes no time.
//!
//! Of other hosts, the headers of IPv4 (20 bytes), UDP (8) and our own (48) are the beginning of the
//! packet's `S` bytes. A shorter packet has as much of them as fits, and a remark holds the contents
//! of our header. A VLAN tag holds only the frame's priority level (a priority-tagged frame, of
//! VLAN 0).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpNumber, Ipv4Header, SingleVlanHeader, UdpHeader, VlanId, VlanPcp,
};
use laxity_engine::{CaptureInterface, FrameCapture, LinkType};
use laxity_qos::discipline::Class;
use laxity_qos::wire::{HEADER_LEN, Header};
use laxity_units::Bytes;
use laxity_world::experiment::{Experiment, NodeSpec};
use laxity_world::{Along, Departed};

/// The UDP port at which packets of ours are known: "LX".
pub const PORT: u16 = 0x4C58;

/// The captured length of a frame: all headers and the beginning of the payload.
const SNAP: Bytes = Bytes::new(160);
/// The captured length of a frame of nodes with signalling: all of it. A packet has 65 000 B at most.
const WHOLE: Bytes = Bytes::new(65_536);
/// The type of Ethernet frames of nodes with signalling: one for local experiments (IEEE 802).
const NODES: EtherType = EtherType(0x88B5);
/// Ports below are reserved; the number of a channel is added to it.
const FIRST_SOURCE_PORT: u16 = 1024;
/// Hops that a packet may take, as hosts set it.
const HOPS: u8 = 64;
/// The destination of packets that no host of the experiment receives: an address reserved for
/// documentation (RFC 5737).
const NOBODY: [u8; 4] = [192, 0, 2, 1];

/// Writes a capture of one run.
///
/// Each frame is a few writes: use a buffered writer. An error of the writer ends the writing;
/// [`finish`](Self::finish) returns it.
pub struct Capture<'a, W: Write> {
    experiment: &'a Experiment,
    frames: FrameCapture<W>,
    /// Interfaces of stations that have sent.
    interfaces: BTreeMap<usize, CaptureInterface>,
    /// Channels whose name has been written, with the station.
    named: BTreeSet<(usize, u32)>,
    frame: Vec<u8>,
}

impl<'a, W: Write> Capture<'a, W> {
    /// Begins a capture of a run of `experiment` in `writer`, with the names of its hosts.
    pub fn new(writer: W, experiment: &'a Experiment) -> Self {
        let with_ip = experiment.signalling().is_none();
        let mut frames = FrameCapture::new(writer, if with_ip { SNAP } else { WHOLE });
        if with_ip {
            let hosts = (0..experiment.nodes.len()).map(|node| (address(node), label(experiment, node)));
            frames.names(hosts.chain([(NOBODY, "nobody".into())]));
        }
        Self { experiment, frames, interfaces: BTreeMap::new(), named: BTreeSet::new(), frame: Vec::new() }
    }

    /// A packet left a station. Panics if it does not begin with a header, or is of no channel of
    /// the experiment.
    pub fn record(&mut self, departed: Departed<'_>) {
        let Departed { station, along, at, priority, bytes: packet } = departed;
        let (experiment, frames) = (self.experiment, &mut self.frames);
        let interface = *self
            .interfaces
            .entry(station)
            .or_insert_with(|| frames.interface(&label(experiment, station), LinkType::Ethernet));
        let hop = match along {
            Along::Hop(hop) => hop,
            Along::Link(to) => {
                self.wrap_whole([station, to], packet);
                return self.frames.frame(interface, at, &self.frame, None);
            }
        };
        let (header, _) = Header::decode(packet).expect("packets of a run have headers");
        let whole = self.wrap(hop, &header, priority, packet);
        let is_first = self.named.insert((station, header.channel));
        let name = &experiment.channels[header.channel as usize].name;
        let Header { message, fragment, fragments, .. } = header;
        let remark = match whole {
            true => is_first.then(|| format!("channel {}: {name}", header.channel)),
            false => Some(format!(
                "channel {}: {name}, message {message}, fragment {} of {fragments}",
                header.channel,
                fragment + 1
            )),
        };
        self.frames.frame(interface, at, &self.frame, remark.as_deref());
    }

    /// Ends the capture and returns the writer, or the first error it gave.
    pub fn finish(self) -> io::Result<W> {
        self.frames.finish()
    }

    /// Begins a frame with the header of Ethernet, from one station to another, and with a tag of
    /// that priority.
    fn begin(&mut self, [source, destination]: [[u8; 6]; 2], priority: Option<u8>, ether_type: EtherType) {
        let tag = priority.map(|priority| SingleVlanHeader {
            pcp: VlanPcp::try_new(priority).expect("there are eight"),
            drop_eligible_indicator: false,
            vlan_id: VlanId::ZERO,
            ether_type,
        });
        let ethernet = Ethernet2Header {
            source,
            destination,
            ether_type: if tag.is_some() { EtherType::VLAN_TAGGED_FRAME } else { ether_type },
        };
        self.frame.clear();
        self.frame.extend(ethernet.to_bytes());
        self.frame.extend(tag.iter().flat_map(SingleVlanHeader::to_bytes));
    }

    /// Makes the frame in which `packet` goes from one node with signalling to another.
    fn wrap_whole(&mut self, [from, to]: [usize; 2], packet: &[u8]) {
        let signalling = self.experiment.signalling();
        let link = signalling.and_then(|spec| spec.between(from, to)).expect("frames leave by links");
        let network = &self.experiment.networks[link.network];
        self.begin([from, to].map(|end| station_address(Some(end))), network.tagged.then_some(0), NODES);
        self.frame.extend(packet);
    }

    /// Makes the frame in which `packet` leaves the station at `hop` of its way. Answers whether
    /// all of its header is in it.
    fn wrap(&mut self, hop: usize, header: &Header, priority: u8, packet: &[u8]) -> bool {
        let channel = &self.experiment.channels[header.channel as usize];
        let network = channel.ways.get(hop).map(|way| &self.experiment.networks[*way]);
        let tagged = network.is_some_and(|network| network.tagged);
        let size = Bytes::new((packet.len() - HEADER_LEN) as u64);
        let length = network.map_or(size, |network| network.frame(size)).get() as usize;
        let around = 14 + 4 * usize::from(tagged) + Ipv4Header::MIN_LEN + UdpHeader::LEN;
        // A padded packet, or one that consists of headers only, continues with zeros.
        let room = length.saturating_sub(around);
        let packet = &packet[..packet.len().min(room)];
        let is_host = |station: &usize| *station < self.experiment.nodes.len();
        // A switch forwards frames between hosts; a host that relays makes a frame of its own.
        let (before, after) = channel.route.split_at(hop + 1);
        let last = *before.iter().rfind(|s| is_host(s)).expect("a way begins at a host");
        let next = after.iter().find(|s| is_host(s)).copied();
        let relays = before.iter().filter(|s| is_host(s)).count() - 1;
        let end = channel.route.iter().skip(1).rfind(|s| is_host(s)).copied();
        let all = self.experiment.multicast(header.channel as usize);
        let group = (all.len() > 1).then(|| group_address(all.start));
        let real_time = header.class == Class::RealTime;
        let datagram = UdpHeader::LEN + packet.len();
        let mut ip = Ipv4Header {
            dscp: if real_time { IpDscp::EF } else { IpDscp::CS0 },
            // A length above the maximum of a datagram is written as zero, as offloads do;
            // analysers accept it.
            total_len: u16::try_from(Ipv4Header::MIN_LEN + datagram).unwrap_or(0),
            identification: header.message as u16,
            dont_fragment: true,
            time_to_live: HOPS - relays.min(usize::from(HOPS) - 1) as u8,
            protocol: IpNumber::UDP,
            source: address(channel.route[0]),
            destination: group.or(end.map(address)).unwrap_or(NOBODY),
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        let source_port =
            FIRST_SOURCE_PORT + (all.start as u32 % u32::from(u16::MAX - FIRST_SOURCE_PORT)) as u16;
        let udp = UdpHeader::with_ipv4_checksum(source_port, PORT, &ip, packet).unwrap_or(UdpHeader {
            source_port,
            destination_port: PORT,
            length: 0,
            checksum: 0,
        });
        let next = group.map_or(station_address(next), ethernet_group);
        self.begin([station_address(Some(last)), next], tagged.then_some(priority), EtherType::IPV4);
        self.frame.extend(ip.to_bytes());
        self.frame.extend(udp.to_bytes());
        self.frame.extend(packet);
        debug_assert_eq!(self.frame.len(), around + packet.len());
        self.frame.resize(length, 0);
        packet.len() >= HEADER_LEN
    }
}

/// The name of `station` in the file.
fn label(experiment: &Experiment, station: usize) -> String {
    match experiment.nodes.get(station) {
        Some(NodeSpec { name: None, .. }) => format!("node{station}"),
        _ => experiment.name(station),
    }
}

/// The address of the host at `node`, counted through a private network of 2²⁴.
fn address(node: usize) -> [u8; 4] {
    let [_, a, b, c] = (node as u32 + 1).to_be_bytes();
    [10, a, b, c]
}

/// The address of the multicast of which that channel is the first, counted through the groups of an
/// organisation (RFC 2365).
fn group_address(channel: usize) -> [u8; 4] {
    let [_, a, b, c] = (channel as u32 + 1).to_be_bytes();
    [239, 192 | a & 3, b, c]
}

/// The Ethernet address of a group (RFC 1112, 6.4).
fn ethernet_group([_, a, b, c]: [u8; 4]) -> [u8; 6] {
    [0x01, 0x00, 0x5E, a & 0x7F, b, c]
}

/// The host's Ethernet address, locally administered; the broadcast address without a host.
fn station_address(node: Option<usize>) -> [u8; 6] {
    let Some(node) = node else { return [0xFF; 6] };
    let [a, b, c, d] = (node as u32 + 1).to_be_bytes();
    [0x02, b'L', a, b, c, d]
}
