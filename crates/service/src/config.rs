//! `NODE.toml`, checked: the node that a file describes, its links, and the quotas of its users.

use std::collections::BTreeMap;
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

use crate::node_file::{HostFile, LinkFile, NodeFile, Security};
use crate::owners::{Owners, quotas};
use crate::{check, seal, shaper};

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
    /// Whether `text` is a node file, right or wrong: no scenario has a list `link`, or `security`.
    pub fn is_one(text: &str) -> bool {
        let table = text.parse::<toml::Table>();
        table.is_ok_and(|table| {
            table.get("link").is_some_and(toml::Value::is_array) || table.contains_key("security")
        })
    }

    /// Reads and checks a node file.
    ///
    /// # Errors
    /// The file cannot be read, or is no node; the error names the key.
    pub fn read(path: &Path) -> Result<Self, BadFile> {
        let bad = |why: String| BadFile { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|why| bad(why.to_string()))?;
        let file = Self::parse(&text, path.parent().unwrap_or(Path::new("."))).map_err(bad)?;
        file.check_keys().map_err(bad)?;
        Ok(Self { source: Some(path.to_owned()), ..file })
    }

    /// The node that `text` describes, with paths from the directory `beside` on.
    ///
    /// # Errors
    /// A sentence with the name of the key.
    pub fn parse(text: &str, beside: &Path) -> Result<Self, String> {
        check::links_are_named(text)?;
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
    pub(crate) fn around_ip(&self) -> u32 {
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
pub(crate) mod tests {
    use laxity_signalling::identity::Owner;

    use super::*;

    pub(crate) const FILE: &str = r#"
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

    /// The part of the processor that a quota may have.
    #[test]
    fn the_processor_has_quotas() {
        let with = |rest: &str| read(&format!("{FILE}\n{rest}")).unwrap().node(Epoch(1));
        let node = with("[quota.1000]\ncpu = 0.25");
        assert_eq!((node.packet_time, node.quotas.of(Owner(1000)).claim.cpu), (Span::from_us(3), 250_000));
    }

    /// A line that others share: one packet of theirs, and the burst of their class.
    #[test]
    fn other_traffic_of_a_line_is_part_of_the_bound() {
        let shared = format!("{FILE}\ninterface = \"eth0\"\nline = \"100 Mbit/s\"");
        let link = read(&shared).unwrap().node(Epoch(1)).links[&NodeId(2)];
        assert_eq!(link.hosts, Span::from_us(500) + Span::from_ns(80) * (1500 + 38 + 2048));
    }
}
