//! The keys of node files: what they mean, their defaults, and how they are read.
//!
//! The reference in docs/node-file.md and the schema for editors are made from here.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use laxity_units::{Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::etcd::Endpoint;

/// A node file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeFile {
    /// The path that it was read from.
    #[serde(skip)]
    pub source: Option<PathBuf>,
    /// The name of the node, which is that of its certificate.
    #[schemars(extend("examples" = ["camera"]))]
    pub name: String,
    /// The number of the node, unique in the network.
    #[schemars(extend("examples" = [1]))]
    pub id: u32,
    /// The socket of programs. Default: `/run/laxity/NAME.sock`.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("examples" = ["/run/laxity/camera.sock"]))]
    pub socket: Option<PathBuf>,
    /// The directory of the epoch, which counts the lives of the node. Default: `/var/lib/laxity`.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("examples" = ["/var/lib/laxity"]))]
    pub state: Option<PathBuf>,
    /// Address of the metrics for Prometheus. Default: none.
    #[serde(default)]
    #[schemars(schema_with = "address", extend("examples" = ["127.0.0.1:9464"]))]
    pub metrics: Option<SocketAddr>,
    /// A log of all inputs of the node, messages included, for `laxity replay`. The daemon begins it anew;
    /// that of its last life has the ending `.1`. Default: none.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("examples" = ["camera.log"]))]
    pub log: Option<PathBuf>,
    /// Payload of a packet in bytes, equal at all nodes of the network. Default: 1344.
    #[serde(default = "packet")]
    #[schemars(extend("examples" = [1344]))]
    pub packet: u32,
    /// The spacing of signalling messages on a link. Default: they take a 32nd of the slowest link at
    /// most.
    #[schemars(schema_with = "time", extend("examples" = ["10 ms"]))]
    #[serde(default, deserialize_with = "optional")]
    pub signalling: Option<Span>,
    /// How long a node keeps a channel without a message of its source. Default: 4 s.
    #[schemars(schema_with = "time", extend("examples" = ["4 s"]))]
    #[serde(default = "lease", deserialize_with = "parsed")]
    pub lease: Span,
    /// How neighbours and packets are authenticated: PEM files beside the node file.
    pub security: Security,
    /// Where the names of receivers are kept. Default: each node floods those of its own.
    #[serde(default)]
    pub names: Option<NamesFile>,
    /// The use of the clocks of neighbours. Default: `none`.
    #[serde(default)]
    pub clocks: ClockUse,
    /// The part of the host that the daemon takes.
    #[serde(default)]
    pub host: HostFile,
    /// A link to a neighbour.
    #[serde(rename = "link")]
    pub links: Vec<LinkFile>,
    /// The limits of an owner at the node: of a user by number, of a tenant by name, and of each other
    /// user as `default`. A tenant lists users and groups; its programs share one quota, at all nodes
    /// that name it. Default: no limit.
    #[serde(default)]
    pub quota: BTreeMap<String, QuotaFile>,
}

/// How neighbours and packets are authenticated.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`security` is `\"none\"`, or the paths `authority`, `certificate` and `key` in braces"
)]
#[schemars(inline)]
pub enum Security {
    /// By certificates of one authority.
    Keys(Keys),
    /// `"none"`: not at all.
    Off(Off),
}

/// The one word that turns authentication off.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Off {
    /// Not at all.
    None,
}

/// Paths of PEM files, relative to the node file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The certificate of the authority.
    #[schemars(with = "String", extend("examples" = ["keys/authority.pem"]))]
    pub authority: PathBuf,
    /// The certificate of the node.
    #[schemars(with = "String", extend("examples" = ["keys/camera.pem"]))]
    pub certificate: PathBuf,
    /// The key of the node.
    #[schemars(with = "String", extend("examples" = ["keys/camera.key"]))]
    pub key: PathBuf,
}

/// The use of the clocks of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ClockUse {
    /// None: delays have the stated propagation of links.
    #[default]
    None,
    /// Packets carry when they leave, and delays have the time on a link that the clocks of both ends
    /// prove beyond it. The nodes at both ends need this word.
    Links,
}

/// A store of names for networks of many hosts.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamesFile {
    /// Servers of one etcd cluster. With `https` they have a certificate of the authority for their host
    /// name, and the node shows its own.
    #[schemars(with = "Vec<String>", extend("examples" = [["http://127.0.0.1:2379"]]))]
    #[serde(deserialize_with = "each")]
    pub etcd: Vec<Endpoint>,
}

/// The part of the host that the daemon takes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostFile {
    /// The longest time that the hosts at both ends of a link take beside the link: it is part of
    /// each bound. Default: 500 us.
    #[schemars(schema_with = "time", extend("examples" = ["500 us"]))]
    #[serde(deserialize_with = "parsed")]
    pub delay: Span,
    /// Time of the processor for each packet that the daemon sends, and for each that it receives.
    /// Channels may take three quarters of a processor together; `0 s` counts none of it. `laxity node`
    /// shows it beside the time that a packet took on average, which is less the more packets there
    /// are. Default: 3 us.
    #[schemars(schema_with = "time", extend("examples" = ["3 us"]))]
    #[serde(deserialize_with = "parsed")]
    pub packet: Span,
    /// The behaviour of the thread while it has no work. Default: `sleep`.
    pub idle: Idle,
    /// Keeps all processors out of deep idle states, from which a thread wakes tens of microseconds
    /// later; it costs power. Default: true.
    pub awake: bool,
    /// The processor of the real-time thread. Default: any.
    #[schemars(extend("examples" = [1]))]
    pub core: Option<usize>,
    /// Its priority under `SCHED_FIFO`, where the system permits it; 0 for none. Default: 10.
    #[schemars(extend("examples" = [10]))]
    pub priority: u8,
    /// Messages that wait for a program in the queue of its receiver. Default: 1024.
    #[schemars(extend("examples" = [1024]))]
    pub places: u64,
    /// Datagrams that wait for a link. Default: 256.
    #[schemars(extend("examples" = [256]))]
    pub datagrams: usize,
}

impl Default for HostFile {
    fn default() -> Self {
        Self {
            delay: Span::from_us(500),
            packet: Span::from_us(3),
            idle: Idle::Sleep,
            awake: true,
            core: None,
            priority: 10,
            places: 1024,
            datagrams: 256,
        }
    }
}

/// The behaviour of the real-time thread while it has no work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Idle {
    /// It spins: the shortest delays, and a whole processor.
    Spin,
    /// It spins, and yields the processor after work and every few turns without work.
    Yield,
    /// It sleeps until shortly before the next instant, and then spins.
    Sleep,
}

/// A link to a neighbour.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// The name of the neighbour, which is that of its certificate.
    #[schemars(extend("examples" = ["recorder"]))]
    pub peer: String,
    /// Its number.
    #[schemars(extend("examples" = [2]))]
    pub peer_id: u32,
    /// The address of this node on the link; UDP for packets, TCP for control.
    #[schemars(schema_with = "address", extend("examples" = ["192.168.1.1:4701"]))]
    pub local: SocketAddr,
    /// The address of the neighbour.
    #[schemars(schema_with = "address", extend("examples" = ["192.168.1.2:4701"]))]
    pub remote: SocketAddr,
    /// The rate that the daemon sends at most.
    #[schemars(schema_with = "rate", extend("examples" = ["100 Mbit/s"]))]
    #[serde(deserialize_with = "parsed")]
    pub rate: Rate,
    /// The interface on which the daemon shares the rate of the line with other traffic: it installs
    /// an HTB discipline there. Default: the link is the daemon's alone, or shared by other means.
    #[schemars(extend("examples" = ["eth0"]))]
    pub interface: Option<String>,
    /// The rate of the line; with `interface`.
    #[schemars(schema_with = "rate", extend("examples" = ["1 Gbit/s"]))]
    #[serde(default, deserialize_with = "optional")]
    pub line: Option<Rate>,
    /// The rate of other traffic that arrives on `interface`; more is dropped. Default: no limit.
    #[schemars(schema_with = "rate", extend("examples" = ["20 Mbit/s"]))]
    #[serde(default, deserialize_with = "optional")]
    pub ingress: Option<Rate>,
    /// The longest IP packet in bytes. Default: 1500.
    #[serde(default = "mtu")]
    #[schemars(extend("examples" = [1500]))]
    pub mtu: u32,
    /// The longest propagation delay. Default: 10 us.
    #[schemars(schema_with = "time", extend("examples" = ["10 us"]))]
    #[serde(default = "propagation", deserialize_with = "parsed")]
    pub propagation: Span,
}

/// The most that an owner may reserve at the node.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaFile {
    /// The users of a tenant, by number. A user is in one quota at most. Default: none.
    #[serde(default)]
    #[schemars(extend("examples" = [[1000, 1001]]))]
    pub users: Vec<u32>,
    /// The groups of a tenant, by number: programs that connect with one of them as their group, and with a
    /// user without a quota. Default: none.
    #[serde(default)]
    #[schemars(extend("examples" = [[44]]))]
    pub groups: Vec<u32>,
    /// Channels. Default: no limit.
    #[schemars(extend("examples" = [16]))]
    pub channels: Option<u64>,
    /// Bandwidth. Default: no limit.
    #[schemars(schema_with = "rate", extend("examples" = ["10 Mbit/s"]))]
    #[serde(default, deserialize_with = "optional")]
    pub bandwidth: Option<Rate>,
    /// Buffers, in messages and packets. Default: no limit.
    #[schemars(extend("examples" = [4096]))]
    pub buffers: Option<u64>,
    /// The part of a processor, from 0 to 1. Default: no limit.
    #[schemars(range(min = 0.0, max = 1.0), extend("examples" = [0.25]))]
    pub cpu: Option<f64>,
}

const fn packet() -> u32 {
    1344
}

fn lease() -> Span {
    Span::from_secs(4)
}

const fn mtu() -> u32 {
    1500
}

fn propagation() -> Span {
    Span::from_us(10)
}

/// Whether a TOML file has a list with that name.
pub(crate) fn has_list(text: &str, name: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| table.get(name).is_some_and(toml::Value::is_array))
}

pub(crate) fn parsed<'de, D: Deserializer<'de>, T>(from: D) -> Result<T, D::Error>
where
    T: std::str::FromStr,
    T::Err: fmt::Display,
{
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

pub(crate) fn optional<'de, D: Deserializer<'de>, T>(from: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr,
    T::Err: fmt::Display,
{
    parsed(from).map(Some)
}

fn each<'de, D: Deserializer<'de>, T>(from: D) -> Result<Vec<T>, D::Error>
where
    T: std::str::FromStr,
    T::Err: fmt::Display,
{
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "x-quantity": "a time" })
}

fn rate(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "x-quantity": "a rate" })
}

fn address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}
