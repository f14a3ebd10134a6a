//! `NETWORK.toml`: node files, the channels of programs and floods between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::NodeId;
use laxity_signalling::routes::Topology;
use laxity_units::{Bytes, Rate, Span};
use serde::Deserialize;

use crate::config::LARGEST_MESSAGE;
use crate::node_file::{NodeFile, has_list, optional, parsed};

/// A network file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    nodes: Vec<std::path::PathBuf>,
    #[serde(default = "time", deserialize_with = "parsed")]
    time: Span,
    #[serde(default, rename = "channel")]
    channels: Vec<NetworkChannel>,
    #[serde(default, rename = "flood")]
    floods: Vec<Flood>,
}

/// A channel and the program that sends on it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkChannel {
    /// The node of the sender.
    pub from: String,
    /// The node of the receiver, which may be that of the sender.
    pub to: String,
    /// The name of the receiver.
    pub name: String,
    /// The largest message in bytes; the program sends messages of this size.
    pub size: u32,
    /// The least average spacing of messages.
    #[serde(deserialize_with = "parsed")]
    pub interval: Span,
    /// The longest burst.
    #[serde(default = "one")]
    pub burst: u32,
    /// The end-to-end deadline.
    #[serde(deserialize_with = "parsed")]
    pub deadline: Span,
    /// When the program opens the channel.
    #[serde(default, deserialize_with = "parsed")]
    pub start: Span,
    /// The spacing at which the program sends; the interval if it is absent. A shorter one breaks
    /// the contract.
    #[serde(default, deserialize_with = "optional")]
    pub every: Option<Span>,
}

/// Datagrams of best effort.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// The node of the sender.
    pub from: String,
    /// The node of the receiver.
    pub to: String,
    /// The rate of the payload.
    #[serde(deserialize_with = "parsed")]
    pub rate: Rate,
    /// Bytes of a datagram.
    #[serde(default = "datagram")]
    pub size: u32,
}

fn time() -> Span {
    Span::from_secs(10)
}

const fn one() -> u32 {
    1
}

const fn datagram() -> u32 {
    1300
}

/// A network of node files.
#[derive(Debug, Clone)]
pub struct NodeNetwork {
    /// The nodes.
    pub nodes: Vec<NodeFile>,
    /// How long programs send.
    pub time: Span,
    /// The channels.
    pub channels: Vec<NetworkChannel>,
    /// Best effort.
    pub floods: Vec<Flood>,
    pub(crate) topology: Topology,
}

impl NetworkChannel {
    /// The contract.
    pub fn contract(&self) -> ChannelContract {
        ChannelContract {
            max_message: Bytes::new(self.size.into()),
            min_message: Bytes::new(1),
            min_interval: self.interval,
            burst: self.burst,
            deadline: self.deadline,
        }
    }
}

impl NodeNetwork {
    /// Whether `text` is a network file, right or wrong: no scenario has a list `nodes`.
    pub fn is_one(text: &str) -> bool {
        has_list(text, "nodes")
    }

    /// Reads and checks a network file and its node files, whose paths are relative to it.
    ///
    /// # Errors
    /// A sentence with the file and the key.
    pub fn read(path: &Path) -> Result<Self, String> {
        let of = |why: String| format!("{}: {}", path.display(), why.trim_end());
        let text = std::fs::read_to_string(path).map_err(|why| of(why.to_string()))?;
        let raw: Raw = toml::from_str(&text).map_err(|why| of(why.to_string()))?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let read = |node: &std::path::PathBuf| NodeFile::read(&beside.join(node));
        let nodes: Result<Vec<_>, _> = raw.nodes.iter().map(read).collect();
        Self::new(nodes.map_err(|why| why.to_string())?, raw).map_err(of)
    }

    fn new(nodes: Vec<NodeFile>, raw: Raw) -> Result<Self, String> {
        let names: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let ids: BTreeMap<u32, &NodeFile> = nodes.iter().map(|node| (node.id, node)).collect();
        if nodes.len() < 2 || names.len() < nodes.len() || ids.len() < nodes.len() {
            return Err("`nodes` are two at least, with names and numbers of their own".to_owned());
        }
        let mut topology = Topology::default();
        for node in &nodes {
            if node.packet != nodes[0].packet {
                return Err("`packet` is equal at all nodes".to_owned());
            }
            for link in &node.links {
                let other = ids.get(&link.peer_id).filter(|other| other.name == link.peer);
                let back = other.and_then(|other| other.links.iter().find(|back| back.peer_id == node.id));
                if back.is_none_or(|back| back.local != link.remote || back.remote != link.local) {
                    let (a, b) = (&node.name, &link.peer);
                    return Err(format!("the link from `{a}` to `{b}` has no other end with its addresses"));
                }
                topology.set(NodeId(node.id), NodeId(link.peer_id), link.rate.bytes_per_sec_f64() as u64);
            }
        }
        let network = Self { time: raw.time, channels: raw.channels, floods: raw.floods, topology, nodes };
        let ends = network.channels.iter().map(|channel| (&channel.from, &channel.to));
        for (from, to) in ends.chain(network.floods.iter().map(|flood| (&flood.from, &flood.to))) {
            if let Some(missing) = [from, to].into_iter().find(|name| network.node(name).is_none()) {
                return Err(format!("there is no node `{missing}`"));
            }
            if network.route(from, to).is_none() {
                return Err(format!("no route leads from `{from}` to `{to}`"));
            }
        }
        for channel in &network.channels {
            if !channel.contract().is_valid() || channel.every.is_some_and(|every| every.is_zero()) {
                return Err(format!("the channel to `{}`: its values are above zero", channel.name));
            }
            if channel.size > LARGEST_MESSAGE {
                let name = &channel.name;
                return Err(format!("the channel to `{name}`: `size` is {LARGEST_MESSAGE} at most"));
            }
        }
        if network.floods.iter().any(|flood| flood.rate.is_zero() || flood.size == 0) {
            return Err("`rate` and `size` of a flood are above zero".to_owned());
        }
        if network.floods.iter().any(|flood| flood.from == flood.to) {
            return Err("a flood leads to another node".to_owned());
        }
        if network.channels.is_empty() {
            return Err("a network has one `[[channel]]` at least, of which a bound is shown".to_owned());
        }
        Ok(network)
    }

    /// A node by its name.
    pub fn node(&self, name: &str) -> Option<&NodeFile> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The name of a node.
    pub(crate) fn name(&self, id: NodeId) -> &str {
        self.nodes.iter().find(|node| node.id == id.0).map_or("", |node| &node.name)
    }

    /// The route between two nodes; from a node to itself that node.
    pub(crate) fn route(&self, from: &str, to: &str) -> Option<Vec<NodeId>> {
        let id = |name: &str| self.node(name).map(|node| NodeId(node.id));
        self.topology.route(id(from)?, id(to)?)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn node(id: u32, peers: &[u32]) -> NodeFile {
        let mut text = format!("name = \"n{id}\"\nid = {id}\nsecurity = \"none\"\n");
        for peer in peers {
            text += &format!(
                "[[link]]\npeer = \"n{peer}\"\npeer_id = {peer}\nlocal = \"10.0.{id}.{peer}:4700\"\n\
                 remote = \"10.0.{peer}.{id}:4700\"\nrate = \"40 Mbit/s\"\n"
            );
        }
        NodeFile::parse(&text, Path::new(".")).unwrap()
    }

    /// Three nodes in a row.
    pub(crate) fn row(rest: &str) -> Result<NodeNetwork, String> {
        let raw: Raw = toml::from_str(&format!("nodes = []\n{rest}")).map_err(|why| why.to_string())?;
        NodeNetwork::new(vec![node(1, &[2]), node(2, &[1, 3]), node(3, &[2])], raw)
    }

    #[test]
    fn a_network_is_told_from_a_scenario() {
        assert!(NodeNetwork::is_one("nodes = [\"a.toml\"]\n[[channel]]\nfrom = 3"));
        assert!(!NodeNetwork::is_one("[[node]]\nname = \"a\"\n[[channel]]\n"));
    }

    #[test]
    fn what_is_no_network_is_refused_by_name() {
        let channel = "[[channel]]\nfrom = \"n1\"\nto = \"n3\"\nname = \"x\"\nsize = 10\ninterval = \"1 ms\"\ndeadline = \"9 ms\"\n";
        assert_eq!(row(channel).unwrap().route("n1", "n3"), Some([1, 2, 3].map(NodeId).to_vec()));
        for (text, why) in [
            (channel.replace("n3", "n4"), "`n4`"),
            ("[[flood]]\nfrom = \"n1\"\nto = \"n1\"\nrate = \"1 kbit/s\"".to_owned(), "another node"),
            (channel.replace("9 ms", "0 ms"), "above zero"),
            (format!("{channel}speed = 1"), "speed"),
            ("[[flood]]\nfrom = \"n1\"\nto = \"n2\"\nrate = \"0 bit/s\"".to_owned(), "above zero"),
            ("[[flood]]\nfrom = \"n1\"\nto = \"n2\"\nrate = \"1 kbit/s\"".to_owned(), "[[channel]]"),
            (String::new(), "[[channel]]"),
        ] {
            let error = row(&text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let raw = || toml::from_str("nodes = []").unwrap();
        assert!(
            NodeNetwork::new(vec![node(1, &[2]), node(2, &[3])], raw()).unwrap_err().contains("no other end")
        );
        assert!(NodeNetwork::new(vec![node(1, &[2])], raw()).unwrap_err().contains("two at least"));
    }
}
