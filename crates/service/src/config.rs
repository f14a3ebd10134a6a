//! `NODE.toml`, checked: the node that a file describes, its links, and the quotas of its users.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use laxity_clock::{Drift, Tolerance};
use laxity_node::{NodeConfig, NodeLinkConfig};
use laxity_signalling::codec;
use laxity_signalling::identity::{Epoch, NodeId};
use laxity_signalling::settings::Settings;
use laxity_transport::HEADER_LEN;
use laxity_units::{ByteTime, Bytes, Span};

use crate::etcd::Endpoint;
use crate::node_file::{HostFile, LinkFile, NodeFile, Off, Security, has_list};
use crate::owners::{Owners, quotas};
use crate::{seal, shaper};

/// Bytes around an IP packet on Ethernet: header, checksum, preamble and gap.
const ETHERNET: u32 = 14 + 4 + 8 + 12;
/// Signalling messages are not closer than this.
const SHORTEST_SIGNALLING: Span = Span::from_us(50);
/// Parts per billion by which `CLOCK_MONOTONIC` may be fast or slow: 100 ppm of a crystal, and 500
/// ppm by which Linux adjusts the clock at most.
pub(crate) const DRIFT: i64 = 600_000;
/// Bytes for the channels from one neighbour, or from the programs here.
const MEMORY: u64 = 1 << 30;
/// The longest message in bytes.
pub const LARGEST_MESSAGE: u32 = 256 * 1024;

/// Why a file is no node.
#[derive(Debug)]
pub struct BadFile {
    path: PathBuf,
    why: String,
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why.trim_end())
    }
}

impl std::error::Error for BadFile {}

impl NodeFile {
    /// Whether `text` is a node file, right or wrong: no scenario has a list `link`.
    pub fn is_one(text: &str) -> bool {
        has_list(text, "link")
    }

    /// Reads and checks a node file.
    ///
    /// # Errors
    /// The file cannot be read, or is no node; the error names the key.
    pub fn read(path: &Path) -> Result<Self, BadFile> {
        let bad = |why: String| BadFile { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|why| bad(why.to_string()))?;
        let file = Self::parse(&text, path.parent().unwrap_or(Path::new("."))).map_err(bad)?;
        Ok(Self { source: Some(path.to_owned()), ..file })
    }

    /// The node that `text` describes, with paths from the directory `beside` on.
    ///
    /// # Errors
    /// A sentence with the name of the key.
    pub fn parse(text: &str, beside: &Path) -> Result<Self, String> {
        let mut file: Self = toml::from_str(text).map_err(|why| why.to_string())?;
        if let Security::Keys(keys) = &mut file.security {
            for part in [&mut keys.authority, &mut keys.certificate, &mut keys.key] {
                *part = beside.join(&*part);
            }
        }
        file.log = file.log.map(|log| beside.join(log));
        file.check()?;
        Ok(file)
    }

    fn check(&self) -> Result<(), String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_name = |name: &str| !name.is_empty() && name.len() <= 64 && name.bytes().all(plain);
        if !is_name(&self.name) {
            return Err("`name` is 1 to 64 letters, digits, hyphens, underscores and dots".to_owned());
        }
        if self.links.is_empty() {
            return Err("a node has at least one `[[link]]`".to_owned());
        }
        let mut peers = BTreeSet::from([self.id]);
        let mut interfaces = BTreeSet::new();
        for link in &self.links {
            let of = |what: &str| format!("the link to `{}`: {what}", link.peer);
            if !is_name(&link.peer) || !peers.insert(link.peer_id) {
                return Err(of("`peer` and `peer_id` name one neighbour, on one link"));
            }
            if link.local.is_ipv4() != link.remote.is_ipv4() {
                return Err(of("`local` and `remote` are of one family"));
            }
            if link.rate.is_zero() {
                return Err(of("`rate` is above zero"));
            }
            let room = link.mtu.saturating_sub(link.around_ip() + HEADER_LEN as u32);
            if self.packet > room {
                let packet = self.packet;
                return Err(of(&format!("`packet` is {packet} B where `mtu` has room for {room} B")));
            }
            match (&link.interface, link.line) {
                (Some(_), Some(line)) if line <= link.rate => {
                    return Err(of(
                        "`rate` has to be below `line`, so that other traffic has a part of the line",
                    ));
                }
                (Some(_), Some(_)) | (None, None) => {}
                _ => return Err(of("`interface` and `line` belong together")),
            }
            if let Some(interface) = &link.interface
                && (!is_name(interface) || !interfaces.insert(interface))
            {
                return Err(of("`interface` names an interface of one link"));
            }
            if link.ingress.is_some_and(|rate| rate.is_zero() || link.interface.is_none()) {
                return Err(of("`ingress` is above zero, and belongs to an `interface`"));
            }
        }
        let endpoints = self.names.as_ref().map_or(&[][..], |names| &names.etcd);
        if self.names.is_some() && endpoints.is_empty() {
            return Err("`names.etcd` has one server at least".to_owned());
        }
        if self.security == Security::Off(Off::None) && endpoints.iter().any(Endpoint::is_secure) {
            return Err("`names.etcd` with `https` needs the certificates of `security`".to_owned());
        }
        Owners::of(&self.quota)?;
        for (owner, quota) in &self.quota {
            if quota.cpu.is_some_and(|part| !(0.0..=1.0).contains(&part)) {
                return Err(format!("`cpu` in `[quota.{owner}]` is a part of a processor, from 0 to 1"));
            }
        }
        Ok(())
    }

    /// The socket of programs.
    pub fn socket(&self) -> PathBuf {
        let default = || Path::new(laxity_client::socket::DIRECTORY).join(format!("{}.sock", self.name));
        self.socket.clone().unwrap_or_else(default)
    }

    /// The directory of the epoch.
    pub fn state(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| "/var/lib/laxity".into())
    }

    /// The spacing of signalling messages.
    fn signalling(&self, links: &BTreeMap<NodeId, NodeLinkConfig>) -> Span {
        let longest = links.values().map(|link| link.transmission(codec::LONGEST + HEADER_LEN)).max();
        let share = longest.unwrap_or_default().saturating_mul(32).max(SHORTEST_SIGNALLING);
        self.signalling.unwrap_or(share)
    }

    /// The node in its life `epoch`.
    pub fn node(&self, epoch: Epoch) -> NodeConfig {
        let sealed = matches!(self.security, Security::Keys(_));
        let lease = self.lease;
        let links: BTreeMap<NodeId, NodeLinkConfig> =
            self.links.iter().map(|link| (NodeId(link.peer_id), link.node(&self.host, sealed))).collect();
        let signalling = self.signalling(&links);
        let part = |n| lease.scale_floor(1, n);
        let settings = Settings {
            lease,
            patience: lease.min(Span::from_secs(5)),
            refresh: part(4),
            program_lease: lease.saturating_mul(2),
            retry: part(32).max(signalling.saturating_mul(8)),
            longest_retry: part(4).max(signalling.saturating_mul(8)),
            ..Settings::default()
        };
        NodeConfig {
            node: NodeId(self.id),
            epoch,
            links,
            routes: BTreeMap::new(),
            packet: self.packet,
            drift: Tolerance::of(Drift::from_ppb(DRIFT).expect("below 10 %")),
            signalling,
            datagrams: self.host.datagrams,
            places: self.host.places,
            memory: Bytes::new(MEMORY),
            packet_time: self.host.packet,
            settings,
            quotas: quotas(&self.quota),
        }
    }

    /// The owners of programs.
    pub(crate) fn owners(&self) -> Owners {
        Owners::of(&self.quota).expect("a checked file")
    }
}

impl LinkFile {
    /// Bytes of UDP and IP around a packet, and of its seal.
    fn around_ip(&self) -> u32 {
        let ip = if matches!(self.local.ip(), IpAddr::V4(_)) { 20 } else { 40 };
        8 + ip + seal::AROUND as u32
    }

    fn node(&self, host: &HostFile, sealed: bool) -> NodeLinkConfig {
        let absent = if sealed { 0 } else { seal::AROUND as u32 };
        let blocking = Bytes::new(shaper::blocking(self.mtu.saturating_add(ETHERNET)).into());
        let others = self.line.map_or(Span::ZERO, |line| ByteTime::at(line).time(blocking));
        NodeLinkConfig {
            per_byte: ByteTime::at(self.rate),
            way: self.propagation,
            hosts: host.delay.saturating_add(others),
            around: self.around_ip() - absent + ETHERNET,
        }
    }
}

#[cfg(test)]
mod tests {
    use laxity_signalling::identity::Owner;

    use super::*;

    const FILE: &str = r#"
        name = "camera"
        id = 1
        security = "none"
        [[link]]
        peer = "recorder"
        peer_id = 2
        local = "10.0.0.1:4700"
        remote = "10.0.0.2:4700"
        rate = "80 Mbit/s"
    "#;

    fn read(text: &str) -> Result<NodeFile, String> {
        NodeFile::parse(text, Path::new("."))
    }

    #[test]
    fn a_short_file_is_a_node() {
        let file = read(FILE).unwrap();
        let node = file.node(Epoch(3));
        let link = node.links[&NodeId(2)];
        // UDP and IPv4 28, Ethernet 38, no seal.
        assert_eq!((link.around, link.hosts), (66, Span::from_us(500)));
        assert!(laxity_node::Node::new(node, Box::new(|| 0)).is_ok());
    }

    /// The part of the processor that a quota may have, and a processor that signalling alone keeps busy.
    #[test]
    fn the_processor_has_quotas_and_a_limit() {
        let with = |rest: &str| read(&format!("{FILE}\n{rest}")).unwrap().node(Epoch(1));
        let node = with("[quota.1000]\ncpu = 0.25");
        assert_eq!((node.packet_time, node.quotas.of(Owner(1000)).claim.cpu), (Span::from_us(3), 250_000));
        let refused = laxity_node::Node::new(with("[host]\npacket = \"10 ms\""), Box::new(|| 0)).err();
        assert_eq!(refused, Some(laxity_node::NotANode::Processor));
    }

    /// A line that others share: one packet of theirs, and the burst of their class.
    #[test]
    fn other_traffic_of_a_line_is_part_of_the_bound() {
        let shared = format!("{FILE}\ninterface = \"eth0\"\nline = \"100 Mbit/s\"");
        let link = read(&shared).unwrap().node(Epoch(1)).links[&NodeId(2)];
        assert_eq!(link.hosts, Span::from_us(500) + Span::from_ns(80) * (1500 + 38 + 2048));
    }

    #[test]
    fn what_is_no_node_is_refused_by_name() {
        for (with, why) in [
            (FILE.replace("id = 1", "id = 2"), "one neighbour"),
            (FILE.replace("\"none\"", "\"off\""), "security"),
            (FILE.replace("10.0.0.2:4700", "[::1]:4700"), "one family"),
            (FILE.replace("id = 1", "id = 1\npacket = 1400"), "room for 1376 B"),
            (format!("{FILE}\ninterface = \"eth0\""), "belong together"),
            (format!("{FILE}\ninterface = \"eth0\"\nline = \"80 Mbit/s\""), "below `line`"),
            (format!("{FILE}\ningress = \"1 Mbit/s\""), "belongs to an `interface`"),
            (format!("{FILE}\nspeed = 1"), "speed"),
            (format!("names.etcd = []\n{FILE}"), "one server"),
            (format!("names.etcd = ['http:/a:1']\n{FILE}"), "no address"),
            (format!("names.etcd = ['https://a:1']\n{FILE}"), "needs the certificates"),
            (format!("{FILE}\n[quota.film]\nusers = [1, 1]"), "user 1"),
            (format!("{FILE}\n[quota.1000]\ncpu = 1.5"), "from 0 to 1"),
            (FILE.replace("80 Mbit/s", "80"), "rate"),
            (FILE.replace("80 Mbit/s", "0 bit/s"), "above zero"),
        ] {
            let error = read(&with).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
